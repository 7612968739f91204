package edge

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"time"

	"github.com/iconedge/iconedge/edge/accesslog"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/plain"
	"github.com/iconedge/iconedge/trace"
)

// Reports is what an operator can set about what an edge tells of single requests: lines of an access log, and traces. Where nothing is set
// nothing of a request is told.
type Reports struct {
	AccessLog       string        // file, or - for the standard output; empty: none
	AccessLogSample float64       // the part of answers that have a line, 0 to 1; those of 500 and above have one anyway
	Trace           trace.Options // where traces go, and how many of them
}

func (c *Reports) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.AccessLog, "access-log", "", "`file` that gets a line of JSON for each answer, or - for the standard output; opened anew on SIGHUP (default none)")
	fs.Float64Var(&c.AccessLogSample, "access-log-sample", 1, "`part` of the answers that have a line, 0 to 1; answers of 500 and above always have one")
	c.Trace.Flags(fs)
}

func (c *Reports) validate() error {
	err := c.Trace.Validate()
	if !(c.AccessLogSample >= 0 && c.AccessLogSample <= 1) {
		err = errors.Join(errors.New("--access-log-sample must be a number from 0 to 1"), err)
	}
	return err
}

// reports are where requests are told of; what the operator does not want is nil.
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

// close writes and sends what waits.
func (r reports) close() {
	r.lines.Close()
	r.tracer.Close()
}

// ready tells of an answer of the short way, whose body has so many bytes.
func (r reports) ready(c clients, p exchange.Protocol, m *meeting, q *plain.Request, body int) {
	if !r.lines.Wants(m.status) {
		return
	}
	r.lines.Write(&accesslog.Line{
		Time: q.Now, Client: c.ofPlain(q), Method: methodGet, Target: q.Target, Host: q.Host, Status: m.status, Bytes: int64(body),
		Duration: time.Since(q.Now), Route: m.target.route.String(), Cache: outcomeNames[outcomeHit], Protocol: p.String(), TLS: q.Secure,
		UserAgent: q.Fields.Line("user-agent", 0), Referer: q.Fields.Line("referer", 0),
	})
}

var methodGet = []byte("GET")

// report tells of an answer of the long way; of one whose body streams, when that has gone.
func (h *handler) report(r *request, o outcome, err error) {
	span := r.followed.span()
	wanted := h.reports.lines.Wants(r.ctx.Response.StatusCode())
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
		span.End(line.Time.Add(line.Duration), exchangeOf(line, r, err))
	}
	if r.stream != nil && r.ctx.Response.IsBodyStream() {
		line = line.Clone() // the request is gone by then
		r.stream.tell = tell
		return
	}
	tell(bodyLength(r))
}

// line is what is known of a request and its answer, but for the body. Of one that could not be read nothing is told that it may have said.
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
