package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestLook: each metric has the labels of its selectors, aggregations, matches and legends.
func TestLook(t *testing.T) {
	type uses = map[string][]string
	for _, row := range []struct {
		expr   string
		labels []string
		uses   uses
		lost   []string
	}{
		{`up`, nil, uses{"up": nil}, nil},
		{`1`, nil, uses{}, nil},
		{`{__name__="up", job="a"}`, nil, uses{"up": {"job"}}, nil},
		{`up{job="a"} or up{region="eu"}`, nil, uses{"up": {"job", "region"}}, nil},
		{`sum by (region) (rate(a_total{code!="5xx"}[5m]))`, nil, uses{"a_total": {"code", "region"}}, nil},
		{`sum without (instance) (a)`, nil, uses{"a": {"instance"}}, nil},
		{`sum without (instance) (a)`, []string{"instance"}, uses{"a": {"instance"}}, []string{"instance"}},
		{`sum by (region) (a)`, []string{"instance"}, uses{"a": {"region"}}, []string{"instance"}},
		{`sum(a)`, []string{"region"}, uses{"a": nil}, []string{"region"}},
		{`topk(3, a)`, []string{"route"}, uses{"a": {"route"}}, nil},
		{`topk by (region) (3, a)`, []string{"route"}, uses{"a": {"region", "route"}}, nil},
		{`count_values("value", a)`, []string{"value"}, uses{"a": nil}, nil},
		{`histogram_quantile(.99, sum by (le, region) (rate(a_bucket[5m])))`, []string{"region"}, uses{"a_bucket": {"le", "region"}}, nil},
		// a common mistake
		{`histogram_quantile(.99, sum by (region) (rate(a_bucket[5m])))`, nil, uses{"a_bucket": {"region"}}, []string{"le"}},
		{`a / on (x) b`, nil, uses{"a": {"x"}, "b": {"x"}}, nil},
		// never matches anything
		{`sum by (y) (a) / on (x) b`, nil, uses{"a": {"y"}, "b": {"x"}}, []string{"x"}},
		{`a * on (x) group_left (release) b`, []string{"release", "route"}, uses{"a": {"route", "x"}, "b": {"release", "x"}}, nil},
		{`a * on (x) group_right (release) b`, []string{"route"}, uses{"a": {"release", "x"}, "b": {"route", "x"}}, nil},
		{`a unless on (release) b`, []string{"region"}, uses{"a": {"region", "release"}, "b": {"release"}}, nil},
		{`a{x="1"} / scalar(b)`, []string{"x"}, uses{"a": {"x"}, "b": nil}, nil},
		{`a or b`, []string{"region"}, uses{"a": {"region"}, "b": {"region"}}, nil},
		{`label_replace(a, "to", "$1", "from", "(.*)")`, []string{"to"}, uses{"a": {"from"}}, nil},
		{`label_join(a, "to", "-", "x", "y")`, []string{"to"}, uses{"a": {"x", "y"}}, nil},
		{`max_over_time((-a{x="1"})[1h:1m])`, nil, uses{"a": {"x"}}, nil},
		{`absent(up{job="a"})`, []string{"job"}, uses{"up": {"job"}}, nil},
	} {
		got := look(question{row.expr, row.labels})
		if got.Error != "" || !reflect.DeepEqual(got.Uses, row.uses) || !reflect.DeepEqual(got.Lost, row.lost) {
			t.Errorf("%s with %v: %+v, want uses %v, lost %v", row.expr, row.labels, got, row.uses, row.lost)
		}
	}
}

// TestChosen: values in selectors are listed if they are literal.
func TestChosen(t *testing.T) {
	for expr, want := range map[string][]choice{
		`a`:                             nil,
		`a{x="1",y!="2"}`:               {{"a", "x", "1"}, {"a", "y", "2"}},
		`sum(rate(a{x=~"1|2"}[5m]))`:    {{"a", "x", "1"}, {"a", "x", "2"}},
		`a{job=~"i-(edge|shield)"} > 1`: {{"a", "job", "i-edge"}, {"a", "job", "i-shield"}},
		`a{x=~".*",y=~"b.+"}`:           nil,
		`{__name__="a",x="1"}`:          {{"a", "x", "1"}},
	} {
		if got := look(question{Expr: expr}); got.Error != "" || !reflect.DeepEqual(got.Chosen, want) {
			t.Errorf("%s: %+v, want %v", expr, got, want)
		}
	}
}

// TestAnswerAll: there is an answer for each question, in order; an expression that cannot be
// parsed gets an error.
func TestAnswerAll(t *testing.T) {
	var out strings.Builder
	if err := answerAll(strings.NewReader(`[{"expr":"up"},{"expr":"sum("}]`), &out); err != nil {
		t.Fatal(err)
	}
	var got []answer
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got) != 2 || got[0].Error != "" ||
		!strings.Contains(got[1].Error, "parse error") {
		t.Errorf("%s, %v", out.String(), err)
	}
	if err := answerAll(strings.NewReader("up"), &out); err == nil {
		t.Error("no JSON is no error")
	}
}
