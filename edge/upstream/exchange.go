package upstream

import (
	"context"
	"net/http"
	"time"
)

// Do asks an origin and returns when its header fields have come. Every error is a *problem.Problem, 504 where time ran out
// and 502 else, that wraps one of ErrTimeout, ErrUnreachable, ErrAnswer or ErrRequest. When ctx ends so does the body.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	c.stats.requests.Add(1)
	if !r.Fit() {
		return nil, c.failed(ErrRequest)
	}
	ctx, stop := context.WithTimeoutCause(ctx, c.whole, errWhole)
	ctx, cancel := context.WithCancelCause(ctx)
	end := func(cause error) { cancel(cause); stop() }
	a, err := c.exchange(ctx, cancel, r)
	if err != nil {
		end(nil)
		return nil, c.failed(err)
	}
	if a.Body == http.NoBody {
		end(nil)
		return a, nil
	}
	a.Body = c.newBody(a.Body, ctx, end)
	return a, nil
}

// exchange is the part of an exchange that FirstByte is for.
func (c *Client) exchange(ctx context.Context, cancel context.CancelCauseFunc, r Request) (*Answer, error) {
	asked := time.Now()
	head := time.AfterFunc(c.firstByte, func() { cancel(errNoHead) })
	resp, err := c.send(ctx, r)
	if !head.Stop() && err == nil {
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
	return c.newAnswer(resp, asked), nil
}

// send tries origins until one answers. Where nothing was sent another try can do no harm, whatever the method; a safe request
// (RFC 9110, section 9.2.2) that was lost, or whose answer does not begin in time, goes to the next in order, and a failing answer of one
// to the next group (way). If there is no other origin, the same is asked again where it can be connected to; on a new connection, as one
// that is kept may be lost in the same way.
func (c *Client) send(ctx context.Context, r Request) (*http.Response, error) {
	header := c.requestHeader(r)
	o, probe := c.choose(r.path(), anywhere, time.Now())
	if o == nil {
		return nil, ErrOpen
	}
	w, by := way{safe: safe(r.Method), onward: r.Onward}, c.transport
	for {
		resp, err := c.ask(ctx, by, o, probe, w.patience(c, o), r, header)
		if !w.goesOn(ctx, o, resp, err) {
			return w.best(resp, err)
		}
		next, p := c.choose(r.path(), w.open, time.Now())
		if next == nil && w.again(err) {
			next, p = c.choose(r.path(), anywhere, time.Now())
		}
		if next == nil {
			return w.best(resp, err)
		}
		c.stats.retries.Add(1)
		o, probe, by = next, p, c.again
	}
}

// safe names the methods that this package sends twice.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// ask is one try that o's breaker has admitted, with patience for the head of the answer; 0: as much as there is for all tries.
func (c *Client) ask(ctx context.Context, by *http.Transport, o *origin, probe bool, patience time.Duration, r Request, header http.Header) (*http.Response, error) {
	resp, v, err := c.try(ctx, by, o, patience, r, header)
	o.settle(probe, v, err, time.Now())
	return resp, err
}

// try sends r to o once. Its verdict is about o, not about the answer: that an answer came says that o is there.
func (c *Client) try(ctx context.Context, by *http.Transport, o *origin, patience time.Duration, r Request, header http.Header) (*http.Response, verdict, error) {
	ctx, t := newAttempt(ctx, r)
	if patience > 0 {
		late := time.AfterFunc(patience, func() { t.end(errLate) })
		defer late.Stop()
	}
	req, err := o.request(ctx, r, header)
	if err != nil {
		return nil, nothing, err
	}
	resp, err := by.RoundTrip(req)
	if err != nil {
		v, err := t.explain(ctx, err)
		return nil, v, err
	}
	if err := checkHead(resp, req); err != nil {
		resp.Body.Close()
		return nil, success, err
	}
	t.head.mend(resp.Header)
	return resp, success, nil
}
