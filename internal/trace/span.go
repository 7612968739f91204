package trace

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	api "go.opentelemetry.io/otel/trace"
)

// A Span is one step of a traced request. A nil Span means that the request is not traced.
type Span struct {
	tracer *Tracer
	ctx    context.Context // has the span, for child spans
	span   api.Span
	kind   api.SpanKind
}

// Client begins the span of a request to another server.
func (s *Span) Client(at time.Time) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.begin(s.ctx, api.SpanKindClient, at)
}

// Do begins the span of an operation within the request. Done ends it.
func (s *Span) Do(what string) *Span {
	if s == nil {
		return nil
	}
	step := s.tracer.begin(s.ctx, api.SpanKindInternal, time.Now())
	step.span.SetName(what)
	return step
}

// Done ends the span of an operation.
func (s *Span) Done(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.fail(err)
	}
	s.span.End()
}

// Parent returns the trace context for a request made within the span.
func (s *Span) Parent() Parent {
	if s == nil {
		return Parent{}
	}
	return parentOf(s.span.SpanContext())
}

// Trace returns the id of the trace, or "" if the request is not traced.
func (s *Span) Trace() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// An Exchange describes a request and its answer for a span, in the terms of OpenTelemetry's
// conventions for HTTP. Empty fields are omitted.
type Exchange struct {
	Method, Scheme, Path string
	Host                 string // with its port, if there is one
	Route                string // the pattern of the path
	Protocol             string // version of HTTP: 1.1, 2, 3
	Status               int
	Cache                string // the cache outcome, in this project's terms
	Site                 string // of a configuration file
	RequestID            string // X-Request-ID
	Err                  error  // the reason for a missing or failed answer
}

// methods lists the methods that spans name. Clients can invent any number of others.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "DELETE": true, "CONNECT": true,
	"OPTIONS": true, "TRACE": true, "PATCH": true}

// End ends the span of a request and records e.
func (s *Span) End(at time.Time, e Exchange) {
	if s == nil {
		return
	}
	name := "HTTP"
	if methods[e.Method] {
		name = e.Method
		s.setAttribute(semconv.HTTPRequestMethodKey, e.Method)
	} else if e.Method != "" {
		s.setAttribute(semconv.HTTPRequestMethodKey, "_OTHER")
	}
	s.span.SetName(strings.TrimSpace(name + " " + e.Route))
	s.setAttribute(semconv.HTTPRouteKey, e.Route)
	s.setAttribute(semconv.URLSchemeKey, e.Scheme)
	s.setAttribute(semconv.URLPathKey, e.Path)
	s.setAttribute(semconv.NetworkProtocolVersionKey, e.Protocol)
	s.setAttribute("iconedge.cache", e.Cache)
	s.setAttribute("iconedge.site", e.Site)
	s.setAttribute("iconedge.request_id", e.RequestID)
	s.setServer(e.Host)
	s.setStatus(e)
	s.span.End(api.WithTimestamp(at))
}

// setAttribute sets one attribute, cut to a sensible length. It replaces bytes that are not UTF-8,
// because Protocol Buffers would refuse the whole batch with them.
func (s *Span) setAttribute(key attribute.Key, value string) {
	const most = 1024
	if value = value[:min(len(value), most)]; value != "" {
		s.span.SetAttributes(key.String(strings.ToValidUTF8(value, "\ufffd")))
	}
}

func (s *Span) setServer(host string) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		s.setAttribute(semconv.ServerAddressKey, host)
		return
	}
	s.setAttribute(semconv.ServerAddressKey, name)
	if n, err := strconv.Atoi(port); err == nil {
		s.span.SetAttributes(semconv.ServerPort(n))
	}
}

// setStatus records the status of the answer. A 4xx is an error for the client that sent the
// request, but not for the server that answered it.
func (s *Span) setStatus(e Exchange) {
	failed := 500
	if s.kind == api.SpanKindClient {
		failed = 400
	}
	if e.Status > 0 {
		s.span.SetAttributes(semconv.HTTPResponseStatusCode(e.Status))
	}
	switch {
	case e.Status >= failed && e.Err == nil:
		s.span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(e.Status)))
		s.span.SetStatus(codes.Error, "")
	case e.Status >= failed, e.Status == 0 && e.Err != nil:
		s.fail(e.Err)
	}
}

// fail records an error.
func (s *Span) fail(err error) {
	s.span.SetAttributes(semconv.ErrorType(err))
	s.span.SetStatus(codes.Error, strings.ToValidUTF8(err.Error(), "\ufffd"))
}

type key struct{}

// With returns ctx with the span of its request.
func With(ctx context.Context, s *Span) context.Context { return context.WithValue(ctx, key{}, s) }

// From returns the span of the request of ctx, or nil if that is not traced.
func From(ctx context.Context) *Span {
	s, _ := ctx.Value(key{}).(*Span)
	return s
}
