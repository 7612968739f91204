package edge

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
	"github.com/valyala/fasthttp"
)

// A planClass identifies the limit for one class of calls by the tokens of one plan.
type planClass struct {
	plan  string
	class routes.Class
}

// plans holds the limits that the operator set for single plans; nil: the limit is off.
type plans map[planClass]*ratelimit.Limiter

func newPlans(l Limits) plans {
	p := plans{}
	for name, limit := range l {
		if plan, className, ok := strings.Cut(name, ":"); ok {
			p[planClass{plan, routes.ClassNamed(className)}] = newLimiter(limit)
		}
	}
	return p
}

// newLimiter returns a limiter for a limit, or nil if the limit is off.
func newLimiter(limit ratelimit.Limit) *ratelimit.Limiter {
	if limit.Off() {
		return nil
	}
	return ratelimit.New(limit, ratelimit.Options{})
}

// admit decides whether a request may proceed: it needs a valid token where its class requires one,
// and must be within the limit of its client or of its token's plan.
func (h *handler) admit(r *request) (exchange.Outcome, error) {
	if h.limits[r.route.Class()] == nil && h.tokens == nil {
		return exchange.Own, nil
	}
	if r.Tier {
		return exchange.Own, nil // the edge behind this one has already counted it for its client
	}
	client := r.Client
	exempt := h.lists.of(client) == allowed
	l, o, err := h.licensed(r, client, exempt)
	if o == exchange.Limited || exempt {
		return o, err
	}
	// A client without a valid token spends its own limit on the attempt.
	if over := h.count(r, client, l); over != nil {
		return exchange.Limited, over
	}
	return o, err
}

// licensed returns the licence of the request's token, or nil if the request has no valid one. If
// its class requires a token and the request has no valid one, it also returns the outcome and the
// error to answer with.
func (h *handler) licensed(r *request, client netip.Addr, exempt bool) (*license, exchange.Outcome, error) {
	if h.tokens == nil || !r.route.Class().Licensed() {
		return nil, exchange.Own, nil
	}
	token, given := bearer(r.ctx)
	if !icon.WellFormedToken(token) {
		if given || h.requireToken {
			h.metrics.TokenChecked(given, false, nil)
		}
		return nil, exchange.Refused, h.unlicensed(given)
	}
	patience := tokenWait
	if h.requireToken {
		patience = h.waitTimeout
	}
	limited := false
	l, err := h.tokens.verify(token, r.now, patience, func() error {
		if exempt {
			return nil
		}
		err := h.countGuess(r, client)
		limited = err != nil
		return err
	})
	valid := err == nil && l.valid
	h.metrics.TokenChecked(true, valid, err)
	switch {
	case valid:
		return l, exchange.Own, nil
	case !h.requireToken:
		return nil, exchange.Own, nil // counted by its client's address
	case limited:
		return nil, exchange.Limited, err
	case err != nil:
		return nil, exchange.Failed, err
	}
	return nil, exchange.Refused, h.unlicensed(true)
}

// countGuess counts the check of an unverified token as a call of auth/verify. Therefore a client
// can try tokens at all endpoints together no faster than at auth/verify alone.
func (h *handler) countGuess(r *request, client netip.Addr) error {
	l := h.limits[routes.ClassVerify]
	if l == nil {
		return nil
	}
	err := h.recordDecision(r, routes.ClassVerify, l.Limit(), h.allow(l, client, r.now))
	if err == nil || !h.requireToken {
		// RateLimit describes this limit only if it ends the request; otherwise the request's own
		// class sets it.
		r.limit = ratelimit.Limit{}
	}
	return err
}

// unlicensed returns the 401 for a missing or invalid token, or nil where no token is required. For
// an invalid token the response names the error (RFC 6750, section 3.1).
func (h *handler) unlicensed(given bool) error {
	switch {
	case !h.requireToken:
		return nil
	case given:
		return problem.New(http.StatusUnauthorized, "the token is not valid: it is unknown, revoked, expired or mistyped").
			With(fasthttp.HeaderWWWAuthenticate, `Bearer error="invalid_token"`)
	}
	return problem.New(http.StatusUnauthorized, "this endpoint requires a licence token in Authorization: Bearer").
		With(fasthttp.HeaderWWWAuthenticate, "Bearer")
}

// bearer returns the token in the Authorization field of a request (RFC 6750, section 2.1). given
// reports whether the client sent one, even a malformed one. Two Authorization fields are an
// invalid token.
func bearer(ctx *fasthttp.RequestCtx) (token string, given bool) {
	lines := ctx.Request.Header.PeekAll(fasthttp.HeaderAuthorization)
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
func (h *handler) count(r *request, client netip.Addr, l *license) error {
	if l != nil {
		if of, ok := h.plans[planClass{l.plan, r.route.Class()}]; ok && of == nil {
			return nil
		} else if ok {
			return h.recordDecision(r, r.route.Class(), of.Limit(), h.allowKey(of, [16]byte(l.sum[:16]), r.now))
		}
	}
	if of := h.limits[r.route.Class()]; of != nil {
		return h.recordDecision(r, r.route.Class(), of.Limit(), h.allow(of, client, r.now))
	}
	return nil
}

// recordDecision records a limiter's decision about a request that was counted as a call of class
// as.
func (h *handler) recordDecision(r *request, as routes.Class, limit ratelimit.Limit, d ratelimit.Decision) error {
	r.counted, r.limit, r.decision = as, limit, d
	h.metrics.Counted(as, d.OK)
	if !d.OK {
		return tooMany(d)
	}
	return nil
}
