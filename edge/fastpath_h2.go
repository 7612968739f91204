package edge

import (
	"net/http"

	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
)

// AnswerH2 does for HTTP/2 what Answer does for HTTP/1.1. It appends the same head, as a
// header block.
func (h *handler) AnswerH2(dst []byte, q *eligible.Request, known *h2.ClientTable) (out []byte, block int, ok bool) {
	var m fastHit
	if !h.lookupFast(&m, q) {
		return dst, 0, false
	}
	defer m.view.Release()
	start := len(dst)
	w := headWriter{head: m.view.Head(), block: h.blocks.of(m.view.Head()), table: known}
	dst = h.appendHead(h2.AppendStatus(dst, m.status), &w, &m, q)
	block = len(dst) - start
	if m.status == http.StatusOK {
		dst = append(dst, make([]byte, h2.Gap)...)
	}
	body := len(dst)
	dst = m.appendBody(dst)
	h.opt.Metrics.Hit(exchange.H2, m.target.route, m.status, q.Now, len(dst)-body)
	h.opt.Reports.LogHit(exchange.H2, m.target.route, m.status, q, len(dst)-body)
	return dst, block, true
}
