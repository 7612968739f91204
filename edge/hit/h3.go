package hit

import (
	"net/http"

	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h3"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
)

// AnswerH3 appends the response to a request of HTTP/3; see h3.Answerer. It appends the same head
// as Answer, as a field section.
func (p *Path) AnswerH3(dst []byte, q *eligible.Request) (out []byte, ok bool) {
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

// answerJoinedH3 is AnswerH3 for a response that is joined from pieces.
func (p *Path) answerJoinedH3(dst []byte, q *eligible.Request, parsed bool) (out []byte, ok bool) {
	var j joined
	if !p.findJoined(&j, q, parsed) {
		return dst, false
	}
	fields := j.Fields()
	w := respond.Writer{Prebuilt: &fields}
	lines := heads.Get().(*[]byte)
	defer heads.Put(lines)
	*lines = p.appendJoinedHead((*lines)[:0], &w, &j, q)
	dst = p.appendHeadH3(dst, j.status, *lines)
	body := 0
	if j.status == http.StatusOK {
		body = j.length
		dst = h3.BeginData(dst, body)
	}
	dst = j.appendJoinedBody(dst)
	p.record(j.site, exchange.H3, routes.Iconify, exchange.Hit, j.status, q, body)
	return dst, true
}

// appendHeadH3 appends a HEADERS frame with the field lines of an HTTP/1.1 head.
func (p *Path) appendHeadH3(dst []byte, status int, lines []byte) []byte {
	dst, start := h3.BeginHead(dst, status)
	return h3.EndHead(p.sections.Append(dst, lines), start)
}
