package access

import (
	"bytes"
	"fmt"
	"net/netip"

	"go4.org/netipx"

	"github.com/iconedge/iconedge/internal/hostport"
)

// addresses is a set of addresses, in sorted ranges. The zero value is empty.
type addresses struct{ set netipx.IPSet }

// parseAddresses parses a list with one address or network on each line; # begins a comment.
func parseAddresses(text []byte) (*addresses, error) {
	var all netipx.IPSetBuilder
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line, _, _ = bytes.Cut(line, []byte("#"))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		p, err := hostport.ParsePrefix(string(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		all.AddPrefix(p)
	}
	set, err := all.IPSet()
	if err != nil {
		return nil, err
	}
	return &addresses{*set}, nil
}

// ranges returns the number of ranges, which neither overlap nor touch.
func (a *addresses) ranges() int { return len(a.set.Ranges()) }

// has reports whether the set contains a client's address. An IPv4 address matches in its
// IPv6-mapped form too; a zone is ignored.
func (a *addresses) has(client netip.Addr) bool {
	return a.set.Contains(client.Unmap().WithZone(""))
}
