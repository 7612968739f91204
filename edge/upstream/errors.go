package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"

	"github.com/iconedge/iconedge/internal/problem"
)

// These errors are in the chain of the errors of Do and of a body.
var (
	ErrTimeout     = errors.New("the origin did not answer in time")
	ErrUnreachable = errors.New("the origin can't be reached")
	ErrOpen        = fmt.Errorf("%w: the circuit breaker of each origin is open", ErrUnreachable)
	ErrBusy        = errors.New("the origin has as many requests as it may have at a time")
	ErrResponse    = errors.New("the origin's response is malformed or was cut off")
	ErrTooLarge    = errors.New("the origin's response is too large")
	ErrRequest     = errors.New("the request can't be sent to an origin: its method, target or a field is invalid")
	ErrRefused     = errors.New("the origin does not take this edge for one of its own: its tier secret or certificate is missing or wrong")
)

// These errors are the causes with which this package cancels the context of an exchange or a try.
var (
	errNoHead    = fmt.Errorf("%w: no header fields", ErrTimeout)
	errLate      = fmt.Errorf("%w: no header fields in half of the time", ErrTimeout)
	errIdle      = fmt.Errorf("%w: no more bytes of the body", ErrTimeout)
	errWhole     = fmt.Errorf("%w: the body is incomplete", ErrTimeout)
	errLost      = errors.New("the connection was lost before a response")
	errUnsent    = errors.New("the request was not sent")
	errNoAddress = fmt.Errorf("%w: its name has no address", ErrUnreachable)
	errLongHead  = fmt.Errorf("%w: its header fields are too long", ErrResponse)
	errName      = fmt.Errorf("%w: no TLS connection for the client's Host", ErrResponse)
)

// retryAfter is the Retry-After of a failure, in seconds, because an edge tries its origin again
// after a second.
const retryAfter = "1"

// fail converts err to a problem, counts it and logs it.
func (c *Client) fail(err error) *problem.Problem {
	p := problemOf(err)
	c.count(p, err)
	c.log.Debug("origin request failed", "err", p.Err)
	return p
}

// count counts a failure, and reports whether it is one: a caller that went away is none.
func (c *Client) count(p *problem.Problem, err error) bool {
	failed := !errors.Is(err, context.Canceled)
	if failed {
		c.stats.failures.Add(1)
	}
	if p.Status == http.StatusGatewayTimeout {
		c.stats.timeouts.Add(1)
	}
	return failed
}

// problemOf converts err to a problem, unless it is one. The detail says nothing of the cause,
// which is in Err for the log.
func problemOf(err error) *problem.Problem {
	if p, ok := errors.AsType[*problem.Problem](err); ok {
		return p
	}
	class, kind := classOf(err), TypeOf(err)
	if errors.Is(err, ErrBusy) {
		return problem.New(http.StatusServiceUnavailable,
			"the origin is busy; trying again in a moment may help").With("Retry-After", retryAfter).Because(err).OfType(kind)
	}
	status, detail := http.StatusBadGateway, "the origin failed; trying again in a moment may help"
	if class == ErrTimeout {
		status, detail = http.StatusGatewayTimeout, "the origin did not answer in time; trying again in a moment may help"
	}
	if !errors.Is(err, class) {
		err = fmt.Errorf("%w: %w", class, err)
	}
	return problem.New(status, detail).With("Retry-After", retryAfter).Because(err).OfType(kind)
}

func classOf(err error) error {
	for _, class := range []error{ErrTooLarge, ErrRequest, ErrRefused, ErrResponse, ErrTimeout} {
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
	return ErrResponse
}

// errorTypes are the types of errors (RFC 9209, section 2.3), by an error in the chain. The first
// that fits is the type.
var errorTypes = []struct {
	is  error
	typ problem.ProxyError
}{
	{ErrBusy, problem.ConnectionLimitReached},
	{ErrOpen, problem.DestinationUnavailable},
	{ErrRefused, problem.ProxyConfigurationError},
	{ErrRequest, problem.HTTPRequestError},
	{ErrTooLarge, problem.HTTPResponseBodySize},
	{errLongHead, problem.HTTPResponseHeaderSectionSize},
	{errNoAddress, problem.DNSError},
	{errIdle, problem.ConnectionReadTimeout},
	{syscall.ECONNREFUSED, problem.ConnectionRefused},
	{syscall.EHOSTUNREACH, problem.DestinationUnroutable},
	{syscall.ENETUNREACH, problem.DestinationUnroutable},
	{syscall.ECONNRESET, problem.ConnectionTerminated},
	{syscall.EPIPE, problem.ConnectionTerminated},
	{errLost, problem.ConnectionTerminated},
	{io.ErrUnexpectedEOF, problem.HTTPResponseIncomplete},
}

// TypeOf returns the type of an error of this package (RFC 9209, section 2.3).
func TypeOf(err error) problem.ProxyError {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		if name.IsTimeout {
			return problem.DNSTimeout
		}
		return problem.DNSError
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return problem.TLSCertificateError
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return problem.TLSProtocolError
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		switch {
		case op.Op == "remote error": // as crypto/tls calls an alert
			return problem.TLSAlertReceived
		case op.Op == "dial" && op.Timeout():
			return problem.ConnectionTimeout
		}
	}
	for _, row := range errorTypes {
		if errors.Is(err, row.is) {
			return row.typ
		}
	}
	switch class := classOf(err); {
	case class == ErrTimeout && errors.Is(err, errUnsent):
		return problem.ConnectionTimeout
	case class == ErrTimeout:
		return problem.HTTPResponseTimeout
	case class == ErrUnreachable:
		return problem.DestinationUnavailable
	}
	return problem.HTTPProtocolError
}

// Malformed returns the problem for a response whose body is malformed, as err says.
func Malformed(err error) *problem.Problem { return problemOf(fmt.Errorf("%w: %w", ErrResponse, err)) }

// TimedOut returns the problem for a request that has waited too long for the origin.
func TimedOut() *problem.Problem { return problemOf(ErrTimeout) }
