package edge

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
)

// addresses are a set of addresses, as ranges in order that neither overlap nor touch: one is found among a million in twenty steps.
type addresses []span

// A span is the addresses from one to another, both among them.
type span struct{ first, last netip.Addr }

// parseAddresses reads a list: an address or a network a line, words behind # are for people.
func parseAddresses(text []byte) (addresses, error) {
	var all addresses
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line, _, _ = bytes.Cut(line, []byte("#"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		p, err := parsePrefix(string(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		all = append(all, span{p.Addr(), lastOf(p)})
	}
	return all.merged(), nil
}

// lastOf is the last address of a network.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(b); bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

// merged puts a in order and joins what overlaps or touches.
func (a addresses) merged() addresses {
	slices.SortFunc(a, func(x, y span) int { return x.first.Compare(y.first) })
	joined := a[:0]
	for _, s := range a {
		if n := len(joined); n > 0 && joined[n-1].reaches(s.first) {
			joined[n-1].last = later(joined[n-1].last, s.last)
			continue
		}
		joined = append(joined, s)
	}
	return slices.Clip(joined)
}

// reaches reports whether an address that is not before s is in it, or the next one behind it.
func (s span) reaches(a netip.Addr) bool {
	return a.Compare(s.last) <= 0 || s.last.Next() == a
}

func later(a, b netip.Addr) netip.Addr {
	if a.Less(b) {
		return b
	}
	return a
}

// has reports whether a client is in the set. An IPv4 address is one also where it is written as IPv6; a zone is not looked at.
func (a addresses) has(client netip.Addr) bool {
	client = client.Unmap().WithZone("")
	i, found := slices.BinarySearchFunc(a, client, func(s span, c netip.Addr) int { return s.first.Compare(c) })
	return found || i > 0 && client.Compare(a[i-1].last) <= 0
}
