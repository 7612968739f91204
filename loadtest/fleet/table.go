//go:build linux

package fleet

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/loadtest/report"
)

// Text writes all tables for a terminal.
func (r *Result) Text(w io.Writer) {
	for _, t := range []report.Table{r.PhaseTable(), r.RegionTable(), r.TierTable(), r.PanelTable()} {
		fmt.Fprintln(w)
		report.Text(w, t)
	}
	for _, m := range r.Mishaps() {
		fmt.Fprintln(w, m)
	}
}

// Summary says how many responses of all phases were wrong, and how many requests failed.
func (r *Result) Summary() string {
	var all Count
	for _, p := range r.Phases {
		cached, rest, _ := p.tally.counts()
		all.Answers += cached.Answers + rest.Answers
		all.Wrong += cached.Wrong + rest.Wrong
		all.Failed += cached.Failed + rest.Failed
	}
	return fmt.Sprintf("Of %d responses %d were wrong, and %d requests failed", all.Answers, all.Wrong, all.Failed)
}

// PhaseTable returns the clients' results by phase.
func (r *Result) PhaseTable() report.Table {
	t := report.Table{Head: []string{"phase", "s", "cached icons", "wrong", "failed", "the rest", "wrong", "failed", "second try"}}
	for i, p := range r.Phases {
		cached, rest, again := p.tally.counts()
		row := []string{fmt.Sprintf("%d %s", i+1, p.Name), strconv.FormatFloat(p.Seconds, 'f', 0, 64)}
		for _, c := range []Count{cached, rest} {
			row = append(row, fmt.Sprint(c.Answers), fmt.Sprint(c.Wrong), fmt.Sprint(c.Failed))
		}
		if words := p.tally.failures(); words != "" {
			row[len(row)-1] += " (" + words + ")"
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprint(again)))
	}
	return t
}

// RegionTable returns latencies over the whole run.
func (r *Result) RegionTable() report.Table {
	t := report.Table{Head: []string{"region", "way, ms", "loss", "answers", "icons p50 ms", "p99 ms", "max ms",
		"the rest p50 ms", "p99 ms", "max ms"}}
	for _, g := range r.Regions {
		row := []string{g.Name, millis(g.Delay), fmt.Sprintf("%.2f %%", g.Loss*100), fmt.Sprint(g.Answers)}
		for _, times := range []Times{g.Cached, g.Rest} {
			row = append(row, millis(times.P50), millis(times.P99), millis(times.Most))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64)
}

// TierTable returns the requests that reached each tier, and its hit rate.
func (r *Result) TierTable() report.Table {
	t := report.Table{Head: []string{"tier", "requests for icons and the API", "from its cache"}}
	for _, tier := range r.Tiers {
		hits := "–"
		if tier.Hits >= 0 {
			hits = fmt.Sprintf("%.2f %%", tier.Hits*100)
		}
		t.Rows = append(t.Rows, []string{tier.Name, fmt.Sprintf("%.0f", tier.Requests), hits})
	}
	return t
}

// PanelTable returns how many panels of each dashboard returned data.
func (r *Result) PanelTable() report.Table {
	t := report.Table{Head: []string{"dashboard", "panels", "with data", "without"}}
	for _, a := range r.Panels {
		if len(t.Rows) == 0 || t.Rows[len(t.Rows)-1][0] != a.Board {
			t.Rows = append(t.Rows, []string{a.Board, "0", "0", ""})
		}
		row := t.Rows[len(t.Rows)-1]
		row[1] = oneMore(row[1])
		switch {
		case a.Answered > 0:
			row[2] = oneMore(row[2])
		case row[3] == "":
			row[3] = a.Panel
		default:
			row[3] += ", " + a.Panel
		}
	}
	return t
}

func oneMore(n string) string {
	count, _ := strconv.Atoi(n)
	return strconv.Itoa(count + 1)
}

// Mishaps describes the first wrong and failed responses of each phase.
func (r *Result) Mishaps() (words []string) {
	for _, p := range r.Phases {
		for _, what := range slices.Sorted(maps.Keys(p.tally.examples)) {
			words = append(words, p.Name+", "+what+": "+p.tally.examples[what])
		}
	}
	return words
}
