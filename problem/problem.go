// Package problem holds errors that are answers (RFC 9457): what a caller is told, kept apart from what goes to the log.
// Handlers return errors; one place in each server turns them into an answer by From. It imports nothing of ours.
package problem

import (
	"encoding/json"
	"errors"
	"net/http"
)

// ContentType is the media type of a problem (RFC 9457, section 3).
const ContentType = "application/problem+json"

// A Problem is an error that can be answered. Err is for the log alone and never reaches a caller; Header holds fields that
// belong to the answer, such as Retry-After or Allow.
type Problem struct {
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Status      int         `json:"status"`
	Detail      string      `json:"detail"`
	Parameter   string      `json:"parameter,omitempty"`
	Suggestions []string    `json:"suggestions,omitempty"`
	Err         error       `json:"-"`
	Header      http.Header `json:"-"`
}

func (p *Problem) Error() string {
	if p.Err != nil {
		return p.Title + ": " + p.Err.Error()
	}
	return p.Title + ": " + p.Detail
}

func (p *Problem) Unwrap() error { return p.Err }

// JSON is the body of the answer.
func (p *Problem) JSON() []byte {
	b, err := json.Marshal(p)
	if err != nil { // strings and numbers alone: can't happen
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

// Because keeps the cause for the log and returns p.
func (p *Problem) Because(err error) *Problem {
	p.Err = err
	return p
}

// New makes a problem of a status; detail is for the caller, and must not repeat what was sent.
func New(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// BadParameter is a 400 that names the parameter and says how to mend it.
func BadParameter(name, detail string) *Problem {
	p := New(http.StatusBadRequest, detail)
	p.Parameter = name
	return p
}

// NotFound is a 404: no such path, pack or icon; suggestions are close names, if any.
func NotFound(detail string, suggestions ...string) *Problem {
	p := New(http.StatusNotFound, detail)
	p.Suggestions = suggestions
	return p
}

// MethodNotAllowed is a 405 with its Allow field.
func MethodNotAllowed(allow string) *Problem {
	return New(http.StatusMethodNotAllowed, "this address takes "+allow).With("Allow", allow)
}

// From makes any error an answer: a Problem in its chain, an error that names a parameter, or else a 500 that says nothing.
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

// CacheControl is what a problem's answer carries: client errors are kept for seconds at most, so that a name that is
// published shows at once; what is about one client or its message, and a failure of ours, is never kept.
func (p *Problem) CacheControl() string {
	if p.Status >= 500 || personal[p.Status] {
		return "no-store"
	}
	return "public, max-age=5"
}

// personal are the statuses that another client's request for the same address need not get: they tell of its fields, its body, its
// connection or how often it asks. A cache that kept one would let whoever sends large fields take an address from everybody.
var personal = map[int]bool{
	http.StatusUnauthorized: true, http.StatusNotAcceptable: true, http.StatusProxyAuthRequired: true, http.StatusRequestTimeout: true,
	http.StatusLengthRequired: true, http.StatusPreconditionFailed: true, http.StatusRequestEntityTooLarge: true,
	http.StatusRequestURITooLong: true, http.StatusUnsupportedMediaType: true, http.StatusRequestedRangeNotSatisfiable: true,
	http.StatusExpectationFailed: true, http.StatusMisdirectedRequest: true, http.StatusTooEarly: true, http.StatusUpgradeRequired: true,
	http.StatusPreconditionRequired: true, http.StatusTooManyRequests: true, http.StatusRequestHeaderFieldsTooLarge: true,
}
