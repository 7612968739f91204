package hit

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/h3"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/trace"
)

// writer returns the writer of the head.
func (m *hit) writer() respond.Writer {
	if m.entry == nil {
		return respond.Writer{Prebuilt: m.view.Head()}
	}
	return respond.Writer{Entry: m.entry, Date: m.entry.Date, Forwarded: true, Coded: m.coding != entry.Identity || m.delta != ""}
}

// fill describes the head of the response.
func (p *Path) fill(m *hit, q *request.Request) (t respond.Head) {
	t.Bodyless, t.Coding, t.ETag, t.Color = m.bodyless, m.coding, m.etag, m.color()
	t.Delta, t.ContentRange = m.delta, m.contentRange
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

// isChanged reports whether edit has to look at the fields of the response.
func (m *hit) isChanged(p *Path) bool { return m.entry != nil || m.isEdited() || m.isLabelled(p) }

// served returns what the cache does for a response that the edge does not make itself.
func (m *hit) served() exchange.Outcome {
	if m.stale {
		return exchange.Stale
	}
	return exchange.Hit
}

// isEdited reports whether the operator edits the fields of the response.
func (m *hit) isEdited() bool { return m.edits > 0 }

// edit makes the lines of a head, which begin at start, those that the client gets: some of the
// edge's fields replace those of the origin of a forwarded response, and the operator edits all.
func (m *hit) edit(p *Path, dst []byte, start int, q *request.Request) []byte {
	altSvc, limit, labelled := "", m.entry != nil && !m.count.Limit.Off(), m.isLabelled(p)
	if m.entry != nil {
		altSvc = p.altSvc(q, m.client)
	}
	if altSvc == "" && !limit && !labelled && !m.isEdited() && m.delta == "" {
		return dst
	}
	r := exchange.Response{Lines: dst[start:]}
	if m.delta != "" {
		respond.VaryByDictionary(&r)
	}
	if limit {
		respond.SetLimit(&r, &m.count)
	}
	if altSvc != "" {
		r.Set("Alt-Svc", altSvc)
	}
	if labelled {
		m.label(p, &r, q, m.served())
	}
	if m.isEdited() {
		respond.Edit(&r, m.status, m.ruled.ResponseEdits[:m.edits])
	}
	return append(dst[:start], r.Lines...)
}

// answer appends the response that m describes.
func (p *Path) answer(dst []byte, m *hit, q *request.Request) []byte {
	dst = p.appendHead(append(dst, statusLines[m.status]...), m, q, m.isChanged(p))
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
	return dst
}

// appendHead appends the fields of the response as lines. edited: edit has to look at them.
func (p *Path) appendHead(dst []byte, m *hit, q *request.Request, edited bool) []byte {
	if m.made {
		return m.appendMade(dst)
	}
	w := m.writer()
	t := p.fill(m, q)
	start := len(dst)
	if dst = w.Append(dst, &t); !edited {
		return dst
	}
	return m.edit(p, dst, start, q)
}

// answerH2 appends the response that m describes.
func (p *Path) answerH2(dst []byte, m *hit, q *request.Request, known *h2.ClientTable) (out []byte, block int) {
	start := len(dst)
	dst = h2.AppendStatus(dst, m.status)
	if !m.isChanged(p) && !m.made {
		w := m.writer()
		t := p.fill(m, q)
		w.Block, w.Table = p.blocks.Of(w.Prebuilt), known
		dst = w.Append(dst, &t)
	} else {
		lines := heads.Get().(*[]byte)
		*lines = p.appendHead((*lines)[:0], m, q, true)
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
	return dst, block
}

// answerH3 appends the response that m describes.
func (p *Path) answerH3(dst []byte, m *hit, q *request.Request) []byte {
	lines := heads.Get().(*[]byte)
	defer heads.Put(lines)
	*lines = p.appendHead((*lines)[:0], m, q, true)
	dst = appendHeadH3(dst, &p.sections, m.status, *lines)
	body := 0
	if m.sends(q) {
		if body = m.length(); body > 0 {
			dst = m.appendBody(h3.BeginData(dst, body))
		}
	}
	p.note(m, exchange.H3, q, body)
	return dst
}

// note counts, logs and traces a response with a body of so many bytes.
func (p *Path) note(m *hit, by exchange.Protocol, q *request.Request, body int) {
	if !m.made {
		m.outcome = m.served()
	}
	p.record(m, q, &observe.Hit{Protocol: by, Route: m.target.route, Outcome: m.outcome, Status: m.status, Bytes: body})
}

// record counts, logs and traces a response to a request whose site m has.
func (p *Path) record(m *hit, q *request.Request, r *observe.Hit) {
	r.Stripe = m.stripe
	p.Metrics.Hit(r, q.Now)
	r.LogShare, r.ID = m.ruled.LogShare(), m.id
	if r.Site = m.site.Name; r.Site != "" && m.made {
		p.Metrics.SiteAnswered(r.Site, r.Outcome, r.Status)
	} else {
		m.site.hits.Count(m.stripe, r.Outcome, r.Status)
	}
	if p.Reports.Tracer != nil {
		p.trace(m, q, r)
	}
	p.Reports.LogHit(q, r)
}

// trace begins the span of a response, if the request is traced.
func (p *Path) trace(m *hit, q *request.Request, r *observe.Hit) {
	parent := func() trace.Parent {
		return trace.Read(exchange.Texts(q.Lines("traceparent")), exchange.Texts(q.Lines("tracestate")))
	}
	if r.Span = p.Reports.Begin(parent, p.Clients.Trusts(q.Client), m.now); r.Span == nil {
		return
	}
	if r.Route != routes.Forwarded && r.Route != routes.Unknown {
		path, _, _ := strings.Cut(texts(q.Target), "?")
		r.Pattern = routes.PatternOf(path)
	}
	p.Metrics.Traced(r.Route, time.Since(q.Now), r.Span.Trace())
}

// heads have the memory of heads that are written as lines first.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// appendHeadH3 appends a HEADERS frame with the field lines of an HTTP/1.1 head.
func appendHeadH3(dst []byte, sections *respond.Sections, status int, lines []byte) []byte {
	dst, start := h3.BeginHead(dst, status)
	return h3.EndHead(sections.Append(dst, lines), start)
}
