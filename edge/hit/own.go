package hit

import (
	"bytes"
	"net/http"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/represent"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/icon"
)

// findOwn finds the response to a request for one of the edge's own routes.
func (p *Path) findOwn(m *hit, q *request.Request) (ok bool) {
	if q.Authorization {
		return false
	}
	if m.target, ok = p.targets.parse(q.Target, &m.hex); !ok {
		return false
	}
	switch route := m.target.route; {
	case route.OfSite() && !m.site.Pages, route.OfIconify() && !m.site.Iconify:
		return false
	case q.Dictionary && m.site.CompressesByDictionary(route):
		// The pipeline finds the dictionary.
		return false
	}
	if !p.Cache.View(m.target.key, &m.view) {
		return false
	}
	if p.chooseOwn(m, q) {
		return true
	}
	m.view.Release()
	return false
}

// chooseOwn selects the status, coding and body that the client gets from a fresh entry. It reports
// false where the pipeline has to decide.
func (p *Path) chooseOwn(m *hit, q *request.Request) bool {
	v, color := &m.view, m.color()
	var fresh bool
	if m.age, m.ttl, fresh = v.Fresh(m.now); fresh {
		m.stale = false
	} else if !m.mayServeStale(v.Entry().Freshness(), cachepolicy.Request{Method: http.MethodGet}, q) {
		return false
	}
	m.coding = entry.Identity
	if color == "" {
		if len(q.AcceptEncoding) > 0 {
			choice := p.codings.Of(q.AcceptEncoding)
			m.coding = choice.In(v)
			m.lacksBrotli = m.coding != entry.Brotli && choice.Of(entry.Gzip, entry.Brotli) == entry.Brotli
		}
	} else if v.Head().Paint == int32(icon.NoPaint) {
		return false
	}
	m.body, m.etag = v.Body(m.coding), v.ETag(m.coding)
	m.status = http.StatusOK
	if q.IfNoneMatch != nil {
		same, sure := sameTag(q.IfNoneMatch, m.etag, color)
		if !sure {
			return false
		}
		if m.bodyless = same; same {
			m.status = http.StatusNotModified
		} else if m.coding == entry.Brotli && bytes.HasSuffix(q.IfNoneMatch, gzipTagEnd) {
			return false // the client has gzip, from before brotli was made
		}
	}
	if q.IfModifiedSince == nil && q.Range == nil {
		return m.fits(q, color == "")
	}
	return m.chooseLess(q) && m.fits(q, color == "")
}

// chooseLess decides about If-Modified-Since and Range, which few requests for icons have.
func (m *hit) chooseLess(q *request.Request) bool {
	e := m.view.Entry()
	if q.IfNoneMatch == nil && cachepolicy.NotModified("", e.LastModified, "", texts(q.IfModifiedSince)) {
		m.status, m.bodyless = http.StatusNotModified, true
	}
	if q.Head || len(q.Range) == 0 || m.bodyless || m.coding != entry.Identity {
		return true
	}
	return m.color() == "" && m.cut(e, &represent.Asked{Range: texts(q.Range), IfRange: texts(q.IfRange)})
}
