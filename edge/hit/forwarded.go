package hit

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/recent"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
)

// findForwarded finds the response to a request for a path of another application.
func (p *Path) findForwarded(m *hit, q *eligible.Request, h *host) bool {
	s := h.site
	path, _, _ := strings.Cut(texts(q.Target), "?")
	if s.IsHealthPath(path) || q.Cookie && p.bypasses(s, q) {
		return false
	}
	scheme, name := "http", h.name(m.secure)
	if m.secure {
		scheme = "https"
	}
	var key []byte
	if m.outcome != nil {
		key = s.Rules.AppendKey(m.key[:0], &m.outcome.Decision, &m.rules, scheme, name)
	} else {
		key = append(append(append(m.key[:0], scheme...), "://"...), name...)
		key = s.AppendKey(key, texts(q.Target))
	}
	m.target = parsedTarget{key: texts(key), route: routes.Forwarded}
	if !p.Cache.ViewVariant(m.target.key, &m.view, func(vary []string) (string, bool) { return p.variant(m.vary[:0], s, vary, q) }) {
		return false
	}
	m.entry = m.view.Entry()
	if p.chooseForwarded(m, q) {
		return true
	}
	m.view.Release()
	return false
}

// bypasses reports whether a cookie of a request makes it bypass the cache.
func (p *Path) bypasses(s *site, q *eligible.Request) bool {
	for i := 0; ; i++ {
		line := q.Fields.Line("Cookie", i)
		if line == nil {
			return false
		}
		if s.Bypasses([]string{texts(line)}) {
			return true
		}
	}
}

// variant returns the secondary key of a request for a response with this Vary (RFC 9111, section
// 4.1). It does not know that of a field which origins do not get as the client has sent it, or
// which has several lines.
func (p *Path) variant(dst []byte, s *site, vary []string, q *eligible.Request) (string, bool) {
	for _, name := range vary {
		value := q.Fields.Line(name, 0)
		if !upstream.SentAsReceived(name) || value != nil && q.Fields.Line(name, 1) != nil {
			return "", false
		}
		if name == acceptEncoding && value != nil && !s.EncodingAsSent {
			if q.Authorization || q.Fields.Line("Available-Dictionary", 0) != nil {
				return "", false // a signature may cover the field, or a dictionary add codings
			}
			dst = cachepolicy.AppendVary(dst, name, p.encodings.of(name, value, normalEncoding), false)
			continue
		}
		dst = cachepolicy.AppendVary(dst, name, p.normalised.of(name, value, asSent), value == nil)
	}
	return texts(dst), true
}

// normalised hold the normal forms of recent values of fields.
type normalised [256]atomic.Pointer[normalForm]

type normalForm struct{ name, value, normal string }

const acceptEncoding = "Accept-Encoding"

func asSent(value string) string { return value }

// normalEncoding returns the Accept-Encoding that origins get in place of value.
func normalEncoding(value string) string { return cachepolicy.NormalEncoding([]string{value}, false) }

// of returns the normal form of a value, to which first was applied. Each table has one first.
func (n *normalised) of(name string, value []byte, first func(string) string) string {
	if value == nil {
		return ""
	}
	at := recent.Slot(n[:], value)
	known := at.Load()
	if known == nil || known.value != string(value) || known.name != name {
		text := string(value)
		known = &normalForm{name, text, cachepolicy.NormaliseVary(name, first(text))}
		at.Store(known)
	}
	return known.normal
}

// chooseForwarded selects the status, coding and part that the client gets from an entry. It
// reports false where the pipeline has to decide.
func (p *Path) chooseForwarded(m *hit, q *eligible.Request) bool {
	e, f := m.entry, m.entry.Freshness()
	if e.IsObject() || e.Identity() == nil || e.Release != "" || len(e.Date) == 0 || f.SoftPurged || !isPlainStatus(e.Status) {
		return false
	}
	var a Asked
	asked := cachepolicy.Request{Method: http.MethodGet, Cookie: q.Cookie, Authorized: q.Authorization, Policy: m.site.Policy}
	compresses := m.site.Compress
	if o := m.outcome; o != nil {
		if len(e.Vary) > 0 && len(o.RequestEdits) > 0 {
			return false // the edits may concern fields by which the response varies
		}
		asked.Policy.SafeCookies = asked.Policy.SafeCookies && o.Cache != "force"
		if o.Compress != nil {
			compresses = compresses && *o.Compress
		}
	}
	a.read(q, &asked)
	if cachepolicy.Decide(f, asked, m.now) == cachepolicy.Fresh {
		m.stale = false
	} else if !m.mayServeStale(f, asked, q) {
		m.variant = strings.Clone(e.Secondary)
		return false
	}
	m.age, m.ttl = f.AgeAt(m.now), f.TTL(m.now)
	got, wanted := entry.Identity, entry.Identity
	if a.Codable(e, compresses) {
		choice := p.codings.of(q.AcceptEncoding)
		got, wanted = choice.of[setOf(&m.view)], choice.Of(compress.Made(e)...)
	}
	coding, whole, want := a.Negotiate(e, got, wanted)
	if want != entry.Identity && p.Compressor.Makes(e, want) {
		return false // the pipeline has the coding made
	}
	m.coding, m.body, m.etag = coding, e.Variants[coding].Body, append(m.tag[:0], e.Identity().ETag...)
	if coding != entry.Identity {
		m.etag = compress.AppendTag(m.tag[:0], e.Validator, coding)
	}
	if a.IfNoneMatch != "" && e.Status == http.StatusOK {
		if tag := compress.Held(a.IfNoneMatch, a.AcceptEncoding, e.Validator, texts(m.etag)); tag != texts(m.etag) {
			m.etag = append(m.tag[:0], tag...)
		}
	}
	m.status = e.Status
	if m.status == http.StatusOK {
		m.status = Conditional(e, cachepolicy.Conditions{IfNoneMatch: a.IfNoneMatch, IfModifiedSince: a.IfModifiedSince}, texts(m.etag), m.now)
		m.bodyless = m.status == http.StatusNotModified
	}
	if m.status == http.StatusOK && !whole && coding == entry.Identity && a.Range != "" && !m.cut(e, &a, m.now) {
		return false // 416
	}
	return m.fits(q, true)
}

