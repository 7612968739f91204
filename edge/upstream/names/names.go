// Package names decides which addresses a name of an origin has: those of its records A and AAAA,
// or of the servers that its records SRV name (RFC 2782). It looks the name up often, because Go's
// resolver does not report the lifetime of an answer; resolvers cache answers as long as DNS
// permits.
package names

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// A Member is one address of a name.
type Member struct {
	At       netip.AddrPort
	Host     string // of its URL
	Priority int    // its rank among the servers of a service: the lowest gets the requests
}

// Compare orders members.
func Compare(a, b Member) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.At.Compare(b.At), cmp.Compare(a.Host, b.Host))
}

// A Resolver looks names up.
type Resolver struct {
	Addresses func(ctx context.Context, name string) ([]netip.Addr, error)
	Servers   func(ctx context.Context, name string) ([]*net.SRV, error)
}

// System returns the resolver of the system.
func System() Resolver {
	return Resolver{
		Addresses: func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		},
		Servers: func(ctx context.Context, name string) ([]*net.SRV, error) {
			_, all, err := net.DefaultResolver.LookupSRV(ctx, "", "", name)
			if len(all) > 0 {
				err = nil // of other records, which are malformed
			}
			return all, err
		},
	}
}

// A Name is a name with several addresses.
type Name struct {
	Host    string // NAME, or NAME:PORT
	Service bool   // SRV records say where it is
	Port    uint16 // of its addresses, unless it is a service
	Weight  int    // of each address, unless it is a service
	seen    map[Member]time.Time
	weights map[Member]int
}

const (
	// Most bounds the addresses of a name.
	Most = 256
	// Every is the interval between two lookups, and First that of a name without an address.
	Every, First = 5 * time.Second, time.Second
	// GoneAfter is how long an address must have been missing from the answers. A name with many
	// addresses may return only some of them each time.
	GoneAfter = 15 * time.Second
	// timeout bounds one lookup, with those of the servers of a service.
	timeout = 5 * time.Second
)

// Watch looks a name up until ctx ends. It calls use after the first lookup, and after each that
// has changed the members or their weights.
func (n *Name) Watch(ctx context.Context, r Resolver, use func(members map[Member]int, err error)) {
	for first := true; ; first = false {
		answer, err := n.lookup(ctx, r)
		if ctx.Err() != nil {
			return
		}
		if n.update(answer, time.Now()) || first {
			use(maps.Clone(n.weights), err)
		}
		wait := Every
		if len(n.weights) == 0 {
			wait = First
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// lookup returns the members of a name, with their weights.
func (n *Name) lookup(ctx context.Context, r Resolver) (map[Member]int, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found := map[Member]int{}
	add := func(name string, m Member, port uint16, weight int) error {
		addrs, err := r.Addresses(ctx, name)
		for _, addr := range addrs {
			if m.At = netip.AddrPortFrom(addr.Unmap(), port); len(found) < Most {
				found[m] += weight
			}
		}
		return err
	}
	if !n.Service {
		name, _, err := net.SplitHostPort(n.Host)
		if err != nil {
			name = n.Host
		}
		return found, add(name, Member{Host: n.Host}, n.Port, n.Weight)
	}
	servers, err := r.Servers(ctx, n.Host)
	errs := []error{err}
	for _, s := range servers {
		name := strings.TrimSuffix(s.Target, ".")
		if name == "" {
			continue // the service is not there (RFC 2782)
		}
		m := Member{Host: net.JoinHostPort(name, strconv.Itoa(int(s.Port))), Priority: int(s.Priority)}
		// A weight of 0 is a very small one.
		errs = append(errs, add(name, m, s.Port, max(1, int(s.Weight))))
	}
	return found, errors.Join(errs...)
}

// update takes an answer, and reports whether it changes the members or their weights. An answer
// without addresses changes nothing.
func (n *Name) update(answer map[Member]int, now time.Time) (changed bool) {
	if n.seen == nil {
		n.seen, n.weights = map[Member]time.Time{}, map[Member]int{}
	}
	for m, weight := range answer {
		changed = changed || n.weights[m] != weight
		n.seen[m], n.weights[m] = now, weight
	}
	for m, seen := range n.seen {
		if len(answer) > 0 && now.Sub(seen) >= GoneAfter {
			delete(n.seen, m)
			delete(n.weights, m)
			changed = true
		}
	}
	return changed
}
