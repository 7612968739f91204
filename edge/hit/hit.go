// Package hit answers requests from fresh stored responses, on the event loop that has read them:
// of HTTP/1.1, 2 and 3, for the edge's own routes and for forwarded paths of any site.
//
// A request takes these steps. find decides whether the hit path answers it: the host names its
// site (hosts.go), the target is one of the edge's own routes (own.go) or a path that the site
// forwards (forwarded.go), the entry of its key is viewed in place, and choose selects status,
// coding and part (represent.go). fill describes the head, and package respond writes it. Responses
// that are joined from pieces of icon data take joined.go.
//
// Whatever find does not decide, the pipeline does (package proxy), which gives the same bytes for
// the requests that both can answer. The package allocates nothing for a hit, and never waits.
package hit

import (
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/pieces"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/hostport"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/trace"
)

const (
	// MaxPrebuilt is the length in bytes up to which a body is written in one piece with its head.
	MaxPrebuilt = 32 << 10
	// maxTaken is the length in bytes up to which an event loop writes a body itself, from the
	// cache.
	maxTaken = 256 << 10
)

// Options has the components of a Path.
type Options struct {
	Redirects bool   // requests without TLS are redirected
	AltSvc    string // Alt-Svc value for HTTP/3 (RFC 7838); empty: no HTTP/3

	// Clock measures ages, freshness lifetimes and the windows of limits.
	Clock      clock.Clock
	Clients    access.Clients
	Admission  *access.Admission
	Cache      *cache.Cache
	Library    *library.Library
	Compressor *compress.Compressor
	Pieces     *pieces.Table
	Doors      Doors
	Metrics    *observe.Metrics
	Reports    observe.Reports
}

// Doors remember the targets that were requested once.
type Doors interface {
	// Knows reports whether a target was requested before, and returns its hash for Record.
	Knows(target []byte) (sum uint64, known bool)
	Record(sum uint64)
}

// A Path is the hit path of an edge. It is safe for concurrent use.
type Path struct {
	Options
	current  atomic.Pointer[plan]
	draining atomic.Bool // the edge ends: the next response of a connection is its last

	targets    parsedTargets
	codings    codings
	normalised normalised
	encodings  normalised // of Accept-Encoding, as origins get it
	blocks     respond.Blocks
	sections   respond.Sections
}

// New returns a hit path that answers nothing before Use is called.
func New(o Options) *Path {
	p := &Path{Options: o}
	p.current.Store(&plan{})
	return p
}

// A plan is what the settings in use say about hits. It never changes, but for the hosts that it
// remembers.
type plan struct {
	set   *vhosts.Set
	sites map[*vhosts.Site]*site
	hosts hosts
}

// A site is a site of the plan.
type site struct {
	*vhosts.Site
	hits observe.SiteHits
}

// Use makes the sites of set those of all requests from now on.
func (p *Path) Use(set *vhosts.Set) {
	next := &plan{set: set, sites: map[*vhosts.Site]*site{}}
	for _, s := range set.All() {
		next.sites[s] = &site{Site: s}
		if s.Name != "" {
			next.sites[s].hits = p.Metrics.SiteHits(s.Name)
		}
	}
	p.current.Store(next)
}

// RememberHost records that requests with a Host, which is valid, are for a site of set.
func (p *Path) RememberHost(set *vhosts.Set, text []byte, of *vhosts.Site, mounted bool) {
	current := p.current.Load()
	s := current.sites[of]
	if known := current.hosts.of(text); current.set != set || s == nil || known != nil && known.site == s && known.mounted == mounted {
		return
	}
	h := host{text: string(text), site: s, mounted: mounted}
	h.names = [2]string{hostport.CanonicalHost(h.text, "http"), hostport.CanonicalHost(h.text, "https")}
	h.bare, _ = hostport.SplitHost(h.names[0])
	current.hosts.add(h)
}

// Knows reports whether requests with a Host are for a site with icons.
func (p *Path) Knows(text []byte) bool {
	h := p.current.Load().hosts.of(text)
	return h != nil && h.site.Icons && !h.mounted
}

// Drain makes the pipeline answer all requests from now on, which closes their connections.
func (p *Path) Drain() { p.draining.Store(true) }

// Draining reports whether Drain was called.
func (p *Path) Draining() bool { return p.draining.Load() }

// A hit is a fresh stored response to a request, in the form that the client gets. It comes from a
// pool, because its parts refer to its own memory.
type hit struct {
	found
	key [maxKey]byte // memory of a key, of an entity tag, and of a Content-Range
	tag [maxTag]byte
	at  [maxRange]byte

	vary [maxVary]byte // memory of a secondary key

	rules rules.Request
}

