package edge

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/internal/trace"
	"github.com/iconedge/iconedge/internal/trace/tracetest"
)

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
	sampled     = "00-" + clientTrace + "-" + clientSpan + "-01"
	unsampled   = "00-" + clientTrace + "-" + clientSpan + "-00"

	anyUnsampled = "any unsampled trace"
)

// A recordingOrigin records the header fields of the requests that it receives.
type recordingOrigin struct {
	http.Handler
	mu   sync.Mutex
	last map[string]http.Header // by path
}

func newRecordingOrigin(of http.Handler) *recordingOrigin {
	return &recordingOrigin{Handler: of, last: map[string]http.Header{}}
}

func (o *recordingOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.last[r.URL.Path] = r.Header.Clone()
	o.mu.Unlock()
	o.Handler.ServeHTTP(w, r)
}

func (o *recordingOrigin) received(path, field string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.last[path].Values(field), "|")
}

// alone is the configuration in which no client is trusted.
func alone(c *Config) { c.TrustedProxies = nil }

// TestTraceIsPassedOn tests the edge's own routes and forwarded ones, with and without tracing on
// this edge. With tracing, the edge clears the sampled flag of clients that are not trusted.
func TestTraceIsPassedOn(t *testing.T) {
	t.Parallel()
	collector := tracetest.New(t)
	traces := func(c *Config) { c.Trace.Endpoint, c.Trace.Sample = collector.URL, 0 }
	for _, row := range []struct {
		name          string
		change        func(*Config)
		parent, state []string
		want, of      string
	}{
		{"off", alone, []string{sampled}, []string{"a=1,b=2"}, sampled, "a=1,b=2"},
		{"off, state in two lines", alone, []string{sampled}, []string{"a=1", "b=2"}, sampled, "a=1,b=2"},
		{"off, malformed", alone, []string{sampled[1:]}, []string{"a=1"}, "", ""},
		{"off, two", alone, []string{sampled, sampled}, []string{"a=1"}, "", ""},
		{"off, none", alone, nil, []string{"a=1"}, "", ""},
		{"on, an untrusted client's flag", func(c *Config) { alone(c); traces(c) }, []string{sampled}, []string{"a=1"}, unsampled, "a=1"},
		{"on, not sampled by a trusted client", traces, []string{unsampled}, []string{"a=1"}, unsampled, "a=1"},
		{"on, malformed", traces, []string{sampled + "-x"}, []string{"a=1"}, anyUnsampled, ""},
		{"on, none", traces, nil, []string{"a=1"}, anyUnsampled, ""},
	} {
		for _, path := range []string{"/mdi/home.svg", "/api/v1/auth/verify", "/others/page"} {
			origin := newRecordingOrigin(owntest.NewOrigin())
			e := newEdgeTest(t, origin, row.change, func(c *Config) { c.ProxyAll = path == "/others/page" })
			method := map[bool]string{true: "POST", false: "GET"}[strings.HasSuffix(path, "verify")]
			r, _ := http.NewRequest(method, "http://edge.test"+path, strings.NewReader("{}"))
			r.Header["Traceparent"], r.Header["Tracestate"] = row.parent, row.state
			r.Header.Set("Cookie", "a=b")
			resp, err := e.RoundTrip(r)
			must(t, err)
			resp.Body.Close()
			got, of := origin.received(path, "Traceparent"), origin.received(path, "Tracestate")
			if row.want == anyUnsampled && trace.Read([]string{got}, nil).Valid() && strings.HasSuffix(got, "-00") {
				got = anyUnsampled
			}
			if got != row.want || of != row.of {
				t.Errorf("%s: %s: the origin gets %q, %q, want %q, %q", row.name, path, got, of, row.want, row.of)
			}
			if own := path != "/others/page"; own && origin.received(path, "Cookie") != "" {
				t.Errorf("%s: other fields are passed on: %v", path, origin.last[path])
			}
		}
	}
	if spans := collector.Spans(); len(spans) > 0 {
		t.Errorf("%+v", spans)
	}
}

