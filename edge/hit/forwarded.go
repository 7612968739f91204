package hit

import (
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/represent"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
)

// findForwarded finds the response to a request for a path of another application.
func (p *Path) findForwarded(m *hit, q *request.Request) bool {
	s := m.site
	path, _, _ := strings.Cut(texts(q.Target), "?")
	if s.IsHealthPath(path) || m.cookie && m.bypasses() {
		return false
	}
	scheme, name := "http", m.host.name(m.secure)
	if m.secure {
		scheme = "https"
	}
	if q.Dictionary {
		m.findDictionary(p.Dictionaries, q, scheme, name)
	}
	var key []byte
	if m.ruled != nil {
		key = s.Rules.AppendKey(m.key[:0], m.ruled, &m.rules, scheme, name)
	} else {
		key = append(append(append(m.key[:0], scheme...), "://"...), name...)
		key = s.AppendKey(key, texts(q.Target))
	}
	m.target = parsedTarget{route: routes.Forwarded}
	for _, r := range s.queries.Of(texts(key)) {
		m.shared = r.AppendKey(m.shared[:0], texts(key))
		m.target.key, m.unusable = texts(m.shared), true
		if m.findShared(p, q, r) {
			return true
		}
		if !m.unusable {
			return false
		}
	}
	m.target.key = texts(key)
	return m.findShared(p, q, nil)
}

// findShared finds the response under the key, which other addresses share by a rule; nil: none
// does. If m is unusable then, another key may have a response.
func (m *hit) findShared(p *Path, q *request.Request, r *cache.QueryRule) bool {
	if !p.Cache.ViewVariant(m.target.key, &m.view, func(vary []string) (string, bool) { return p.variant(m, vary, q) }) {
		return false
	}
	m.entry, m.unusable = m.view.Entry(), false
	if p.chooseForwarded(m, q, r) {
		return true
	}
	m.view.Release()
	return false
}

// asked returns the request as cachepolicy needs it, and the form that the client wants.
func (m *hit) asked(q *request.Request) (cachepolicy.Request, represent.Asked) {
	asked := cachepolicy.Request{Method: http.MethodGet, Cookie: m.cookie, Authorized: q.Authorization, Policy: m.site.Policy}
	if o := m.ruled; o != nil {
		asked.Policy.SafeCookies = asked.Policy.SafeCookies && o.Cache != "force"
	}
	a := read(q, &asked)
	return asked, a
}

// bypasses reports whether a cookie of a request makes it bypass the cache.
func (m *hit) bypasses() bool {
	for i := 0; ; i++ {
		line := m.fields.Line("Cookie", i)
		if line == nil {
			return false
		}
		if m.site.Bypasses([]string{texts(line)}) {
			return true
		}
	}
}

// chooseForwarded selects the status, coding and part that the client gets from an entry, whose key
// other addresses share by a rule; nil: none does. It reports false where the pipeline has to
// decide, or if the entry is not usable for the address of the request.
func (p *Path) chooseForwarded(m *hit, q *request.Request, r *cache.QueryRule) bool {
	e, f := m.entry, m.entry.Freshness()
	if e.IsObject() || e.Identity() == nil || e.Release != "" || len(e.Date) == 0 {
		return false
	}
	if f.SoftPurged || !isPlainStatus(e.Status) {
		return false
	}
	asked, a := m.asked(q)
	verdict := cachepolicy.Decide(f, asked, m.now)
	// An entry in place has no surrogate keys, so only the pipeline knows the address of its fetch.
	if r != nil && (verdict == cachepolicy.Revalidate || !r.Answers(e, m.view.Began(), asked, "")) {
		m.unusable = true
		return false
	}
	if verdict == cachepolicy.Fresh {
		m.stale = false
	} else if !m.mayServeStale(f, asked, q) {
		m.variant = strings.Clone(e.Secondary)
		return false
	}
	m.age, m.ttl = f.AgeAt(m.now), f.TTL(m.now)
	whole, ok := m.chooseForm(p, q, &a)
	return ok && m.conclude(q, &a, whole)
}

// chooseForm selects the coding that the client gets. whole means that no part of the body is sent.
// It reports false where the pipeline has to have a coding made.
func (m *hit) chooseForm(p *Path, q *request.Request, a *represent.Asked) (whole, ok bool) {
	e, got, wanted := m.entry, entry.Identity, entry.Identity
	if a.Codable(e, m.site.Compresses(m.ruled) != config.CompressOff) && !m.isForeign(q) {
		if m.dictionary != nil {
			if found, sure := m.difference(p.Dictionaries, a); found || !sure {
				return false, found
			}
		}
		choice := p.codings.Of(q.AcceptEncoding)
		got, wanted = choice.In(&m.view), choice.Of(compress.Made(e)...)
	}
	coding, whole, want := a.Negotiate(e, got, wanted)
	if want != entry.Identity && p.Compressor.Makes(e, want) {
		return false, false
	}
	m.coding, m.body, m.etag = coding, e.Variants[coding].Body, append(m.tag[:0], e.Identity().ETag...)
	if coding != entry.Identity {
		m.etag = compress.AppendTag(m.tag[:0], e.Validator, coding)
	}
	return whole, true
}

