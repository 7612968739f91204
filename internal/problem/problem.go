// Package problem holds errors that are also answers (RFC 9457). They keep the text for the client
// apart from the cause, which goes to the log. Handlers return errors, and one place in each server
// turns them into answers with From. The package imports no other package of this module.
package problem

import (
	"encoding/json"
	"errors"
	"net/http"
)

// ContentType is the media type of a problem (RFC 9457, section 3).
const ContentType = "application/problem+json"

// A Problem is an error with an answer for the client. Err is for the log, and reaches no client
// that the operator does not trust. Header holds fields of the answer, such as Retry-After.
type Problem struct {
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Status      int         `json:"status"`
	Detail      string      `json:"detail"`
	Parameter   string      `json:"parameter,omitempty"`
	Suggestions []string    `json:"suggestions,omitempty"`
	Err         error       `json:"-"`
	Header      http.Header `json:"-"`
	proxyError  ProxyError  // empty: that of the status
}

func (p *Problem) Error() string {
	if p.Err != nil {
		return p.Title + ": " + p.Err.Error()
	}
	return p.Title + ": " + p.Detail
}

func (p *Problem) Unwrap() error { return p.Err }

// JSON returns the body of the answer.
func (p *Problem) JSON() []byte {
	b, err := json.Marshal(p)
	if err != nil { // strings and numbers only: can't happen
		panic(err)
	}
	return append(b, '\n')
}

// Write answers a request with p.
func (p *Problem) Write(w http.ResponseWriter) {
	for name, lines := range p.Header {
		w.Header()[name] = lines
	}
	w.Header().Set("Content-Type", ContentType)
	w.WriteHeader(p.Status)
	w.Write(p.JSON())
}

// With adds a header field to the answer and returns p.
func (p *Problem) With(field, value string) *Problem {
	if p.Header == nil {
		p.Header = http.Header{}
	}
	p.Header.Set(field, value)
	return p
}

// Because sets the cause, for the log, and returns p.
func (p *Problem) Because(err error) *Problem {
	p.Err = err
	return p
}

// New makes a problem with a status. The detail is for the client, and must not repeat the client's
// input.
func New(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// BadParameter makes a 400 that names the parameter and its valid values.
func BadParameter(name, detail string) *Problem {
	p := New(http.StatusBadRequest, detail)
	p.Parameter = name
	return p
}

// NotFound makes a 404 for a path, pack or icon that does not exist. The suggestions are similar
// names, if any.
func NotFound(detail string, suggestions ...string) *Problem {
	p := New(http.StatusNotFound, detail)
	p.Suggestions = suggestions
	return p
}

// Withdrawn makes the 410 for an icon or a pack that the operator has withdrawn.
func Withdrawn() *Problem {
	return New(http.StatusGone, "the operator of this service has withdrawn this icon or its pack")
}

// MethodNotAllowed makes a 405 with its Allow field.
func MethodNotAllowed(allow string) *Problem {
	return New(http.StatusMethodNotAllowed, "this address takes "+allow).With("Allow", allow)
}

// From turns any error into an answer: the Problem in its chain, a 400 for an error that names a
// parameter, or a 500 that reveals nothing.
func From(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	var bad interface{ BadParameter() (name, detail string) }
	if errors.As(err, &bad) {
		return BadParameter(bad.BadParameter())
	}
	return New(http.StatusInternalServerError, "something went wrong here; trying again later may help").Because(err)
}

// CacheControl returns the Cache-Control of the answer. Caches may store most client errors for a
// few seconds only, so that a newly published name soon works. They must not store a server error,
// or an answer that depends on the client or its message.
func (p *Problem) CacheControl() string {
	if p.Status >= 500 || personal[p.Status] {
		return "no-store"
	}
	return "public, max-age=5"
}

// personal lists the statuses that must not be reused for another client's request, because they
// depend on the fields, the body, the connection or the rate of this client's requests. If a cache
// stored one, a client that sends too large fields could make an address fail for everybody. 410 is
// among them, because the operator may undo a withdrawal.
var personal = map[int]bool{
	http.StatusUnauthorized: true, http.StatusNotAcceptable: true, http.StatusProxyAuthRequired: true, http.StatusRequestTimeout: true,
	http.StatusLengthRequired: true, http.StatusGone: true, http.StatusPreconditionFailed: true, http.StatusRequestEntityTooLarge: true,
	http.StatusRequestURITooLong: true, http.StatusUnsupportedMediaType: true, http.StatusRequestedRangeNotSatisfiable: true,
	http.StatusExpectationFailed: true, http.StatusMisdirectedRequest: true, http.StatusTooEarly: true, http.StatusUpgradeRequired: true,
	http.StatusPreconditionRequired: true, http.StatusTooManyRequests: true, http.StatusRequestHeaderFieldsTooLarge: true,
}
