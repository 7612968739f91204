package hit

import (
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/h3"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/respond"
)

// Answer appends the response to a request of HTTP/1.1; see h1.Answerer.
func (p *Path) Answer(dst []byte, q *request.Request) ([]byte, bool) {
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
func (p *Path) AnswerH2(dst []byte, q *request.Request, known *h2.ClientTable) (out []byte, block int, ok bool) {
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

// AnswerH3 appends the response to a request of HTTP/3; see h3.Answerer. It appends the same head
// as Answer, as a field section.
func (p *Path) AnswerH3(dst []byte, q *request.Request) (out []byte, ok bool) {
	m := hits.Get().(*hit)
	defer m.end()
	if !p.find(m, q) {
		return p.answerJoinedH3(dst, q, m.target.raw != "")
	}
	defer p.release(m)
	w := m.writer()
	t := p.fill(m, q)
	lines := heads.Get().(*[]byte)
	defer heads.Put(lines)
	*lines = p.edit(w.Append((*lines)[:0], &t), 0, m, q)
	dst = p.appendHeadH3(dst, m.status, *lines)
	body := 0
	if m.sends(q) {
		if body = m.length(); body > 0 {
			dst = m.appendBody(h3.BeginData(dst, body))
		}
	}
	p.note(m, exchange.H3, q, body)
	return dst, true
}

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
