// Package access decides who the client of a request is, and whether the request may proceed. The
// client is the peer, or the address that a trusted proxy names. Lists of addresses, licence tokens
// and limits decide about it; edges behind this one prove themselves by a secret or a certificate.
package access

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/guesses"
	"github.com/iconedge/iconedge/internal/problem"
)

// An Observer counts the decisions of this package.
type Observer interface {
	// Counted counts a call that was counted against the limit of a class.
	Counted(class routes.Class, accepted bool)
	// TokenChecked counts the check of a token: whether the client sent one, whether it is valid,
	// and the error of the check.
	TokenChecked(given, valid bool, err error)
	// PasswordChecked counts a password: whether it is right, and the error of guesses, if it was
	// not compared.
	PasswordChecked(right bool, err error)
	// ListRead records that a list of addresses, allow or deny, was read, how many ranges are in
	// use, and whether those are the ranges of its file.
	ListRead(list string, ranges int, ok bool)
}

// Options configures an Admission.
type Options struct {
	Rules        Rules
	TokenTimeout time.Duration // how long a request waits for the origin's verdict on its token
	Lists        *Lists        // nil: none
	// Share returns the window that edges share under a name; nil: limits are not shared.
	Share func(name string, own *ratelimit.Limiter) Window
	// CheckToken asks the origin for its verdict on a token. Its errors are problems for the
	// client.
	CheckToken func(token string) (plan string, valid bool, err error)
	Observer   Observer
	Clock      clock.Clock // that of the windows
}

// An Admission decides whether a request may proceed: it needs a valid token where its class
// requires one, and must be within the limit of its client or of its token's plan.
type Admission struct {
	Options
	rates     atomic.Pointer[rates]
	passwords *passwords
}

// rates are the limits in use. They never change; Use replaces them.
type rates struct {
	limits [routes.Classes]limit
	plans  map[planClass]limit // limits of single plans
	tokens *tokens             // nil: tokens are not checked
}

// NewAdmission returns an Admission whose windows are empty.
func NewAdmission(o Options) *Admission {
	a := &Admission{Options: o, passwords: newPasswords(max(1, runtime.GOMAXPROCS(0)/2))}
	a.rates.Store(&rates{})
	a.Use(o.Rules.Limits)
	return a
}

// Use makes limits those of all requests from now on. The windows of unchanged ones stay.
func (a *Admission) Use(limits Limits) {
	before := a.rates.Load()
	next := &rates{plans: map[planClass]limit{}, tokens: before.tokens}
	renew := func(was limit, of ratelimit.Limit, name string) limit {
		if was.own != nil && was.own.Limit() == of {
			return was
		}
		return newLimit(of, name, a.Share)
	}
	for class := routes.ClassSearch; class < routes.Classes; class++ {
		next.limits[class] = renew(before.limits[class], limits.Of(class), class.String())
	}
	for name, of := range limits {
		if plan, class, ok := strings.Cut(name, ":"); ok {
			at := planClass{plan, routes.ClassNamed(class)}
			next.plans[at] = renew(before.plans[at], of, name)
		}
	}
	if next.tokens == nil && (a.Rules.RequireToken || len(next.plans) > 0) {
		next.tokens = newTokens(a.CheckToken)
	}
	a.rates.Store(next)
}

// limiters returns the limiters that are not off.
func (a *Admission) limiters() iter.Seq[*ratelimit.Limiter] {
	r := a.rates.Load()
	return func(yield func(*ratelimit.Limiter) bool) {
		for _, l := range slices.AppendSeq(slices.Clone(r.limits[:]), maps.Values(r.plans)) {
			if l.own != nil && !yield(l.own) {
				return
			}
		}
	}
}

// Windows returns the number of windows in memory: one for each limit that a client has used.
func (a *Admission) Windows() (n int) {
	for l := range a.limiters() {
		n += l.Stats().Clients
	}
	return n
}

// Sweep makes the limiters forget clients that have left, regularly until ctx ends.
func (a *Admission) Sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for l := range a.limiters() {
				l.Sweep(a.Clock.At(now))
			}
		}
	}
}

const sweepEvery = 10 * time.Second

// A Count is the limit that a request was counted against, for its RateLimit fields. Its Limit is
// off if the request was not counted.
type Count struct {
	Name     string // of the class of the request, or of a limit of a site
	Limit    ratelimit.Limit
	Decision ratelimit.Decision
}

