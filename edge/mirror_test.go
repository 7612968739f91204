package edge

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestMirror: copies of GETs go to another origin, those that the cache answers too, with the
// fields that the origin gets. Nobody waits for them, and a copy that hangs takes its place among a
// bounded number.
func TestMirror(t *testing.T) {
	t.Parallel()
	const most = 64
	got, release := make(chan string, 10*most), make(chan struct{})
	copies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Method + " " + r.RequestURI + " " + r.Host + " " + r.Header.Get("Cookie") + r.Header.Get("X-Rule")
		<-release
	}))
	t.Cleanup(copies.Close)
	t.Cleanup(func() { close(release) }) // first
	e := newFileEdge(t, `version: 1
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["http://10.0.0.1:80"]}, next: {urls: ["`+copies.URL+`"]}}
    origin: app
    rules: [{match: {not: {path: /never}}, mirror: {to: next}, request_headers: {set: {X-Rule: "1"}}}]
`, "--origin-timeout", "1h", "--idle", "1h")
	e.run(t, []fileStep{
		{"GET http://a.test/fresh?a=b", []string{"Cookie", "c=d"}, 200, "10.0.0.1:80 GET"},
		{"GET http://a.test/fresh?a=b", []string{"Cookie", "c=d"}, 200, "10.0.0.1:80 GET|hit"},
		{"POST http://a.test/x", nil, 200, "10.0.0.1:80 POST"},
		{"HEAD http://a.test/x", nil, 200, ""},
		{"GET http://a.test/never", nil, 200, "10.0.0.1:80 GET"},
	})
	for range 2 {
		if c := <-got; c != "GET /fresh?a=b a.test c=d1" {
			t.Errorf("the copy is %q", c)
		}
	}
	for range most + 8 {
		e.run(t, []fileStep{{"GET http://a.test/fresh", nil, 200, ""}})
	}
	for range most - 2 {
		<-got
	}
	select {
	case c := <-got:
		t.Errorf("one copy more than may be: %s", c)
	default:
	}
}
