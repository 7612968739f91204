package trace

import (
	"bytes"
	"errors"
	"flag"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/trace/tracetest"
)

// patient waits for a collector as long as a busy machine may need.
var patient = timeouts{send: time.Minute, last: time.Minute}

func newTracer(t *testing.T, endpoint string, p timeouts, logged *bytes.Buffer) *Tracer {
	t.Helper()
	tr, err := open(Options{endpoint, 1}, "test", "1", slog.New(slog.NewTextHandler(logged, nil)), p)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestSpans(t *testing.T) {
	c := tracetest.New(t)
	tr := newTracer(t, c.URL+"/", patient, &bytes.Buffer{})
	parent := Read([]string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, nil)
	now := time.Now()
	served := tr.Serve(parent, now)
	asked := served.Client(now)
	done := served.Do("store open")
	done.Done(errors.New("gone"))
	asked.End(now, Exchange{Method: "GET", Path: "/mdi/home.svg", Host: "127.0.0.1:8081", Status: 404})
	served.End(now, Exchange{Method: "GET", Scheme: "https", Path: "/mdi/home.svg", Host: "cdn.example.org",
		Route: "/{pack}/{file}", Protocol: "2", Status: 404, Cache: "miss", Site: "shop"})
	hostile := tr.Serve(Parent{}, now)
	hostile.End(now, Exchange{Method: "X\xff", Path: "/\xff" + strings.Repeat("x", 5000), Status: 503, Err: errors.New("\xfe")})
	tr.Close()
	if got := tr.Stats(); got != (Stats{4, 0}) {
		t.Fatalf("%+v, want 4 exported", got)
	}
	s, a := c.Find(t, "test", "server", "/mdi/home.svg"), c.Find(t, "test", "client", "/mdi/home.svg")
	if s.Trace != served.Trace() || s.Trace != "4bf92f3577b34da6a3ce929d0e0e4736" || s.Parent != "00f067aa0ba902b7" ||
		s.Name != "GET /{pack}/{file}" || s.Failed {
		t.Errorf("server span: %+v", s)
	}
	for name, want := range map[string]string{"http.request.method": "GET", "url.scheme": "https",
		"server.address": "cdn.example.org", "http.route": "/{pack}/{file}",
		"network.protocol.version": "2", "http.response.status_code": "404", "iconedge.cache": "miss",
		"iconedge.site": "shop", "error.type": ""} {
		if s.Attributes[name] != want {
			t.Errorf("%s is %q, want %q", name, s.Attributes[name], want)
		}
	}
	if a.Trace != s.Trace || a.Parent != s.ID || !a.Failed || a.Attributes["server.address"] != "127.0.0.1" ||
		a.Attributes["server.port"] != "8081" || a.Attributes["error.type"] != "404" {
		t.Errorf("client span: %+v", a)
	}
	if d := c.Find(t, "test", "internal", ""); d.Parent != s.ID || d.Name != "store open" || !d.Failed {
		t.Errorf("internal span: %+v", d)
	}
	h := c.Find(t, "test", "server", "/\ufffd"+strings.Repeat("x", 1022))
	if h.Name != "HTTP" || h.Attributes["http.request.method"] != "_OTHER" || !h.Failed || h.Parent != "" {
		t.Errorf("hostile bytes: %+v", h)
	}
}

// TestAway checks that an unavailable collector costs spans and one line of the log, and that spans
// are sent again once it works.
func TestAway(t *testing.T) {
	c := tracetest.New(t)
	c.Refuses.Store(true)
	var logged bytes.Buffer
	tr := newTracer(t, c.URL, patient, &logged)
	send := func(n int) {
		for range n {
			tr.Serve(Parent{}, time.Now()).End(time.Now(), Exchange{Status: 200})
		}
		tr.provider.ForceFlush(t.Context())
	}
	send(3)
	send(2)
	if tr.Stats() != (Stats{0, 5}) || strings.Count(logged.String(), "level=WARN") != 1 {
		t.Errorf("%+v, log: %s", tr.Stats(), logged.String())
	}
	c.Refuses.Store(false)
	send(1)
	if tr.Stats() != (Stats{1, 5}) || strings.Count(logged.String(), "again") != 1 {
		t.Errorf("%+v, log: %s", tr.Stats(), logged.String())
	}
	tr.Close()
}

// TestStuck checks that a collector that never answers delays neither traced requests nor Close,
// and that every span is counted.
func TestStuck(t *testing.T) {
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer s.Close()
	defer close(stop)
	tr := newTracer(t, s.URL, timeouts{send: time.Hour, last: 50 * time.Millisecond}, &bytes.Buffer{})
	for range 3 * maxWaiting {
		tr.Serve(Parent{}, time.Now()).End(time.Now(), Exchange{Status: 200})
	}
	if got := tr.Stats(); got != (Stats{0, 2 * maxWaiting}) {
		t.Errorf("%+v, want all but %d dropped", got, maxWaiting)
	}
	tr.Close() // must not wait an hour
}

func TestShouldTrace(t *testing.T) {
	sampled, not := Read([]string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, nil),
		Read([]string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"}, nil)
	all, none := &Tracer{sample: 1}, &Tracer{sample: 0}
	for _, row := range []struct {
		name    string
		tracer  *Tracer
		parent  Parent
		trusted bool
		want    bool
	}{
		{name: "off", parent: sampled, trusted: true},
		{name: "no decision", tracer: all, parent: Parent{}, trusted: true, want: true},
		{name: "no decision, and a sample of 0", tracer: none, parent: Parent{}, trusted: true},
		{name: "a trusted sender samples", tracer: none, parent: sampled, trusted: true, want: true},
		{name: "a trusted sender does not sample", tracer: all, parent: not, trusted: true},
		{name: "an untrusted sender samples", tracer: none, parent: sampled},
		{name: "an untrusted sender does not sample", tracer: all, parent: not, want: true},
	} {
		if got := row.tracer.ShouldTrace(row.parent, row.trusted); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
	const n = 100_000
	traced := 0
	for range n {
		if (&Tracer{sample: 0.01}).Sample() {
			traced++
		}
	}
	if traced < n/200 || traced > n/50 {
		t.Errorf("%d of %d with a sample of 1 %%", traced, n)
	}
}

func TestOptions(t *testing.T) {
	for _, row := range []struct{ args, url, err string }{
		{"", "", ""},
		{"-trace-endpoint=http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces", ""},
		{"-trace-endpoint=https://collector/", "https://collector/v1/traces", ""},
		{"-trace-endpoint=https://collector/otlp/v1/traces -trace-sample=1", "https://collector/otlp/v1/traces", ""},
		{"-trace-endpoint=collector:4318", "", "--trace-endpoint must be"},
		{"-trace-endpoint=http://user:secret@collector", "", "--trace-endpoint must be"},
		{"-trace-endpoint=http://", "", "--trace-endpoint must be"},
		{"-trace-sample=1.5", "", "--trace-sample must be"},
		{"-trace-sample=NaN", "", "--trace-sample must be"},
	} {
		var o Options
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		o.Flags(fs)
		if err := fs.Parse(strings.Fields(row.args)); err != nil {
			t.Fatal(err)
		}
		err := o.Validate()
		if row.err == "" && (err != nil || row.url != "" && o.url() != row.url) ||
			row.err != "" && (err == nil || !strings.HasPrefix(err.Error(), row.err) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v, sent to %s", row.args, err, o.url())
		}
	}
	if err := (&Options{Sample: math.Inf(1)}).Validate(); err == nil {
		t.Error("Validate accepts an infinite sample")
	}
}

// TestOff checks that a nil Tracer and a nil Span do nothing.
func TestOff(t *testing.T) {
	tr, err := New(Options{Sample: 1}, "test", "1", slog.New(slog.DiscardHandler))
	var s *Span
	s.Client(time.Now()).End(time.Now(), Exchange{Status: 500})
	s.Do("x").Done(errors.New("x"))
	if tr.Close(); tr != nil || err != nil || tr.Sample() || tr.Stats() != (Stats{}) || s.Trace() != "" ||
		s.Parent().Valid() || From(t.Context()) != nil || From(With(t.Context(), nil)) != nil {
		t.Error("a nil Tracer or Span does something")
	}
}