// TestSpans tests every protocol, with fast-path hits and requests to the origin. The spans belong
// to the client's trace, each with the right parent, and the log line names the trace.
func TestSpans(t *testing.T) {
	t.Parallel()
	for way, of := range wayOf {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			collector, origin := tracetest.New(t), newRecordingOrigin(owntest.NewOrigin())
			change, text := logs(t)
			s := newSecured(t, origin, append(of.changes(), change,
				func(c *Config) { c.Trace.Endpoint, c.Trace.Sample = collector.URL, 0 })...)
			by := s.by(t, way) // the client of the tests is trusted
			by.do(t, "GET", "/mdi/home.svg?color=f00", "Traceparent", sampled)
			sent := origin.received("/mdi/home.svg", "Traceparent")
			by.do(t, "GET", "/mdi/account.svg") // so that it is cached
			by.do(t, "GET", "/mdi/account.svg", "Traceparent", sampled)
			by.do(t, "GET", "/mdi/account.svg", "Traceparent", unsampled)
			by.do(t, "GET", "/broken/x.svg", "Traceparent", sampled)
			s.end()
			if n := len(collector.Spans()); n != 5 {
				t.Fatalf("%d spans: %+v", n, collector.Spans())
			}
			server, client := collector.Find(t, "iconedge-edge", "server", "/mdi/home.svg"),
				collector.Find(t, "iconedge-edge", "client", "/mdi/home.svg")
			if server.Trace != clientTrace || server.Parent != clientSpan || client.Trace != clientTrace ||
				client.Parent != server.ID || sent != "00-"+clientTrace+"-"+client.ID+"-01" {
				t.Errorf("%+v\n%+v\nthe origin gets %s", server, client, sent)
			}
			want := map[string]string{"http.request.method": "GET", "http.response.status_code": "200",
				"http.route": "/{pack}/{file}", "url.path": "/mdi/home.svg",
				"network.protocol.version": of.protocol.Version(), "server.address": "edge.test",
				"iconedge.cache": "miss", "url.scheme": map[bool]string{true: "https", false: "http"}[of.secure]}
			if got := server.Attributes; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v\nwant %v", got, want)
			}
			if client.Attributes["server.address"] != "127.0.0.1" || client.Attributes["server.port"] == "" ||
				client.Attributes["http.response.status_code"] != "200" || client.Failed {
				t.Errorf("%+v", client)
			}
			if hit := collector.Find(t, "iconedge-edge", "server",
				"/mdi/account.svg"); hit.Attributes["iconedge.cache"] != "hit" || hit.Parent != clientSpan {
				t.Errorf("%+v", hit)
			}
			if failed := collector.Find(t, "iconedge-edge", "server", "/broken/x.svg"); !failed.Failed ||
				failed.Attributes["http.response.status_code"] != "502" {
				t.Errorf("%+v", failed)
			}
			if lines := linesIn(t, text()); len(lines) != 5 || strings.Count(text(), clientTrace) != 3 ||
				lines[2].TraceID != clientTrace || lines[3].TraceID != "" {
				t.Errorf("the log:\n%s", text())
			}
		})
	}
}

// A traced request is an exemplar of the durations of its route, for a Prometheus that accepts
// OpenMetrics. Others are not.
func TestExemplars(t *testing.T) {
	collector := tracetest.New(t)
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.Trace.Endpoint, c.Trace.Sample = collector.URL, 0 })
	by := s.by(t, "h1")
	metrics := func(accept string) string {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		s.metrics.Handler().ServeHTTP(w, r)
		return w.Body.String()
	}
	const open = "application/openmetrics-text; version=1.0.0"
	by.do(t, "GET", "/mdi/home.svg", "Traceparent", unsampled)
	if got := metrics(open); strings.Contains(got, "trace_id") || !strings.HasSuffix(got, "# EOF\n") {
		t.Errorf("without a trace:\n%s", got)
	}
	by.do(t, "GET", "/mdi/home.svg", "Traceparent", sampled)
	want := regexp.MustCompile(`iconedge_edge_request_duration_seconds_bucket\{route="cdn",le="[^"]+"\} \d+ # \{trace_id="` + clientTrace +
		`"\} [0-9.e-]+ \d+`)
	if got := metrics(open); len(want.FindAllString(got, -1)) != 1 {
		t.Errorf("not one exemplar:\n%s", got)
	}
	if got := metrics(""); strings.Contains(got, "trace_id") {
		t.Error("the text format has exemplars, which its readers do not know")
	}
}

