//go:build linux

package simulate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/loadtest/report"
)

// A Result is what a simulation measured.
type Result struct {
	c                         Config
	PurgeWithin, PurgeBetween []time.Duration // until an edge of the region, of another, had purged
	PurgeLoaded               []time.Duration // the same of all edges, at many purges a second
	Flips                     []time.Duration // until an edge had a new release
	Rest, Purging, Checking   usage           // a second
	Through                   []int           // accepted calls of one client, by region
	GaveUp                    int             // edges whose checks Redis did not answer in time
	Restart, Empty            storm
	CaughtUp                  []time.Duration // until a mended edge had done the missed purges
	few, many                 herd
}

// The targets of a fleet of a thousand edges in ten regions.
const (
	targetPurge    = 2 * time.Second
	targetHerd     = 1.2
	targetCommands = 20_000
)

// Text writes the figures for a terminal.
func (r *Result) Text(w io.Writer) { report.Text(w, r.Table()) }

// Table returns all figures.
func (r *Result) Table() report.Table {
	t := report.Table{Head: []string{"figure", "measured", "target"}}
	add := func(name, measured, target string) { t.Rows = append(t.Rows, []string{name, measured, target}) }
	add("a purge, until the edges of its region have done it: p50, p99, max", spread(r.PurgeWithin), "")
	add("a purge, until the edges of other regions have done it: p50, p99, max", spread(r.PurgeBetween), "p99 "+targetPurge.String())
	add("the same, of all edges, under load: p50, p99, max", spread(r.PurgeLoaded), "p99 "+targetPurge.String())
	add("a release, from the origin to the edges: p50, p99, max", spread(r.Flips), "")
	few, many := r.few, r.many
	add(fmt.Sprintf("requests to the origin in %v after a release, beside a small fleet", r.c.Herd), ratio(many.flip, few.flip),
		fmt.Sprintf("%.1f ×", targetHerd))
	add("of these, by kind", kinds(many.kinds)+"; small fleet: "+kinds(few.kinds), "")
	for _, row := range []struct {
		name string
		u    usage
	}{{"at rest", r.Rest}, {"under purges", r.Purging}, {"under checks of limits", r.Checking}} {
		add("Redis "+row.name+": commands a second, an edge", report.Grouped(row.u.commands)+", "+
			fixed(row.u.commands/float64(r.c.Edges), 2), "below "+report.Grouped(targetCommands))
		add("Redis "+row.name+": kB a second in and out, an edge", fmt.Sprintf("%s in, %s out; %s, %s", report.Grouped(row.u.in/1000),
			report.Grouped(row.u.out/1000), fixed(row.u.in/1000/float64(r.c.Edges), 2), fixed(row.u.out/1000/float64(r.c.Edges), 2)), "")
		add("Redis "+row.name+": share of a core", fixed(100*row.u.cpu, 1)+" %", "")
	}
	add("connections to Redis, an edge", report.Grouped(r.Checking.open)+", "+fixed(r.Checking.open/float64(r.c.Edges), 1), "below 10,000")
	add("checks of limits a second; edges that gave Redis up", report.Grouped(r.Checking.scripts)+"; "+strconv.Itoa(r.GaveUp), "")
	add(fmt.Sprintf("accepted calls of one client with a limit of %d, by region", searchLimit), strings.Trim(fmt.Sprint(r.Through), "[]"),
		fmt.Sprintf("%d each", searchLimit))
	for _, row := range []struct {
		name string
		s    storm
	}{{"Redis restarts with its log", r.Restart}, {"Redis restarts empty", r.Empty}} {
		add(row.name+": until the edges read the log: p50, p99, max", spread(row.s.logs), "")
		add(row.name+": until they check limits there: p50, p99, max", spread(row.s.checks), "")
		add(row.name+": connections in all, at most a second", report.Grouped(row.s.connections)+", "+report.Grouped(row.s.perSecond), "")
		add(row.name+": commands a second, at most", report.Grouped(row.s.commands), "below "+report.Grouped(targetCommands))
		add(row.name+": edges that drop their caches", strconv.Itoa(row.s.dropped), "")
	}
	add(fmt.Sprintf("requests to the origin in %v after Redis has restarted empty, beside a small fleet", r.c.Herd),
		ratio(many.drop, few.drop), "")
	add("of these, by kind", kinds(many.drops)+"; small fleet: "+kinds(few.drops), "")
	add("three regions cut off, until their edges have done the missed purges: p50, p99, max", spread(r.CaughtUp), "nothing lost")
	return t
}

// spread returns p50, p99 and maximum.
func spread(times []time.Duration) string {
	if len(times) == 0 {
		return "–"
	}
	times = slices.Sorted(slices.Values(times))
	at := func(share float64) string {
		return fixed(times[int(share*float64(len(times)-1))].Seconds(), 2)
	}
	return at(0.5) + ", " + at(0.99) + ", " + at(1) + " s"
}

func ratio(many, few int) string {
	return fmt.Sprintf("%d and %d, %.2f ×", many, few, float64(many)/float64(max(1, few)))
}

func kinds(counts map[string]int) string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		if counts[kind] > 0 {
			all = append(all, fmt.Sprintf("%s %d", kind, counts[kind]))
		}
	}
	return strings.Join(all, ", ")
}

func fixed(f float64, digits int) string { return strconv.FormatFloat(f, 'f', digits, 64) }

// Section returns the figures as a part of a page.
func (r *Result) Section(m report.Machine) string {
	return fmt.Sprintf("%d edges in %d regions; %s.\n\n%s", r.c.Edges, r.c.Regions, m, r.Table().Markdown())
}
