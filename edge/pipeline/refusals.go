package pipeline

import (
	"errors"
	"net"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/internal/problem"
)

// Unreadable returns the error of a request that the server could not read; err is the server's.
func Unreadable(err error) *problem.Problem {
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.As(err, &small):
		return RefusedAs(fasthttp.StatusRequestHeaderFieldsTooLarge)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return RefusedAs(fasthttp.StatusRequestEntityTooLarge)
	case errors.Is(err, bodies.ErrOverloaded):
		return RefusedAs(fasthttp.StatusServiceUnavailable)
	case errors.As(err, &timeout) && timeout.Timeout():
		return RefusedAs(fasthttp.StatusRequestTimeout)
	}
	return MalformedRequest("the request is malformed")
}

// RefusedAs returns the error with this status of a request that was not read to its end. It is the
// same for all protocols.
func RefusedAs(status int) *problem.Problem {
	p := problem.New(status, map[int]string{
		fasthttp.StatusRequestTimeout:              "the request did not arrive in time",
		fasthttp.StatusRequestEntityTooLarge:       "the body is too large",
		fasthttp.StatusRequestHeaderFieldsTooLarge: "the request line and header fields are longer than this server takes",
		fasthttp.StatusServiceUnavailable:          "the server holds too many requests; try again in a moment",
	}[status])
	if status == fasthttp.StatusServiceUnavailable {
		p.With("Retry-After", "1")
	}
	return p
}

// MalformedRequest returns the 400 of a request that HTTP forbids. No cache may store it, because
// the next request for the same address may be well-formed.
func MalformedRequest(detail string) *problem.Problem {
	return problem.New(fasthttp.StatusBadRequest, detail).With(fasthttp.HeaderCacheControl, "no-store")
}

// ErrUnready reports that the origin is one of ours and has no release yet.
var ErrUnready = errors.New("the origin has no release yet")

// NotStored returns the 504 for only-if-cached (RFC 9111, section 5.2.1.7).
func NotStored() *problem.Problem {
	return problem.New(http.StatusGatewayTimeout, "only-if-cached accepts only a stored response, and there is no usable one").
		OfType(problem.ProxyInternalResponse)
}

// Overloaded returns the 503 of a request that load shedding refuses.
func Overloaded() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, "too many requests are waiting for the origin; trying again in a moment may help").
		With("Retry-After", "1").OfType(problem.ConnectionLimitReached)
}
