//go:build linux

package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

// A burst is one request on many connections of a region at once, to both edges.
type burst struct {
	region, group int // of the clients
	connections   int
	sameClient    bool // all connections have one address
}

// send sends a burst of q, and calls each for every answer.
func (r *run) send(b burst, q question, each func(question, answer)) {
	var all sync.WaitGroup
	ready := make(chan struct{})
	for k := range b.connections {
		from := clientAddr(b.region, b.group, k)
		if b.sameClient {
			from = clientAddr(b.region, b.group, 0)
		}
		c := r.crowd.newClient(r.regions[b.region], from, false)
		c.turn = k
		all.Go(func() {
			<-ready
			each(q, c.ask(q.request(2, false)))
		})
	}
	close(ready)
	all.Wait()
}

// inRegions runs a function for all regions concurrently.
func (r *run) inRegions(do func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, len(r.regions))
	for i := range r.regions {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

const (
	coldClients = 50              // in each region
	calm        = 2 * time.Second // after that time no cold icon is in flight
)

// coldIcon makes clients in all regions request an icon that no cache has. The origin should get
// one request from each shield.
func (r *run) coldIcon(ctx context.Context, p *Phase) error {
	r.crowd.cold.Store(false)
	defer r.crowd.cold.Store(true)
	if err := load.Pause(ctx, calm); err != nil {
		return err
	}
	asked := func() (float64, error) {
		return r.origin.metric(ctx, "iconedge_origin_requests_total", `route="cdn"`)
	}
	before, err := asked()
	if err != nil {
		return err
	}
	q := question{kind: ofCold, target: r.judge.reserved[0]}
	err = r.inRegions(func(i int) error {
		r.send(burst{region: i, group: groupCold, connections: coldClients}, q, func(q question, a answer) { r.judge.count(p.tally, q, a) })
		return nil
	})
	if err != nil {
		return err
	}
	after, err := asked()
	if err != nil {
		return err
	}
	// The shield is chosen by its address. The relays of each region have different addresses; in a
	// real fleet they are the same.
	p.hold(1 <= after-before && after-before <= float64(len(r.shields)),
		"%d concurrent clients; the origin got %.0f requests", coldClients*len(r.regions), after-before)
	return nil
}

// The groups of clients' addresses in a region. A client that reaches its limit in one group must
// not be in another.
const (
	groupCrowd = 1 + iota
	groupCold
	groupWatch
	groupLimits // and the following numbers
)
