package origin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/prometheus/common/expfmt"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/api"
)

// A storeOf calls a function for each key.
type storeOf map[string]func() (io.ReadCloser, error)

func (s storeOf) Open(_ context.Context, key string) (io.ReadCloser, error) { return s[key]() }

// A failure of the store is counted, before or after it has opened the object. Absent objects and
// cancelled calls are not failures.
func TestStoreIsMetered(t *testing.T) {
	fails := func(err error) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return nil, err }
	}
	reads := func(r io.Reader) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return io.NopCloser(r), nil }
	}
	store := storeOf{
		"good":           reads(strings.NewReader("good")),
		"absent":         fails(fmt.Errorf("opening: %w", objectstore.ErrNotExist)),
		"unreachable":    fails(objectstore.ErrUnreachable),
		"cut":            reads(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("cut")))),
		"cancelled":      fails(fmt.Errorf("opening: %w", context.Canceled)),
		"cancelled read": reads(iotest.ErrReader(context.Canceled)),
		"too slow":       fails(context.DeadlineExceeded),
	}
	for key, fault := range map[string]float64{"good": 0, "absent": 0, "unreachable": 1, "cut": 1, "cancelled": 0,
		"cancelled read": 0, "too slow": 1} {
		m := newMetrics("test")
		_, err := objectstore.ReadAll(t.Context(), m.meter(store), key, 100)
		if _, open := store[key](); open != nil && !errors.Is(err, open) {
			t.Errorf("%s: %v, want %v", key, err, open)
		}
		text := exported(t, m)
		for _, want := range []string{
			`iconedge_origin_store_request_duration_seconds_count{operation="open"} 1`,
			fmt.Sprintf(`iconedge_origin_store_request_errors_total{operation="open"} %v`, fault),
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("%s: the metrics lack the line %s", key, want)
			}
		}
	}
}

// exported returns the metrics in the text format.
func exported(t *testing.T, m *metrics) string {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		expfmt.MetricFamilyToText(&b, f)
	}
	return b.String()
}

// Requests are counted by route and status, and the bytes of response bodies by route.
func TestRequestsAreCounted(t *testing.T) {
	p := prepare(t)
	p.publish("M0 0h1z")
	p.run().until(p.admin, "/readyz", 200, "ok")
	sent := map[string]int{}
	for _, row := range []struct{ path, route string }{
		{"/one/home.svg", "cdn"}, {"/one/home.svg?color=reddish", "cdn"}, {"/one/home.png", "png"}, {"/one/home.ico", "ico"},
		{"/-/row.svg?icons=one:home", "row"}, {"/-/row.png?icons=one:home", "row"},
		{"/api/v1/icon/one/home", "icon"},
		{"/api/v1/search?q=home", "search"},
		{"/api/v1/suggest?q=ho", "suggest"}, {"/api/v1/packs", "packs"}, {"/api/v1/packs/one", "pack"}, {"/api/v1/openapi.json", "openapi"},
		{"/-/release", "release"}, {"/-/names", "names"}, {"/healthz", "health"}, {"/", "page"},
		{"/icon/one/home", "page"}, {"/iconify/collections", "iconify"}, {"/a/b/c", "unknown"}, {"/x%00", "unknown"},
	} {
		sent[row.route] += p.length(http.MethodGet, row.path)
	}
	p.length(http.MethodHead, "/one/home.svg")
	for _, route := range api.Routes {
		want := fmt.Sprintf(`iconedge_origin_response_bytes_total{route="%s"} %v`, route, float64(sent[route]))
		if route != "verify" {
			p.until(p.admin, "/metrics", 200, want+"\n")
		}
	}
	for _, want := range []string{
		`iconedge_origin_requests_total{route="cdn",status="200"} 2`, `iconedge_origin_requests_total{route="cdn",status="400"} 1`,
		`iconedge_origin_request_duration_seconds_count{route="cdn"} 3`, `iconedge_origin_requests_total{route="unknown",status="404"} 1`,
		`iconedge_origin_requests_total{route="unknown",status="400"} 1`,
	} {
		p.until(p.admin, "/metrics", 200, want+"\n")
	}
}

// length sends a request and returns the length of the response body as sent, before decoding.
func (p *process) length(method, path string) int {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, "http://"+p.public+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip") // otherwise the client would decode the body
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatal(err)
	}
	return len(body)
}
