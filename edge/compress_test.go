package edge

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

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

// Text has a coding in every protocol: one that is made while it is sent, and from the third
// request on the stored one. Each has an ETag of its own.
func TestCompressed(t *testing.T) {
	t.Parallel()
	pages := map[string]http.HandlerFunc{"/page": says(longText, "Content-Type", "text/html", "Cache-Control",
		"max-age=600", "ETag", `"1"`, "Accept-Ranges", "bytes", "Vary", "Origin")}
	run := func(t *testing.T, e *edgeTest, of *site) {
		for i := range 4 {
			a := e.get(t, "/page", "Accept-Encoding", "gzip, deflate, br, zstd")
			if got := a.Header.Get("Content-Encoding"); a.StatusCode != 200 || got != "br" ||
				decoded(t, a) != longText || a.ContentLength != int64(len(a.body)) {
				t.Fatalf("request %d: %d, Content-Encoding %q; %d bytes of %d", i, a.StatusCode, got, len(a.body), a.ContentLength)
			}
			etag := compress.SentTag(`"1"`, entry.Brotli)
			if i >= 2 {
				etag = compress.Tag(`"1"`, entry.Brotli)
			}
			if a.Header.Get("ETag") != etag || a.Header.Get("Accept-Ranges") != "" ||
				strings.Join(a.Header["Vary"], "|") != "Origin, Accept-Encoding" {
				t.Errorf("request %d: ETag %s, Accept-Ranges %q, Vary %q", i, a.Header.Get("ETag"),
					a.Header.Get("Accept-Ranges"), a.Header["Vary"])
			}
			e.compressed(t)
			if i >= 2 {
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

// A page for one user is compressed while it is sent, over every protocol: the client gets each
// part when the origin pauses, and sees that a page which breaks off is no whole one. Trailer
// fields follow it.
func TestSentOverProtocols(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"h1", "h2", "h3"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			goOn := make(chan bool)
			page := func(w http.ResponseWriter, r *http.Request) {
				h := w.Header()
				h.Set("Content-Type", "text/html")
				h.Set("Cache-Control", "private")
				h.Set("Trailer", "X-Sum")
				io.WriteString(w, longText)
				w.(http.Flusher).Flush()
				<-goOn
				if r.URL.Path == "/cut" {
					panic(http.ErrAbortHandler)
				}
				io.WriteString(w, longText)
				h.Set("X-Sum", "42")
			}
			s := newSecured(t, newSite(map[string]http.HandlerFunc{"/page": page, "/cut": page}),
				func(c *Config) { c.ProxyAll, c.Icons = true, vhosts.Off }).by(t, way)
			for _, path := range []string{"/page", "/cut"} {
				q, err := http.NewRequest(http.MethodGet, "http://edge.test"+path, nil)
				must(t, err)
				q.Header = http.Header{"Accept-Encoding": {"gzip, br, zstd"}, "Cookie": {"session=1"}, "Te": {"trailers"}}
				a, err := s.send(q)
				must(t, err)
				defer a.Body.Close()
				if got := a.Header.Get("Content-Encoding"); got != "br" || a.ContentLength >= 0 {
					t.Fatalf("%s: Content-Encoding %q, %d bytes", path, got, a.ContentLength)
				}
				body, first := brotli.NewReader(a.Body), make([]byte, len(longText))
				if _, err := io.ReadFull(body, first); err != nil || string(first) != longText {
					t.Fatalf("%s: the first part: %v", path, err)
				}
				goOn <- true
				rest, err := io.ReadAll(body)
				if path == "/cut" {
					if err == nil {
						t.Errorf("a page that breaks off ends after %d bytes", len(rest))
					}
					continue
				}
				if err != nil || string(rest) != longText {
					t.Errorf("the second part: %d bytes, %v", len(rest), err)
				}
				io.Copy(io.Discard, a.Body) // the end of the message
				if a.Trailer.Get("X-Sum") != "42" {
					t.Errorf("trailer fields %v", a.Trailer)
				}
			}
		})
	}
}
