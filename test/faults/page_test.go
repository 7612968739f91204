//go:build linux

package faults

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/golden"
	"github.com/iconedge/iconedge/test/harness"
)

var (
	faultFigures = filepath.Join("..", "..", "tools", "faults", "figures.json")
	faultsFile   = filepath.Join("..", "..", "docs", "reference", "faults.md")
)

// A faultColumn is the result of all phases for one proxy, from which docs/reference/faults.md is
// made.
type faultColumn struct {
	Name    string              `json:"name"`
	Version string              `json:"version"`
	Date    string              `json:"date"`
	Phases  map[string]faultRow `json:"phases"` // by name
}

type faultRow struct {
	Warm        int           `json:"warm"` // requests
	Cold        int           `json:"cold"`
	Wrong       int           `json:"wrong_bytes"`
	WarmRefused int           `json:"warm_5xx"`
	Statuses    string        `json:"cold_statuses"`
	SlowestWarm time.Duration `json:"slowest_warm"`
	SlowestCold time.Duration `json:"slowest_cold"`
	Recovery    time.Duration `json:"recovery"`
	Faults      []string      `json:"faults,omitempty"` // empty: the phase is held
}

func (r *result) row() faultRow {
	y := r.tally
	f := faultRow{y.requests[ofWarm], y.requests[ofCold], y.wrong, y.warmRefused, y.statuses(), y.slowest[ofWarm],
		y.slowest[ofCold], r.recovery, nil}
	for _, text := range r.faults {
		text, _, _ = strings.Cut(text, ", such as ") // examples are only for the log
		f.Faults = append(f.Faults, text)
	}
	return f
}

func (f faultRow) verdict() string {
	if len(f.Faults) == 0 {
		return "held"
	}
	return strings.Join(f.Faults, "; ")
}

func readFaults(t *testing.T) (columns []faultColumn) {
	t.Helper()
	harness.ReadJSON(t, faultFigures, &columns)
	return columns
}

// updateFaults replaces the earlier results of a proxy, and writes the page.
func updateFaults(t *testing.T, c contender, results []*result) {
	t.Helper()
	columns := readFaults(t)
	i := slices.IndexFunc(columns, func(old faultColumn) bool { return old.Name == c.name })
	if i < 0 {
		i, columns = len(columns), append(columns, faultColumn{Name: c.name, Phases: map[string]faultRow{}})
	}
	columns[i].Version, columns[i].Date = c.version, time.Now().UTC().Format(time.DateOnly)
	for _, r := range results {
		if r.tally != nil {
			columns[i].Phases[r.phase.name] = r.row()
		}
	}
	harness.WritePage(t, faultFigures, columns, faultsFile, []byte(faultsPage(columns)))
}

const faultsHead = `# Faults

**In short:** While something behind an edge fails, its cached icons are answered, completely and at once; other requests get a clean error within the deadline, and
work again within two seconds of the end of the fault. The first table has every fault, the second one the same with other proxies.

This page shows the responses that clients get when an edge, or a part of the fleet behind it, fails. Every phase runs real processes: an
` + "`iconedge edge`" + `, an origin of a small library, and between them a relay that injects the fault. Three clients with net/http and one
that pipelines request icons that are in the edge's cache, fresh and stale; three others request icons that nobody has requested before.
**Every complete body is compared with the hash of the same icon from an origin without faults.** A phase is held if

- no body was wrong, and no response for a cached icon was a 5xx, was lost, or waited for the origin (1.9 s),
- uncached icons were answered, or refused with a clean problem (502, 503 or 504; 404, 429 or 500 if the origin itself answers so), within
  the deadline (` + "`--origin-timeout`" + `, 10 s) and two seconds,
- uncached icons are answered again within two seconds of the fault's end.

` + "`make faults`" + ` runs all phases and checks the times too, and writes this page. ` + "`make test`" + ` runs a short form that checks only bytes and statuses.
`

// faultsPage returns docs/reference/faults.md; the first column is iconedge.
func faultsPage(columns []faultColumn) string {
	var b strings.Builder
	b.WriteString(faultsHead)
	fmt.Fprintf(&b, "\n## iconedge\n\nMeasured on %s.\n\n", columns[0].Date)
	b.WriteString("| phase | requests, warm and cold | wrong bytes | warm 5xx | cold statuses | slowest warm | " +
		"slowest cold | recovery | |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range faultPhases() {
		f := columns[0].Phases[p.name]
		fmt.Fprintf(&b, "| **%s**: %s | %d, %d | %d | %d | %s | %s | %s | %s | %s |\n", p.name, p.what, f.Warm,
			f.Cold, f.Wrong, f.WarmRefused, f.Statuses,
			brief(f.SlowestWarm), brief(f.SlowestCold), brief(f.Recovery), f.verdict())
	}
	compareFaults(&b, columns)
	return b.String()
}

func brief(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// compareFaults writes the table of the phases that apply to any proxy.
func compareFaults(b *strings.Builder, columns []faultColumn) {
	b.WriteString("\n## Other proxies\n\nThe phases that apply to any caching proxy, with Debian's packages with the " +
		"configurations in [tools/faults](../../tools/faults/).\n\n| phase")
	var common []string
	for _, p := range faultPhases() {
		if !p.only {
			common = append(common, p.name)
		}
	}
	for _, c := range columns {
		held := 0
		for _, name := range common {
			if f, played := c.Phases[name]; played && len(f.Faults) == 0 {
				held++
			}
		}
		fmt.Fprintf(b, " | %s: **%d of %d**", strings.TrimSpace(c.Name+" "+c.Version), held, len(common))
	}
	b.WriteString(" |\n" + strings.Repeat("|---", len(columns)+1) + "|\n")
	for _, name := range common {
		b.WriteString("| " + name)
		for _, c := range columns {
			cell := "not played"
			if f, played := c.Phases[name]; played {
				cell = f.verdict()
			}
			b.WriteString(" | " + cell)
		}
		b.WriteString(" |\n")
	}
}

// TestFaultsPage: docs/reference/faults.md has the tree's figures for every phase, and iconedge
// holds each.
func TestFaultsPage(t *testing.T) {
	columns := readFaults(t)
	golden.Check(t, faultsFile, []byte(faultsPage(columns)))
	for _, p := range faultPhases() {
		if f, played := columns[0].Phases[p.name]; !played || len(f.Faults) > 0 {
			t.Errorf("%s: played: %v, %s; run `make faults`", p.name, played, f.verdict())
		}
	}
}
