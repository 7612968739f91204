package proxy

import (
	"bytes"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/trace"
)

// report logs, traces and counts a response of the pipeline. For a streamed body it does so when
// the stream has ended.
func (h *Proxy) report(r *request, o exchange.Outcome, err error) {
	span := r.traced.span()
	logged := h.Options.Reports.Lines.Sampled(r.ctx.Response.StatusCode())
	stands := h.Options.Reports.Top.Sample()
	if !logged && span == nil && stands == 0 {
		return
	}
	line := h.line(r, o)
	line.Trace = span.Trace()
	streamed := r.stream != nil && r.ctx.Response.IsBodyStream()
	if r.tell != nil || streamed {
		line = line.Clone() // the request's memory is reused before the stream ends
	}
	var attributes trace.Exchange
	if span != nil {
		attributes = exchangeAttributes(line, r, err)
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
	case r.tell != nil:
		*r.tell = tell
	case streamed:
		r.stream.tell = tell
	default:
		tell(bodyLength(r))
	}
}

// line returns the log line of a request and its response, except for the size of the body. If the
// request could not be read, the line has none of its fields.
func (h *Proxy) line(r *request, o exchange.Outcome) *accesslog.Line {
	l := &accesslog.Line{Time: r.Arrived, Client: r.Peer, Status: r.ctx.Response.StatusCode(), Site: r.site.Name, Route: r.route.String(), Cache: exchange.OutcomeNames[o],
		Protocol: r.Protocol.String(), TLS: r.Secure}
	if !r.unread {
		fields := &r.ctx.Request.Header
		l.Client, l.Method, l.Target, l.Host = r.Client, r.ctx.Method(), fields.RequestURI(), r.ctx.Host()
		l.UserAgent, l.Referer = fields.Peek("User-Agent"), fields.Peek("Referer")
	}
	return l
}

// A traced holds the trace that a request is part of. nil means that neither this edge nor the
// sender traces the request.
type traced struct {
	parent trace.Parent // the trace context to pass on if this edge does not trace the request
	edge   *trace.Span  // the span of the request; nil: this edge does not trace it
}

// startTrace reads the trace context of a request, and begins its span if this edge traces it. If
// this edge exports traces, a client that is not trusted can't decide by its sampled flag what this
// edge or the servers behind it trace.
func (h *Proxy) startTrace(r *request) {
	fields := &r.ctx.Request.Header
	said := fields.PeekAll(trace.FieldParent)
	t := h.Options.Reports.Tracer
	if len(said) == 0 && t == nil {
		return
	}
	f := &traced{parent: trace.Read(exchange.Texts(said), exchange.Texts(fields.PeekAll(trace.FieldState)))}
	if t != nil {
		switch {
		case r.Sampled, t.ShouldTrace(f.parent, r.Tier || h.Options.Clients.Trusts(r.Peer)):
			f.edge = t.Serve(f.parent, r.now)
		default:
			f.parent = f.parent.Unsampled()
		}
	}
	if f.edge != nil || f.parent.Valid() {
		r.traced = f
	}
}

// span returns the span of the request at this edge; nil: the request is not traced here.
func (f *traced) span() *trace.Span {
	if f == nil {
		return nil
	}
	return f.edge
}

// outgoing returns the trace context that a request to the origin carries if it is made for this
// request and not traced itself.
func (f *traced) outgoing() trace.Parent {
	if f == nil {
		return trace.Parent{}
	}
	return f.parent
}

// fetchAttributes returns the trace's description of a request to the origin, and of its response,
// if there is one.
func fetchAttributes(r upstream.Request, a *upstream.Response, err error) trace.Exchange {
	e := trace.Exchange{Method: r.Method, Path: urlPath([]byte(r.Target)), Err: err}
	if a != nil {
		e.Host, e.Status = a.Host, a.Status
	}
	return e
}

// exchangeAttributes returns the trace's description of a request. It agrees with the request's
// line of the access log.
func exchangeAttributes(l *accesslog.Line, r *request, err error) trace.Exchange {
	return trace.Exchange{Method: string(l.Method), Scheme: r.Scheme(), Path: urlPath(l.Target), Host: string(l.Host), Route: r.pattern,
		Protocol: r.Protocol.Version(), Status: l.Status, Cache: l.Cache, Site: l.Site, Err: err}
}

// urlPath returns the path of a target. It is empty for a target that names its host, which clients
// send only to a proxy.
func urlPath(target []byte) string {
	path, _, _ := bytes.Cut(accesslog.Redacted(target), []byte("?"))
	if !strings.HasPrefix(string(path), "/") {
		return ""
	}
	return string(path)
}
