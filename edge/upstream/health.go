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
	checkTarget  = "/healthz" // every listener of ours has it
	failedChecks = 2          // in a row: then an origin is not well
	checkBody    = 4 << 10    // is read of an answer, to use the connection again
)

// health is what the checks of an origin say. One that has not been checked is well.
type health struct{ failed int } // checks in a row

func (h health) well() bool { return h.failed < failedChecks }

// note takes the verdict on a check, and reports whether it changed anything.
func (h *health) note(v verdict) (changed bool) {
	was := h.well()
	switch v {
	case success:
		h.failed = 0
	case failure:
		h.failed++
	}
	return h.well() != was
}

// Run checks the origins until ctx ends. A single one is not checked: there is no other to ask.
func (c *Client) Run(ctx context.Context) {
	if len(c.origins) < 2 {
		return
	}
	var all sync.WaitGroup
	for _, o := range c.origins {
		all.Go(func() { c.watchOver(ctx, o) })
	}
	all.Wait()
}

func (c *Client) watchOver(ctx context.Context, o *origin) {
	tick := time.NewTicker(c.check)
	defer tick.Stop()
	for {
		v, err := c.probe(ctx, o)
		o.checked(v, err, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// probe asks o how it is: an answer below 500 is well, be it a 404 of an origin that is not ours.
func (c *Client) probe(ctx context.Context, o *origin) (verdict, error) {
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
		return failure, fmt.Errorf("%s is answered %d", checkTarget, resp.StatusCode)
	}
	return success, nil
}
