//go:build linux

package report

import (
	"fmt"
	"slices"
)

// The rows and columns of a table of handshakes.
const (
	OverTCP  = "TLS 1.3 over TCP"
	OverQUIC = "QUIC"

	Full      = "full"
	Resumed   = "resumed"
	Elsewhere = "resumed at another edge"
)

// A Handshakes is the result of `loadtest handshakes`.
type Handshakes struct {
	Date    string      `json:"date"`
	Machine Machine     `json:"machine"`
	Number  int         `json:"number"` // of connections in each round
	Clients int         `json:"clients"`
	Kinds   []Handshake `json:"kinds"`
}

// A Handshake is one kind of new connection.
type Handshake struct {
	Over   string    `json:"over"`
	Kind   string    `json:"kind"`
	Rounds []float64 `json:"rounds"` // µs of CPU time of an edge
}

// Add adds a round.
func (h *Handshakes) Add(over, kind string, micros float64) {
	i := slices.IndexFunc(h.Kinds, func(k Handshake) bool { return k.Over == over && k.Kind == kind })
	if i < 0 {
		i, h.Kinds = len(h.Kinds), append(h.Kinds, Handshake{Over: over, Kind: kind})
	}
	h.Kinds[i].Rounds = append(h.Kinds[i].Rounds, micros)
}

// Table returns the CPU time of a connection, and how many of them take a second.
func (h *Handshakes) Table() Table {
	kinds := []string{Full, Resumed, Elsewhere}
	t := Table{Head: append([]string{"CPU µs a connection (connections a second on one core)"}, kinds...)}
	for _, over := range []string{OverTCP, OverQUIC} {
		row := []string{over}
		for _, kind := range kinds {
			cell := none
			for _, k := range h.Kinds {
				if k.Over == over && k.Kind == kind {
					least := slices.Min(k.Rounds)
					cell = fmt.Sprintf("%.0f (%s)", least, Grouped(1e6/least))
				}
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
