package proxy

import (
	"crypto/sha256"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/problem"
)

// decide applies the limit and the rules of a request's site. It reports whether they have answered
// the request.
func (h *Proxy) decide(r *pipeline.Request) (answered bool) {
	if err := r.CountSite(h.Options.Admission, "client", r.Site.Client); err != nil {
		h.end(r, exchange.Limited, err)
		return true
	}
	if r.Site.Rules == nil {
		return false
	}
	d := &pipeline.Ruled{Request: rules.Request{Method: pipeline.MethodOf(r), Host: pipeline.HostName(r.Public.Host), Target: pipeline.RawTarget(r.Ctx), TLS: r.Public.Scheme == "https", Client: r.Client,
		Header: pipeline.FieldsOf(r), Now: r.Now, Random: rand.Uint64()}}
	d.Request.Allow = func(l *rules.Limit, key string) (bool, time.Duration) { return h.allow(r, l, key) }
	d.Request.Guess = func(account, password string, compare func() bool) (bool, error) {
		right, err := h.Options.Admission.CheckPassword(r.Request, account, password, compare)
		r.Now = h.Options.Clock.Now() // it may have waited
		d.Request.Now = r.Now
		return right, err
	}
	d.Site = r.Site.Rules
	d.Decision = d.Site.Decide(&d.Request)
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
	case d.Stopped != nil:
		o = exchange.Refused
	}
	if a.Err != nil {
		h.end(r, o, a.Err)
		return true
	}
	if a.Text != "" {
		p := problem.New(a.Status, a.Text).With("Cache-Control", "no-store")
		for name, lines := range a.Header {
			p = p.With(name, lines[0])
		}
		h.end(r, o, p)
		return true
	}
	r.Ctx.Response.SetStatusCode(a.Status)
	for name, lines := range a.Header {
		r.Response.Add(name, lines[0])
	}
	h.writer.WriteDate(r)
	if a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
		if a.Type != "" {
			r.Response.Add("Content-Type", a.Type)
		}
		pipeline.Send(r, a.Body)
	}
	h.end(r, o, nil)
	return true
}

// rulesStopped reports that the rules of a request cost too much. It logs one a second, because a
// client can send any number of such requests.
func (h *Proxy) rulesStopped(r *pipeline.Request, stop *rules.Stop) {
	h.Options.Metrics.RulesStopped(r.Site.Name, stop.Refused)
	now := r.Now.Unix()
	if last := h.stopLogged.Load(); last != now && h.stopLogged.CompareAndSwap(last, now) {
		h.Options.Log.Warn("rules of a site stopped, because they cost too much for a request", "site", r.Site.Name, "line", stop.Line, "refused", stop.Refused, "client", r.Client)
	}
}

// allow counts a request against the limit of a rule.
func (h *Proxy) allow(r *pipeline.Request, l *rules.Limit, key string) (bool, time.Duration) {
	limiter, _ := l.State.(*ratelimit.Limiter)
	if limiter == nil || h.Options.Admission.Exempt(r.Request) {
		return true, 0
	}
	var d ratelimit.Decision
	if l.ByClient {
		d = limiter.Allow(r.Client, r.Now)
	} else {
		sum := sha256.Sum256([]byte(key))
		d = limiter.AllowKey([16]byte(sum[:16]), r.Now)
	}
	return d.OK, d.RetryAfter
}
