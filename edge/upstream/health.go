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
type health struct{ failures int } // consecutive checks

func (h health) healthy() bool { return h.failures < failedChecks }

// update records the outcome of a check, and reports whether it changed the health.
func (h *health) update(v outcome) (changed bool) {
	was := h.healthy()
	switch v {
	case success:
		h.failures = 0
	case failure:
		h.failures++
	}
	return h.healthy() != was
}

// Run checks the origins and looks their names up until ctx ends. It does not check a single
// origin, because there is no alternative.
func (c *Client) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, o := range c.origins {
		if len(c.origins) > 1 {
			all.Go(func() { c.checkLoop(ctx, o) })
		}
		if o.named() {
			all.Go(func() { c.lookupLoop(ctx, o) })
		}
	}
	all.Wait()
}

func (c *Client) checkLoop(ctx context.Context, o *origin) {
	tick := time.NewTicker(c.check)
	defer tick.Stop()
	for {
		v, err := c.probe(ctx, o)
		o.recordCheck(v, err, time.Now())
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
	r := Request{Method: http.MethodGet, Target: checkTarget}
	resp, v, err := c.try(ctx, c.transport, o, 0, r, c.requestHeader(r))
	if err != nil {
		return v, err
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, checkBody)
	if resp.StatusCode >= http.StatusInternalServerError {
		return failure, fmt.Errorf("%s returned status %d", checkTarget, resp.StatusCode)
	}
	return success, nil
}
