// Package trace records some of the requests through edge and origin, and sends their spans to an
// OpenTelemetry collector (OTLP over HTTP). Tracing is off unless an endpoint is configured. The
// trace context of a request is read and passed on in any case (parent.go, W3C Trace Context). The
// decision to trace a request comes before any allocation for it, so other requests cost nothing.
//
// Spans wait in a bounded queue. If the collector is unavailable or slow, the spans that do not fit
// are dropped and counted, and the log has one line about it. Only this package imports
// OpenTelemetry. A nil Tracer and a nil Span do nothing.
package trace

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	api "go.opentelemetry.io/otel/trace"

	"github.com/iconedge/iconedge/internal/hostport"
)

// Options are an operator's settings for tracing; Flags sets the defaults.
type Options struct {
	Endpoint string  // URL of a collector; empty: tracing is off
	Sample   float64 // fraction of requests to trace, if no trusted sender has decided: 0 to 1
}

const (
	defaultSample = 0.01
	// tracesPath is where collectors accept traces (OTLP, section "OTLP/HTTP Request").
	tracesPath = "/v1/traces"
	maxWaiting = 2048            // spans
	batch      = 512             // largest number of spans in one request
	batchWait  = 5 * time.Second // longest wait of a span for others
)

// timeouts limit the wait for a collector.
type timeouts struct {
	send time.Duration // for one batch
	last time.Duration // for the remaining spans, in Close
}

var defaultTimeouts = timeouts{send: 5 * time.Second, last: 2 * time.Second}

// Flags defines the flags of traces on fs; edge and origin share them.
func (o *Options) Flags(fs *flag.FlagSet) {
	fs.StringVar(&o.Endpoint, "trace-endpoint", "",
		"`URL` of an OpenTelemetry collector that takes traces (OTLP over HTTP); without a path, at "+tracesPath+" (default none)")
	fs.Float64Var(&o.Sample, "trace-sample", defaultSample,
		"`part` of the requests that are traced, 0 to 1, where nobody trusted has decided")
}

// Validate reports everything that is wrong with o.
func (o *Options) Validate() error {
	var errs []error
	if _, err := hostport.ParseURL(o.Endpoint); o.Endpoint != "" && err != nil {
		errs = append(errs, errors.New("--trace-endpoint must be http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]"))
	}
	if !(o.Sample >= 0 && o.Sample <= 1) {
		errs = append(errs, errors.New("--trace-sample must be a number from 0 to 1"))
	}
	return errors.Join(errs...)
}

// url returns the address to which spans are sent.
func (o *Options) url() string {
	if u, err := url.Parse(o.Endpoint); err == nil && strings.Trim(u.Path, "/") == "" {
		return strings.TrimRight(o.Endpoint, "/") + tracesPath
	}
	return o.Endpoint
}

// A Tracer traces requests.
type Tracer struct {
	sample   float64
	provider *sdk.TracerProvider
	tracer   api.Tracer
	queue    *queue
	last     time.Duration // longest time that Close waits
}

// New makes the Tracer of a service, or nil if there is no endpoint. The standard environment
// variables configure further settings, such as a field with a token for the collector
// (OTEL_EXPORTER_OTLP_HEADERS) or attributes of the service (OTEL_RESOURCE_ATTRIBUTES).
func New(o Options, service, version string, log *slog.Logger) (*Tracer, error) {
	return open(o, service, version, log, defaultTimeouts)
}

func open(o Options, service, version string, log *slog.Logger, p timeouts) (*Tracer, error) {
	if o.Endpoint == "" {
		return nil, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Debug("tracing", "err", err) }))
	to, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(o.url()), otlptracehttp.WithTimeout(p.send),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{})) // no retries: other spans are waiting
	if err != nil {
		return nil, fmt.Errorf("making the exporter of traces: %w", err)
	}
	about, err := resource.New(context.Background(), resource.WithHost(), resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing the service in traces: %w", err)
	}
	q := newQueue(to, p.send, log)
	provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.AlwaysSample()), sdk.WithSpanProcessor(q), sdk.WithResource(about))
	return &Tracer{sample: o.Sample, provider: provider, tracer: provider.Tracer("github.com/iconedge/iconedge"),
		queue: q, last: p.last}, nil
}

// Sample decides at random whether to trace a request.
func (t *Tracer) Sample() bool { return t != nil && rand.Float64() < t.sample }

// ShouldTrace decides whether to trace a request: as a trusted sender has decided in p, otherwise
// at random.
func (t *Tracer) ShouldTrace(p Parent, trusted bool) bool {
	if t != nil && trusted && p.Valid() {
		return p.Sampled()
	}
	return t.Sample()
}

// Serve begins the span of a traced request that arrived at time at.
func (t *Tracer) Serve(p Parent, at time.Time) *Span {
	return t.begin(api.ContextWithRemoteSpanContext(context.Background(), p.span), api.SpanKindServer, at)
}

func (t *Tracer) begin(under context.Context, kind api.SpanKind, at time.Time) *Span {
	ctx, s := t.tracer.Start(under, "HTTP", api.WithSpanKind(kind), api.WithTimestamp(at))
	return &Span{tracer: t, ctx: ctx, span: s, kind: kind}
}

// Stats holds counts of spans, for metrics.
type Stats struct{ Exported, Dropped int64 }

// Stats returns the counts of t.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	return Stats{t.queue.exported.Load(), t.queue.dropped.Load()}
}

// Close sends the waiting spans, for a limited time.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.last)
	defer cancel()
	t.provider.Shutdown(ctx) // spans that remain are lost
}
