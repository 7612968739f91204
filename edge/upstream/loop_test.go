package upstream

import (
	"net/http"
	"strings"
	"testing"
)

func TestIsLoop(t *testing.T) {
	c, other := newClient(Config{}), newClient(Config{})
	for name, row := range map[string]struct {
		lines []string
		want  bool
	}{
		"no field":             {nil, false},
		"only other CDNs":      {[]string{"a; id=1, b.example:80", "c"}, false},
		"this process":         {[]string{"a, " + c.member() + ", b"}, true},
		"on another line":      {[]string{"a", c.member()}, true},
		"another process":      {[]string{other.member()}, false},
		"another name, our id": {[]string{"elsewhere; id=" + c.id}, false},
		"any case, odd spaces": {[]string{"\tIconEdge ;x=y;id=" + c.id}, true},
		"an open quote before": {[]string{`a; b=", ` + c.member()}, true},
		"eight edges":          {[]string{strings.Repeat("iconedge; id=1, ", 8)}, false},
		"nine edges":           {[]string{strings.Repeat("iconedge; id=1, ", 5), strings.Repeat("iconedge,", 4)}, true},
		"nine of another CDN":  {[]string{strings.Repeat("iconedger,", 9)}, false},
		"no members":           {[]string{",;,; ,", ""}, false},
	} {
		if got := c.IsLoop(row.lines); got != row.want {
			t.Errorf("%s: Looped(%q) = %v", name, row.lines, got)
		}
	}
}

// A Client recognises a request that it has sent, whatever the field contained before.
func FuzzIsLoop(f *testing.F) {
	for _, s := range []string{"", "a; b=c", `a; b="`, "iconedge; id=1", ",,", `\`} {
		f.Add(s)
	}
	c := newClient(Config{})
	f.Fuzz(func(t *testing.T, s string) {
		r := Request{Method: "GET", Target: "/", Header: http.Header{"Cdn-Loop": {s}}}
		if h := c.requestHeader(r); !c.IsLoop(h["Cdn-Loop"]) {
			t.Fatalf("%q is not recognised", h["Cdn-Loop"])
		}
		if strings.Count(s, ",") < maxEdges && !strings.Contains(s, c.id) && c.IsLoop([]string{s}) {
			t.Fatalf("%q is taken for a loop", s)
		}
	})
}

// Before returns only well-formed entries of our own edges, and too few of them to look like a
// loop.
func TestLoopField(t *testing.T) {
	c := newClient(Config{})
	ids := func(ids ...string) string { return "iconedge; id=" + strings.Join(ids, ", iconedge; id=") }
	const a, b = "0123456789abcdef", "fedcba9876543210"
	for name, row := range map[string]struct {
		lines []string
		want  string
	}{
		"no field":              {nil, ""},
		"one":                   {[]string{ids(a)}, ids(a)},
		"on two lines":          {[]string{"other, " + ids(a), ids(b)}, ids(a, b)},
		"another CDN":           {[]string{"cloudflare, a; id=" + a}, ""},
		"no id":                 {[]string{"iconedge"}, ""},
		"an id of another form": {[]string{ids("0123", a+a, "0123456789abcdeg")}, ""},
		"further parameters":    {[]string{ids(a) + "; x=y"}, ""},
		"the last four":         {[]string{ids(a, a, a, b, b, b)}, ids(a, b, b, b)},
	} {
		got := c.LoopField(row.lines)
		if strings.Join(got, "|") != row.want || len(got) > 1 {
			t.Errorf("%s: Before(%q) = %q, want %q", name, row.lines, got, row.want)
		}
	}
	if !c.IsLoop(newClient(Config{}).requestHeader(
		Request{Header: http.Header{"Cdn-Loop": c.LoopField([]string{"x, " + c.member()})}})["Cdn-Loop"]) {
		t.Error("a request that returns through another edge is not recognised")
	}
}
