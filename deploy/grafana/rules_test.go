package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ruleFile and testFile are the parts of promtool's files that the tests use.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

type testFile struct {
	Tests []struct {
		Alerts []struct {
			Name     string `yaml:"alertname"`
			Expected []any  `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

// rulesFolder is the folder of the rules. Their runbook_url must equal the address in the boards.
var rulesFolder = filepath.Join("..", "prometheus", "rules")

// read decodes each YAML file with a matching name.
func read[T any](t *testing.T, pattern string) map[string]T {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(rulesFolder, pattern))
	if err != nil || len(files) < 3 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	all := map[string]T{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var v T
		if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&v); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all[filepath.Base(f)] = v
	}
	return all
}

// alerts returns all alerting rules by name.
func alerts(t *testing.T) map[string][]rule {
	t.Helper()
	all := map[string][]rule{}
	for _, file := range read[ruleFile](t, "*.rules.yaml") {
		for _, g := range file.Groups {
			for _, r := range g.Rules {
				if r.Alert != "" {
					all[r.Alert] = append(all[r.Alert], r)
				}
			}
		}
	}
	return all
}

// TestAlerts: each alert has a severity, a summary, a description, and the address of its runbook.
func TestAlerts(t *testing.T) {
	for name, rules := range alerts(t) {
		for _, r := range rules {
			if !slices.Contains([]string{"page", "ticket", "info"}, r.Labels["severity"]) || r.Labels["service"] != "iconedge" {
				t.Errorf("%s: labels %v", name, r.Labels)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: annotations %v", name, r.Annotations)
			}
			if want := runbooks + name + ".md"; r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url %q, want %q", name, r.Annotations["runbook_url"], want)
			}
			link := r.Annotations["dashboard_url"]
			if !slices.ContainsFunc(boards, func(b board) bool {
				rest, ok := strings.CutPrefix(link, boardsAt+"/d/iconedge-"+b.name)
				return ok && (rest == "" || rest == "?var-instance={{ $labels.instance }}" || rest == "?var-region={{ $labels.region }}")
			}) {
				t.Errorf("%s: dashboard_url %q leads to no board", name, link)
			}
		}
	}
}

// TestOwn: rules and dashboards of a fleet with its own names have none of ours, and promtool
// accepts the rules.
func TestOwn(t *testing.T) {
	dir := t.TempDir()
	if err := writeOwn(own{"web", "mid", "back", "https://wiki.example.org/books", "https://grafana.example.org/",
		2.5e10}, "..", dir); err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, left := range regexp.MustCompile(
			`job=~?\\?"iconedge|github\.com/iconedge/iconedge/blob|localhost:3000|vector\(1e9\)`).FindAllString(string(text), -1) {
			t.Errorf("%s still has %s", filepath.Base(file), left)
		}
		for _, name := range []string{`"web"`, `"web|mid"`, `"web|mid|back"`, `\"back\"`,
			"https://wiki.example.org/books/EdgeDown.md",
			"https://grafana.example.org/d/iconedge-node?var-instance={{", "vector(2.5e+10)"} {
			names[name] += strings.Count(string(text), name)
		}
	}
	for name, n := range names {
		if n == 0 {
			t.Errorf("no file has %s", name)
		}
	}
	if tool, err := exec.LookPath("promtool"); err == nil {
		rules, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if out, err := exec.Command(tool, append([]string{"check", "rules"}, rules...)...).CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
}

var linkedPage = regexp.MustCompile(`\]\(([^)]+\.md)\)`)

// TestRunbooks: there is a page for each alert and no other; each answers the same questions in the
// same order.
func TestRunbooks(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "how-to", "runbooks")
	left := alerts(t)
	files, err := filepath.Glob(filepath.Join(folder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".md")
		if name == "README" {
			continue
		}
		if left[name] == nil {
			t.Errorf("%s is the page of no alert", f)
		}
		delete(left, name)
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var headings []string
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				headings = append(headings, strings.TrimSpace(line))
			}
		}
		want := []string{"# " + name, "## What it means", "## What users see", "## First look", "## What to do",
			"## How it ends", "## False alarms"}
		if !slices.Equal(headings, want) {
			t.Errorf("%s has %v, want %v", f, headings, want)
		}
		for _, m := range linkedPage.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(folder, string(m[1]))); err != nil {
				t.Errorf("%s leads to %v", f, err)
			}
		}
		if !bytes.Contains(text, []byte("```promql\n")) {
			t.Errorf("%s has no query for a first look", f)
		}
		if !bytes.Contains(index, []byte("]("+name+".md)")) {
			t.Errorf("README.md does not name %s", name)
		}
	}
	if len(left) > 0 {
		t.Errorf("no page: %v", slices.Sorted(maps.Keys(left)))
	}
}

// TestAlertsAreTested: promtool's tests have a case in which each alert fires, and one in which it
// does not although there are other series.
func TestAlertsAreTested(t *testing.T) {
	fires, silent := map[string]int{}, map[string]bool{}
	for _, file := range read[testFile](t, "*_test.yaml") {
		for _, test := range file.Tests {
			for _, a := range test.Alerts {
				fires[a.Name] += len(a.Expected)
				silent[a.Name] = silent[a.Name] || len(a.Expected) == 0
			}
		}
	}
	silent["Watchdog"] = true // is never silent
	for name, rules := range alerts(t) {
		if fires[name] < len(rules) || !silent[name] {
			t.Errorf("%s has %d rules; tests expect it to fire %d times, and to be silent: %v", name, len(rules), fires[name], silent[name])
		}
	}
}