// Admit decides about a request on a route. It returns an error, which is a problem for the client,
// and its outcome if the request may not proceed.
func (a *Admission) Admit(x *exchange.Request, route routes.Route, now time.Time) (Count, exchange.Outcome, error) {
	class := route.Class()
	if r := a.rates.Load(); r.limits[class].own == nil && r.tokens == nil {
		return Count{}, exchange.Own, nil
	}
	if x.Tier {
		return Count{}, exchange.Own, nil // the edge behind this one has counted it
	}
	exempt := a.Exempt(x)
	var l *license
	var count Count
	var o exchange.Outcome
	var err error
	if !route.Open() {
		l, count, o, err = a.licensed(x, class, now, exempt)
	}
	if o == exchange.Limited || exempt {
		return count, o, err
	}
	// A client without a valid token spends its own limit on the attempt.
	count, over := a.count(x.Client, class, l, now)
	if over != nil {
		return count, exchange.Limited, over
	}
	return count, o, err
}

// Counts reports whether calls of a class are counted against a limit.
func (a *Admission) Counts(class routes.Class) bool { return a.rates.Load().limits[class].own != nil }

// AdmitFast decides about an eligible request at now, which counts against the limits of its site
// and of its rules, and then against that of its class. It is not ok where the pipeline has to
// decide, and has counted nothing then. over is the first limit that the client is over: a number
// of tolls, or their number for that of the class; below 0: none.
func (a *Admission) AdmitFast(client netip.Addr, now time.Time, tolls []Toll, class routes.Class) (c Count, over int, ok bool) {
	if a.Rules.RequireToken && class.Licensed() {
		return c, -1, false
	}
	switch a.Lists.Of(client) {
	case Denied:
		return c, -1, false
	case Allowed:
		return c, -1, true
	}
	l := a.rates.Load().limits[class]
	// A limit that edges share is in Redis, and the hit path must not wait.
	if l.own != nil && a.Share != nil || slices.ContainsFunc(tolls, Toll.shared) {
		return c, -1, false
	}
	for i := range tolls {
		if c = a.Take(tolls[i], client, now); !c.Decision.OK {
			return c, i, true
		}
	}
	if l.own == nil {
		return Count{}, -1, true
	}
	c = Count{class.String(), l.own.Limit(), l.own.Allow(client, now)}
	a.Observer.Counted(class, c.Decision.OK)
	if !c.Decision.OK {
		return c, len(tolls), true
	}
	return c, -1, true
}

// Take counts a request of a client against a toll, or refuses it. The hit path and the pipeline
// both count here.
func (a *Admission) Take(t Toll, client netip.Addr, now time.Time) Count {
	var d ratelimit.Decision
	if t.text != ([16]byte{}) {
		d = t.own.AllowKey(t.text, now)
	} else {
		d = t.window.Allow(client, now)
	}
	if t.class != routes.ClassNone {
		a.Observer.Counted(t.class, d.OK)
	}
	return Count{t.name, t.own.Limit(), d}
}

// licensed returns the licence of the request's token, or nil if the request has no valid one. If
// its class requires a token and the request has no valid one, it also returns the outcome and the
// error to answer with.
func (a *Admission) licensed(x *exchange.Request, class routes.Class, now time.Time, exempt bool) (l *license,
	c Count, o exchange.Outcome, err error) {
	tokens := a.rates.Load().tokens
	if tokens == nil || !class.Licensed() {
		return nil, c, exchange.Own, nil
	}
	token, given := bearer(x.Lines(fieldAuthorization))
	if !icon.WellFormedToken(token) {
		if given || a.Rules.RequireToken {
			a.Observer.TokenChecked(given, false, nil)
		}
		if !a.Rules.RequireToken {
			return nil, c, exchange.Refused, nil
		}
		return nil, c, exchange.Refused, unlicensed(given)
	}
	patience := tokenWait
	if a.Rules.RequireToken {
		patience = a.TokenTimeout
	}
	limited := false
	l, err = tokens.verify(token, now, a.guess(x, patience), func() error {
		if exempt {
			return nil
		}
		var over error
		c, over = a.countGuess(x.Client, now)
		limited = over != nil
		return over
	})
	valid := err == nil && l.valid
	a.Observer.TokenChecked(true, valid, err)
	switch {
	case valid:
		return l, c, exchange.Own, nil
	case !a.Rules.RequireToken:
		return nil, Count{}, exchange.Own, nil // counted by its client's address
	case limited:
		return nil, c, exchange.Limited, err
	case errors.Is(err, guesses.ErrClient):
		return nil, Count{}, exchange.Limited, err
	case err != nil:
		return nil, Count{}, exchange.Failed, err
	}
	return nil, Count{}, exchange.Refused, unlicensed(true)
}

