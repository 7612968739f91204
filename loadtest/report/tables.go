//go:build linux

package report

import (
	"fmt"

	"github.com/iconedge/iconedge/loadtest/load"
)

// CPUTable returns the CPU time of a response by server and column: that of the cheapest round,
// with the median in brackets.
func (b *Bench) CPUTable(rate float64) Table {
	return b.table("CPU µs an answer", rate, func(c Cell) string {
		return fmt.Sprintf("%s (%s)", micros(c.cheapest()),
			micros(c.median(cpu)))
	})
}

// PaceTable returns the responses a second of a server, with its use of the core in per cent in
// brackets: medians.
func (b *Bench) PaceTable(rate float64) Table {
	return b.table("answers/s (core %)", rate, func(c Cell) string {
		return fmt.Sprintf("%s (%.0f)",
			Grouped(c.median(perSecond)), c.median(busy))
	})
}

// table returns a table with a row for each server and a column for each measured column.
func (b *Bench) table(what string, rate float64, figure func(Cell) string) Table {
	columns := b.measured(rate)
	t := Table{Head: append([]string{what}, columns...)}
	for _, p := range b.Servers {
		row := []string{p.Name}
		for _, column := range columns {
			if c, ok := b.cell(p.Name, column, rate); ok {
				row = append(row, figure(c))
			} else {
				row = append(row, none)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// measured lists the columns with results.
func (b *Bench) measured(rate float64) (columns []string) {
	for _, column := range b.Columns {
		for _, c := range b.Cells {
			if c.Column == column && c.Rate == rate && len(c.Rounds) > 0 {
				columns = append(columns, column)
				break
			}
		}
	}
	return columns
}

// TargetTable returns the targets and the results of our servers.
func (b *Bench) TargetTable() Table {
	t := Table{Head: []string{"ratio of CPU time, cheapest rounds", "target"}}
	var ours []string
	for _, p := range b.Servers {
		if p.Ours {
			ours = append(ours, p.Name)
			t.Head = append(t.Head, p.Name, "")
		}
	}
	for _, target := range Targets {
		row, found := []string{target.String(b.Rate), fmt.Sprintf("≤ %.2f", target.Most)}, false
		for _, server := range ours {
			r, ok := b.reached(target, server)
			if !ok {
				row = append(row, none, none)
				continue
			}
			found = true
			row = append(row, fmt.Sprintf("%.3f", r), target.verdict(r))
		}
		if found {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// String describes the comparison.
func (t Target) String(rate float64) string {
	switch {
	case t.Of != "":
		return fmt.Sprintf("%s, %s : %s", t.Of, t.Column, t.Against)
	case t.Than != "":
		return fmt.Sprintf("%s : %s", t.Column, t.Than)
	case t.Rated:
		return fmt.Sprintf("%s, %s/s : %s", t.Column, Grouped(rate), t.Against)
	}
	return fmt.Sprintf("%s : %s", t.Column, t.Against)
}

// ColumnTable returns all figures of one column: medians over the rounds.
func (b *Bench) ColumnTable(column string, rate float64) Table {
	t := Table{Head: []string{column, "CPU µs", "core %", "answers/s", "p50 µs", "p99 µs", "p99.9 µs", "memory MB"}}
	for _, p := range b.Servers {
		c, ok := b.cell(p.Name, column, rate)
		if !ok {
			continue
		}
		median := func(figure func(load.Result) float64) float64 { return c.median(figure) }
		t.Rows = append(t.Rows, []string{
			p.Name, micros(median(cpu)), fixed(median(busy), 0), Grouped(median(perSecond)),
			fixed(median(func(r load.Result) float64 { return r.Latency.P50 }), 0),
			fixed(median(func(r load.Result) float64 { return r.Latency.P99 }), 0),
			fixed(median(func(r load.Result) float64 { return r.Latency.P999 }), 0),
			fixed(float64(p.Memory)/1e6, 0),
		})
	}
	return t
}

// MissTable returns the costs of misses.
func (b *Bench) MissTable() Table {
	t := Table{Head: []string{"CPU µs a miss", "server", "origin"}}
	for _, m := range b.Misses {
		t.Rows = append(t.Rows, []string{m.What, micros(m.Server), micros(m.Origin)})
	}
	return t
}

// Latency plots the typical round of every server in a column.
func (b *Bench) Latency(title, column string, rate float64) []byte {
	var runs []Run
	for _, p := range b.Servers {
		if c, ok := b.cell(p.Name, column, rate); ok {
			runs = append(runs, Run{Name: p.Name, Result: c.typical()})
		}
	}
	return LatencyPlot(title, runs)
}
