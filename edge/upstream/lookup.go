package upstream

import (
	"context"
	"net/netip"
	"time"
)

const (
	// lookupEvery is the interval between two lookups of an origin's name. Go's resolver does not
	// report the lifetime of an answer, so the edge looks up often; resolvers cache answers as long
	// as DNS permits.
	lookupEvery = 5 * time.Second
	// goneAfter is how long an address must have been missing from the answers. A name with many
	// addresses may return only some of them each time.
	goneAfter = 15 * time.Second
)

// addresses are the addresses of an origin's name, with the time of the last answer that had each.
type addresses map[netip.Addr]time.Time

// update records an answer. It reports whether an address has gone away.
func (a addresses) update(answer []netip.Addr, now time.Time) (gone bool) {
	for _, addr := range answer {
		a[addr] = now
	}
	for addr, seen := range a {
		if now.Sub(seen) >= goneAfter {
			delete(a, addr)
			gone = true
		}
	}
	return gone
}

// lookupLoop looks an origin's name up until ctx ends. Every new connection goes to the addresses
// of that moment by itself. When an address goes away, requests use new connections from then on,
// and the Transport closes the old ones once they have been idle for a while. A failed lookup
// changes nothing.
func (c *Client) lookupLoop(ctx context.Context, o *origin) {
	tick := time.NewTicker(lookupEvery)
	defer tick.Stop()
	known := addresses{}
	for {
		answer, err := c.lookup(ctx, o.url.Hostname())
		if err == nil && known.update(answer, time.Now()) {
			o.moved.Add(1)
			o.log.Info("origin addresses changed", "addresses", answer)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