// countGuess counts the check of an unverified token as a call of auth/verify. Therefore a client
// can try tokens at all endpoints together no faster than at auth/verify alone. The RateLimit
// fields describe this limit only if it ends the request.
func (a *Admission) countGuess(client netip.Addr, now time.Time) (Count, error) {
	l := a.rates.Load().limits[routes.ClassVerify]
	if l.own == nil {
		return Count{}, nil
	}
	c, err := a.counted(routes.ClassVerify, l, l.window.Allow(client, now))
	if err == nil {
		return Count{}, nil
	}
	return c, err
}

// unlicensed returns the 401 for a missing or invalid token. For an invalid token the response
// names the error (RFC 6750, section 3.1).
func unlicensed(given bool) error {
	if given {
		return problem.New(http.StatusUnauthorized, "the token is not valid: it is unknown, revoked, expired or mistyped").
			With("WWW-Authenticate", `Bearer error="invalid_token"`)
	}
	return problem.New(http.StatusUnauthorized, "this endpoint requires a licence token in Authorization: Bearer").
		With("WWW-Authenticate", "Bearer")
}

const fieldAuthorization = "Authorization"

// bearer returns the token in the lines of a request's Authorization field (RFC 6750, section 2.1).
// given reports whether the client sent one, even a malformed one. Two Authorization fields are an
// invalid token.
func bearer(lines [][]byte) (token string, given bool) {
	if len(lines) != 1 {
		return "", len(lines) > 1
	}
	scheme, token, _ := strings.Cut(string(lines[0]), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.Trim(token, " "), true
}

// count counts a request against the limit of its token's plan, if the operator set one, otherwise
// against the limit of its class for the client's address. The RateLimit fields report the state of
// that limit, on refused requests too.
func (a *Admission) count(client netip.Addr, class routes.Class, l *license, now time.Time) (Count, error) {
	rates := a.rates.Load()
	if l != nil {
		if of, ok := rates.plans[planClass{l.plan, class}]; ok && of.own == nil {
			return Count{}, nil
		} else if ok {
			return a.counted(class, of, of.window.AllowKey([16]byte(l.sum[:16]), now))
		}
	}
	if of := rates.limits[class]; of.own != nil {
		return a.counted(class, of, of.window.Allow(client, now))
	}
	return Count{}, nil
}

// counted returns a limit's decision about a call of a class, with the 429 if it is over.
func (a *Admission) counted(class routes.Class, of limit, d ratelimit.Decision) (Count, error) {
	c := Count{class.String(), of.own.Limit(), d}
	a.Observer.Counted(class, d.OK)
	if !d.OK {
		return c, TooMany(d)
	}
	return c, nil
}

// Exempt reports whether limits do not count a request.
func (a *Admission) Exempt(x *exchange.Request) bool {
	return x.Tier || a.Lists.Of(x.Client) == Allowed
}

// TooMany returns the 429 for a client over its limit.
func TooMany(d ratelimit.Decision) *problem.Problem {
	wait := strconv.FormatInt(int64(d.RetryAfter/time.Second), 10)
	return problem.New(http.StatusTooManyRequests, "over the limit of calls; try again in "+wait+" s").
		With("Retry-After", wait)
}

// Denied returns the 403 for a client on the deny list; nil for all other clients and for edges
// behind this one. Health checks are answered for every client, because operators tend to forget
// the addresses from which they come.
func (a *Admission) Denied(x *exchange.Request, healthCheck bool) *problem.Problem {
	if a.Lists == nil || x.Tier || a.Lists.Of(x.Client) != Denied || healthCheck {
		return nil
	}
	return problem.New(http.StatusForbidden, "requests from this address are denied").With("Cache-Control", "no-store")
}
