package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
)

// An attempt is one try of a request. The Transport would send a request that was lost again of its own accord, for as long as it has idle
// connections, and whatever the method where there is an Idempotency-Key; so the connection ends the attempt's context
// first, and whether there is another try is for send to say.
type attempt struct {
	conn *conn // the last that it was given
	end  context.CancelCauseFunc
	head head // of the answer; conn fills it
}

func newAttempt(ctx context.Context, r Request) (context.Context, *attempt) {
	t := &attempt{head: head{bodiless: r.Method == http.MethodHead, exact: r.Exact}}
	ctx, t.end = context.WithCancelCause(ctx)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		t.conn = info.Conn.(*conn)
		t.conn.begin(t) // one that is dead already takes no byte, and the Transport goes on to another
	}}), t
}

// explain says why there is no answer, and what that tells of the origin. A connection that was to be waited for until time
// ran out tells nothing: they were all in use.
func (t *attempt) explain(ctx context.Context, err error) (verdict, error) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrTimeout) && t.conn != nil:
		return failure, cause
	case errors.Is(cause, ErrAnswer):
		return success, cause
	case cause != nil && !errors.Is(cause, errLost):
		return nothing, cause
	case t.conn == nil && errors.Is(err, ErrUnreachable), t.conn != nil && !t.conn.sent():
		return failure, fmt.Errorf("%w: %w", errUnsent, err)
	case cause != nil:
		return failure, cause
	}
	return success, err
}
