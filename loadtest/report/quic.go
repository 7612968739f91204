//go:build linux

package report

import "fmt"

// The states of connections over HTTP/3.
const (
	QuicHandshake = "before the handshake is complete"
	QuicRest      = "at rest after ten requests"
	QuicRun       = "ten hits run on each"
	QuicWait      = "ten requests wait for the origin on each"
)

// quicTargets are the most bytes that a connection should take in a state.
var quicTargets = map[string]float64{QuicHandshake: 64_000, QuicRest: 120_000, QuicRun: 250_000, QuicWait: 250_000}

// A Quic is the result of `loadtest quic`.
type Quic struct {
	Points []QuicPoint
}

// A QuicPoint is the memory that connections in one state take of a server.
type QuicPoint struct {
	Server, State string
	AtOnce        bool // they were opened at once, not one after the other
	Connections   int
	Before, After int64   // bytes of the process; After is the peak if the state does not last
	Settled       int64   // later; 0: the state does not last
	IdleCPU       float64 // cores; 0: not measured
	Charged       float64 // bytes that an edge charges its clients with for HTTP/3
}

// String returns a line about the point.
func (p QuicPoint) String() string {
	s := fmt.Sprintf("%s, %d connections %s, %s: %s kB each", p.Server, p.Connections, p.opened(), p.State, p.each(p.After))
	if p.Settled > 0 {
		s += fmt.Sprintf(", later %s", p.each(p.Settled))
	}
	if p.IdleCPU > 0 {
		s += fmt.Sprintf(", %.2f %% of a core", 100*p.IdleCPU)
	}
	return s
}

func (p QuicPoint) opened() string {
	if p.AtOnce {
		return "at once"
	}
	return "one after the other"
}

// each returns the kilobytes of a connection when the process has so many bytes.
func (p QuicPoint) each(bytes int64) string {
	if bytes == 0 {
		return none
	}
	return fmt.Sprintf("%.1f", float64(bytes-p.Before)/float64(max(1, p.Connections))/1e3)
}

// Table returns all points.
func (q *Quic) Table() Table {
	t := Table{Head: []string{"connections over HTTP/3", "server", "number", "opened", "kB each", "kB each, later",
		"kB charged", "CPU at rest", "target"}}
	for _, p := range q.Points {
		cpu, charged, verdict := none, none, ""
		if p.Charged > 0 {
			charged = fmt.Sprintf("%.1f", p.Charged/float64(max(1, p.Connections))/1e3)
		}
		if p.IdleCPU > 0 {
			cpu = fmt.Sprintf("%.2f %%", 100*p.IdleCPU)
		}
		if most := quicTargets[p.State]; p.Server == Ours {
			each := float64(p.After-p.Before) / float64(max(1, p.Connections))
			verdict = fmt.Sprintf("≤ %.0f: %s", most/1e3, Target{Most: most}.verdict(each))
		}
		t.Rows = append(t.Rows, []string{p.State, p.Server, Grouped(float64(p.Connections)), p.opened(),
			p.each(p.After), p.each(p.Settled), charged, cpu, verdict})
	}
	return t
}
