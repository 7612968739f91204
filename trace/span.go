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

// A Span is one step of a request that is followed. A nil one is of a request that is not.
type Span struct {
	tracer *Tracer
	ctx    context.Context // that has it, for those beneath it
	span   api.Span
	kind   api.SpanKind
}

// Ask begins the span of a question to another server.
func (s *Span) Ask(at time.Time) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.begin(s.ctx, api.SpanKindClient, at)
}

// Do begins the span of something that is done for the request. It is ended with Done.
func (s *Span) Do(what string) *Span {
	if s == nil {
		return nil
	}
	step := s.tracer.begin(s.ctx, api.SpanKindInternal, time.Now())
	step.span.SetName(what)
	return step
}

// Done ends the span of something that was done.
func (s *Span) Done(err error) {
	if s == nil {
		return
	}
	if err != nil {
		s.fail(err)
	}
	s.span.End()
}

// Parent is what a request that is made under the span says.
func (s *Span) Parent() Parent {
	if s == nil {
		return Parent{}
	}
	return parentOf(s.span.SpanContext())
}

// Trace is the id of the trace; empty, where nothing is followed.
func (s *Span) Trace() string {
	if s == nil {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// An Exchange is what is told of a request and its answer, in the words of OpenTelemetry's conventions for HTTP. What is empty is left out.
type Exchange struct {
	Method, Scheme, Path string
	Host                 string // with its port, if it has one
	Route                string // the pattern of its address
	Protocol             string // version of HTTP: 1.1, 2, 3
	Status               int
	Cache                string // what the cache did, a word of ours
	Err                  error  // why there is no answer, or one that is a failure
}

// methods are those that are told by their name: what else a client makes up would be without number.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "DELETE": true, "CONNECT": true, "OPTIONS": true, "TRACE": true, "PATCH": true}

// End ends the span of a request, and tells what it was.
func (s *Span) End(at time.Time, e Exchange) {
	if s == nil {
		return
	}
	name := "HTTP"
	if methods[e.Method] {
		name = e.Method
		s.tell(semconv.HTTPRequestMethodKey, e.Method)
	} else if e.Method != "" {
		s.tell(semconv.HTTPRequestMethodKey, "_OTHER")
	}
	s.span.SetName(strings.TrimSpace(name + " " + e.Route))
	s.tell(semconv.HTTPRouteKey, e.Route)
	s.tell(semconv.URLSchemeKey, e.Scheme)
	s.tell(semconv.URLPathKey, e.Path)
	s.tell(semconv.NetworkProtocolVersionKey, e.Protocol)
	s.tell("iconedge.cache", e.Cache)
	s.server(e.Host)
	s.status(e)
	s.span.End(api.WithTimestamp(at))
}

// tell tells one thing. Bytes that are not UTF-8 would spoil all that is sent with it (Protocol Buffers have it so), and nobody needs much.
func (s *Span) tell(key attribute.Key, value string) {
	const most = 1024
	if value = value[:min(len(value), most)]; value != "" {
		s.span.SetAttributes(key.String(strings.ToValidUTF8(value, "\ufffd")))
	}
}

func (s *Span) server(host string) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		s.tell(semconv.ServerAddressKey, host)
		return
	}
	s.tell(semconv.ServerAddressKey, name)
	if n, err := strconv.Atoi(port); err == nil {
		s.span.SetAttributes(semconv.ServerPort(n))
	}
}

// status tells the answer's status. To who served a request one of the client's own errors is none; to who asked it is.
func (s *Span) status(e Exchange) {
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

// fail tells what went wrong.
func (s *Span) fail(err error) {
	s.span.SetAttributes(semconv.ErrorType(err))
	s.span.SetStatus(codes.Error, strings.ToValidUTF8(err.Error(), "\ufffd"))
}

type key struct{}

// With is ctx with the span of the request that it is for.
func With(ctx context.Context, s *Span) context.Context { return context.WithValue(ctx, key{}, s) }

// From is the span of the request that ctx is for; nil, where that is not followed.
func From(ctx context.Context) *Span {
	s, _ := ctx.Value(key{}).(*Span)
	return s
}
