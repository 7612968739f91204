package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/iconedge/iconedge/problem"
)

// What can go wrong between an edge and its origins. They are in the chain of Do's errors and of a body's.
var (
	ErrTimeout     = errors.New("the origin did not answer in time")
	ErrUnreachable = errors.New("the origin can't be reached")
	ErrOpen        = fmt.Errorf("%w: each has failed often and is left alone for a moment", ErrUnreachable)
	ErrAnswer      = errors.New("the origin's answer is malformed or was cut off")
	ErrTooLarge    = errors.New("the origin's answer is too large")
	ErrRequest     = errors.New("the request is not fit to be sent to the origin")
	ErrRefused     = errors.New("the origin does not take this edge for one of its own: no tier secret or certificate, or another one")
)

// What ends an exchange or a try from inside: the causes of their contexts.
var (
	errNoHead = fmt.Errorf("%w: no header fields", ErrTimeout)
	errLate   = fmt.Errorf("%w: no header fields in half of the time", ErrTimeout)
	errIdle   = fmt.Errorf("%w: no more of the body", ErrTimeout)
	errWhole  = fmt.Errorf("%w: not the whole of it", ErrTimeout)
	errLost   = errors.New("the request was lost")
	errUnsent = errors.New("the request was not sent")
)

// retryAfter is what a caller is told: an edge asks its origin again after a second.
const retryAfter = "1"

// failed makes err a problem, counts it and logs it. That a caller went away is no failure.
func (c *Client) failed(err error) *problem.Problem {
	p := problemOf(err)
	if !errors.Is(err, context.Canceled) {
		c.stats.failures.Add(1)
	}
	if p.Status == http.StatusGatewayTimeout {
		c.stats.timeouts.Add(1)
	}
	c.log.Debug("asking the origin", "err", p.Err)
	return p
}

// problemOf makes err an answer, unless it is one. The words for the caller say nothing of the cause; Err has it, for the log.
func problemOf(err error) *problem.Problem {
	if p, ok := errors.AsType[*problem.Problem](err); ok {
		return p
	}
	class := classOf(err)
	status, detail := http.StatusBadGateway, "the origin failed; trying again in a moment may help"
	if class == ErrTimeout {
		status, detail = http.StatusGatewayTimeout, "the origin did not answer in time; trying again in a moment may help"
	}
	if !errors.Is(err, class) {
		err = fmt.Errorf("%w: %w", class, err)
	}
	return problem.New(status, detail).With("Retry-After", retryAfter).Because(err)
}

func classOf(err error) error {
	for _, class := range []error{ErrTooLarge, ErrRequest, ErrRefused, ErrAnswer, ErrTimeout} {
		if errors.Is(err, class) {
			return class
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout() {
		return ErrTimeout
	}
	if errors.Is(err, ErrUnreachable) || errors.Is(err, context.Canceled) {
		return ErrUnreachable
	}
	return ErrAnswer
}
