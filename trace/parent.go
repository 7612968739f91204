package trace

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	api "go.opentelemetry.io/otel/trace"
)

// The fields by which a request says what trace it is part of (W3C Trace Context, section 3).
const (
	FieldParent = "Traceparent"
	FieldState  = "Tracestate"
)

// A Parent is what a request says of the trace that it is part of. The zero Parent says nothing.
type Parent struct {
	traceparent, tracestate string // as they came
	of                      api.SpanContext
}

// Read takes the lines of the two fields. A traceparent that is malformed, or not alone, says nothing, and then neither does tracestate; a
// tracestate that is malformed is left out (sections 3.2.4 and 3.3.3).
func Read(traceparent, tracestate []string) Parent {
	if len(traceparent) != 1 {
		return Parent{}
	}
	p := Parent{traceparent: traceparent[0], tracestate: strings.Join(tracestate, ",")}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": p.traceparent, "tracestate": p.tracestate})
	if p.of = api.SpanContextFromContext(ctx); !p.of.IsValid() {
		return Parent{}
	}
	if p.of.TraceState().Len() == 0 {
		p.tracestate = ""
	}
	return p
}

// Told reports whether p says anything.
func (p Parent) Told() bool { return p.traceparent != "" }

// Sampled reports whether whoever sent it follows the request (section 3.2.2.5.1).
func (p Parent) Sampled() bool { return p.of.IsSampled() }

// Unsampled is p for a request that is not followed, whoever wished it to be.
func (p Parent) Unsampled() Parent {
	if !p.Sampled() {
		return p
	}
	unsampled := parentOf(p.of.WithTraceFlags(p.of.TraceFlags() &^ api.FlagsSampled))
	unsampled.tracestate = p.tracestate
	return unsampled
}

// parentOf is what a request says that is made under a span.
func parentOf(of api.SpanContext) Parent {
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(api.ContextWithSpanContext(context.Background(), of), fields)
	return Parent{traceparent: fields["traceparent"], tracestate: fields["tracestate"], of: of}
}

// Unfollowed is what a request says that nobody is to follow; nothing, where t is nil.
func (t *Tracer) Unfollowed() Parent {
	if t == nil {
		return Parent{}
	}
	var trace api.TraceID
	var span api.SpanID
	binary.BigEndian.PutUint64(trace[:], rand.Uint64()|1) // all zeroes are none
	binary.BigEndian.PutUint64(trace[8:], rand.Uint64())
	binary.BigEndian.PutUint64(span[:], rand.Uint64()|1)
	return parentOf(api.NewSpanContext(api.SpanContextConfig{TraceID: trace, SpanID: span}))
}

// Put says p in a request, in place of what h says.
func (p Parent) Put(h http.Header) {
	for name, value := range map[string]string{FieldParent: p.traceparent, FieldState: p.tracestate} {
		delete(h, name)
		if value != "" {
			h[name] = []string{value}
		}
	}
}
