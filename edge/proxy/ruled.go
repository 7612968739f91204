package proxy

import (
	"math/rand/v2"
	"time"

	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/signon"
)

// decide applies the limit and the rules of a request's site. It reports whether they have answered
// the request.
func (h *Proxy) decide(r *pipeline.Request) (answered bool) {
	if err := r.CountSite(h.Options.Admission, routes.ClassNone, r.Site.Client); err != nil {
		h.end(r, exchange.Limited, err)
		return true
	}
	if r.Site.Rules == nil {
		return false
	}
	d := &pipeline.Ruled{Request: rules.Request{Method: pipeline.MethodOf(r), Host: pipeline.HostName(r.Public.Host),
		Target: pipeline.RawTarget(r.Ctx), TLS: r.Public.Scheme == "https", Client: r.Client,
		Header: pipeline.FieldsOf(r), Now: r.Now, Random: rand.Uint64()}}
	r.Site.Rules.Clean(d.Request.Header)
	d.Request.Allow = func(l *rules.Limit, key string) (bool, time.Duration) { return h.allow(r, l, key) }
	d.Request.Guess = func(account, password string, compare func() bool) (bool, error) {
		right, err := h.Options.Admission.CheckPassword(r.Request, account, password, compare)
		r.Now = h.Options.Clock.Now() // it may have waited
		d.Request.Now = r.Now
		return right, err
	}
	d.Request.SignOn = func(s *rules.SignOn) rules.Verdict { return h.signOn(r, d, s) }
	d.Site = r.Site.Rules
	d.Site.DecideInto(&d.Decision, &d.Request)
	r.Ruled = d
	if stop := d.Stopped; stop != nil {
		h.rulesStopped(r, stop)
	}
	a := d.Answer
	if a == nil {
		return false
	}
	o := exchange.Own
	switch {
	case a.Over:
		o = exchange.Limited
	case a.Denied:
		o = exchange.Denied
	case a.Failed:
		o = exchange.Failed
	case d.Stopped != nil:
		o = exchange.Refused
	}
	if a.Err != nil {
		h.end(r, o, a.Err)
		return true
	}
	if p := respond.RuledProblem(a); p != nil {
		h.end(r, o, p)
		return true
	}
	r.Ctx.Response.SetStatusCode(a.Status)
	if !respond.Ruled(&r.Response, a, h.writer.Date(r)) {
		pipeline.Send(r, a.Body)
	}
	h.end(r, o, nil)
	return true
}

// signOn asks whether the sender of a request has signed on.
func (h *Proxy) signOn(r *pipeline.Request, d *pipeline.Ruled, s *rules.SignOn) rules.Verdict {
	gate := s.State.(signon.Gate)
	v := gate.Check(&signon.Request{Method: d.Request.Method, Target: d.Request.Target, Header: d.Request.Header,
		Cookies: d.Request.CookiesNamed, Client: r.Client, Forwarded: r.Public, Now: r.Now})
	r.Now = h.Options.Clock.Now() // it may have waited
	d.Request.Now = r.Now
	return v
}

// rulesStopped reports that the rules of a request cost too much. It logs one a second, because a
// client can send any number of such requests.
func (h *Proxy) rulesStopped(r *pipeline.Request, stop *rules.Stop) {
	h.Options.Metrics.RulesStopped(r.Site.Name, stop.Refused)
	now := r.Now.Unix()
	if last := h.stopLogged.Load(); last != now && h.stopLogged.CompareAndSwap(last, now) {
		h.Options.Log.Warn("rules of a site stopped, because they cost too much for a request", "site", r.Site.Name,
			"line", stop.Line, "refused", stop.Refused, "client", r.Client)
	}
}

// allow counts a request against the limit of a rule.
func (h *Proxy) allow(r *pipeline.Request, l *rules.Limit, key string) (bool, time.Duration) {
	limiter, _ := l.State.(*ratelimit.Limiter)
	if limiter == nil || h.Options.Admission.Exempt(r.Request) {
		return true, 0
	}
	toll := access.OfRule(limiter)
	if !l.ByClient {
		toll = access.OfText(limiter, key)
	}
	d := h.Options.Admission.Take(toll, r.Client, r.Now).Decision
	return d.OK, d.RetryAfter
}