// conclude evaluates the conditions of a request and its range. It reports false where the pipeline
// has to decide.
func (m *hit) conclude(q *request.Request, a *represent.Asked, whole bool) bool {
	e := m.entry
	if a.IfNoneMatch != "" && e.Status == http.StatusOK {
		if tag := compress.Held(a.IfNoneMatch, a.AcceptEncoding, e.Validator, texts(m.etag)); tag != texts(m.etag) {
			m.etag = append(m.tag[:0], tag...)
		}
	}
	m.status = e.Status
	if m.status >= http.StatusBadRequest && m.ruled != nil && len(m.ruled.ErrorPages) > 0 {
		return false // the pipeline may have another page for it
	}
	if m.status == http.StatusOK {
		m.status = represent.Conditional(e, cachepolicy.Conditions{IfNoneMatch: a.IfNoneMatch,
			IfModifiedSince: a.IfModifiedSince}, texts(m.etag), m.now)
		m.bodyless = m.status == http.StatusNotModified
	}
	identity := m.coding == entry.Identity && m.delta == ""
	if m.status == http.StatusOK && !whole && identity && a.Range != "" && !m.cut(e, a) {
		return false // 416
	}
	return m.fits(q, true)
}

// isForeign reports whether the client gets no coding, because a page of another site may have
// caused its request, which has credentials.
func (m *hit) isForeign(q *request.Request) bool {
	if !q.Cookie && !q.Authorization {
		return false
	}
	c := represent.Cause{FetchSite: texts(q.Fields.Line("Sec-Fetch-Site", 0)), Origin: texts(q.Fields.Line("Origin", 0)),
		Referer: texts(q.Fields.Line("Referer", 0))}
	return c.IsForeign(m.host.name(m.secure), true)
}

// isPlainStatus reports whether a response with a status has a body whose length its head gives.
func isPlainStatus(status int) bool {
	return status >= http.StatusOK && status < len(statusLines) && status != http.StatusNoContent &&
		status != http.StatusNotModified && statusLines[status] != ""
}

// read returns the fields by which a request asks for a form or a part of a response. It sets the
// directives of r, which the policy of r has to obey.
func read(q *request.Request, r *cachepolicy.Request) (a represent.Asked) {
	a.AcceptEncoding, a.IfNoneMatch, a.IfModifiedSince = texts(q.AcceptEncoding), texts(q.IfNoneMatch), texts(q.IfModifiedSince)
	if !q.Head {
		a.Range, a.IfRange = texts(q.Range), texts(q.IfRange)
	}
	if !q.CacheControl {
		return a
	}
	var room [4]string
	control, pragma := linesOf(q, "Cache-Control", room[:0]), []string(nil)
	if len(control) == 0 {
		pragma = linesOf(q, "Pragma", room[:0])
	}
	r.Directives = r.Policy.Obeyed(cachepolicy.ParseRequest(control, pragma))
	a.NoTransform = cachepolicy.ParseCacheControl(control...).NoTransform
	return a
}

// variant returns the secondary key of a request for a response with this Vary (RFC 9111, section
// 4.1). It does not know that of a field which origins do not get as the client has sent it, or
// which has several lines.
func (p *Path) variant(m *hit, vary []string, q *request.Request) (string, bool) {
	dst := m.vary[:0]
	for _, name := range vary {
		if m.ruled != nil && (m.ruled.EditsRequest(name) || m.site.Rules.IsIdentity(name)) {
			return "", false
		}
		if name == acceptEncoding && !m.site.EncodingAsSent {
			value := q.AcceptEncoding // a request on the hit path has it once
			if value != nil && (q.Authorization || q.Dictionary && !m.hidden) {
				return "", false // a signature may cover the field, or a dictionary add codings
			}
			dst = cachepolicy.AppendVary(dst, name, p.encodings.of(name, value, normalEncoding), value == nil)
			continue
		}
		value := m.fields.Line(name, 0)
		if m.hidden && (name == dictionaries.FieldAvailable || name == dictionaries.FieldID) {
			value = nil
		}
		if !upstream.SentAsReceived(name) || value != nil && m.fields.Line(name, 1) != nil {
			return "", false
		}
		dst = cachepolicy.AppendVary(dst, name, p.normalised.of(name, value, asSent), value == nil)
	}
	return texts(dst), true
}
