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

// FieldParent and FieldState are the fields in which a request names the trace that it is part of
// (W3C Trace Context, section 3).
const (
	FieldParent = "Traceparent"
	FieldState  = "Tracestate"
)

// A Parent is the trace context of a request: the trace that it is part of. The zero Parent has
// none.
type Parent struct {
	traceparent, tracestate string // as received or to be sent
	span                    api.SpanContext
}

// Read reads the values of the two fields. Without exactly one well-formed traceparent there is no
// context, and tracestate is ignored too. A malformed tracestate is dropped (sections 3.2.4 and
// 3.3.3).
func Read(traceparent, tracestate []string) Parent {
	if len(traceparent) != 1 {
		return Parent{}
	}
	p := Parent{traceparent: traceparent[0], tracestate: strings.Join(tracestate, ",")}
	ctx := propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier{"traceparent": p.traceparent, "tracestate": p.tracestate})
	if p.span = api.SpanContextFromContext(ctx); !p.span.IsValid() {
		return Parent{}
	}
	if p.span.TraceState().Len() == 0 {
		p.tracestate = ""
	}
	return p
}

// Valid reports whether p has a trace context.
func (p Parent) Valid() bool { return p.traceparent != "" }

// Sampled reports whether the sender samples the request (section 3.2.2.5.1).
func (p Parent) Sampled() bool { return p.span.IsSampled() }

// Unsampled returns p without the sampled flag, for a request that is not traced here even if the
// sender samples it.
func (p Parent) Unsampled() Parent {
	if !p.Sampled() {
		return p
	}
	unsampled := parentOf(p.span.WithTraceFlags(p.span.TraceFlags() &^ api.FlagsSampled))
	unsampled.tracestate = p.tracestate
	return unsampled
}

// parentOf returns the trace context of a request that is made within a span.
func parentOf(span api.SpanContext) Parent {
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(api.ContextWithSpanContext(context.Background(), span), fields)
	return Parent{traceparent: fields["traceparent"], tracestate: fields["tracestate"], span: span}
}

// Untraced returns a new trace context that is not sampled, so that the next server does not
// trace the request either. It is empty if t is nil.
func (t *Tracer) Untraced() Parent {
	if t == nil {
		return Parent{}
	}
	var trace api.TraceID
	var span api.SpanID
	binary.BigEndian.PutUint64(trace[:], rand.Uint64()|1) // an id must not be all zeros
	binary.BigEndian.PutUint64(trace[8:], rand.Uint64())
	binary.BigEndian.PutUint64(span[:], rand.Uint64()|1)
	return parentOf(api.NewSpanContext(api.SpanContextConfig{TraceID: trace, SpanID: span}))
}

// Put sets the fields of p in h, in place of any that h has.
func (p Parent) Put(h http.Header) {
	for name, value := range map[string]string{FieldParent: p.traceparent, FieldState: p.tracestate} {
		delete(h, name)
		if value != "" {
			h[name] = []string{value}
		}
	}
}
