package access

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
)

// addresses is a set of addresses: sorted ranges that neither overlap nor touch. A binary search
// finds one range among a million in twenty steps.
type addresses []span

// A span is the range of addresses from first to last, both included.
type span struct{ first, last netip.Addr }

// parseAddresses parses a list with one address or network on each line; # begins a comment.
func parseAddresses(text []byte) (addresses, error) {
	var all addresses
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line, _, _ = bytes.Cut(line, []byte("#"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		p, err := ParsePrefix(string(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		all = append(all, span{p.Addr(), lastOf(p)})
	}
	return all.merged(), nil
}

// lastOf returns the last address of a network.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(b); bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

// merged sorts a and joins the spans that overlap or touch.
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

// reaches reports whether a, which is not before s.first, lies in s or directly after it.
func (s span) reaches(a netip.Addr) bool {
	return a.Compare(s.last) <= 0 || s.last.Next() == a
}

func later(a, b netip.Addr) netip.Addr {
	if a.Less(b) {
		return b
	}
	return a
}

// has reports whether the set contains a client's address. An IPv4 address matches in its
// IPv6-mapped form too; a zone is ignored.
func (a addresses) has(client netip.Addr) bool {
	client = client.Unmap().WithZone("")
	i, found := slices.BinarySearchFunc(a, client, func(s span, c netip.Addr) int { return s.first.Compare(c) })
	return found || i > 0 && client.Compare(a[i-1].last) <= 0
}
