package hit

import (
	"net/http"
	"net/netip"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/represent"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/hostport"
	"github.com/iconedge/iconedge/trace"
)

// find decides whether the hit path answers a request. Its response is, byte for byte, the one that
// the pipeline would give; find is not ok where it cannot be sure of that. If it is ok, the caller
// must release m.
func (p *Path) find(m *hit, q *request.Request) (ok bool) {
	h := p.hostOf(q)
	if h == nil || h.mounted {
		return false
	}
	m.site, m.now = h.site, p.Clock.At(q.Now)
	if m.client, m.secure, ok = p.identify(q, h); !ok || h.site.Rules != nil && !m.decide(q, h) {
		return false
	}
	if !p.findEntry(m, q, h) && !(m.stale && p.isRevalidated(m, q) && p.findEntry(m, q, h)) {
		return false
	}
	if p.Reports.Tracer == nil || !p.sampleTrace(q) {
		if ok = p.admit(m, q); ok {
			m.lacksBrotli = mayGetBrotli(m.view.Hit()) && m.lacksBrotli
			return true
		}
	}
	m.view.Release()
	return false
}

// findEntry finds the response to a request for a site.
func (p *Path) findEntry(m *hit, q *request.Request, h *host) bool {
	if h.site.Icons && !h.forwards(q.Target) {
		return p.findOwn(m, q)
	}
	return p.findForwarded(m, q, h)
}

// isRevalidated reports whether a fetch revalidates the stale response of m, or has just failed, so
// that the response may be served without another fetch. The pipeline begins the fetch.
func (p *Path) isRevalidated(m *hit, q *request.Request) bool {
	key, failures := m.target.key, m.target.key
	if m.variant != "" {
		key += "\x00" + m.variant
		failures = key
	}
	if m.target.route == routes.Forwarded && (q.Authorization || q.Cookie) {
		failures += cache.WithCredentials
	}
	return p.Cache.Fetching(key, failures, m.now)
}

// hostOf returns the host of a request; nil: the pipeline has to answer it, whatever its target.
func (p *Path) hostOf(q *request.Request) *host {
	if p.draining.Load() || p.Redirects && !q.Secure || q.Tier {
		return nil
	}
	return p.current.Load().hosts.of(q.Host)
}

// identify finds the client and the scheme of a request, which a trusted proxy may name. It reports
// false if the proxy names another host.
func (p *Path) identify(q *request.Request, h *host) (client netip.Addr, secure, ok bool) {
	if !(q.Forwarded || q.ForwardedHost || q.ForwardedProto) || !p.Clients.Trusts(q.Client) {
		return q.Client, q.Secure, true
	}
	x := exchange.Request{Peer: q.Client, Secure: q.Secure, Lines: q.Lines}
	public := p.Clients.Forwarded(&x, h.text, hostport.ValidHost)
	secure = public.Scheme == "https"
	return p.Clients.OfEligible(q), secure, hostport.CanonicalHost(public.Host, public.Scheme) == h.name(secure)
}

// decide finds the outcome of the rules of a site. It reports false if the pipeline has to decide,
// or if the outcome keeps the request from the cache.
func (m *hit) decide(q *request.Request, h *host) bool {
	r := &m.rules
	r.Reset()
	r.Method, r.Host, r.Target, r.TLS, r.Client, r.Fields, r.Now = http.MethodGet, h.bare, texts(q.Target), m.secure, m.client, q.Fields, m.now
	if q.Head {
		r.Method = http.MethodHead
	}
	o := h.site.Rules.Outcome(r)
	if o == nil || o.Cache == "bypass" || o.Cache == "never" || len(o.EarlyHints) > 0 || q.Cookie && (o.StripAll || o.StripCookies != nil) {
		return false
	}
	m.outcome = o
	return true
}

// admit counts a request against its limit. It reports false if the pipeline has to decide: several
// limits concern the request, edges share the limit, or it refuses the request, which the pipeline
// then counts again. So it counts nothing that the pipeline would not.
func (p *Path) admit(m *hit, q *request.Request) (ok bool) {
	class, of, name := m.target.route.Class(), m.site.Client, "client"
	if forwarded := m.site.Forwarded; m.target.route == routes.Forwarded && forwarded.Own != nil {
		if of.Own != nil {
			return false
		}
		of, name = forwarded, routes.ClassForwarded.String()
	}
	if of.Own == nil {
		m.count, ok = p.Admission.AdmitFast(m.client, m.now, class)
		return ok
	}
	return of.Window == vhosts.Window(of.Own) && !p.Admission.Counts(class) && p.Admission.AdmitFastSite(m.client, m.now, name, of.Own)
}

// sampleTrace decides whether to trace a request. The pipeline answers a traced one.
func (p *Path) sampleTrace(q *request.Request) bool {
	if p.Clients.Trusts(q.Client) {
		q.Sampled = p.Reports.Tracer.ShouldTrace(trace.Read(exchange.Texts(q.Lines("traceparent")), exchange.Texts(q.Lines("tracestate"))), true)
	} else {
		q.Sampled = p.Reports.Tracer.Sample()
	}
	return q.Sampled
}

// mayGetBrotli reports whether the nth use of a response is one at which it may get brotli. Not
// each use is, because brotli may not be smaller.
func mayGetBrotli(n uint64) bool { return n >= represent.BrotliHits && n&(n-1) == 0 }
