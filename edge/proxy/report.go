package proxy

import (
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
)

// report logs and traces a response of the pipeline. For a streamed body it does so when the stream
// has ended.
func (h *Proxy) report(r *request, o exchange.Outcome, err error) {
	span := r.traced.span()
	wanted := h.Options.Reports.Lines.Sampled(r.ctx.Response.StatusCode())
	if !wanted && span == nil {
		return
	}
	line := h.line(r, o)
	line.Trace = span.Trace()
	tell := func(bytes int) {
		line.Bytes, line.Duration = int64(bytes), time.Since(line.Time)
		if wanted {
			h.Options.Reports.Lines.Write(line)
		}
		span.End(line.Time.Add(line.Duration), exchangeAttributes(line, r, err))
	}
	if r.tell != nil {
		line = line.Clone()
		attributes := exchangeAttributes(line, r, err) // the request's memory is reused
		*r.tell = func(bytes int) {
			line.Bytes, line.Duration = int64(bytes), time.Since(line.Time)
			if wanted {
				h.Options.Reports.Lines.Write(line)
			}
			span.End(line.Time.Add(line.Duration), attributes)
		}
		return
	}
	if r.stream != nil && r.ctx.Response.IsBodyStream() {
		line = line.Clone() // the request's memory is reused before the stream ends
		r.stream.tell = tell
		return
	}
	tell(bodyLength(r))
}

// line returns the log line of a request and its response, except for the size of the body. If the
// request could not be read, the line has none of its fields.
func (h *Proxy) line(r *request, o exchange.Outcome) *accesslog.Line {
	l := &accesslog.Line{Time: r.Arrived, Client: r.Peer, Status: r.ctx.Response.StatusCode(), Route: r.route.String(), Cache: exchange.OutcomeNames[o],
		Protocol: r.Protocol.String(), TLS: r.Secure}
	if !r.unread {
		fields := &r.ctx.Request.Header
		l.Client, l.Method, l.Target, l.Host = r.Client, r.ctx.Method(), fields.RequestURI(), r.ctx.Host()
		l.UserAgent, l.Referer = fields.Peek("User-Agent"), fields.Peek("Referer")
	}
	return l
}
