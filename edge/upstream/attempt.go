package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
)

// An attempt is one try of a request. By itself the Transport would send a lost request again as
// long as it has idle connections, and whatever the method if there is an Idempotency-Key. The
// connection therefore cancels the attempt's context first, and send decides about another try.
type attempt struct {
	conn *conn // the last connection that the Transport used for it
	end  context.CancelCauseFunc
	head head // of the response; conn fills it

	uploads bool // its body still arrives from the client
}

func newAttempt(ctx context.Context, r Request) (context.Context, *attempt) {
	t := &attempt{uploads: r.Upload != nil, head: head{bodyless: r.Method == http.MethodHead, exact: r.StrictLength}}
	ctx, t.end = context.WithCancelCause(ctx)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		t.conn = info.Conn.(*conn)
		t.conn.startRequest(t) // the Transport replaces a dead connection
	}}), t
}

// refused reports whether the final response has come before a body was sent. It then returns when
// the connection is closed, because the Transport sends the body after a refusal too, to use the
// connection again, and a failing body would hide the response.
func (t *attempt) refused() bool {
	c := t.conn
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

// classify returns why there is no response, and whether the origin has failed. If no connection
// was free in time, that says nothing about the origin.
func (t *attempt) classify(ctx context.Context, err error) (outcome, error) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrTimeout) && t.conn != nil:
		return failure, cause
	case errors.Is(cause, ErrResponse):
		return success, cause
	case cause != nil && !errors.Is(cause, errLost):
		return inconclusive, cause
	case t.conn == nil && errors.Is(err, ErrUnreachable), t.conn != nil && !t.conn.sent():
		return failure, fmt.Errorf("%w: %w", errUnsent, err)
	case cause != nil:
		return failure, cause
	}
	return success, err
}