// TestSpansNameTheSite tests that the span of a request has the site of a configuration file.
func TestSpansNameTheSite(t *testing.T) {
	t.Parallel()
	collector := tracetest.New(t)
	t.Run("edge", func(t *testing.T) { // at its end the edge sends all spans
		e := newFileEdge(t, "version: 1\ntrace_endpoint: "+collector.URL+`
trace_sample: 1
sites:
  - {name: shop, hosts: [shop.test], origins: {app: {urls: ["http://10.0.0.5:3000"]}}}
  - {name: blog, hosts: ["*.blog.test"], origins: {app: {urls: ["http://10.0.0.6:3000"]}}}
`)
		e.run(t, []fileStep{{"GET http://shop.test/fresh", nil, 200, "uri-miss"},
			{"GET http://shop.test/fresh", nil, 200, "hit"}, {"GET http://a.blog.test/b", nil, 200, "uri-miss"}})
	})
	got := map[string]int{}
	for _, s := range collector.Spans() {
		if s.Kind == "server" {
			got[s.Attributes["url.path"]+" "+s.Attributes["iconedge.cache"]+" "+s.Attributes["iconedge.site"]]++
		}
	}
	if want := map[string]int{"/fresh miss shop": 1, "/fresh hit shop": 1, "/b miss blog": 1}; !maps.Equal(got, want) {
		t.Errorf("spans %v, want %v", got, want)
	}
}

// TestSampled tests that a fraction of the requests of clients that are not trusted is traced, on
// the hit path and in the pipeline, whatever their fields say. All stay on the hit path.
func TestSampled(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"h1", "h2c"} {
		collector := tracetest.New(t)
		s := newSecured(t, owntest.NewOrigin(), alone, func(c *Config) {
			c.Trace.Endpoint, c.Trace.Sample = collector.URL,
				0.2
			c.Limits.Set("cdn=off")
		})
		by := s.by(t, way)
		const n = 400
		for range n {
			by.do(t, "GET", "/mdi/home.svg", "Traceparent", sampled)
			by.do(t, "HEAD", "/mdi/home.svg")
		}
		s.end()
		count := map[string]int{}
		for _, span := range collector.Spans() {
			if span.Kind == "server" {
				count[span.Attributes["http.request.method"]]++
			}
		}
		if count["GET"] < n/10 || count["GET"] > n/3 || count["HEAD"] < n/10 || count["HEAD"] > n/3 {
			t.Errorf("%s: of %d requests each, %v are traced", way, n, count)
		}
	}
	for _, sample := range []float64{0, 1} {
		e := newEdgeTest(t, owntest.NewOrigin(), alone, func(c *Config) { c.Trace.Endpoint, c.Trace.Sample = "http://127.0.0.1:1", sample })
		must(t, e.library.Poll())
		e.get(t, "/mdi/home.svg")
		if _, ok := e.Answer(nil, browser("/mdi/home.svg")); !ok {
			t.Errorf("with a sample of %v a hit took the pipeline", sample)
		}
	}
}

// TestTracedIsCountedOnce tests that a traced hit counts once.
func TestTracedIsCountedOnce(t *testing.T) {
	s := newSecured(t, owntest.NewOrigin(), alone, func(c *Config) {
		c.Trace.Endpoint, c.Trace.Sample = "http://127.0.0.1:1", 1
		c.Limits.Set("cdn=100/1h")
	})
	by := s.by(t, "h1")
	for i := range 5 {
		if a := by.get(t, "/mdi/home.svg"); !strings.Contains(a.Header.Get("RateLimit"), fmt.Sprintf("r=%d;", 99-i)) {
			t.Errorf("call %d: RateLimit: %s", i+1, a.Header.Get("RateLimit"))
		}
	}
}

// TestTierDecides tests that an authenticated edge behind this one is trusted to choose the traced
// requests.
func TestTierDecides(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef\n"), 0o600))
	collector := tracetest.New(t)
	origin := newRecordingOrigin(owntest.NewOrigin())
	s := newSecured(t, origin, alone, func(c *Config) {
		c.TierSecretFile = secret
		c.Trace.Endpoint, c.Trace.Sample = collector.URL, 0
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	})
	by := s.by(t, "h1")
	by.do(t, "GET", "/mdi/home.svg", "Traceparent", sampled, "Iconedge-Tier-Secret", "0123456789abcdef0123456789abcdef")
	by.do(t, "GET", "/mdi/account.svg", "Traceparent", sampled, "Iconedge-Tier-Secret", "0123456789abcdef0123456789abcdeX")
	s.end()
	collector.Find(t, "iconedge-edge", "server", "/mdi/home.svg")
	if n := len(collector.Spans()); n != 2 || origin.received("/mdi/account.svg", "Traceparent") != unsampled {
		t.Errorf("%d spans", n)
	}
}
