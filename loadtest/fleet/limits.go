//go:build linux

package fleet

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

const (
	limit     = 60  // default limit of searches a minute for a client
	overLimit = 160 // concurrent calls of one client: more than two separate edges would allow
	attempts  = 3   // to have Redis decide all calls
)

// killRedis checks the promises about shared limits: they are exact while Redis decides, each edge
// counts alone while Redis is away, and they are exact again afterwards.
func (r *run) killRedis(ctx context.Context, p *Phase) error {
	if err := r.sharedLimits(ctx, p, groupLimits); err != nil {
		return err
	}
	r.redis.kill()
	if err := r.awaitRedis(ctx, p, "gone", 0); err != nil {
		return err
	}
	err := r.inRegions(func(i int) error {
		c, err := r.callAtOnce(ctx, i, groupLimits+attempts, p)
		p.hold(c.accepted == limit*edgesEach, "%s without Redis: %d accepted, as each edge counts alone", r.regions[i].name, c.accepted)
		return err
	})
	if err == nil {
		err = load.Pause(ctx, r.half())
	}
	if err == nil {
		err = r.redis.start(ctx)
	}
	if err == nil {
		err = r.awaitRedis(ctx, p, "back", 1)
	}
	if err != nil {
		return err
	}
	return r.sharedLimits(ctx, p, groupLimits+attempts+1)
}

// sharedLimits makes a client in each region exceed its limit. If Redis does not answer a check in
// time, the edge decides alone and nothing is promised, so the next client tries again.
func (r *run) sharedLimits(ctx context.Context, p *Phase, group int) error {
	return r.inRegions(func(i int) error {
		region := r.regions[i]
		for attempt := range attempts {
			if err := region.awaitRedis(ctx, 1); err != nil {
				return err
			}
			c, err := r.callAtOnce(ctx, i, group+attempt, p)
			if err != nil {
				return err
			}
			if c.alone == 0 || attempt == attempts-1 {
				p.hold(c.alone == 0 && c.accepted == limit, "%s: of %d concurrent calls of one client, over both "+
					"edges, %d were accepted; %.0f decided without Redis; attempt %d",
					region.name, overLimit, c.accepted, c.alone, attempt+1)
				return nil
			}
		}
		return nil
	})
}

// calls counts the results of one client's calls.
type calls struct {
	accepted int
	alone    float64 // checks that an edge decided without Redis
}

// callAtOnce makes many concurrent calls as one client, over both edges of a region.
func (r *run) callAtOnce(ctx context.Context, i, group int, p *Phase) (c calls, err error) {
	before, err := r.regions[i].decidedAlone(ctx)
	if err != nil {
		return c, err
	}
	var mu sync.Mutex
	q := question{kind: ofSearch, target: r.judge.searches[0]}
	r.send(burst{region: i, group: group, connections: overLimit, sameClient: true}, q, func(q question, a answer) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case a.err == nil && a.status == http.StatusOK:
			c.accepted++
		case a.err != nil || a.status != http.StatusTooManyRequests: // a 429 is not a failure here
			p.tally.add(q, a, failed, "neither accepted nor limited")
		}
	})
	after, err := r.regions[i].decidedAlone(ctx)
	c.alone = after - before
	return c, err
}

// decidedAlone returns the number of limit checks that the edges of a region decided without Redis
// so far.
func (r *region) decidedAlone(ctx context.Context) (total float64, err error) {
	for _, e := range r.edges {
		n, err := e.metric(ctx, "iconedge_edge_redis_checks_total", `result="local"`)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// awaitRedis waits until every edge reports that Redis is up, or down.
func (r *run) awaitRedis(ctx context.Context, p *Phase, word string, up float64) error {
	began := time.Now()
	err := r.inRegions(func(i int) error { return r.regions[i].awaitRedis(ctx, up) })
	p.note("every edge reports that Redis is %s after %s", word, since(began))
	return err
}

func (r *region) awaitRedis(ctx context.Context, up float64) error {
	for _, e := range r.edges {
		err := await(ctx, func() (bool, error) {
			v, err := e.metric(ctx, "iconedge_edge_redis_up")
			return v == up, err
		})
		if err != nil {
			return fmt.Errorf("waiting for the metric of %s about Redis: %w", e.name, err)
		}
	}
	return nil
}
