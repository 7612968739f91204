//go:build linux

package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

// at sends one question from many connections of a region at once, over both of its edges, and hands each answer over.
func (r *run) at(i, group, n int, sameClient bool, q question, each func(question, answer)) {
	var all sync.WaitGroup
	ready := make(chan struct{})
	for k := range n {
		from := clientAddr(i, group, k)
		if sameClient {
			from = clientAddr(i, group, 0)
		}
		c := r.crowd.newClient(r.regions[i], from, false)
		c.turn = k
		all.Go(func() {
			<-ready
			each(q, c.ask(q.request(2, false)))
		})
	}
	close(ready)
	all.Wait()
}

// inRegions does something for all regions at once.
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
	coldClients = 50              // of each region
	calm        = 2 * time.Second // after which no cold icon is under way any more
)

// coldIcon has clients in all regions ask for an icon that nobody had: their edges and the shields are to ask the origin once.
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
		r.at(i, groupCold, coldClients, false, q, func(q question, a answer) { r.judge.count(p.tally, q, a) })
		return nil
	})
	if err != nil {
		return err
	}
	after, err := asked()
	if err != nil {
		return err
	}
	// Which shield is asked follows from its address, and relays have other ones in each region: in the world it is the same for all.
	p.hold(1 <= after-before && after-before <= float64(len(r.shields)), "%d clients asked at once; the origin was asked %.0f times", coldClients*len(r.regions), after-before)
	return nil
}

// The groups of clients' addresses in a region: whoever has made many calls must not be one of the others.
const (
	groupCrowd = 1 + iota
	groupCold
	groupWatch
	groupLimits // and behind
)
