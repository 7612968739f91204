//go:build linux

package report

import "fmt"

// HitTargets are the targets of hits of every site and protocol.
var HitTargets = []Target{
	{Of: Forwarding, Column: Zipf, Against: Nginx, Most: 0.70, Aim: 0.60},
	{Of: Forwarding, Column: Browser, Against: Nginx, Most: 0.65, Aim: 0.50},
	{Of: Forwarding, Column: Unchanged, Against: Nginx, Most: 0.75, Aim: 0.60},
	{Of: ForwardingSites, Column: Zipf, Against: Nginx, Most: 0.77, Aim: 0.65},
	{Of: ForwardingSites, Column: Zipf, Against: Forwarding, Most: 1.10, Aim: 1.05},
	{Of: Forwarding, Column: Zipf, Against: HAProxy, Most: 1, Aim: 0.90},
	{Of: Ours, Column: Zipf, Against: Before, Most: 1.03, Aim: 1},
	{Of: Ours, Column: Unchanged, Against: Before, Most: 1.03, Aim: 1},
	{Of: Sites, Column: Zipf, Against: Ours, Most: 1.10},
	{Of: Sites, Column: Browser, Against: Ours, Most: 1.10},
	{Of: Sites, Column: Unchanged, Against: Ours, Most: 1.10},
	{Of: Forwarding, Column: Streams50, Against: Nginx, Most: 0.25, Aim: 0.15},
	{Of: Ours, Column: Quic10, Against: Smallest, Most: 1.2, Aim: 0.9},
	{Of: Ours, Column: Quic50, Against: Smallest, Most: 1.2, Aim: 0.9},
	{Of: Forwarding, Column: Quic10, Against: Smallest, Most: 1.2, Aim: 0.9},
	{Of: Forwarding, Column: Quic50, Against: Smallest, Most: 1.2, Aim: 0.9},
	{Of: Forwarding, Column: StoredMiss, Against: Nginx, Most: 0.9, Aim: 0.6},
}

// mostAllocated is the number of objects for a hit that counts as none: what the edge does in the
// background allocates too.
const mostAllocated = 0.05

// HitTable returns the targets of hits with the measured ratios, and the objects that hits
// allocate.
func (b *Bench) HitTable() Table {
	t := Table{Head: []string{"ratio of CPU time, cheapest rounds", "measured", "must", "aim", ""}}
	for _, target := range HitTargets {
		row := []string{target.String(0), none, fmt.Sprintf("%.2f", target.Most), fixed(target.Aim, 2), "not measured"}
		if r, ok := b.reached(target, target.Of); ok {
			row[1], row[4] = fmt.Sprintf("%.3f", r), target.verdict(r)
		}
		t.Rows = append(t.Rows, row)
	}
	for _, a := range b.Allocations {
		row := []string{"objects allocated: " + a.Server + ", " + a.Column, fmt.Sprintf("%.1f", a.Each), none, none, ""}
		if a.Column != Quic50 {
			row[2], row[4] = "0", "missed"
			if a.Each < mostAllocated {
				row[4] = "reached"
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
