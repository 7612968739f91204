package edge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The origin gets a field that a rule sets although the edge drops it if a client sends it, and the
// client's line of it never.
func TestSetFieldsReachTheOrigin(t *testing.T) {
	got := make(chan http.Header, 8)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		w.Header().Set("Cache-Control", "max-age=60")
	}))
	t.Cleanup(app.Close)
	e := newFileEdge(t, `version: 1
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["`+app.URL+`"]}}
    rules:
      - match: {path: "/app/**"}
        request_headers: {set: {X-Forwarded-Prefix: /app, x-real-ip: 192.0.2.1}, add: {X-Scheme: https}}
`)
	evil := []string{"X-Forwarded-Prefix", "/evil", "X-Real-IP", "10.0.0.1", "X-Scheme", "evil", "X_Forwarded_Prefix", "/evil"}
	for target, want := range map[string]string{"POST http://a.test/app/x": "/app 192.0.2.1 https", "POST http://a.test/x": "  ",
		"GET http://a.test/app/x": "/app 192.0.2.1 https", "GET http://a.test/x": "  "} {
		e.run(t, []fileStep{{target, evil, 200, ""}})
		if t.Failed() {
			return // the origin may have got nothing
		}
		h, path := <-got, target
		if is := strings.Join([]string{h.Get("X-Forwarded-Prefix"), h.Get("X-Real-IP"), h.Get("X-Scheme")}, " "); is != want {
			t.Errorf("%s: the origin gets %q, want %q", path, is, want)
		}
		for name, lines := range h {
			if strings.Contains(strings.Join(lines, " "), "evil") {
				t.Errorf("%s: the origin gets %s: %q of the client", path, name, lines)
			}
		}
	}
}
