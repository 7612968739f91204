package hit

import (
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/request"
)

// Answer appends the response to a request of HTTP/1.1; see h1.Answerer.
func (p *Path) Answer(dst []byte, q *request.Request) ([]byte, bool) {
	m := hits.Get().(*hit)
	defer m.end()
	if !p.find(m, q) {
		return p.answerJoined(dst, m, q)
	}
	defer p.release(m)
	return p.answer(dst, m, q), true
}

// AnswerH2 appends the response to a request of HTTP/2; see h2.Answerer. It appends the same head
// as Answer, as a header block.
func (p *Path) AnswerH2(dst []byte, q *request.Request, known *h2.ClientTable) (out []byte, block int, ok bool) {
	m := hits.Get().(*hit)
	defer m.end()
	if !p.find(m, q) {
		return p.answerJoinedH2(dst, m, q, known)
	}
	defer p.release(m)
	dst, block = p.answerH2(dst, m, q, known)
	return dst, block, true
}

// AnswerH3 appends the response to a request of HTTP/3; see h3.Answerer. It appends the same head
// as Answer, as a field section.
func (p *Path) AnswerH3(dst []byte, q *request.Request) (out []byte, ok bool) {
	m := hits.Get().(*hit)
	defer m.end()
	if !p.find(m, q) {
		return p.answerJoinedH3(dst, m, q)
	}
	defer p.release(m)
	return p.answerH3(dst, m, q), true
}

// release ends the use of an entry, and has brotli made of it if that is due.
func (p *Path) release(m *hit) {
	if m.made {
		return
	}
	m.view.Release()
	if !m.lacksBrotli {
		return
	}
	if e := p.Cache.Get(m.target.key); e != nil {
		p.Compressor.WantSmaller(e, entry.Brotli)
	}
}
