package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/iconedge/iconedge/internal/tier"
)

// An attempt is one try of a request. By itself the Transport would send a lost request again as
// long as it has idle connections, and whatever the method if there is an Idempotency-Key. The
// connection therefore cancels the attempt's context first, and send decides about another try.
type attempt struct {
	conn *conn // the last connection that the Transport used for it
	end  context.CancelCauseFunc
	head head // of the response; conn fills it

	// A timeout counts as a failure of the origin only if the origin had the connection for so
	// long: the request may have spent its time waiting for a slot.
	atLeast time.Duration
	got     time.Time // when the connection was there

	uploads bool // its body still arrives from the client
	// absolute is the scheme and Host that the Transport writes before a target with two leading
	// slashes; empty: none.
	absolute string
	refusal  atomic.Bool // the final response has come, and is no success
}

func newAttempt(ctx context.Context, r Request) (context.Context, *attempt) {
	t := &attempt{uploads: r.Upload != nil, head: head{bodyless: r.Method == http.MethodHead, exact: r.StrictLength}}
	ctx, t.end = context.WithCancelCause(ctx)
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		t.got = time.Now()
		if c, ok := info.Conn.(*conn); ok { // not so over HTTP/2
			t.conn = c
			c.startRequest(t) // the Transport replaces a dead connection
		}
	}}
	if r.Interim != nil {
		pass := interimsTo(r.Interim)
		trace.Got1xxResponse = func(status int, h textproto.MIMEHeader) error { return pass(status, http.Header(h)) }
	}
	return httptrace.WithClientTrace(ctx, trace), t
}

// maxInterims limits the 1xx responses to a request, because the Transport does not limit them when
// it passes them on.
const maxInterims = 1000

// An Interim is a 1xx response of an origin, with the fields that may be passed on.
type Interim struct {
	Status int
	Header http.Header
}

// interimsTo returns a function that passes the 1xx responses to one request on, at most
// maxInterims of them.
func interimsTo(to func(Interim)) func(status int, h http.Header) error {
	left := maxInterims
	return func(status int, h http.Header) error {
		if left--; left < 0 {
			return fmt.Errorf("%w: too many interim responses", ErrResponse)
		}
		return passInterim(to, status, h)
	}
}

// passInterim passes a 1xx response on. It drops a 100, because the edge sends one of its own when
// it begins to read the client's body (RFC 9110, section 15.2).
func passInterim(to func(Interim), status int, h http.Header) error {
	for name, lines := range h {
		if !httpguts.ValidHeaderFieldName(name) || !cleanLines(lines) {
			return fmt.Errorf("%w: a malformed field in a %d", ErrResponse, status)
		}
	}
	if status == http.StatusContinue {
		return nil
	}
	h = h.Clone()
	dropHopByHop(h)
	h.Del("Content-Length")
	h.Del(tier.Field)
	to(Interim{status, h})
	return nil
}

// originForm returns the beginning of a request with its target as a path (RFC 9112, section
// 3.2.1).
func (t *attempt) originForm(p []byte) ([]byte, error) {
	if t.absolute == "" {
		return p, nil
	}
	method, target, _ := bytes.Cut(p, []byte(" "))
	target, ok := bytes.CutPrefix(target, []byte(t.absolute))
	if !ok {
		return nil, fmt.Errorf("%w: %.100q does not begin a request for %s", ErrRequest, p, t.absolute)
	}
	return slices.Concat(method, []byte(" "), target), nil
}

// refused reports whether the final response has come before a body was sent. It then returns when
// the connection is closed, because the Transport sends the body after a refusal too, to use the
// connection again, and a failing body would hide the response. HTTP/2 has no such connection, and
// a failing body ends only its stream.
func (t *attempt) refused() bool {
	c := t.conn
	if c == nil {
		return t.refusal.Load()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.head.done {
		return false
	}
	for c.dead == nil {
		c.changed.Wait()
	}
	return true
}

// hadTime reports whether the origin had enough time to respond.
func (t *attempt) hadTime() bool { return !t.got.IsZero() && time.Since(t.got) >= t.atLeast }

// classify returns why there is no response, and whether the origin has failed. If no connection
// was free in time, that says nothing about the origin.
func (t *attempt) classify(ctx context.Context, err error) (outcome, error) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrTimeout) && t.conn != nil && t.hadTime():
		return failure, cause
	case errors.Is(cause, ErrResponse):
		return success, cause
	case cause != nil && !errors.Is(cause, errLost):
		return inconclusive, cause
	case errors.Is(err, errName):
		return inconclusive, err
	case t.conn == nil && errors.Is(err, ErrUnreachable), t.conn != nil && !t.conn.sent():
		return failure, fmt.Errorf("%w: %w", errUnsent, err)
	case cause != nil:
		return failure, cause
	}
	return success, err
}