// A found is the part of a hit that each request sets.
type found struct {
	view  cache.View
	entry *cache.Entry // of a forwarded path; nil: the head of the view is prebuilt
	site  *site
	now   time.Time // by the Clock
	// client and secure are those of the connection, or as a trusted proxy names them.
	client netip.Addr
	secure bool
	target parsedTarget
	hex    [len("#rrggbb")]byte // the colour, if parsedTarget has read it; 0: that of target
	age    time.Duration
	ttl    time.Duration // remaining freshness lifetime
	count  access.Count  // the limit that counted the request
	representation
	outcome *rules.Outcome // of the rules of the site; nil: it has none
	// lacksBrotli: the client would get brotli, if the entry had it.
	lacksBrotli bool
	// stale: the entry is stale, and may be served while it is revalidated. Its variant is the
	// secondary key of its fetches.
	stale   bool
	variant string
}

const (
	maxKey   = eligible.MaxTarget + 300 // bytes of a cache key: scheme, host and target
	maxTag   = 128
	maxRange = 80
	maxVary  = 256
)

var hits = sync.Pool{New: func() any { return new(hit) }}

// end gives a hit back to the pool.
func (m *hit) end() {
	m.found = found{}
	hits.Put(m)
}

// find decides whether the hit path answers a request. Its response is, byte for byte, the one that
// the pipeline would give; find is not ok where it cannot be sure of that. If it is ok, the caller
// must release m.
func (p *Path) find(m *hit, q *eligible.Request) (ok bool) {
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

// hostOf returns the host of a request; nil: the pipeline has to answer it, whatever its target.
func (p *Path) hostOf(q *eligible.Request) *host {
	if p.draining.Load() || p.Redirects && !q.Secure || q.Tier {
		return nil
	}
	return p.current.Load().hosts.of(q.Host)
}

// findEntry finds the response to a request for a site.
func (p *Path) findEntry(m *hit, q *eligible.Request, h *host) bool {
	if h.site.Icons {
		return p.findOwn(m, q)
	}
	return p.findForwarded(m, q, h)
}

// isRevalidated reports whether a fetch revalidates the stale response of m, or has just failed, so
// that the response may be served without another fetch. The pipeline begins the fetch.
func (p *Path) isRevalidated(m *hit, q *eligible.Request) bool {
	key, failures := m.target.key, m.target.key
	if m.variant != "" {
		key += "\x00" + m.variant
		failures = key
	}
	if m.target.route == routes.Forwarded && (q.Authorization || q.Cookie) {
		failures += WithCredentials
	}
	return p.Cache.Fetching(key, failures, m.now)
}

// WithCredentials ends the key of the failures and hit-for-pass markers of requests with
// credentials.
const WithCredentials = "\x00credentials"

// identify finds the client and the scheme of a request, which a trusted proxy may name. It reports
// false if the proxy names another host.
func (p *Path) identify(q *eligible.Request, h *host) (client netip.Addr, secure, ok bool) {
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
func (m *hit) decide(q *eligible.Request, h *host) bool {
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
func (p *Path) admit(m *hit, q *eligible.Request) (ok bool) {
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

// spares reports whether no rule of a site and no limit besides that of a class can concern a
// target.
func (s *site) spares(target []byte) bool {
	return s.Plain() && s.Spares(texts(target))
}

// sampleTrace decides whether to trace a request. The pipeline answers a traced one.
func (p *Path) sampleTrace(q *eligible.Request) bool {
	if p.Clients.Trusts(q.Client) {
		q.Sampled = p.Reports.Tracer.ShouldTrace(trace.Read(exchange.Texts(q.Lines("traceparent")), exchange.Texts(q.Lines("tracestate"))), true)
	} else {
		q.Sampled = p.Reports.Tracer.Sample()
	}
	return q.Sampled
}

// mayGetBrotli reports whether the nth use of a response is one at which it may get brotli. Not
// each use is, because brotli may not be smaller.
func mayGetBrotli(n uint64) bool { return n >= BrotliHits && n&(n-1) == 0 }

// BrotliHits is the number of hits from which a response on the edge's own routes gets brotli. A
// response that is requested once is not worth its cost.
const BrotliHits = 2

// release ends the use of an entry, and has brotli made of it if that is due.
func (p *Path) release(m *hit) {
	m.view.Release()
	if !m.lacksBrotli {
		return
	}
	if e := p.Cache.Get(m.target.key); e != nil {
		p.Compressor.WantSmaller(e, entry.Brotli)
	}
}

// Answer appends the response to a request of HTTP/1.1; see h1.Answerer.
func (p *Path) Answer(dst []byte, q *eligible.Request) ([]byte, bool) {
	m := hits.Get().(*hit)
	defer m.end()
	if !p.find(m, q) {
		return p.answerJoined(dst, q, m.target.raw != "")
	}
	defer p.release(m)
	w := m.writer()
	t := p.fill(m, q)
	dst = append(dst, statusLines[m.status]...)
	start := len(dst)
	dst = w.Append(dst, &t)
	if m.entry != nil || m.isEdited() {
		dst = p.edit(dst, start, m, q)
	}
	dst = append(dst, "\r\n"...)
	body := 0
	switch {
	case !m.sends(q):
	case m.apart:
		q.Body, body = m.body, len(m.body)
	default:
		head := len(dst)
		dst = m.appendBody(dst)
		body = len(dst) - head
	}
	p.note(m, exchange.H1, q, body)
	return dst, true
}

// AnswerH2 appends the response to a request of HTTP/2; see h2.Answerer. It appends the same head
// as Answer, as a header block.
func (p *Path) AnswerH2(dst []byte, q *eligible.Request, known *h2.ClientTable) (out []byte, block int, ok bool) {
	m := hits.Get().(*hit)
	defer m.end()
	if !p.find(m, q) {
		return p.answerJoinedH2(dst, q, known, m.target.raw != "")
	}
	defer p.release(m)
	w := m.writer()
	t := p.fill(m, q)
	start := len(dst)
	dst = h2.AppendStatus(dst, m.status)
	if m.entry == nil && !m.isEdited() {
		w.Block, w.Table = p.blocks.Of(w.Prebuilt), known
		dst = w.Append(dst, &t)
	} else {
		lines := heads.Get().(*[]byte)
		*lines = p.edit(w.Append((*lines)[:0], &t), 0, m, q)
		dst = respond.AppendBlock(dst, *lines)
		heads.Put(lines)
	}
	block = len(dst) - start
	if m.sends(q) {
		dst = append(dst, make([]byte, h2.Gap)...)
	}
	body := len(dst)
	if m.sends(q) {
		dst = m.appendBody(dst)
	}
	p.note(m, exchange.H2, q, len(dst)-body)
	return dst, block, true
}

// note counts and logs a response.
func (p *Path) note(m *hit, by exchange.Protocol, q *eligible.Request, body int) {
	outcome := exchange.Hit
	if m.stale {
		outcome = exchange.Stale
	}
	p.record(m.site, by, m.target.route, outcome, m.status, q, body)
}

// record counts and logs a response with a body of so many bytes.
func (p *Path) record(s *site, by exchange.Protocol, route routes.Route, outcome exchange.Outcome, status int, q *eligible.Request, body int) {
	p.Metrics.Hit(by, route, outcome, status, q.Now, body)
	s.hits.Count(outcome, status)
	p.Reports.LogHit(s.Name, by, route, outcome, status, q, body)
}

// sends reports whether the response has a body.
func (m *hit) sends(q *eligible.Request) bool { return !m.bodyless && !q.Head }

// writer returns the writer of the head.
func (m *hit) writer() respond.Writer {
	if m.entry == nil {
		return respond.Writer{Prebuilt: m.view.Head()}
	}
	return respond.Writer{Entry: m.entry, Date: m.entry.Date, Forwarded: true, Coded: m.coding != entry.Identity}
}

// fill describes the head of the response.
func (p *Path) fill(m *hit, q *eligible.Request) (t respond.Head) {
	t.Bodyless, t.Coding, t.ETag, t.Color = m.bodyless, m.coding, m.etag, m.color()
	t.ContentRange = m.contentRange
	t.Ranges = m.entry == nil && m.coding == entry.Identity
	t.Aged, t.Age = true, m.age
	t.Status = cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: m.ttl}
	if !t.Bodyless {
		t.Length = m.length()
	}
	if m.entry != nil {
		return t // edit adds what the origin's own fields must not repeat
	}
	t.Count = &m.count
	if q.Secure {
		t.AltSvc = p.AltSvc
	}
	return t
}

// isEdited reports whether the operator edits the fields of the response.
func (m *hit) isEdited() bool { return m.outcome != nil && len(m.outcome.ResponseEdits) > 0 }

// edit makes the lines of a head, which begin at start, those that the client gets: some of the
// edge's fields replace those of the origin of a forwarded response, and the operator edits all.
func (p *Path) edit(dst []byte, start int, m *hit, q *eligible.Request) []byte {
	altSvc := m.entry != nil && q.Secure && p.AltSvc != ""
	limit := m.entry != nil && !m.count.Limit.Off()
	if !altSvc && !limit && !m.isEdited() {
		return dst
	}
	r := exchange.Response{Lines: dst[start:]}
	if limit {
		respond.SetLimit(&r, &m.count)
	}
	if altSvc {
		r.Set("Alt-Svc", p.AltSvc)
	}
	if m.isEdited() {
		respond.Edit(&r, m.outcome.ResponseEdits)
	}
	return append(dst[:start], r.Lines...)
}

// length returns the length of the body after any colouring.
func (m *hit) length() int {
	if c := m.color(); c != "" {
		return icon.RecolouredLen(len(m.body), m.view.Head().ColourUses, c)
	}
	return len(m.body)
}

// appendBody appends the body.
func (m *hit) appendBody(dst []byte) []byte {
	if c := m.color(); c != "" {
		return icon.AppendRecoloured(dst, m.body, m.view.Head().ColourUses, c)
	}
	return append(dst, m.body...)
}

// heads have the memory of heads that are written as lines first.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}
