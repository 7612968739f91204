package hit

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/represent"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/hostport"
)

// find decides whether the hit path answers a request. Its response is, byte for byte, the one that
// the pipeline would give; find is not ok where it cannot be sure of that. If it is ok, the caller
// must release m.
func (p *Path) find(m *hit, q *request.Request) (ok bool) {
	if !p.enter(m, q) || m.host.mounted {
		return false
	}
	if m.ruledAnswer() != nil {
		return p.findRuled(m, q) && p.admit(m, q, routes.ClassNone)
	}
	if !p.findEntry(m, q) && !(m.stale && p.isRevalidated(m, q) && p.findEntry(m, q)) {
		return false
	}
	if ok = p.admit(m, q, m.target.route.Class()); ok && !m.made {
		m.lacksBrotli = mayGetBrotli(m.view.Hit()) && m.lacksBrotli
		return true
	}
	m.view.Release()
	return ok
}

// enter finds the site of a request, its client, and the decision of the site's rules about it.
func (p *Path) enter(m *hit, q *request.Request) (ok bool) {
	h := p.hostOf(q)
	if h == nil || q.Loop && hasPassed(q, p.Origin) {
		return false
	}
	m.site, m.now = h.site, p.Clock.At(q.Now)
	if m.site.Maintenance.Undecided(m.now) {
		return false
	}
	if m.client, m.secure, ok = p.identify(q, h); !ok || p.Redirects && !m.secure || !m.decide(q, h) {
		return false
	}
	m.host = h
	return true
}

// findRuled makes the response of a rule that answers in place of the origin. It reports false
// where the pipeline has to.
func (p *Path) findRuled(m *hit, q *request.Request) bool {
	a := m.ruledAnswer()
	path, _, _ := strings.Cut(texts(q.Target), "?")
	if m.site.IsHealthPath(path) || a.Status < http.StatusOK || a.Status >= len(statusLines) || statusLines[a.Status] == "" {
		return false
	}
	r := exchange.Response{Lines: m.lines[:0]}
	bodyless := respond.Ruled(&r, a, p.dates.Of(m.now))
	m.becomes(p, q, reply{routes.Unknown, exchange.Own, a.Status, a.Body, bodyless}, &r)
	return m.fits(q, true)
}

// findEntry finds the response to a request for a site.
func (p *Path) findEntry(m *hit, q *request.Request) bool {
	if m.site.Icons && !m.host.forwards(q.Target) {
		return p.findOwn(m, q)
	}
	return p.findForwarded(m, q)
}

// isRevalidated reports whether a fetch revalidates the stale response of m, or has just failed, so
// that the response may be served without another fetch. The pipeline begins the fetch.
func (p *Path) isRevalidated(m *hit, q *request.Request) bool {
	key, failures := m.target.key, m.target.key
	if m.variant != "" {
		key += "\x00" + m.variant
		failures = key
	}
	if m.target.route == routes.Forwarded && (q.Authorization || m.cookie) {
		failures += cache.WithCredentials
	}
	return p.Cache.Fetching(key, failures, m.now)
}

// hostOf returns the host of a request; nil: the pipeline has to answer it, whatever its target.
func (p *Path) hostOf(q *request.Request) *host {
	if p.draining.Load() || q.Tier {
		return nil
	}
	return p.current.Load().hosts.of(q.Host)
}

// hasPassed reports whether a request has passed this edge before.
func hasPassed(q *request.Request, origin *upstream.Client) bool {
	var room [4]string
	return origin.IsLoop(linesOf(q, "CDN-Loop", room[:0]))
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

// decide finds the limits of a site that count a request, and the outcome of its rules. It reports
// false if the pipeline has to decide, or if the outcome keeps the request from the cache.
func (m *hit) decide(q *request.Request, h *host) bool {
	m.fields, m.cookie, m.tolls.n = q.Fields, q.Cookie, 0
	if of := &h.site.Client; of.Own != nil {
		m.addToll(access.OfSite(routes.ClassNone, of.Own, of.Window), len(h.site.ResponseEdits()))
	}
	if h.site.Rules == nil {
		return true
	}
	r := &m.rules
	r.Reset()
	r.Method, r.Host, r.Target, r.TLS, r.Client, r.Fields, r.Now = http.MethodGet, h.bare, texts(q.Target), m.secure,
		m.client, q.Fields, m.now
	if q.Head {
		r.Method = http.MethodHead
	}
	o, ok := h.site.Rules.Outcome(r)
	if !ok {
		return false
	}
	m.ruled, m.edits = o.Decision, len(o.ResponseEdits)
	for _, l := range o.Limits {
		if !m.addRuleToll(l) {
			return false
		}
	}
	switch {
	case m.ruledAnswer() != nil:
		return true
	case o.Cache == "bypass", o.Cache == "never", len(o.EarlyHints) > 0:
		return false
	case q.Cookie && o.StripsAny():
		m.strip(q)
	}
	return true
}

// mayGetBrotli reports whether the nth use of a response is one at which it may get brotli. Not
// each use is, because brotli may not be smaller.
func mayGetBrotli(n uint64) bool { return n >= represent.BrotliHits && n&(n-1) == 0 }
