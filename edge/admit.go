package edge

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// A planClass is what a limit for the tokens of one plan is for.
type planClass struct {
	plan  string
	class class
}

// plans are the limits that plans have of their own; nil: off.
type plans map[planClass]*ratelimit.Limiter

func newPlans(l Limits) plans {
	p := plans{}
	for name, limit := range l {
		if plan, className, ok := strings.Cut(name, ":"); ok {
			p[planClass{plan, classNamed(className)}] = newLimiter(limit)
		}
	}
	return p
}

// newLimiter counts calls against a limit; nil, if that is off.
func newLimiter(limit ratelimit.Limit) *ratelimit.Limiter {
	if limit.Off() {
		return nil
	}
	return ratelimit.New(limit, ratelimit.Options{})
}

// admit says whether a request may go on: by its token, where one is wanted, and within the limit of whoever asks.
func (h *handler) admit(r *request) (outcome, error) {
	if h.limits[r.route.class()] == nil && h.tokens == nil {
		return outcomeOwn, nil
	}
	if r.Tier {
		return outcomeOwn, nil // whom it asks for it has counted itself
	}
	client := r.Client
	exempt := h.lists.of(client) == allowed
	l, o, err := h.licensed(r, client, exempt)
	if o == outcomeLimited || exempt {
		return o, err
	}
	if over := h.count(r, client, l); over != nil { // who bears no good token uses up his window with it
		return outcomeLimited, over
	}
	return o, err
}

// licensed is the licence of the token that a request bears, nil if it bears none that counts, and what is to be answered where
// one must.
func (h *handler) licensed(r *request, client netip.Addr, exempt bool) (*license, outcome, error) {
	if h.tokens == nil || !r.route.class().licensed() {
		return nil, outcomeOwn, nil
	}
	token, given := bearer(r.ctx)
	if !icon.WellFormedToken(token) {
		if given || h.requireToken {
			h.metrics.tokenChecked(given, false, nil)
		}
		return nil, outcomeRefused, h.unlicensed(given)
	}
	patience := licenseWait
	if h.requireToken {
		patience = h.patience
	}
	limited := false
	l, err := h.tokens.verify(token, r.now, patience, func() error {
		if exempt {
			return nil
		}
		err := h.guess(r, client)
		limited = err != nil
		return err
	})
	valid := err == nil && l.valid
	h.metrics.tokenChecked(true, valid, err)
	switch {
	case valid:
		return l, outcomeOwn, nil
	case !h.requireToken:
		return nil, outcomeOwn, nil // counted by its address, as anybody
	case limited:
		return nil, outcomeLimited, err
	case err != nil:
		return nil, outcomeError, err
	}
	return nil, outcomeRefused, h.unlicensed(true)
}

// guess counts a question about a token that nobody has vouched for as a call of auth/verify: tokens can be tried there and here
// together no faster than that.
func (h *handler) guess(r *request, client netip.Addr) error {
	l := h.limits[classVerify]
	if l == nil {
		return nil
	}
	err := h.counted(r, classVerify, l.Limit(), h.allow(l, client, r.now))
	if err == nil || !h.requireToken {
		r.limit = ratelimit.Limit{} // the fields are for what ends the call, or for its own class
	}
	return err
}

// unlicensed is the 401 of who bears no token that counts; nil, where nobody has to. Where one was given its answer says what is wrong
// (RFC 6750, section 3.1).
func (h *handler) unlicensed(given bool) error {
	switch {
	case !h.requireToken:
		return nil
	case given:
		return problem.New(http.StatusUnauthorized, "the token is not valid: it is unknown, revoked, expired or mistyped").
			With(fasthttp.HeaderWWWAuthenticate, `Bearer error="invalid_token"`)
	}
	return problem.New(http.StatusUnauthorized, "this address wants Authorization: Bearer with a licence token").
		With(fasthttp.HeaderWWWAuthenticate, "Bearer")
}

// bearer is the token that a request bears (RFC 6750, section 2.1). given: there is one, whatever it is; two are none.
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

// count counts a request against the limit of its token's plan, if that has one, else of its class for its address. The fields say
// how things stand, also on what is refused.
func (h *handler) count(r *request, client netip.Addr, l *license) error {
	if l != nil {
		if of, ok := h.plans[planClass{l.plan, r.route.class()}]; ok && of == nil {
			return nil
		} else if ok {
			return h.counted(r, r.route.class(), of.Limit(), h.allowKey(of, [16]byte(l.sum[:16]), r.now))
		}
	}
	if of := h.limits[r.route.class()]; of != nil {
		return h.counted(r, r.route.class(), of.Limit(), h.allow(of, client, r.now))
	}
	return nil
}

// counted notes what a limit decided about a request that was counted as one of some class.
func (h *handler) counted(r *request, as class, limit ratelimit.Limit, d ratelimit.Decision) error {
	r.counted, r.limit, r.decision = as, limit, d
	h.metrics.counted(as, d.OK)
	if !d.OK {
		return tooMany(d)
	}
	return nil
}
