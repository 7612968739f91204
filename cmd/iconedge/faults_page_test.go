package main

import (
	"fmt"
	"strings"
	"time"
)

// A faultTable is what docs/faults.md shows.
type faultTable struct {
	columns []string
	results [][]*result // by column
}

func (f *faultTable) add(_ string, results []*result) { f.results = append(f.results, results) }

func (r *result) held() bool { return len(r.faults) == 0 }

// cell is a phase in the column of a proxy.
func (r *result) cell() string {
	switch {
	case !r.played:
		return ""
	case r.tally == nil:
		return "not played"
	case r.held():
		return "held"
	}
	return strings.Join(r.faults, "; ")
}

const faultsHead = `# Faults

What clients see when something behind an edge fails, or the edge itself. Every phase runs real processes: an ` + "`iconedge edge`" + `, before it
an origin of a small library, between them a wire that can be bent. Three clients with net/http and one that pipelines ask for
drawings that are in the edge's cache, fresh ones and stale ones; three others ask for drawings that nobody has asked for before. **Every body
that came whole is compared with the hash of what an origin says that nothing happened to.** A phase is held when

- no body was wrong, and no answer to what is in the cache was a 5xx, lost, or took longer than a second,
- what is not in the cache was answered, or refused with a clean problem (502, 503 or 504; 404, 429 or 500 where the origin itself says so), within
  the deadline (` + "`--origin-timeout`" + `, 10 s) and two seconds,
- within two seconds of the fault's end what was never asked for before is answered.

` + "`make faults`" + ` runs all phases, with the times, and writes this page. ` + "`make test`" + ` runs them in a shorter form that judges bytes and statuses alone.
`

// page is docs/faults.md.
func (f *faultTable) page() string {
	var b strings.Builder
	b.WriteString(faultsHead)
	fmt.Fprintf(&b, "\nMeasured on %s.\n\n## iconedge\n\n", time.Now().UTC().Format(time.DateOnly))
	b.WriteString("| phase | requests, warm and cold | wrong bytes | warm 5xx | cold statuses | slowest warm | slowest cold | recovery | |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range f.results[0] {
		if r.tally == nil {
			fmt.Fprintf(&b, "| %s | | | | | | | | not played |\n", r.phase.name)
			continue
		}
		y := r.tally
		fmt.Fprintf(&b, "| **%s**: %s | %d, %d | %d | %d | %s | %s | %s | %s | %s |\n", r.phase.name, r.phase.what, y.requests[ofWarm], y.requests[ofCold],
			y.wrong, y.warmRefused, y.statuses(), brief(y.slowest[ofWarm]), brief(y.slowest[ofCold]), brief(r.recovery), r.cell())
	}
	f.others(&b)
	return b.String()
}

func brief(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// others compares with the other proxies that are installed, in the phases that make sense for any.
func (f *faultTable) others(b *strings.Builder) {
	if len(f.columns) < 2 {
		return
	}
	b.WriteString("\n## Other proxies\n\nThe phases that make sense for any caching proxy, against Debian's packages with the configurations in [tools/faults](../tools/faults/).\n\n| phase")
	for i, column := range f.columns {
		held, played := 0, 0
		for j, r := range f.results[i] {
			if f.results[1][j].played && r.tally != nil {
				played++
				held += map[bool]int{true: 1}[r.held()]
			}
		}
		fmt.Fprintf(b, " | %s: **%d of %d**", column, held, played)
	}
	b.WriteString(" |\n" + strings.Repeat("|---", len(f.columns)+1) + "|\n")
	for j, r := range f.results[1] {
		if !r.played {
			continue
		}
		fmt.Fprintf(b, "| %s", r.phase.name)
		for i := range f.columns {
			fmt.Fprintf(b, " | %s", f.results[i][j].cell())
		}
		b.WriteString(" |\n")
	}
}
