package hit

import (
	"bytes"
	"strconv"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
)

// A reply is a response that the edge makes itself: a redirect or another answer of a rule, or the
// refusal of a request over a limit.
type reply struct {
	route    routes.Route
	outcome  exchange.Outcome
	status   int
	body     []byte
	bodyless bool
}

// becomes makes a response with these fields that of the request, in the form that the client gets.
func (m *hit) becomes(p *Path, q *request.Request, a reply, r *exchange.Response) {
	m.made, m.outcome = true, a.outcome
	m.representation = representation{status: a.status, body: a.body, bodyless: a.bodyless}
	m.target, m.hex = parsedTarget{route: a.route}, [len(m.hex)]byte{}
	if altSvc := p.altSvc(q, m.client); altSvc != "" {
		r.Set("Alt-Svc", altSvc)
	}
	if m.isLabelled(p) {
		m.label(p, r, q, a.outcome)
	}
	if m.edits > 0 {
		respond.Edit(r, a.status, m.ruled.ResponseEdits[:m.edits])
	}
	m.lines = r.Lines
}

// appendMade appends the fields of a response that the edge has made. Content-Length is where the
// server of the pipeline writes it.
func (m *hit) appendMade(dst []byte) []byte {
	rest := m.lines
	if bytes.HasPrefix(rest, contentType) {
		end := bytes.IndexByte(rest, '\n') + 1
		dst, rest = append(dst, rest[:end]...), rest[end:]
	}
	if !m.bodyless {
		dst = append(strconv.AppendInt(append(dst, "Content-Length: "...), int64(len(m.body)), 10), "\r\n"...)
	}
	return append(dst, rest...)
}

var contentType = []byte("Content-Type: ")
