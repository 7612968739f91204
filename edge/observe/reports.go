package observe

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/observe/requestid"
	"github.com/iconedge/iconedge/edge/observe/top"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/internal/trace"
)

// Reporting configures the records of single requests: lines in an access log, and traces. By
// default an edge writes neither.
type Reporting struct {
	AccessLog       string         // file, or - for the standard output; empty: none
	AccessLogFormat string         // see accesslog.ParseFormat
	AccessLogSample float64        // fraction of responses with a line, 0 to 1; 5xx always have one
	RequestIDs      requestid.Mode // which id a request has
	Trace           trace.Options  // destination and sampling of traces
}

// Flags defines the flags of c on fs.
func (c *Reporting) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.AccessLog, "access-log", "", "`file` to which the edge writes a line for each response, "+
		"or - for the standard output; reopened on SIGHUP (default none)")
	fs.StringVar(&c.AccessLogFormat, "access-log-format", "json", "`form` of the lines: json, combined, common, logfmt, or a "+
		"template such as {client} {status} \"{path}\"")
	fs.Float64Var(&c.AccessLogSample, "access-log-sample", 1, "`fraction` of the responses that are logged, 0 to 1; "+
		"responses with a 5xx status are always logged")
	fs.Var(&c.RequestIDs, "request-id", "`off|make|keep`: which X-Request-ID a request has towards the origin, in the response, the "+
		"access log and the trace: with off that of its client, which nothing else has; with make one that the edge makes, or that "+
		"a proxy of --trusted-proxies has sent; with keep that of any client, if it is short and harmless")
	c.Trace.Flags(fs)
}

// Validate returns every error of c.
func (c *Reporting) Validate() error {
	err := c.Trace.Validate()
	if !(c.AccessLogSample >= 0 && c.AccessLogSample <= 1) {
		err = errors.Join(errors.New("--access-log-sample must be a number from 0 to 1"), err)
	}
	if _, wrong := accesslog.ParseFormat(c.AccessLogFormat); wrong != nil {
		err = errors.Join(fmt.Errorf("--access-log-format: %w", wrong), err)
	}
	return err
}

// Reports are the open destinations of request records. Those that the operator has not configured
// are nil.
type Reports struct {
	Lines    *accesslog.Log
	Tracer   *trace.Tracer
	Top      *top.Counts // the busiest clients, paths and hosts of the last minute
	IDs      requestid.Mode
	clientOf func(*request.Request) netip.Addr
}

// Open opens the destinations. clientOf returns the client of a request on the hit path, for its
// log line.
func (c *Reporting) Open(reopen <-chan os.Signal, version string, log *slog.Logger,
	clientOf func(*request.Request) netip.Addr) (r Reports, err error) {
	r.clientOf, r.Top, r.IDs = clientOf, top.New(time.Now()), c.RequestIDs
	if r.Tracer, err = trace.New(c.Trace, "iconedge-edge", version, log); err != nil || c.AccessLog == "" {
		return r, err
	}
	format, err := accesslog.ParseFormat(c.AccessLogFormat)
	if err != nil {
		return r, err
	}
	r.Lines, err = accesslog.Open(accesslog.Config{File: c.AccessLog, Format: format, Sample: c.AccessLogSample, Reopen: reopen, Log: log})
	return r, err
}

// Close writes the buffered log lines and sends the buffered traces.
func (r Reports) Close() {
	r.Lines.Close()
	r.Tracer.Close()
}

// A Hit is a response of the hit path.
type Hit struct {
	Site     string // empty without a configuration file
	Protocol exchange.Protocol
	Route    routes.Route
	Pattern  string // of the endpoint's address; empty: none
	Outcome  exchange.Outcome
	Status   int
	Bytes    int         // of the body
	Stripe   uint8       // of counts; equal ones are mostly of one processor
	Span     *trace.Span // of a traced request
	LogShare *float64    // of its site and its rules; nil: that of all sites
	ID       []byte      // of the request; empty: it has none
}

