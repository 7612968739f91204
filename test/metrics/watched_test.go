package metrics

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

var rulesFolder = filepath.Join("..", "..", "deploy", "prometheus", "rules")

// prometheusTool returns the path of a program of Prometheus.
func prometheusTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		harness.Missing(t, "%s is not installed (Debian package prometheus): make engines installs it", name)
	}
	return path
}

// TestWatchedRules: promtool accepts the rules, and its tests see each alert fire when it should,
// and only then.
func TestWatchedRules(t *testing.T) {
	promtool := prometheusTool(t, "promtool")
	for pattern, args := range map[string][]string{"*.rules.yaml": {"check", "rules"}, "*_test.yaml": {"test", "rules"}} {
		files, err := filepath.Glob(filepath.Join(rulesFolder, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(t.Context(), promtool, append(slices.Clone(args), filepath.Base(file))...)
				cmd.Dir = rulesFolder
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			})
		}
	}
}

// silentWhenWell lists panels that have no result for a healthy fleet that is a minute old, and
// rarely lists values of labels that only appear in trouble that this test does not cause. Each has
// its reason.
var (
	silentWhenWell = map[string]string{"cache.json: A day before A": "there was no yesterday"}
	rarely         = map[string]string{`severity="info"`: "LimitFloods wants a flood of ten minutes"}
)

// TestWatched starts a fleet of real processes with traffic, and a Prometheus with our rules.
// Prometheus can evaluate each expression of a dashboard, a rule or a runbook; the fleet exports
// each metric, label and value in it; and each panel shows something.
func TestWatched(t *testing.T) {
	f := startWatchedFleet(t)
	w := startPrometheus(t, f)
	f.startTraffic()
	playEvents(t, f, w)
	all := expressions(t)
	for name := range silentWhenWell {
		if !slices.ContainsFunc(all, func(e expression) bool { return e.name == name }) {
			t.Errorf("silentWhenWell has %q, which no dashboard has", name)
		}
	}
	used := uses(t, all)
	// of an attempt: Prometheus may not have scraped everything yet, nor evaluated every rule
	var wrong []string
	harness.WaitFor(func() bool {
		wrong = append(failingRules(t, w), expressionFaults(t, w, all, used)...)
		return len(wrong) == 0
	})
	for _, line := range wrong {
		t.Error(line)
	}
}

// expressionFaults returns the faults of expressions: Prometheus can't evaluate them, they name a
// metric, label or value that no node exports, or a panel would be empty.
func expressionFaults(t *testing.T, w *watcher, all []expression, used []usesAnswer) (wrong []string) {
	t.Helper()
	exported := w.series(t)
	if len(exported) < 100 {
		return []string{fmt.Sprintf("only %d metrics: %v", len(exported), slices.Sorted(maps.Keys(exported)))}
	}
	for i, a := range used {
		e := all[i]
		say := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %s", e.name, e.expr, fmt.Sprintf(format, args...)))
		}
		if a.Error != "" || len(a.Lost) > 0 {
			say("error %q, labels that are aggregated away %v", a.Error, a.Lost)
		}
		for _, missing := range exported.unexported(a) {
			say("nothing exports %s", missing)
		}
		answer := w.query(t, e.expr)
		if answer.Error != "" {
			say("%s", answer.Error)
		}
		if empty := len(answer.Data.Result) == 0; empty && e.shown && silentWhenWell[e.name] == "" {
			say("no answer")
		}
	}
	return wrong
}

// foreign has metrics of other exporters, which these tests do not run.
var foreign = map[string]string{"kube_job_failed": "kube-state-metrics, for the jobs of the chart"}

// unexported returns the metrics, labels and values that an expression names and no node exports.
func (x exports) unexported(a usesAnswer) []string {
	var missing []string
	for metric, labels := range a.Uses {
		if foreign[metric] != "" {
			continue
		}
		if x[metric] == nil {
			missing = append(missing, metric)
			continue
		}
		for _, label := range labels {
			if x[metric][label] == nil {
				missing = append(missing, metric+" with the label "+label)
			}
		}
	}
	for _, c := range a.Chosen {
		if value := c.Label + "=" + strconv.Quote(c.Value); x[c.Metric][c.Label] != nil &&
			!x[c.Metric][c.Label][c.Value] && rarely[value] == "" {
			missing = append(missing, c.Metric+" with "+value)
		}
	}
	return missing
}
