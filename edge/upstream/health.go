package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	checkTimeout = 2 * time.Second
	checkTarget  = "/healthz" // every listener of iconedge answers it
	failedChecks = 2          // consecutive failures that make an origin unhealthy
	checkBody    = 4 << 10    // bytes read of the response, which frees the connection
)

// health records the health checks of an origin. An unchecked origin is healthy.
type health struct {
	failures  int // consecutive checks; they count until the origin is healthy again
	successes int // consecutive checks
	needs     int // consecutive successes that make it healthy again; 0: one
}

func (h health) healthy() bool { return h.failures < failedChecks }

// update records the outcome of a check, and reports whether it changed the health.
func (h *health) update(v outcome) (changed bool) {
	was := h.healthy()
	switch v {
	case success:
		if h.successes++; h.healthy() || h.successes >= h.needs {
			h.failures = 0
		}
	case failure:
		h.successes = 0
		h.failures++
	}
	return h.healthy() != was
}

// Run checks the origins and looks their names up until ctx ends. It does not check a single
// origin, because there is no alternative.
func (c *Client) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range c.set.places {
		switch o := p.fixed; {
		case o == nil:
			all.Go(func() { p.watch(ctx, c.lookup, &c.set) })
			continue
		case o.movable():
			all.Go(func() { c.lookupLoop(ctx, o) })
		}
		if len(c.set.places) > 1 || c.health != "" {
			all.Go(func() { c.checkLoop(ctx, p.fixed) })
		}
	}
	all.Wait()
}

func (c *Client) checkLoop(ctx context.Context, o *origin) {
	tick := time.NewTicker(c.check)
	defer tick.Stop()
	for {
		if c.health != "" || !o.only.Load() {
			v, err := c.probe(ctx, o)
			if ctx.Err() != nil {
				return
			}
			o.recordCheck(v, err, time.Now())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// probe checks the health of o. Any response below 500 counts as healthy, such as the 404 of
// another program.
func (c *Client) probe(ctx context.Context, o *origin) (outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, checkTimeout, errNoHead)
	defer cancel()
	r := Request{Method: http.MethodGet, Target: or(c.health, checkTarget), check: true}
	resp, v, err := c.try(ctx, try{origin: o, by: c.transport, header: c.requestHeader(r)}, r)
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, checkBody)
	least := http.StatusInternalServerError
	if c.health != "" {
		least = http.StatusBadRequest
	}
	if resp.StatusCode >= least {
		return failure, fmt.Errorf("%s returned status %d", r.Target, resp.StatusCode)
	}
	return success, nil
}

const (
	maxFailures = 5 // consecutive failures that open the breaker

	// minPause is the time before the first probe. It is short because an origin may only be
	// restarting.
	minPause = 100 * time.Millisecond

	// maxPause is the longest time between two probes, and so the delay until a recovered
	// origin is found. The pause doubles up to it.
	maxPause = time.Second
)

// A breaker is a circuit breaker. It keeps requests from a failing origin, so that callers do not
// wait for it, and a restarting origin does not get all of them at once. While it is open it admits
// one request in each pause, the probe. It does so even if the previous probe still waits for a
// response, because that may take long and the origin may have recovered.
type breaker struct {
	failures int           // consecutive, while closed
	pause    time.Duration // after the next probe; zero: the breaker is closed
	until    time.Time     // the end of the pause
}

// An outcome is the result of a try with regard to the origin's health.
type outcome int

const (
	inconclusive outcome = iota // the caller went away, or no connection was free
	success                     // the origin responded, with whatever status
	failure                     // no connection, lost, too late
)

func (b *breaker) open() bool { return b.pause > 0 }

// unprobed reports whether the breaker is open and no request has come that could have been its
// probe.
func (b *breaker) unprobed(now time.Time) bool { return b.open() && now.Sub(b.until) > maxPause }

// refuses reports whether no request may be sent now.
func (b *breaker) refuses(now time.Time) bool { return b.open() && now.Before(b.until) }

// admit reports whether a request may be sent now, and whether it is a probe. The caller must
// record the outcome of each admitted request.
func (b *breaker) admit(now time.Time) (probe, ok bool) {
	if !b.open() {
		return false, true
	}
	if b.refuses(now) {
		return false, false
	}
	b.until, b.pause = now.Add(b.pause), min(2*b.pause, maxPause)
	return true, true
}

// record records the outcome of an admitted request, and reports whether it opened or closed the
// breaker. While the breaker is open only probes count, because other requests began before it
// opened.
func (b *breaker) record(probe bool, v outcome, now time.Time) (opened, closed bool) {
	switch {
	case !b.open() && v == success, b.open() && probe && v == success:
		closed = b.open()
		*b = breaker{}
	case b.open() && probe && v == inconclusive:
		b.until = now // inconclusive, so the next request may be a probe
	// A probe that fails after another has succeeded is ignored.
	case !b.open() && !probe && v == failure:
		if b.failures++; b.failures >= maxFailures {
			b.until, b.pause, opened = now.Add(minPause), 2*minPause, true
		}
	}
	return opened, closed
}