// LogHit logs and traces a response of the hit path, and counts it for Top.
func (r Reports) LogHit(q *request.Request, h *Hit) {
	if stands := r.Top.Sample(); stands > 0 {
		r.Top.Record(q.Now, top.Response{Client: r.clientOf(q), Host: q.Host, Path: pathOf(q.Target),
			Status: h.Status, Bytes: h.Bytes}, stands)
	}
	logged := r.Lines.Sampled(h.Status, h.LogShare)
	if !logged && h.Span == nil {
		return
	}
	line := accesslog.Line{
		Time: q.Now, Client: r.clientOf(q), Site: h.Site, Method: methodOf(q), Target: q.Target, Host: q.Host,
		Status: h.Status, Bytes: int64(h.Bytes),
		Duration: time.Since(q.Now), Route: h.Route.String(), Cache: exchange.OutcomeNames[h.Outcome],
		Protocol: h.Protocol.String(), TLS: q.Secure,
		UserAgent: q.Fields.Line("user-agent", 0), Referer: q.Fields.Line("referer", 0), Trace: h.Span.Trace(), RequestID: h.ID,
	}
	if h.Outcome == exchange.Limited {
		line.Error = string((&problem.Problem{Status: h.Status}).ProxyError())
	}
	if logged {
		r.Lines.Write(&line)
	}
	if h.Span != nil {
		h.Span.End(line.Time.Add(line.Duration), SpanOf(&line, h.Protocol, h.Pattern, nil))
	}
}

// Begin begins the span of a request that arrived at at, if it is traced: as a trusted sender has
// decided, else at random. The hit path and the pipeline both decide here. parent returns the trace
// context of the request.
func (r Reports) Begin(parent func() trace.Parent, trusted bool, at time.Time) *trace.Span {
	if r.Tracer == nil || !trusted && !r.Tracer.Sample() {
		return nil
	}
	p := parent()
	if trusted && !r.Tracer.ShouldTrace(p, true) {
		return nil
	}
	return r.Tracer.Serve(p, at)
}

// SpanOf returns the description of a request for its span, which agrees with its line of the
// access log. Pattern is that of its endpoint's address, err the reason for a failed response.
func SpanOf(l *accesslog.Line, p exchange.Protocol, pattern string, err error) trace.Exchange {
	scheme := "http"
	if l.TLS {
		scheme = "https"
	}
	return trace.Exchange{Method: string(l.Method), Scheme: scheme, Path: accesslog.Path(l.Target), Host: string(l.Host), Route: pattern,
		Protocol: p.Version(), Status: l.Status, Cache: l.Cache, Site: l.Site,
		RequestID: string(l.RequestID), Err: err}
}

// Count counts a response of the pipeline for Top.
func (r Reports) Count(l *accesslog.Line, stands int64) {
	r.Top.Record(l.Time.Add(l.Duration), top.Response{Client: l.Client, Host: l.Host, Path: pathOf(l.Target),
		Status: l.Status, Bytes: int(l.Bytes)}, stands)
}

// CountLater samples a request of the hit path for Top whose response comes after the memory of
// the request is reused. It returns nil if the response shall not be counted.
func (r Reports) CountLater(q *request.Request) (count func(now time.Time, status, body int)) {
	stands := r.Top.Sample()
	if stands == 0 {
		return nil
	}
	response := top.Response{Client: r.clientOf(q), Host: bytes.Clone(q.Host), Path: bytes.Clone(pathOf(q.Target))}
	return func(now time.Time, status, body int) {
		response.Status, response.Bytes = status, body
		r.Top.Record(now, response, stands)
	}
}

// pathOf returns a target without its query, which may have secrets, and without licence tokens.
func pathOf(target []byte) []byte {
	path, _, _ := bytes.Cut(target, []byte("?"))
	return accesslog.Redacted(path)
}

var methodGet, methodHead = []byte("GET"), []byte("HEAD")

func methodOf(q *request.Request) []byte {
	if q.Head {
		return methodHead
	}
	return methodGet
}
