// Package trace follows some of the requests through edge and origin, and sends what it saw to an OpenTelemetry collector (OTLP over HTTP).
// It is off until it is given an endpoint; what a request says of the trace that it is part of is read and passed on either way
// (parent.go, W3C Trace Context). Which requests are followed is decided before anything is made for them, so that the others cost nothing.
//
// Spans wait in a queue of bounded size. A collector that is away, or slow, costs those that do not fit, which are counted, and one line of
// the log. This is the one package that knows OpenTelemetry; a nil Tracer and a nil Span do nothing.
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

	"github.com/iconedge/iconedge/hostport"
)

// Options are what an operator says of traces; Flags gives the defaults.
type Options struct {
	Endpoint string  // URL of a collector; empty: nothing is followed
	Sample   float64 // the part of requests that is followed, of those that nobody has decided about: 0 to 1
}

const (
	defaultSample = 0.01
	tracesPath    = "/v1/traces"    // where collectors take them (OTLP, section "OTLP/HTTP Request")
	maxWaiting    = 2048            // spans
	batch         = 512             // spans that are sent together
	batchWait     = 5 * time.Second // that the first of them waits for others
)

// A patience is how long a collector is waited for.
type patience struct {
	send time.Duration // that it has for what it is sent together
	last time.Duration // that Close waits for it
}

var usual = patience{send: 5 * time.Second, last: 2 * time.Second}

// Flags defines the flags of traces on fs; edge and origin share them.
func (o *Options) Flags(fs *flag.FlagSet) {
	fs.StringVar(&o.Endpoint, "trace-endpoint", "", "`URL` of an OpenTelemetry collector that takes traces (OTLP over HTTP); without a path, at "+tracesPath+" (default none)")
	fs.Float64Var(&o.Sample, "trace-sample", defaultSample, "`part` of the requests that are traced, 0 to 1, where nobody trusted has decided")
}

// Validate reports all that is wrong with o at once.
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

// url is where spans are sent.
func (o *Options) url() string {
	if u, err := url.Parse(o.Endpoint); err == nil && strings.Trim(u.Path, "/") == "" {
		return strings.TrimRight(o.Endpoint, "/") + tracesPath
	}
	return o.Endpoint
}

// A Tracer follows requests.
type Tracer struct {
	sample   float64
	provider *sdk.TracerProvider
	tracer   api.Tracer
	queue    *queue
	last     time.Duration // that Close waits
}

// New makes a Tracer of a service; nil, where there is no endpoint. What a collector wants besides, such as a header with a token, the standard
// environment variables say (OTEL_EXPORTER_OTLP_HEADERS), as they do of the service (OTEL_RESOURCE_ATTRIBUTES).
func New(o Options, service, version string, log *slog.Logger) (*Tracer, error) {
	return open(o, service, version, log, usual)
}

func open(o Options, service, version string, log *slog.Logger, p patience) (*Tracer, error) {
	if o.Endpoint == "" {
		return nil, nil
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Debug("tracing", "err", err) }))
	to, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(o.url()), otlptracehttp.WithTimeout(p.send),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{})) // none: others wait
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
	return &Tracer{sample: o.Sample, provider: provider, tracer: provider.Tracer("github.com/iconedge/iconedge"), queue: q, last: p.last}, nil
}

// Draws decides at random whether a request is followed that nobody has decided about.
func (t *Tracer) Draws() bool { return t != nil && rand.Float64() < t.sample }

// Decides decides whether a request is followed: as whoever sent it has decided, if he is trusted to; else at random.
func (t *Tracer) Decides(p Parent, trusted bool) bool {
	if t != nil && trusted && p.Told() {
		return p.Sampled()
	}
	return t.Draws()
}

// Serve begins the span of a request that is followed, and was here at a time.
func (t *Tracer) Serve(p Parent, at time.Time) *Span {
	return t.begin(api.ContextWithRemoteSpanContext(context.Background(), p.of), api.SpanKindServer, at)
}

func (t *Tracer) begin(under context.Context, kind api.SpanKind, at time.Time) *Span {
	ctx, s := t.tracer.Start(under, "HTTP", api.WithSpanKind(kind), api.WithTimestamp(at))
	return &Span{tracer: t, ctx: ctx, span: s, kind: kind}
}

// Stats are plain counts of spans, for metrics.
type Stats struct{ Exported, Dropped int64 }

// Stats counts the spans of t.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	return Stats{t.queue.exported.Load(), t.queue.dropped.Load()}
}

// Close sends what waits, for a moment at most.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.last)
	defer cancel()
	t.provider.Shutdown(ctx) // what is still there is lost, and was told of
}
