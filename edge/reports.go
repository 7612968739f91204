package edge

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"time"

	"github.com/iconedge/iconedge/edge/accesslog"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/trace"
)

// Reports configures the records of single requests: lines in an access log, and traces. By default
// an edge records neither.
type Reports struct {
	AccessLog       string        // file, or - for the standard output; empty: none
	AccessLogSample float64       // fraction of responses with a line, 0 to 1; 5xx always have one
	Trace           trace.Options // destination and sampling of traces
}

func (c *Reports) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.AccessLog, "access-log", "", "`file` to which the edge writes a line of JSON for each response, or - for the standard output; reopened on SIGHUP (default none)")
	fs.Float64Var(&c.AccessLogSample, "access-log-sample", 1, "`fraction` of the responses that are logged, 0 to 1; responses with a 5xx status are always logged")
	c.Trace.Flags(fs)
}

func (c *Reports) validate() error {
	err := c.Trace.Validate()
	if !(c.AccessLogSample >= 0 && c.AccessLogSample <= 1) {
		err = errors.Join(errors.New("--access-log-sample must be a number from 0 to 1"), err)
	}
	return err
}

// reports are the open destinations of request records. Those that the operator has not configured
// are nil.
type reports struct {
	lines  *accesslog.Log
	tracer *trace.Tracer
}

func (c *Reports) open(reopen <-chan os.Signal, version string, log *slog.Logger) (r reports, err error) {
	if r.tracer, err = trace.New(c.Trace, "iconedge-edge", version, log); err != nil || c.AccessLog == "" {
		return r, err
	}
	r.lines, err = accesslog.Open(accesslog.Config{File: c.AccessLog, Sample: c.AccessLogSample, Reopen: reopen, Log: log})
	return r, err
}

// close writes the buffered log lines and sends the buffered traces.
func (r reports) close() {
	r.lines.Close()
	r.tracer.Close()
}

// logHit logs a response of the fast path, with the number of bytes of its body.
func (r reports) logHit(c clients, p exchange.Protocol, m *fastHit, q *eligible.Request, body int) {
	if !r.lines.Sampled(m.status) {
		return
	}
	r.lines.Write(&accesslog.Line{
		Time: q.Now, Client: c.ofPlain(q), Method: methodGet, Target: q.Target, Host: q.Host, Status: m.status, Bytes: int64(body),
		Duration: time.Since(q.Now), Route: m.target.route.String(), Cache: outcomeNames[outcomeHit], Protocol: p.String(), TLS: q.Secure,
		UserAgent: q.Fields.Line("user-agent", 0), Referer: q.Fields.Line("referer", 0),
	})
}

var methodGet = []byte("GET")

// report logs and traces a response of the pipeline. For a streamed body it does so when the stream
// has ended.
func (h *handler) report(r *request, o outcome, err error) {
	span := r.traced.span()
	wanted := h.reports.lines.Sampled(r.ctx.Response.StatusCode())
	if !wanted && span == nil {
		return
	}
	line := h.line(r, o)
	line.Trace = span.Trace()
	tell := func(bytes int) {
		line.Bytes, line.Duration = int64(bytes), time.Since(line.Time)
		if wanted {
			h.reports.lines.Write(line)
		}
		span.End(line.Time.Add(line.Duration), exchangeAttributes(line, r, err))
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
func (h *handler) line(r *request, o outcome) *accesslog.Line {
	l := &accesslog.Line{Time: r.Arrived, Client: r.Peer, Status: r.ctx.Response.StatusCode(), Route: r.route.String(), Cache: outcomeNames[o],
		Protocol: r.Protocol.String(), TLS: r.Secure}
	if !r.unread {
		fields := &r.ctx.Request.Header
		l.Client, l.Method, l.Target, l.Host = r.Client, r.ctx.Method(), fields.RequestURI(), r.ctx.Host()
		l.UserAgent, l.Referer = fields.Peek("User-Agent"), fields.Peek("Referer")
	}
	return l
}
