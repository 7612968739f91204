package hit

import (
	"net/netip"
	"sync"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h3"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
)

// writer returns the writer of the head.
func (m *hit) writer() respond.Writer {
	if m.entry == nil {
		return respond.Writer{Prebuilt: m.view.Head()}
	}
	return respond.Writer{Entry: m.entry, Date: m.entry.Date, Forwarded: true, Coded: m.coding != entry.Identity}
}

// fill describes the head of the response.
func (p *Path) fill(m *hit, q *request.Request) (t respond.Head) {
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
	t.AltSvc = p.altSvc(q, m.client)
	return t
}

// altSvc returns the value of Alt-Svc in the response to a request of a client; empty: none.
func (p *Path) altSvc(q *request.Request, client netip.Addr) string {
	if !q.Secure {
		return ""
	}
	return p.AltSvc(client)
}

// isEdited reports whether the operator edits the fields of the response.
func (m *hit) isEdited() bool { return m.outcome != nil && len(m.outcome.ResponseEdits) > 0 }

// edit makes the lines of a head, which begin at start, those that the client gets: some of the
// edge's fields replace those of the origin of a forwarded response, and the operator edits all.
func (p *Path) edit(dst []byte, start int, m *hit, q *request.Request) []byte {
	altSvc := ""
	if m.entry != nil {
		altSvc = p.altSvc(q, m.client)
	}
	limit := m.entry != nil && !m.count.Limit.Off()
	if altSvc == "" && !limit && !m.isEdited() {
		return dst
	}
	r := exchange.Response{Lines: dst[start:]}
	if limit {
		respond.SetLimit(&r, &m.count)
	}
	if altSvc != "" {
		r.Set("Alt-Svc", altSvc)
	}
	if m.isEdited() {
		respond.Edit(&r, m.outcome.ResponseEdits)
	}
	return append(dst[:start], r.Lines...)
}

// note counts and logs a response.
func (p *Path) note(m *hit, by exchange.Protocol, q *request.Request, body int) {
	outcome := exchange.Hit
	if m.stale {
		outcome = exchange.Stale
	}
	p.record(m.site, by, m.target.route, outcome, m.status, q, body)
}

// record counts and logs a response with a body of so many bytes.
func (p *Path) record(s *site, by exchange.Protocol, route routes.Route, outcome exchange.Outcome, status int, q *request.Request, body int) {
	p.Metrics.Hit(by, route, outcome, status, q.Now, body)
	s.hits.Count(outcome, status)
	p.Reports.LogHit(s.Name, by, route, outcome, status, q, body)
}

// heads have the memory of heads that are written as lines first.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// appendHeadH3 appends a HEADERS frame with the field lines of an HTTP/1.1 head.
func (p *Path) appendHeadH3(dst []byte, status int, lines []byte) []byte {
	dst, start := h3.BeginHead(dst, status)
	return h3.EndHead(p.sections.Append(dst, lines), start)
}
