package edge

import (
	"net/http"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/vhosts"
)

var longText = strings.Repeat("<p>Text that gets smaller.</p>\n", 200)

// compressed waits until the edge has made all codings that requests have wanted.
func (e *edgeTest) compressed(t testing.TB) {
	t.Helper()
	settled(t, "all codings are made", func() bool { return e.Proxy.Compression().Pending == 0 })
}

// warm requests a target until the coding that a client prefers is stored, if the edge makes one.
func (e *edgeTest) warm(t testing.TB, target, accept string, fields ...string) {
	t.Helper()
	fields = append([]string{"Accept-Encoding", accept}, fields...)
	e.get(t, target, fields...)
	e.get(t, target, fields...)
	e.compressed(t)
}

// decoded returns the body of a response without its content coding.
func decoded(t testing.TB, a answer) string {
	t.Helper()
	return pipelinetest.Answer{Response: a.Response, Body: a.body}.Decoded(t)
}

// Stored text has a coding from the third request on, in every protocol, with an ETag of its own.
// Nothing of it delays or changes the first response.
func TestCompressed(t *testing.T) {
	t.Parallel()
	pages := map[string]http.HandlerFunc{"/page": says(longText, "Content-Type", "text/html", "Cache-Control",
		"max-age=600", "ETag", `"1"`, "Accept-Ranges", "bytes", "Vary", "Origin")}
	run := func(t *testing.T, e *edgeTest, of *site) {
		for i, want := range []string{"", "", "br", "br"} {
			a := e.get(t, "/page", "Accept-Encoding", "gzip, deflate, br, zstd")
			if got := a.Header.Get("Content-Encoding"); a.StatusCode != 200 || got != want ||
				decoded(t, a) != longText || a.ContentLength != int64(len(a.body)) {
				t.Fatalf("request %d: %d, Content-Encoding %q, want %q; %d bytes of %d", i, a.StatusCode, got, want,
					len(a.body), a.ContentLength)
			}
			etag, ranges := `"1"`, "bytes"
			if want != "" {
				etag, ranges = compress.Tag(`"1"`, entry.Brotli), ""
			}
			if a.Header.Get("ETag") != etag || a.Header.Get("Accept-Ranges") != ranges ||
				strings.Join(a.Header["Vary"], "|") != "Origin, Accept-Encoding" {
				t.Errorf("request %d: ETag %s, Accept-Ranges %q, Vary %q", i, a.Header.Get("ETag"),
					a.Header.Get("Accept-Ranges"), a.Header["Vary"])
			}
			e.compressed(t)
			if want != "" {
				head := e.do(t, http.MethodHead, "/page", "Accept-Encoding", "gzip, deflate, br, zstd")
				for _, name := range []string{"Content-Encoding", "Content-Length", "Etag", "Vary", "Accept-Ranges",
					"Content-Type", "Cache-Control"} {
					if head.Header.Get(name) != a.Header.Get(name) {
						t.Errorf("HEAD has %s: %q, GET %q", name, head.Header.Get(name), a.Header.Get(name))
					}
				}
			}
		}
		if n := len(of.requests("/page")); n != 1 {
			t.Errorf("the origin got %d requests, want 1", n)
		}
	}
	t.Run("h1", func(t *testing.T) {
		e, s := newPassTest(t, pages)
		run(t, e, s)
	})
	for _, way := range []string{"h2", "h3"} {
		t.Run(way, func(t *testing.T) {
			s := newSite(pages)
			run(t, newSecured(t, s, func(c *Config) { c.ProxyAll, c.Icons = true, vhosts.Off }).by(t, way).edgeTest, s)
		})
	}
}