// cut makes the body the part that the client wants. It reports false if there is no such part.
func (m *hit) cut(e *cache.Entry, a *Asked, now time.Time) bool {
	if !Joins(e, a.IfRange, texts(m.etag), now) {
		return true
	}
	size := int64(len(m.body))
	off, n, what := cachepolicy.ParseRange(a.Range, size)
	if what == cachepolicy.RangePart {
		m.status, m.body = http.StatusPartialContent, m.body[off:off+n]
		m.contentRange = AppendContentRange(m.at[:0], off, n, size)
	}
	return what != cachepolicy.RangeUnsatisfiable
}

// isPlainStatus reports whether a response with a status has a body whose length its head gives.
func isPlainStatus(status int) bool {
	return status >= http.StatusOK && status < len(statusLines) && status != http.StatusNoContent && status != http.StatusNotModified && statusLines[status] != ""
}

// An Asked has the fields by which a client asks for a form or a part of a response: the lines of
// each, joined; empty: none.
type Asked struct {
	AcceptEncoding, IfNoneMatch, IfModifiedSince string
	Range, IfRange                               string // of a GET
	// NoTransform: the client accepts a response only as the origin made it (RFC 9111, section
	// 5.2.1.6).
	NoTransform bool
}

// read fills a from a request, and the directives of r, which the policy of r has to obey.
func (a *Asked) read(q *eligible.Request, r *cachepolicy.Request) {
	a.AcceptEncoding, a.IfNoneMatch, a.IfModifiedSince = texts(q.AcceptEncoding), texts(q.IfNoneMatch), texts(q.IfModifiedSince)
	if !q.Head {
		a.Range, a.IfRange = texts(q.Range), texts(q.IfRange)
	}
	if !q.CacheControl {
		return
	}
	var room [4]string
	control, pragma := linesOf(q, "Cache-Control", room[:0]), []string(nil)
	if len(control) == 0 {
		pragma = linesOf(q, "Pragma", room[:0])
	}
	r.Directives = r.Policy.Obeyed(cachepolicy.ParseRequest(control, pragma))
	a.NoTransform = cachepolicy.ParseCacheControl(control...).NoTransform
}

// linesOf appends the lines of a field.
func linesOf(q *eligible.Request, name string, lines []string) []string {
	for i := 0; ; i++ {
		line := q.Fields.Line(name, i)
		if line == nil {
			return lines
		}
		lines = append(lines, texts(line))
	}
}

// Codable reports whether the client may get a stored response of another application in a coding
// that the edge makes.
func (a *Asked) Codable(e *cache.Entry, compresses bool) bool {
	return compresses && !e.Plain && a.AcceptEncoding != "" && !a.NoTransform
}

// Negotiate returns the coding in which the client gets a stored response: got, the best of those
// that the entry has, or identity. whole means that no part of the body is sent, whatever the
// Range. want is the coding to make for later clients; identity: none. wanted is the coding that
// the client would get if the entry had all.
func (a *Asked) Negotiate(e *cache.Entry, got, wanted entry.Coding) (coding entry.Coding, whole bool, want entry.Coding) {
	asked := a.Range != ""
	// A part of the identity body must fit the part that the client has. A date does not say in
	// which coding the client has that.
	part := asked && (a.IfRange == "" || cachepolicy.IfRange(a.IfRange, e.Identity().ETag, time.Time{}, time.Time{}))
	// Without an entity tag a client that has the beginning of the coded body sends the same
	// If-Range as one that has the beginning of the identity body.
	whole = asked && !part && wanted != entry.Identity
	if got != wanted && !part {
		want = wanted
	}
	if !part {
		coding = got
	}
	return coding, whole, want
}

// Conditional evaluates the conditions of a GET or HEAD for a stored response of another
// application, and returns 200 or 304. c has no If-Match, which is left to the origin (RFC 9111,
// section 4.3.2). Date stands in where there is no Last-Modified.
func Conditional(e *cache.Entry, c cachepolicy.Conditions, etag string, now time.Time) int {
	modified := e.LastModified
	if modified.IsZero() && c.IfModifiedSince != "" {
		modified, _ = cachepolicy.ParseDate(texts(e.Date), now)
	}
	return cachepolicy.Precondition(http.MethodGet, etag, modified, c)
}
