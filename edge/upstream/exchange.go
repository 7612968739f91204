package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/problem"
)

// Do sends a request to an origin and returns when the header fields of the response have arrived.
// Every error is a *problem.Problem, 504 after a timeout and otherwise 502, that wraps one of
// ErrTimeout, ErrUnreachable, ErrResponse, ErrRequest or ErrRefused. When ctx ends, so does the
// body.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	c.stats.requests.Add(1)
	if !r.Valid() {
		return nil, c.fail(ErrRequest)
	}
	times, began := c.patience(r), time.Now()
	if c.local != nil {
		return c.serve(&r, began)
	}
	if r.Upload != nil {
		r.Upload.trailer = r.Trailer
	}
	if err := c.set.await(ctx, times.FirstByte); err != nil {
		return nil, c.fail(err)
	}
	first := c.quick(ctx, r, began)
	if first != nil && first.resp != nil && !failing(first.resp) {
		return c.quickResponse(first, began), nil
	}
	stop := func() {}
	if times.Whole > 0 {
		ctx, stop = context.WithTimeoutCause(ctx, times.Whole, errWhole)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	end := func(cause error) { cancel(cause); stop() }
	a, err := c.exchange(ctx, cancel, r, began, first)
	if err != nil {
		end(nil)
		return nil, c.fail(err)
	}
	if a.HasArrived() || a.Switched != nil {
		end(nil)
		return a, nil
	}
	b := c.newBody(a.Body, ctx, end, times.Idle)
	b.origin = a.Host
	b.path, _, _ = strings.Cut(r.Target, "?")
	a.Body = b
	return a, nil
}

// Refusal returns the problem of each Do at this time, if the circuit breaker of every origin is
// open and no probe is due; nil: a request may be sent. It counts and logs as Do does.
func (c *Client) Refusal(now time.Time) *problem.Problem {
	if c.local != nil {
		return nil
	}
	all := c.set.all()
	for _, o := range all {
		if !o.closedTo(now) {
			return nil
		}
	}
	if len(all) == 0 {
		return nil // Do waits for a name, or says that it has no address
	}
	c.stats.requests.Add(1)
	return c.fail(ErrOpen)
}

// exchange is the part of an exchange up to the response's header fields, to which FirstByte
// applies.
func (c *Client) exchange(ctx context.Context, cancel context.CancelCauseFunc, r Request, requestTime time.Time,
	first *firstTry) (*Response, error) {
	firstByte := c.patience(r).FirstByte
	head := time.AfterFunc(firstByte-time.Since(requestTime), func() { cancel(errNoHead) })
	r.turn = func() { head.Reset(firstByte) }
	r.Upload.watch(head, firstByte)
	resp, err := c.send(ctx, r, first)
	r.Upload.watch(nil, 0)
	// While the client sends its body, the timer is stopped although it has not fired.
	if fired := !head.Stop(); err == nil && (fired && r.Upload == nil || ctx.Err() != nil) {
		resp.Body.Close()
		return nil, errNoHead
	}
	if err != nil {
		return nil, err
	}
	if refused(resp) {
		resp.Body.Close()
		return nil, ErrRefused
	}
	return c.newResponse(resp, requestTime), nil
}

// send tries origins until one responds (route.go). If nothing was sent, another try is safe for
// any method. A safe request (RFC 9110, section 9.2.2) that was lost, or has no response in time,
// goes to the next origin in order, and after a failing response to the next group. If there is no
// other origin, the same one gets the request again, provided that it accepts connections, on a new
// connection, because other idle ones may be lost too.
func (c *Client) send(ctx context.Context, r Request, first *firstTry) (*http.Response, error) {
	var o *origin
	var probe bool
	if first != nil {
		o = first.origin
	} else if o, probe = c.chooseOrigin(r.key(), anyOrigin, time.Now()); o == nil {
		return nil, ErrOpen
	}
	t := try{origin: o, by: c.transport, header: c.requestHeader(r)}
	w := route{safe: safe(r.Method), onward: r.TryNextGroup}
	switch {
	case r.Upgrade != "":
		t.by = c.retryTransport // a connection of its own
	case !w.safe:
		t.by = c.unsafeTransport
	}
	for {
		var resp *http.Response
		var err error
		if first != nil {
			resp, err = c.resume(ctx, r, first)
			first = nil
		} else {
			t.patience = w.headTimeout(c, t.origin, c.patience(r).FirstByte)
			resp, err = c.tryAdmitted(ctx, t, r, probe)
		}
		if !w.tryNext(ctx, t.origin, resp, err) || !r.Upload.retry() {
			return w.result(resp, err)
		}
		next, p := c.chooseOrigin(r.key(), w.allows, time.Now())
		if next == nil && w.mayRepeat(err) {
			next, p = c.chooseOrigin(r.key(), anyOrigin, time.Now())
		}
		if next == nil {
			return w.result(resp, err)
		}
		c.stats.retries.Add(1)
		t.origin, t.by, probe = next, c.retryTransport, p
	}
}

