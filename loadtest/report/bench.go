//go:build linux

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iconedge/iconedge/loadtest/load"
)

// A Bench is the result of `loadtest bench`.
type Bench struct {
	Date     string   `json:"date"`
	Machine  Machine  `json:"machine"`
	Versions []string `json:"versions"`
	Rounds   int      `json:"rounds"`
	Seconds  float64  `json:"seconds"` // duration of a round for each server and column
	Rate     float64  `json:"rate"`    // of the open loop
	Icons    int      `json:"icons"`
	Servers  []Peer   `json:"servers"`
	Columns  []string `json:"columns"`
	Cells    []Cell   `json:"cells"`
	Misses   []Misses `json:"misses"`
	Left     []string `json:"left_out"` // omitted servers and columns, with reasons

	Allocations []Allocation `json:"allocations,omitempty"`
}

// A Machine describes the machine of the measurement.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	System string `json:"system"`
}

// String describes the machine in a line of text.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, Linux %s, %s", m.CPU, m.Cores, m.Kernel, m.System)
}

// A Peer is one of the servers.
type Peer struct {
	Name   string `json:"name"`
	Ours   bool   `json:"ours"`
	Memory int64  `json:"memory_bytes"` // at the end
}

// A Cell holds the results of one server in one column, round by round.
type Cell struct {
	Server string        `json:"server"`
	Column string        `json:"column"`
	Rate   float64       `json:"rate"` // 0: at saturation
	Rounds []load.Result `json:"rounds"`
}

// Misses is the cost of a series of misses in the cheapest round.
type Misses struct {
	What   string  `json:"what"`
	Server float64 `json:"server_us"`
	Origin float64 `json:"origin_us"`
}

// An Allocation is the number of objects that an edge allocates for a hit.
type Allocation struct {
	Server string  `json:"server"`
	Column string  `json:"column"`
	Each   float64 `json:"each"`
}

// Merge adds the cells, servers and omissions of another part.
func (b *Bench) Merge(part *Bench) {
	b.Cells, b.Left = append(b.Cells, part.Cells...), append(b.Left, part.Left...)
	for _, p := range part.Servers {
		if !slices.ContainsFunc(b.Servers, func(q Peer) bool { return p.Name == q.Name }) {
			b.Servers = append(b.Servers, p)
		}
	}
}

// cell returns the cell of a server, column and rate.
func (b *Bench) cell(server, column string, rate float64) (Cell, bool) {
	i := slices.IndexFunc(b.Cells, func(c Cell) bool {
		return c.Server == server && c.Column == column && c.Rate == rate && len(c.Rounds) > 0
	})
	if i < 0 {
		return Cell{}, false
	}
	return b.Cells[i], true
}

// Add stores the result of a round.
func (b *Bench) Add(server, column string, rate float64, r load.Result) {
	i := slices.IndexFunc(b.Cells, func(c Cell) bool { return c.Server == server && c.Column == column && c.Rate == rate })
	if i < 0 {
		i = len(b.Cells)
		b.Cells = append(b.Cells, Cell{Server: server, Column: column, Rate: rate})
	}
	b.Cells[i].Rounds = append(b.Cells[i].Rounds, r)
}

// cheapest returns the minimum of the CPU time over the rounds, in microseconds for each response:
// disturbances only increase it.
func (c Cell) cheapest() float64 {
	return slices.MinFunc(c.Rounds, func(a, b load.Result) int { return cmp.Compare(a.CPUMicros, b.CPUMicros) }).CPUMicros
}

// median returns the median of a figure over the rounds; for an even number of rounds, the mean of
// the middle two.
func (c Cell) median(figure func(load.Result) float64) float64 {
	var all []float64
	for _, r := range c.Rounds {
		all = append(all, figure(r))
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// typical returns the round whose CPU time is the median, or next above it.
func (c Cell) typical() load.Result {
	rounds := slices.Clone(c.Rounds)
	slices.SortFunc(rounds, func(a, b load.Result) int { return cmp.Compare(a.CPUMicros, b.CPUMicros) })
	return rounds[len(rounds)/2]
}

func cpu(r load.Result) float64 { return r.CPUMicros }

func perSecond(r load.Result) float64 { return r.PerSecond }

// busy returns the share of its core that a server used, in per cent: near 100 at saturation,
// unless the client was too slow.
func busy(r load.Result) float64 { return r.CPUMicros * r.PerSecond / 1e4 }

// ratio divides our cheapest round by theirs.
func ratio(ours, theirs Cell) float64 { return ours.cheapest() / theirs.cheapest() }
