//go:build linux

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
)

// promised is the promised time of a purge at every edge, and at an edge that was away after its
// return.
const promised = time.Second

// awayFor is how long an edge is away in the phase of purges.
const awayFor = 3 * time.Second

// purges purges icons at one edge, and measures when the others have done the same: with all edges
// up, with one frozen, and with one cut off from Redis.
func (r *run) purges(ctx context.Context, p *Phase) error {
	edges := r.edges()
	first, frozen, apart := edges[0], edges[3], edges[4]
	targets := r.judge.reserved[1:4]
	if err := r.fill(ctx, edges, targets); err != nil {
		return err
	}
	if err := r.purgeOnce(ctx, p, first, edges, targets[0]); err != nil {
		return err
	}
	frozen.freeze()
	err := r.purgeAway(ctx, p, first, absence{frozen, "was frozen", frozen.thaw}, targets[1])
	if err != nil {
		return err
	}
	apart.log.Cut()
	return r.purgeAway(ctx, p, first, absence{apart, "was cut off from Redis", apart.log.Mend}, targets[2])
}

// purgeOnce purges at one edge, and waits for the others.
func (r *run) purgeOnce(ctx context.Context, p *Phase, at *edge, edges []*edge, target string) error {
	began := time.Now()
	if err := at.purge(ctx, target); err != nil {
		return err
	}
	slowest, err := r.gone(ctx, edges, target, began)
	p.hold(slowest <= promised, "a purge at %s was done by all edges after %s", at.name, slowest.Round(time.Millisecond))
	return err
}

// An absence is why an edge is away, until back is called.
type absence struct {
	*edge
	how  string
	back func()
}

// purgeAway purges while one edge is away, and waits for that edge after its return.
func (r *run) purgeAway(ctx context.Context, p *Phase, at *edge, away absence, target string) error {
	err := load.Pause(ctx, awayFor/2)
	if err == nil {
		err = at.purge(ctx, target)
	}
	if err == nil {
		err = load.Pause(ctx, awayFor/2)
	}
	away.back()
	if err != nil {
		return err
	}
	slowest, err := r.gone(ctx, []*edge{away.edge}, target, time.Now())
	p.hold(slowest <= promised, "%s, which %s for %s, had done it %s after its return", away.name, away.how, awayFor,
		slowest.Round(time.Millisecond))
	return err
}

// purge calls POST /purge on the admin listener.
func (e *edge) purge(ctx context.Context, target string) error {
	body, err := json.Marshal(map[string][]string{"urls": {target}})
	if err != nil {
		return err
	}
	status, said, err := fetch(ctx, http.MethodPost, "http://"+e.admin+"/purge", string(body))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, said)
	}
	if err != nil {
		return fmt.Errorf("purging at %s: %w", e.name, err)
	}
	return nil
}

// gone returns the time until the last of the edges has purged a target.
func (r *run) gone(ctx context.Context, edges []*edge, target string, began time.Time) (slowest time.Duration, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, e := range edges {
		all.Go(func() {
			e := await(ctx, func() (bool, error) { return !r.has(e, target), nil })
			mu.Lock()
			defer mu.Unlock()
			slowest, err = max(slowest, time.Since(began)), errors.Join(err, e)
		})
	}
	all.Wait()
	return slowest, err
}

// has reports whether an edge has a target in its cache. The request uses only-if-cached, so it
// fills no cache (RFC 9111, section 5.2.1.7).
func (r *run) has(e *edge, target string) bool {
	m := mix.Maker{Host: "icons.example"}
	c := r.crowd.newClient(e.region, clientAddr(0, groupWatch, 0), false)
	a := c.try(e, m.Get(target, "Cache-Control: only-if-cached", "Connection: close"), firstTry)
	return a.err != nil || a.status != http.StatusGatewayTimeout
}

const (
	awaitStep = 10 * time.Millisecond
	awaitMost = 30 * time.Second
)

var errAwaited = errors.New("timeout")

// await calls ask repeatedly until it returns true.
func await(ctx context.Context, ask func() (ok bool, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, awaitMost, errAwaited)
	defer cancel()
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		if load.Pause(ctx, awaitStep) != nil {
			return context.Cause(ctx)
		}
	}
}
