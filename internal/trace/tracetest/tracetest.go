// Package tracetest is a trace collector for tests: it accepts OTLP over HTTP and returns the
// spans.
package tracetest

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A Span is a span that the collector received.
type Span struct {
	Service, Name, Kind string
	Trace, ID, Parent   string // in hex; Parent is empty for a root span
	Failed              bool
	Attributes          map[string]string
}

// A Collector stores the spans that it receives.
type Collector struct {
	URL     string      // without a path
	Refuses atomic.Bool // makes the collector answer 503
	mu      sync.Mutex
	spans   []Span
}

// New starts a collector that ends with the test.
func New(t testing.TB) *Collector {
	c := &Collector{}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// ServeHTTP handles an OTLP request.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	b, err := io.ReadAll(body)
	var sent collector.ExportTraceServiceRequest
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf":
		w.WriteHeader(http.StatusNotFound)
	case c.Refuses.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case err != nil || proto.Unmarshal(b, &sent) != nil:
		w.WriteHeader(http.StatusBadRequest)
	default:
		c.add(&sent)
		w.Header().Set("Content-Type", "application/x-protobuf") // an empty message has no bytes
	}
}

func (c *Collector) add(sent *collector.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range sent.ResourceSpans {
		service := texts(of.Resource.Attributes)["service.name"]
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, Span{Service: service, Name: s.Name, Kind: kinds[s.Kind], Trace: hex.EncodeToString(s.TraceId),
					ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
					Failed: s.GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR, Attributes: texts(s.Attributes)})
			}
		}
	}
}

var kinds = map[otlp.Span_SpanKind]string{otlp.Span_SPAN_KIND_SERVER: "server", otlp.Span_SPAN_KIND_CLIENT: "client",
	otlp.Span_SPAN_KIND_INTERNAL: "internal"}

func texts(attributes []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attributes {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			all[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			all[a.Key] = strconv.FormatInt(v.IntValue, 10)
		}
	}
	return all
}

// Spans returns all spans received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Find returns the only span of a service and kind with this path. It waits for the span to arrive.
func (c *Collector) Find(t testing.TB, service, kind, path string) Span {
	t.Helper()
	found := c.find(service, kind, path)
	for late := time.Now().Add(time.Minute); len(found) == 0 && time.Now().Before(late); found = c.find(service, kind, path) {
		<-time.After(20 * time.Millisecond)
	}
	if len(found) != 1 {
		t.Fatalf("%d spans of %s, %s, for %s, want 1; all: %+v", len(found), service, kind, path, c.Spans())
	}
	return found[0]
}

func (c *Collector) find(service, kind, path string) (found []Span) {
	for _, s := range c.Spans() {
		if s.Service == service && s.Kind == kind && s.Attributes["url.path"] == path {
			found = append(found, s)
		}
	}
	return found
}