// safe reports whether this package may send a request with this method twice.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, "QUERY": // RFC 10008
		return true
	}
	return false
}

// A try is one try of a request at an origin.
type try struct {
	origin   *origin
	by       *http.Transport
	header   http.Header
	patience time.Duration // for the head of the response; 0: no limit besides that of all tries
}

// tryAdmitted makes one try that the origin's breaker has admitted.
func (c *Client) tryAdmitted(ctx context.Context, t try, r Request, probe bool) (*http.Response, error) {
	resp, v, err := c.try(ctx, t, r)
	t.origin.record(probe, v, err, time.Now())
	return resp, err
}

// try sends r to an origin once. Its outcome is about the origin, not about the response: any
// response shows that the origin is there.
func (c *Client) try(ctx context.Context, one try, r Request) (*http.Response, outcome, error) {
	o := one.origin
	if c.isLean(o, r) {
		return c.tryHeld(ctx, one, r)
	}
	ctx, t := newAttempt(c.direct(ctx, o, r), r)
	t.atLeast = min(c.patience(r).FirstByte/4, checkTimeout/2) // another origin had half of it
	req, err := o.request(ctx, r, one.header)
	if err != nil {
		return nil, inconclusive, err
	}
	if strings.HasPrefix(req.URL.Opaque, "//") {
		t.absolute = req.URL.Scheme + "://" + req.Host
	}
	if r.Upload != nil {
		r.Upload.attach(req, t)
	}
	var transport http.RoundTripper = one.by
	switch {
	case o.http2() && r.Upgrade != "":
		transport = c.tunnels
	case o.http2():
		transport = c.http2
	}
	slot, err := c.hold(ctx, o, r)
	if err != nil {
		return nil, inconclusive, err
	}
	if one.patience > 0 {
		late := time.AfterFunc(one.patience, func() { t.end(errLate) })
		defer late.Stop()
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		slot.release()
		classify := t.classify
		if o.http2() {
			classify = t.classifyHTTP2
		}
		v, err := classify(ctx, err)
		if failed := r.Upload.Err(); failed != nil {
			return nil, inconclusive, failed // the client has failed, and not the origin
		}
		return nil, v, err
	}
	t.refusal.Store(resp.StatusCode >= http.StatusMultipleChoices)
	slot.until(resp)
	if err := checkHead(resp, req, o.http2()); err != nil {
		resp.Body.Close()
		return nil, success, err
	}
	if o.http2() {
		return resp, success, nil
	}
	t.head.restore(resp.Header)
	t.conn.switched.Store(resp.StatusCode == http.StatusSwitchingProtocols)
	return resp, success, nil
}

// tryHeld makes a lean try, which holds a slot of the origin until the end of the response. A retry
// gets a new connection.
func (c *Client) tryHeld(ctx context.Context, t try, r Request) (*http.Response, outcome, error) {
	slot, err := c.hold(ctx, t.origin, r)
	if err != nil {
		return nil, inconclusive, err
	}
	if t.patience > 0 {
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		late := time.AfterFunc(t.patience, func() { end(errLate) })
		defer late.Stop()
	}
	resp, v, err := c.tryLean(ctx, t.origin, r, t.header, t.by != c.transport)
	if err != nil {
		slot.release()
		return nil, v, err
	}
	if _, received := resp.Body.(*receivedBody); received {
		slot.release()
	} else {
		slot.until(resp)
	}
	return resp, v, nil
}

// hold waits for a slot of an origin. The time for the response of a bounded client begins with the
// slot.
func (c *Client) hold(ctx context.Context, o *origin, r Request) (*lease, error) {
	if r.check && c.bounded {
		return newSlots(1).take(ctx, false) // requests that wait must not make an origin unhealthy
	}
	slot, err := o.slots.take(ctx, r.Patience != nil && !c.bounded)
	if err != nil {
		if c.bounded && errors.Is(err, ErrTimeout) {
			err = fmt.Errorf("%w: %w", ErrBusy, err)
		}
		return nil, err
	}
	if c.bounded && r.turn != nil {
		r.turn()
	}
	o.active.Add(1)
	slot.ended = func() { o.active.Add(-1) }
	return slot, nil
}
