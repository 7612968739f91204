//go:build linux

package fleet

import (
	"context"
	"net/http"
	"sync"
	"time"
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

// everywhere does something for all regions at once.
func (r *run) everywhere(do func(i int)) {
	var all sync.WaitGroup
	for i := range r.regions {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

const (
	coldClients = 50              // of each region
	calm        = 2 * time.Second // after which no cold icon is under way any more
)

// coldIcon has clients in all regions ask for an icon that nobody had: their edges and the shields are to ask the origin once.
func (r *run) coldIcon(ctx context.Context, p *Phase) error {
	r.crowd.cold.Store(false)
	defer r.crowd.cold.Store(true)
	if err := pause(ctx, calm); err != nil {
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
	r.everywhere(func(i int) {
		r.at(i, groupCold, coldClients, false, q, func(q question, a answer) {
			v, why := r.judge.see(p.tally, q, a)
			p.tally.add(q, a, v, why)
		})
	})
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

const (
	limit     = 60  // searches a minute and client, by default
	overLimit = 160 // calls of one client at once: more than two edges would let through
)

// accepted is how many of a client's many calls at once got through in a region.
func (r *run) accepted(i, group int, p *Phase) (n int) {
	var mu sync.Mutex
	q := question{kind: ofSearch, target: r.judge.searches[0]}
	r.at(i, group, overLimit, true, q, func(q question, a answer) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case a.err == nil && a.status == http.StatusOK:
			n++
		case a.err != nil || a.status != http.StatusTooManyRequests: // which is no failure here
			p.tally.add(q, a, failed, "neither accepted nor refused")
		}
	})
	return n
}

// acceptedAll is accepted for every region.
func (r *run) acceptedAll(group int, p *Phase) []int {
	n := make([]int, len(r.regions))
	r.everywhere(func(i int) { n[i] = r.accepted(i, group, p) })
	return n
}

// all reports whether each of them is n.
func all(counts []int, n int) bool {
	for _, c := range counts {
		if c != n {
			return false
		}
	}
	return true
}

// killRedis holds limits that edges share to what they promise: exact while Redis is there, each edge's own while it is not, exact again when it
// is back.
func (r *run) killRedis(ctx context.Context, p *Phase) error {
	before := r.acceptedAll(groupLimits, p)
	p.hold(all(before, limit), "with Redis %d calls of one client at once, over both edges: accepted %v by region, the limit is %d", overLimit, before, limit)
	r.redis.kill()
	began := time.Now()
	if err := r.awaitRedis(ctx, 0); err != nil {
		return err
	}
	p.note("every edge says that Redis is gone after %s", since(began))
	without := r.acceptedAll(groupLimits+1, p)
	p.hold(all(without, limit*edgesEach), "without Redis: accepted %v, as each edge counts alone", without)
	if err := pause(ctx, r.half()); err != nil {
		return err
	}
	if err := r.redis.start(ctx); err != nil {
		return err
	}
	began = time.Now()
	if err := r.awaitRedis(ctx, 1); err != nil {
		return err
	}
	p.note("every edge says that Redis is back after %s", since(began))
	again := r.acceptedAll(groupLimits+2, p)
	p.hold(all(again, limit), "with Redis again: accepted %v", again)
	return nil
}

// awaitRedis waits until every edge's metric of Redis says so.
func (r *run) awaitRedis(ctx context.Context, up float64) error {
	for _, e := range r.edges() {
		err := await(ctx, func() (bool, error) {
			v, err := e.metric(ctx, "iconedge_edge_redis_up")
			return v == up, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
