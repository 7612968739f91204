//go:build linux

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/loadtest/usl"
)

// The kinds of edges of a Cores besides those of Processors.
const (
	Apart      = "2 edges, each with a core"
	Together   = "2 cores"
	OwnSockets = "2 cores, a socket for each loop"
)

// Processors is the kind of edges with so many processors on two cores.
func Processors(n int) string { return fmt.Sprintf("2 cores, %d processors", n) }

// A Cores is the result of `loadtest cores`.
type Cores struct {
	Date    string
	Machine Machine
	Seconds float64
	Kinds   []CoreKind
}

// A CoreKind is the rounds of one kind of edges.
type CoreKind struct {
	Name   string
	Rounds []CoreRound
}

// A CoreRound has the times of one round.
type CoreRound struct {
	CPUMicros, PerSecond float64 // of a hit
	LockNanos            float64 // for which a hit waits for locks
	RunnableMicros       float64 // for which a goroutine waits for a processor
	ConnectionMicros     float64 // of a connection with one request; 0: not measured
}

// Add adds a round.
func (c *Cores) Add(kind string, r CoreRound) {
	i := slices.IndexFunc(c.Kinds, func(k CoreKind) bool { return k.Name == kind })
	if i < 0 {
		i, c.Kinds = len(c.Kinds), append(c.Kinds, CoreKind{Name: kind})
	}
	c.Kinds[i].Rounds = append(c.Kinds[i].Rounds, r)
}

// values returns a figure of the rounds of a kind.
func (c *Cores) values(kind string, of func(CoreRound) float64) (all []float64) {
	for _, k := range c.Kinds {
		if k.Name == kind {
			for _, r := range k.Rounds {
				all = append(all, of(r))
			}
		}
	}
	return all
}

func cpuOf(r CoreRound) float64        { return r.CPUMicros }
func locksOf(r CoreRound) float64      { return r.LockNanos }
func runnableOf(r CoreRound) float64   { return r.RunnableMicros }
func connectionOf(r CoreRound) float64 { return r.ConnectionMicros }

// growth returns by how much a hit costs more on two cores of one edge than on those of two, in
// each round, in order.
func (c *Cores) growth() []float64 {
	apart, together := c.values(Apart, cpuOf), c.values(Together, cpuOf)
	var all []float64
	for i := range min(len(apart), len(together)) {
		all = append(all, together[i]/apart[i])
	}
	slices.Sort(all)
	return all
}

// waiting returns the part of a hit's time for which it waits for locks in one edge with two cores.
func (c *Cores) waiting() float64 {
	return median(c.values(Together, locksOf)) / 1000 / median(c.values(Apart, cpuOf))
}

// Tables returns the table of figures, and the one of predictions for more cores.
func (c *Cores) Tables() []Table {
	measured := Table{Head: []string{"edge", "CPU µs a hit, least", "median", "wait for locks, ns a hit", "wait for a processor, µs",
		"CPU µs a connection"}}
	for _, k := range c.Kinds {
		measured.Rows = append(measured.Rows, []string{k.Name, micros(slices.Min(c.values(k.Name, cpuOf))),
			micros(median(c.values(k.Name, cpuOf))), fixed(median(c.values(k.Name, locksOf)), 1),
			fixed(median(c.values(k.Name, runnableOf)), 1), fixed(median(c.values(k.Name, connectionOf)), 1)})
	}
	growth := c.growth()
	if len(growth) == 0 {
		return []Table{measured}
	}
	more := Table{Head: []string{"growth from one core to two", "", "4 cores", "16 cores", "64 cores"}}
	for _, g := range []struct {
		name string
		of   float64
	}{{"lower quartile", growth[len(growth)/4]}, {"median", median(growth)}, {"upper quartile", growth[len(growth)*3/4]}} {
		best, worst := usl.Fit(g.of, c.waiting())
		for _, l := range []struct {
			name string
			usl.Law
		}{{"all as α", best}, {"waiting as α, the rest as β", worst}} {
			row := []string{fmt.Sprintf("%.3f, %s", g.of, g.name), fmt.Sprintf("%s: α %.4f, β %.5f", l.name, l.Alpha, l.Beta)}
			for _, n := range []float64{4, 16, 64} {
				row = append(row, fmt.Sprintf("%.1f ×", l.Speedup(n)))
			}
			more.Rows = append(more.Rows, row)
		}
	}
	return []Table{measured, more}
}

// Section returns the section of docs/reference/scale.md.
func (c *Cores) Section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s;\n%s, %d rounds of %g s in turn.\n", c.Machine, c.Date, len(c.growth()), c.Seconds)
	for _, t := range c.Tables() {
		b.WriteString("\n" + t.Markdown())
	}
	return b.String()
}

// median returns the middle value; 0: there is none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
