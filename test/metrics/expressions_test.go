package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/iconedge/iconedge/test/harness"
)

// An expression is a query that a person or an alert uses.
type expression struct {
	name, expr string
	labels     []string // labels that the reader needs in the result
	shown      bool     // in a panel, which would be empty without a result
}

// expressions returns all expressions of dashboards, rules and runbooks.
func expressions(t *testing.T) []expression {
	t.Helper()
	var all []expression
	eachFile(t, filepath.Join("..", "..", "deploy", "grafana", "dashboards", "*.json"), func(name string, text []byte) error {
		var b boardFile
		err := json.Unmarshal(text, &b)
		all = append(all, b.expressions(name)...)
		return err
	})
	eachFile(t, filepath.Join(rulesFolder, "*.rules.yaml"), func(_ string, text []byte) error {
		var f rulesFile
		err := yaml.Unmarshal(text, &f)
		all = append(all, f.expressions()...)
		return err
	})
	eachFile(t, filepath.Join("..", "..", "docs", "how-to", "runbooks", "*.md"), func(name string, text []byte) error {
		for i, m := range inRunbook.FindAllSubmatch(text, -1) {
			all = append(all, expression{name: fmt.Sprintf("%s, query %d", name, i+1), expr: string(m[1])})
		}
		return nil
	})
	if len(all) < 200 {
		t.Fatalf("only %d expressions were found", len(all))
	}
	return all
}

// eachFile reads all files that match a pattern.
func eachFile(t *testing.T, pattern string, with func(name string, text []byte) error) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = with(filepath.Base(file), text)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

var (
	inRunbook = regexp.MustCompile("(?s)```promql\n(.*?)```")
	inLegend  = regexp.MustCompile(`{{(\w+)}}`)
	inAlert   = regexp.MustCompile(`\$labels\.(\w+)`)
	ofLabel   = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	// inPlace replaces Grafana's variables: all regions, nodes and sites, and a minute for rates.
	inPlace = strings.NewReplacer("$__rate_interval", "1m", "$region", ".*", "$instance", ".*", "$site", ".*")
)

// namesIn returns the names that a pattern finds.
func namesIn(pattern *regexp.Regexp, text string) []string {
	var all []string
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// A boardFile holds the part of a dashboard that these tests read.
type boardFile struct {
	Panels []struct {
		Title, Type string
		Targets     []struct{ RefID, Expr, LegendFormat string }
		FieldConfig struct {
			Overrides []struct{ Matcher struct{ Options string } }
		}
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Annotations struct {
		List []struct{ Name, Expr, TextFormat string }
	}
}

func (b boardFile) expressions(file string) []expression {
	var all []expression
	add := func(name, expr string, labels []string, shown bool) {
		all = append(all, expression{file + ": " + name, inPlace.Replace(expr), labels, shown})
	}
	for _, p := range b.Panels {
		for i, q := range p.Targets {
			labels := namesIn(inLegend, q.LegendFormat)
			// the columns of a table are labels of its first query, and values
			for _, o := range p.FieldConfig.Overrides {
				if column := o.Matcher.Options; i == 0 && !strings.HasPrefix(column, "Value") {
					labels = append(labels, column)
				}
			}
			add(p.Title+" "+q.RefID, q.Expr, labels, true)
		}
	}
	for _, v := range b.Templating.List {
		if m := ofLabel.FindStringSubmatch(v.Definition); m != nil {
			add("variable "+v.Name, m[1], []string{m[2]}, true)
		}
	}
	for _, a := range b.Annotations.List {
		add("annotation "+a.Name, a.Expr, namesIn(inLegend, a.TextFormat), false)
	}
	return all
}

// A rulesFile holds the part of a rules file that these tests read.
type rulesFile struct {
	Groups []struct {
		Rules []struct {
			Record, Alert, Expr string
			Annotations         map[string]string
		}
	}
}

func (f rulesFile) expressions() []expression {
	var all []expression
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			all = append(all, expression{r.Record + r.Alert, r.Expr,
				namesIn(inAlert, r.Annotations["summary"]+r.Annotations["description"]), r.Record != ""})
		}
	}
	return all
}

// uses lists the metrics and labels in each expression, by tools/promql, which it builds from a
// module of its own.
func uses(t *testing.T, all []expression) []usesAnswer {
	t.Helper()
	program := filepath.Join(t.TempDir(), "promql")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "..", "tools", "promql")
	if out, err := build.CombinedOutput(); err != nil {
		harness.Missing(t, "tools/promql can't be built: %v\n%s", err, out)
	}
	type question struct {
		Expr   string   `json:"expr"`
		Labels []string `json:"labels"`
	}
	var questions []question
	for _, e := range all {
		questions = append(questions, question{e.expr, e.labels})
	}
	in, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	var answers []usesAnswer
	if err == nil {
		err = json.Unmarshal(out, &answers)
	}
	if err != nil || len(answers) != len(all) {
		t.Fatalf("%d answers for %d expressions: %v", len(answers), len(all), err)
	}
	return answers
}

type usesAnswer struct {
	Uses   map[string][]string
	Chosen []struct{ Metric, Label, Value string }
	Lost   []string
	Error  string
}
