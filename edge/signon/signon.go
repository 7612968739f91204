// Package signon decides whether the sender of a request has signed on, for the action auth: a
// service that the operator runs decides (forward.go), or a token that an issuer has signed
// (token.go). A refusal of the service goes to the client as it is. Where nobody can decide, the
// request is refused.
package signon

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/problem"
)

// A Request is the request of somebody who may have signed on.
type Request struct {
	Method    string
	Target    string      // path and query, as sent
	Header    http.Header // without the fields of the identity; Check does not change it
	Cookies   func(name string) []string
	Client    netip.Addr
	Forwarded upstream.Forwarded // scheme, host and hops
	Now       time.Time
}

// Options configure a Gate.
type Options struct {
	Life     context.Context // ends with the edge
	SignOn   *rules.SignOn
	Client   *upstream.Client // of the service, or of the issuer; nil: the keys are in a file
	Observer Observer
}

// An Observer counts the verdicts by way, forward or jwt, and by result, one of those below.
type Observer interface {
	SignedOn(way, result string)
}

// The results.
const (
	Passed   = "passed"   // the request goes on
	Recalled = "recalled" // it goes on by a decision about another one
	Refused  = "refused"
	Failed   = "failed" // nobody could decide, so the request is refused
)

// A Gate checks the requests of one rule.
type Gate interface {
	Check(q *Request) rules.Verdict
}

// New returns the Gate of an action.
func New(o Options) Gate {
	if o.SignOn.Forward != nil {
		return newForward(o)
	}
	return newTokens(o)
}

// failed returns the verdict where nothing could be decided.
func failed(err error) rules.Verdict {
	const text = "the server could not find out whether you are signed on; trying again in a moment may help"
	p := problem.New(http.StatusServiceUnavailable, text).
		With("Retry-After", "1").With("Cache-Control", "no-store").Because(err)
	return rules.Verdict{Refusal: &rules.Answer{Err: p, Failed: true}}
}
