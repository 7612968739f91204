package upstream

import (
	"context"
	"errors"
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
	return c.newAnswer(resp, asked), nil
}

// send tries an origin, and where that can do no harm a second time: where nothing was sent, and after a safe request that was
// lost (RFC 9110, section 9.2.2). Then it is the next in order, or the same if there is no other and it can be connected to; and on a
// new connection, as one that is kept may be lost in the same way.
func (c *Client) send(ctx context.Context, r Request) (*http.Response, error) {
	header := c.requestHeader(r)
	first, probe := c.choose(r.path(), nil, time.Now())
	if first == nil {
		return nil, ErrOpen
	}
	resp, err := c.ask(ctx, c.transport, first, probe, r, header)
	if err == nil || !errors.Is(err, errUnsent) && !(errors.Is(err, errLost) && safe(r.Method)) {
		return resp, err
	}
	second, probe := c.choose(r.path(), first, time.Now())
	if second == nil && !errors.Is(err, ErrUnreachable) {
		second, probe = c.choose(r.path(), nil, time.Now())
	}
	if second == nil {
		return nil, err
	}
	c.stats.retries.Add(1)
	return c.ask(ctx, c.again, second, probe, r, header)
}

// safe names the methods that this package sends twice.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// ask is one try that o's breaker has admitted.
func (c *Client) ask(ctx context.Context, by *http.Transport, o *origin, probe bool, r Request, header http.Header) (*http.Response, error) {
	resp, v, err := c.try(ctx, by, o, r, header)
	o.settle(probe, v, err, time.Now())
	return resp, err
}

// try sends r to o once. Its verdict is about o, not about the answer: that an answer came says that o is there.
func (c *Client) try(ctx context.Context, by *http.Transport, o *origin, r Request, header http.Header) (*http.Response, verdict, error) {
	ctx, t := newAttempt(ctx, r)
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
