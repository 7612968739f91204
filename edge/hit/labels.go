package hit

import (
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/upstream"
)

// isLabelled reports whether the response has fields that name the request or its times.
func (m *hit) isLabelled(p *Path) bool { return p.Reports.IDs.On() || m.ruled.ShowsTiming() }

// label gives a response the id of its request and its times, as the pipeline does. cache is what
// the cache did.
func (m *hit) label(p *Path, r *exchange.Response, q *request.Request, cache exchange.Outcome) {
	if p.Reports.IDs.On() {
		lines := 0
		for lines < 2 && q.Fields.Line(upstream.FieldRequestID, lines) != nil {
			lines++
		}
		m.id = p.Reports.IDs.Append(m.id[:0], q.Fields.Line(upstream.FieldRequestID, 0), lines, p.Clients.Trusts(q.Client))
		r.Set(upstream.FieldRequestID, texts(m.id))
	}
	if m.ruled.ShowsTiming() {
		var room [64]byte
		value := observe.AppendTiming(room[:0], exchange.OutcomeNames[cache], time.Since(q.Now), 0)
		r.Add(observe.FieldServerTiming, texts(value))
	}
}
