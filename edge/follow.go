package edge

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/accesslog"
	"github.com/iconedge/iconedge/edge/plain"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/trace"
)

// A followed is what is known of the trace that a request is part of. A nil one is of a request that nobody follows, here or before.
type followed struct {
	parent trace.Parent // as it is passed on, where this edge does not follow the request
	edge   *trace.Span  // nil: it does not
}

// follow reads what a request says of its trace, and begins its span, if it is to be followed here. Where this edge has traces, the flag of who
// is not trusted to decide decides nothing here or behind it.
func (h *handler) follow(r *request) {
	fields := &r.ctx.Request.Header
	said := fields.PeekAll(trace.FieldParent)
	t := h.reports.tracer
	if len(said) == 0 && t == nil {
		return
	}
	f := &followed{parent: trace.Read(texts(said), texts(fields.PeekAll(trace.FieldState)))}
	if t != nil {
		switch {
		case r.Sampled, t.Decides(f.parent, r.Tier || h.clients.trusts(r.Peer)):
			f.edge = t.Serve(f.parent, r.now)
		default:
			f.parent = f.parent.Unsampled()
		}
	}
	if f.edge != nil || f.parent.Told() {
		r.followed = f
	}
}

// chooses decides whether a request that could be answered on the short way is to be followed: then it takes the long one.
func (h *handler) chooses(q *plain.Request) bool {
	if h.clients.trusts(q.Client) {
		q.Chosen = h.reports.tracer.Decides(trace.Read(texts(lines(q, "traceparent")), texts(lines(q, "tracestate"))), true)
	} else {
		q.Chosen = h.reports.tracer.Draws()
	}
	return q.Chosen
}

// lines are all lines of a field of a plain request.
func lines(q *plain.Request, name string) (all [][]byte) {
	for i := 0; ; i++ {
		line := q.Fields.Line(name, i)
		if line == nil {
			return all
		}
		all = append(all, line)
	}
}

// span is that of the request at this edge.
func (f *followed) span() *trace.Span {
	if f == nil {
		return nil
	}
	return f.edge
}

// passed is what a request to the origin says that is made for this one, and not followed itself.
func (f *followed) passed() trace.Parent {
	if f == nil {
		return trace.Parent{}
	}
	return f.parent
}

// follows makes a question to the origin a part of the trace, in its header fields. Where this edge has traces, the origin has no say about which.
func (h *handler) follows(f *followed, r *upstream.Request, now time.Time) *trace.Span {
	span, parent := f.span().Ask(now), f.passed()
	switch {
	case span != nil:
		parent = span.Parent()
	case !parent.Told():
		parent = h.reports.tracer.Unfollowed()
	}
	if !parent.Told() {
		return nil
	}
	if r.Header = r.Header.Clone(); r.Header == nil {
		r.Header = http.Header{}
	}
	parent.Put(r.Header)
	return span
}

// asked is what is told of such a question, and of its answer, if there is one.
func asked(r upstream.Request, a *upstream.Answer, err error) trace.Exchange {
	e := trace.Exchange{Method: r.Method, Path: urlPath([]byte(r.Target)), Err: err}
	if a != nil {
		e.Host, e.Status = a.Host, a.Status
	}
	return e
}

// exchangeOf is what the span of a request tells: what its line does.
func exchangeOf(l *accesslog.Line, r *request, err error) trace.Exchange {
	return trace.Exchange{Method: string(l.Method), Scheme: r.Scheme(), Path: urlPath(l.Target), Host: string(l.Host), Route: r.pattern,
		Protocol: r.Protocol.Version(), Status: l.Status, Cache: l.Cache, Err: err}
}

// urlPath is the path of a target. One that names its host is not told: nobody sends such a one but to a proxy.
func urlPath(target []byte) string {
	path, _, _ := bytes.Cut(accesslog.Redacted(target), []byte("?"))
	if !strings.HasPrefix(string(path), "/") {
		return ""
	}
	return string(path)
}
