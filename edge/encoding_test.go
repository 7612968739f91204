package edge

import (
	"net/http"
	"strings"
	"testing"
)

// A client gets the coding that it prefers, also of a variant that was stored for the normal form:
// the edge's own codings follow the field as it came.
func TestPreferredEncoding(t *testing.T) {
	page := strings.Repeat("page ", 400)
	e, _ := newPassTest(t, map[string]http.HandlerFunc{"/page": says(page, "Cache-Control", "max-age=600",
		"Content-Type", "text/html", "Vary", "Accept-Encoding")})
	e.warm(t, "/page", "br")
	e.warm(t, "/page", "gzip")
	for accept, want := range map[string]string{"gzip;q=0.1, br;q=0.9": "br", "gzip;q=0.9, br;q=0.1": "gzip"} {
		for range 3 {
			e.get(t, "/page", "Accept-Encoding", accept)
			e.compressed(t)
		}
		if a := e.get(t, "/page", "Accept-Encoding", accept); a.Header.Get("Content-Encoding") != want {
			t.Errorf("%s: %s, want %s", accept, a.Header.Get("Content-Encoding"), want)
		}
	}
}

// A key of the configuration file that names Accept-Encoding has the normal form too.
func TestEncodingInKey(t *testing.T) {
	e := newFileEdge(t, `
version: 1
defaults: {client_encoding: normal}
sites:
  - name: a
    hosts: [a.test]
    origins: {app: {urls: ["http://10.0.0.5:80"]}}
    key: {headers: [Accept-Encoding]}
  - name: b
    hosts: [b.test]
    client_encoding: as-sent
    origins: {app: {urls: ["http://10.0.0.5:80"]}}
    key: {headers: [Accept-Encoding]}
`)
	e.run(t, []fileStep{
		{"GET http://a.test/fresh", []string{"Accept-Encoding", "gzip, br"}, 200, "stored"},
		{"GET http://a.test/fresh", []string{"Accept-Encoding", "BR,x-1, gzip;q=0.5"}, 200, "hit"},
		{"GET http://a.test/fresh", []string{"Accept-Encoding", "gzip"}, 200, "stored"},
		{"GET http://b.test/fresh", []string{"Accept-Encoding", "gzip, br"}, 200, "stored"},
		{"GET http://b.test/fresh", []string{"Accept-Encoding", "br, gzip"}, 200, "stored"},
	})
}
