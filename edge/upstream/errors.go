package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/iconedge/iconedge/problem"
)

// What can go wrong between an edge and its origin. They are in the chain of Fetch's errors.
var (
	ErrTimeout     = errors.New("the origin did not answer in time")
	ErrUnreachable = errors.New("the origin can't be reached")
	ErrAnswer      = errors.New("the origin's answer is malformed or was cut off")
	ErrTooLarge    = errors.New("the origin's answer is too large")
	ErrRequest     = errors.New("the request is not fit to be sent to the origin")
)

// retryAfter is what a caller is told: an edge asks its origin again after a second.
const retryAfter = "1"

// problem makes err an answer, and counts it. The words for the caller say nothing of the cause; Err has it, for the log.
func (c *Client) problem(err error) *problem.Problem {
	c.stats.failures.Add(1)
	class := classOf(err)
	status, detail := http.StatusBadGateway, "the origin failed; trying again in a moment may help"
	if class == ErrTimeout {
		c.stats.timeouts.Add(1)
		status, detail = http.StatusGatewayTimeout, "the origin did not answer in time; trying again in a moment may help"
	}
	if !errors.Is(err, class) {
		err = fmt.Errorf("%w: %w", class, err)
	}
	return problem.New(status, detail).With("Retry-After", retryAfter).Because(err)
}

func classOf(err error) error {
	for _, class := range []error{ErrTooLarge, ErrRequest, ErrAnswer} {
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
