package proxy

import (
	"net/http"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/observe/requestid"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/internal/trace"
)

// report logs, traces and counts a response of the pipeline. For a streamed body it does so when
// the stream has ended.
func (h *Proxy) report(r *pipeline.Request, o exchange.Outcome, err error) {
	span := r.Traced.Span()
	logged := h.Options.Reports.Lines.Sampled(r.Ctx.Response.StatusCode(), logShare(r))
	stands := h.Options.Reports.Top.Sample()
	if !logged && span == nil && stands == 0 {
		return
	}
	line := h.line(r, o)
	line.Trace = span.Trace()
	if err != nil {
		line.Error = string(problem.From(err).ProxyError())
	}
	streamed := r.Stream != nil && r.Ctx.Response.IsBodyStream()
	if r.Tell != nil || streamed {
		line = line.Clone() // the request's memory is reused before the stream ends
	}
	var attributes trace.Exchange
	if span != nil {
		attributes = observe.SpanOf(line, r.Protocol, r.Pattern, err)
	}
	tell := func(bytes int) {
		line.Bytes, line.Duration = int64(bytes), time.Since(line.Time)
		if logged {
			h.Options.Reports.Lines.Write(line)
		}
		if stands > 0 {
			h.Options.Reports.Count(line, stands)
		}
		span.End(line.Time.Add(line.Duration), attributes)
	}
	switch {
	case r.Tell != nil:
		*r.Tell = tell
	case streamed:
		r.Stream.Tell = tell
	default:
		tell(pipeline.BodyLength(r))
	}
}

// logShare returns the fraction of responses with a line in the access log that the rules of a
// request say; nil: that of all sites.
func logShare(r *pipeline.Request) *float64 {
	switch {
	case r.Ruled != nil:
		return r.Ruled.LogShare()
	case r.Site.Rules != nil:
		return r.Site.Rules.LogShare()
	}
	return nil
}

// line returns the log line of a request and its response, except for the size of the body. If the
// request could not be read, the line has none of its fields.
func (h *Proxy) line(r *pipeline.Request, o exchange.Outcome) *accesslog.Line {
	l := &accesslog.Line{Time: r.Arrived, Client: r.Peer, Status: r.Ctx.Response.StatusCode(), Site: r.Site.Name,
		Route: r.Route.String(), Cache: exchange.OutcomeNames[o],
		Protocol: r.Protocol.String(), TLS: r.Secure}
	if !r.Unread {
		fields := &r.Ctx.Request.Header
		l.Client, l.Method, l.Target, l.Host = r.Client, r.Ctx.Method(), fields.RequestURI(), r.Ctx.Host()
		l.UserAgent, l.Referer = fields.Peek("User-Agent"), fields.Peek("Referer")
	}
	l.RequestID = []byte(r.ID)
	return l
}

// startTrace reads the trace context of a request, and begins its span if this edge traces it. If
// this edge exports traces, a client that is not trusted can't decide by its sampled flag what this
// edge or the servers behind it trace.
func (h *Proxy) startTrace(r *pipeline.Request) {
	fields := &r.Ctx.Request.Header
	said := fields.PeekAll(trace.FieldParent)
	t := h.Options.Reports.Tracer
	if len(said) == 0 && t == nil {
		return
	}
	f := &pipeline.Traced{Parent: trace.Read(exchange.Texts(said), exchange.Texts(fields.PeekAll(trace.FieldState)))}
	if t != nil {
		trusted := r.Tier || h.Options.Clients.Trusts(r.Peer)
		if f.Here = h.Options.Reports.Begin(func() trace.Parent { return f.Parent }, trusted, r.Now); f.Here == nil {
			f.Parent = f.Parent.Unsampled()
		}
	}
	if f.Here != nil || f.Parent.Valid() {
		r.Traced = f
	}
}

// end writes the problem, if there is an error, then counts, logs and traces the response.
func (h *Proxy) end(r *pipeline.Request, o exchange.Outcome, err error) {
	r.Interims.Close()
	if err != nil {
		if p := problem.From(err); p.Status != http.StatusNotFound || !h.serveLost(r) {
			h.writer.Fail(r, p)
		}
	}
	h.replaceError(r, err != nil)
	if r.Secure {
		if altSvc := h.Options.AltSvc(r.Client); altSvc != "" {
			r.Response.Set("Alt-Svc", altSvc)
		}
	}
	h.identify(r, o)
	r.EditResponse()
	if h.hits.Draining() {
		closeAfter(r)
	}
	took := time.Since(r.Arrived)
	t := h.Options.Metrics.Answered(r.Protocol, r.Route, o, r.Ctx.Response.StatusCode(), took)
	if id := r.Traced.Span().Trace(); id != "" {
		h.Options.Metrics.Traced(r.Route, took, id)
	}
	if r.Stream != nil {
		r.Stream.To = t // counts the bytes when the stream ends
	}
	t.Send(pipeline.BodyLength(r))
	if r.Site.Name != "" {
		h.Options.Metrics.SiteAnswered(r.Site.Name, o, r.Ctx.Response.StatusCode())
	}
	h.report(r, o, err)
}

// idOf returns the id of a request whose fields have been read.
func (h *Proxy) idOf(r *pipeline.Request) string {
	if !h.Options.Reports.IDs.On() {
		return ""
	}
	var first []byte
	lines := r.Ctx.Request.Header.PeekAll(upstream.FieldRequestID)
	if len(lines) > 0 {
		first = lines[0]
	}
	return string(h.Options.Reports.IDs.Append(nil, first, len(lines), r.Tier || h.Options.Clients.Trusts(r.Peer)))
}

// identify gives the response the id of its request, and its times, where requests have them.
func (h *Proxy) identify(r *pipeline.Request, o exchange.Outcome) {
	if h.Options.Reports.IDs.On() {
		if r.ID == "" { // it was refused early
			r.ID = string(requestid.AppendNew(nil))
		}
		r.Response.Set(upstream.FieldRequestID, r.ID)
	}
	if r.Ruled != nil && r.Ruled.ShowsTiming() {
		r.Response.Add(observe.FieldServerTiming, string(observe.AppendTiming(nil, exchange.OutcomeNames[o],
			time.Since(r.Arrived), r.Fetching())))
	}
}

// closeAfter closes the connection of a request after its response.
func closeAfter(r *pipeline.Request) {
	r.Ctx.SetConnectionClose()
	r.Conn.CloseAfter()
}
