package hit

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/recent"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// findOwn finds the response to a request for one of the edge's own routes.
func (p *Path) findOwn(m *hit, q *eligible.Request) (ok bool) {
	if q.Authorization {
		return false
	}
	if m.target, ok = p.parsedTarget(q.Target, &m.hex); !ok {
		return false
	}
	if route := m.target.route; route.OfSite() && !m.site.Pages || route.OfIconify() && !m.site.Iconify {
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
func (p *Path) chooseOwn(m *hit, q *eligible.Request) bool {
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
			choice := p.codings.of(q.AcceptEncoding)
			m.coding = choice.of[setOf(v)]
			m.lacksBrotli = m.coding != entry.Brotli && choice.Of(entry.Gzip, entry.Brotli) == entry.Brotli
		}
	} else if v.Head().ColourUses < 0 {
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
func (m *hit) chooseLess(q *eligible.Request) bool {
	e := m.view.Entry()
	if q.IfNoneMatch == nil && cachepolicy.NotModified("", e.LastModified, "", texts(q.IfModifiedSince)) {
		m.status, m.bodyless = http.StatusNotModified, true
	}
	if q.Head || len(q.Range) == 0 || m.bodyless || m.coding != entry.Identity {
		return true
	}
	return m.color() == "" && m.cut(e, &Asked{Range: texts(q.Range), IfRange: texts(q.IfRange)}, m.now)
}

// mayServeStale reports whether a stale response may be served, because a fetch revalidates it. The
// first call for a request only records that the response would be such.
func (m *hit) mayServeStale(e cachepolicy.Entry, r cachepolicy.Request, q *eligible.Request) bool {
	if e.SoftPurged || cachepolicy.Decide(e, r, m.now) != cachepolicy.StaleWhileRevalidate {
		return false
	}
	known := m.stale
	m.stale = true
	return known
}

// fits reports whether the event loop can send the body. separable means that the body may follow
// the head in memory of its own.
func (m *hit) fits(q *eligible.Request, separable bool) bool {
	// A longer body than a slot's has memory of its own, which stays valid after the View.
	m.apart = len(m.body) > MaxPrebuilt && m.sends(q) && separable && q.TakesBody
	return len(m.body) <= MaxPrebuilt || !m.sends(q) || m.apart && len(m.body) <= maxTaken
}

// color returns the colour of the response; empty: that of the icon. It is valid as long as m.
func (m *hit) color() icon.Color {
	if m.hex[0] != 0 {
		return icon.Color(unsafe.String(&m.hex[0], len(m.hex)))
	}
	return m.target.color
}

// A parsedTarget is the parsed form of a target in the spelling of a client.
type parsedTarget struct {
	raw   string
	key   string
	color icon.Color
	route routes.Route
}

// parsedTargets hold recent targets with a query that the pipeline has parsed. A new target
// replaces the one with the same hash.
type parsedTargets [1 << 14]atomic.Pointer[parsedTarget]

// parsedTarget returns the parsed form of a target; it is not ok if the pipeline has to parse it. A
// path without a query is its own cache key: if it is malformed, no entry is stored under it. So is
// the path of an icon in a colour of hexadecimal digits, which is then in hex.
func (p *Path) parsedTarget(target []byte, hex *[7]byte) (t parsedTarget, ok bool) {
	at := bytes.IndexByte(target, '?')
	if at < 0 {
		key := texts(target) // valid during the request only
		route, ok := routes.FastRoute(key)
		return parsedTarget{key: key, route: route}, ok
	}
	if digits, given := bytes.CutPrefix(target[at:], colourQuery); given {
		if _, ok = icon.AppendHexColor(hex[:0], bytes.TrimPrefix(digits, escapedHash)); ok {
			key := texts(target[:at]) // as above
			if IsPlainIcon(key) {
				return parsedTarget{key: key, route: routes.CDN}, true
			}
		}
		*hex = [7]byte{}
	}
	if known := recent.Slot(p.targets[:], target).Load(); known != nil && known.raw == string(target) {
		return *known, true
	}
	return t, false
}

var (
	colourQuery = []byte("?color=")
	escapedHash = []byte("%23")
)

// RememberTarget stores the parsed form of a target with a query.
func (p *Path) RememberTarget(raw []byte, key string, color icon.Color, route routes.Route) {
	if len(raw) == 0 || raw[0] != '/' || bytes.IndexByte(raw, '?') < 0 {
		return
	}
	at := recent.Slot(p.targets[:], raw)
	if known := at.Load(); known == nil || known.raw != string(raw) {
		at.Store(&parsedTarget{raw: string(raw), key: key, color: color, route: route})
	}
}

// IsPlainIcon reports whether a cache key is that of an icon as it is.
func IsPlainIcon(key string) bool {
	route, ok := routes.FastRoute(key)
	return ok && route == routes.CDN && !strings.Contains(key, "?")
}

// texts returns bytes as a string that is valid as long as they are.
func texts(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
