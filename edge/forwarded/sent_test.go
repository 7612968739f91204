package forwarded

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// streams returns a handler that sends these fields and a body in two parts, without its length.
func streams(body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(fields); i += 2 {
			w.Header().Add(fields[i], fields[i+1])
		}
		io.WriteString(w, body[:len(body)/2])
		w.(http.Flusher).Flush()
		io.WriteString(w, body[len(body)/2:])
	}
}

// Text gets a coding also when it is not stored, or not yet, and whatever its length and the
// method; its Vary says so, and its tag is one of the edge's own. A response that is no text, too
// short, forbidden or coded stays as it is.
func TestSent(t *testing.T) {
	t.Parallel()
	const html, private = "text/html; charset=utf-8", "private, no-store"
	long := strings.Repeat(longText, 60) // more than is coded at once
	e, app := newTest(t, map[string]http.HandlerFunc{})
	for name, row := range map[string]struct {
		body   string
		fields []string
		coding string
	}{
		"private":        {longText, []string{"Content-Type", html, "Cache-Control", private}, "br"},
		"with a cookie":  {longText, []string{"Content-Type", html, "Set-Cookie", "id=1"}, "br"},
		"for all":        {longText, []string{"Content-Type", html, "Cache-Control", "max-age=60"}, "br"},
		"no transform":   {longText, []string{"Content-Type", html, "Cache-Control", "private, no-transform"}, ""},
		"long":           {long, []string{"Content-Type", html, "Cache-Control", private}, "br"},
		"long, for all":  {long, []string{"Content-Type", html, "Cache-Control", "max-age=60"}, "br"},
		"short":          {longText[:1023], []string{"Content-Type", html, "Cache-Control", private}, ""},
		"a picture":      {longText, []string{"Content-Type", "image/png", "Cache-Control", private}, ""},
		"coded":          {longText, []string{"Content-Type", html, "Cache-Control", private, "Content-Encoding", "x-own"}, "x-own"},
		"gRPC":           {longText, []string{"Content-Type", "application/grpc+json", "Cache-Control", private}, ""},
		"with a digest":  {longText, []string{"Content-Type", html, "Content-Digest", "sha-256=:AA==:"}, ""},
		"events":         {longText, []string{"Content-Type", "text/event-stream", "Cache-Control", "no-cache"}, "gzip"},
		"digest follows": {longText, []string{"Content-Type", html, "Trailer", "Repr-Digest", "Cache-Control", private}, ""},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			for kind, page := range map[string]func(string, ...string) http.HandlerFunc{"length": fetchtest.Says, "streams": streams} {
				if kind == "streams" && name == "short" {
					continue // its length is not known
				}
				if kind == "length" && (name == "events" || name == "digest follows") {
					continue
				}
				t.Run(name+" "+method+" "+kind, func(t *testing.T) {
					target := "/" + strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
					fields := append(row.fields, "ETag", `"1"`, "Accept-Ranges", "bytes")
					if kind == "length" {
						fields = append(fields, "Content-Length", fmt.Sprint(len(row.body)))
					}
					app.Add(target, page(row.body, fields...))
					a := e.do(t, method, target, "Accept-Encoding", "gzip, br, zstd", "Cookie", "session=1")
					if got := a.Header.Get("Content-Encoding"); a.StatusCode != 200 || got != row.coding {
						t.Fatalf("%d, Content-Encoding %q, want %q", a.StatusCode, got, row.coding)
					}
					vary, tag, ranges := "", `"1"`, "bytes"
					switch row.coding {
					case "br", "gzip":
						if vary, ranges = "Accept-Encoding", ""; method == http.MethodGet {
							c := map[string]entry.Coding{"br": entry.Brotli, "gzip": entry.Gzip}[row.coding]
							tag = compress.SentTag(tag, c)
						}
						if a.Decoded(t) != row.body {
							t.Errorf("%d bytes become other ones", len(row.body))
						}
					default:
						if name == "digest follows" { // the edge knows too late
							vary = "Accept-Encoding"
						}
						if a.Body != row.body {
							t.Errorf("%d bytes instead of %d", len(a.Body), len(row.body))
						}
					}
					if a.Header.Get("Vary") != vary || a.Header.Get("Etag") != tag || a.Header.Get("Accept-Ranges") != ranges {
						t.Errorf("Vary %q, ETag %s, Accept-Ranges %q; want %q, %s, %q", a.Header.Get("Vary"), a.Header.Get("Etag"),
							a.Header.Get("Accept-Ranges"), vary, tag, ranges)
					}
				})
			}
		}
	}
}

// A HEAD has the fields of a GET, besides the length, which is not known.
func TestSentHead(t *testing.T) {
	t.Parallel()
	for _, control := range []string{"private", "max-age=60"} {
		e, _ := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
			fetchtest.Says(longText, "Content-Type", "text/html", "Cache-Control", control, "ETag", `"1"`, "Accept-Ranges", "bytes",
				"Content-Length", fmt.Sprint(len(longText)))(w, r)
		}})
		head := e.do(t, http.MethodHead, "/page", "Accept-Encoding", "br")
		get := e.get(t, "/page", "Accept-Encoding", "br")
		// Of the stored response, if it is stored.
		later := e.do(t, http.MethodHead, "/page", "Accept-Encoding", "br")
		for name, h := range map[string]pipelinetest.Answer{"before": head, "after": later} {
			for _, field := range []string{"Content-Encoding", "Etag", "Vary", "Accept-Ranges", "Content-Type", "Cache-Control"} {
				if h.Header.Get(field) != get.Header.Get(field) {
					t.Errorf("%s, %s: HEAD has %s: %q, GET %q", control, name, field, h.Header.Get(field), get.Header.Get(field))
				}
			}
			if h.ContentLength > 0 {
				t.Errorf("%s, %s: HEAD has the length %d", control, name, h.ContentLength)
			}
		}
		plain := e.do(t, http.MethodHead, "/page")
		if plain.Header.Get("Etag") != `"1"` || plain.Header.Get("Content-Encoding") != "" || plain.ContentLength != int64(len(longText)) {
			t.Errorf("%s: HEAD of the identity: %v, %d bytes", control, plain.Header, plain.ContentLength)
		}
	}
}

// The origin knows the tag of a coding as its own, in conditions of every method. The client gets a
// 304 with the tag that it has.
func TestSentConditions(t *testing.T) {
	t.Parallel()
	app := &tagApp{version: 1, format: `"v%d"`, control: "private"}
	e := newTestOf(t, fetchtest.New(t, app))
	tag := e.get(t, "/doc", "Accept-Encoding", "br").Header.Get("Etag")
	if tag != compress.SentTag(`"v1"`, entry.Brotli) {
		t.Fatalf("ETag %s", tag)
	}
	for _, fields := range [][]string{nil, {"Authorization", "Bearer x"}, {"Cache-Control", "no-transform"}} {
		a := e.get(t, "/doc", append(fields, "Accept-Encoding", "br", "If-None-Match", tag)...)
		if a.StatusCode != http.StatusNotModified || a.Header.Get("Etag") != tag || a.Header.Get("Content-Encoding") != "" {
			t.Errorf("If-None-Match, %v: %d, %v", fields, a.StatusCode, a.Header)
		}
	}
	e.do(t, http.MethodHead, "/doc", "Accept-Encoding", "br", "If-None-Match", tag)
	if got := app.last(); got != `HEAD If-None-Match: "v1"` {
		t.Errorf("the origin got %q", got)
	}
	if a := e.send(t, http.MethodPut, "/doc", "new", "If-Match", tag); a.StatusCode >= 400 || app.last() != `PUT If-Match: "v1"` {
		t.Errorf("PUT: %d; the origin got %q", a.StatusCode, app.last())
	}
}

// A request with credentials that a page of another site caused gets no coding, in which the author
// of the page could guess secrets by its length (BREACH). Without credentials there are none.
func TestForeignRequests(t *testing.T) {
	t.Parallel()
	page := func(control string) http.HandlerFunc {
		return fetchtest.Says(longText, "Content-Type", "text/html", "Cache-Control", control, "ETag", `"1"`)
	}
	e, _ := newTest(t, map[string]http.HandlerFunc{"/mine": page("private"), "/ours": page("max-age=60")})
	e.warm(t, "/ours", "br")
	for _, row := range []struct {
		name       string
		fields     []string
		mine, ours string // the codings
	}{
		{"nothing", nil, "br", "br"},
		{"another site without credentials", []string{"Sec-Fetch-Site", "cross-site"}, "br", "br"},
		{"another site", []string{"Cookie", "a=b", "Sec-Fetch-Site", "cross-site"}, "", ""},
		{"another site, with a token", []string{"Authorization", "Basic YTpi", "Sec-Fetch-Site", "cross-site"}, "", ""},
		{"another origin", []string{"Cookie", "a=b", "Origin", "https://evil.test"}, "", ""},
		{"another page", []string{"Cookie", "a=b", "Referer", "https://evil.test/"}, "", ""},
		{"another host of the site", []string{"Cookie", "a=b", "Sec-Fetch-Site", "same-site"}, "", "br"},
		{"the page itself", []string{"Cookie", "a=b", "Sec-Fetch-Site", "same-origin", "Referer", "http://edge.test/"}, "br", "br"},
	} {
		for target, want := range map[string]string{"/mine": row.mine, "/ours": row.ours} {
			a := e.get(t, target, append(row.fields, "Accept-Encoding", "br")...)
			got, vary := a.Header.Get("Content-Encoding"), a.Header.Get("Vary")
			if got != want || a.Decoded(t) != longText || vary != "Accept-Encoding" {
				t.Errorf("%s, %s: Content-Encoding %q, want %q; Vary %q", row.name, target, got, want, vary)
			}
		}
	}
}

// The operator decides: all, stored responses alone from the second client on, or none.
func TestCompressModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[config.Compress][3]string{ // private; stored: first, third
		"": {"br", "br", "br"}, config.CompressAll: {"br", "br", "br"},
		config.CompressStored: {"", "", "br"}, config.CompressOff: {"", "", ""},
	} {
		e, _ := newTest(t, map[string]http.HandlerFunc{
			"/mine": fetchtest.Says(longText, "Content-Type", "text/html", "Cache-Control", "private"),
			"/ours": fetchtest.Says(longText, "Content-Type", "text/html", "Cache-Control", "max-age=60"),
		}, func(s *vhosts.Settings, _ *cachepolicy.Policy) { s.Compress = mode })
		coding := func(target string) string {
			a := e.get(t, target, "Accept-Encoding", "br")
			if a.Decoded(t) != longText {
				t.Errorf("%q: %s is another text", mode, target)
			}
			return a.Header.Get("Content-Encoding")
		}
		got := [3]string{coding("/mine"), coding("/ours"), ""}
		coding("/ours")
		e.Compressed(t)
		if got[2] = coding("/ours"); got != want {
			t.Errorf("%q: %q, want %q", mode, got, want)
		}
	}
}

// A stored response never steps back to no coding, while its own is made in the background: the
// tags are those of codings that are made while they are sent, and then that of the stored one.
func TestNoStepBack(t *testing.T) {
	t.Parallel()
	e, app := newTest(t, map[string]http.HandlerFunc{"/page": fetchtest.Says(longText, "Content-Type", "text/html",
		"Cache-Control", "max-age=60", "ETag", `"1"`)})
	for i := range 5 {
		a := e.get(t, "/page", "Accept-Encoding", "zstd")
		etag := a.Header.Get("Etag")
		if a.Header.Get("Content-Encoding") != "zstd" || a.Decoded(t) != longText ||
			i < 2 && etag != compress.SentTag(`"1"`, entry.Zstd) || i > 2 && etag != compress.Tag(`"1"`, entry.Zstd) {
			t.Errorf("request %d: %v", i, a.Header)
		}
		if i == 2 {
			e.Compressed(t)
		}
	}
	if n := len(app.Requests("/page")); n != 1 {
		t.Errorf("the origin got %d requests", n)
	}
}

// A body that breaks off is no whole one in a coding either.
func TestSentTruncated(t *testing.T) {
	t.Parallel()
	for _, control := range []string{"private", "max-age=60"} {
		e, _ := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Cache-Control", control)
			io.WriteString(w, strings.Repeat(longText, 100))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}})
		a := e.get(t, "/page", "Accept-Encoding", "br")
		if a.StatusCode == 200 && a.Err == nil {
			t.Errorf("%s: %d, %d bytes without an error", control, a.StatusCode, len(a.Body))
		}
	}
}

// Clients that share one fetch get the coding that each accepts, of the same text.
func TestSharedFetchCodings(t *testing.T) {
	t.Parallel()
	begun, rest := make(chan bool), make(chan bool)
	long := strings.Repeat(longText, 100)
	e, app := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cache-Control", "max-age=60")
		io.WriteString(w, long[:1000])
		w.(http.Flusher).Flush()
		close(begun)
		<-rest
		io.WriteString(w, long[1000:])
	}})
	var clients sync.WaitGroup
	ask := func(accept string) {
		clients.Go(func() {
			a := e.get(t, "/page", "Accept-Encoding", accept)
			if got := a.Header.Get("Content-Encoding"); got != accept || a.Err != nil || a.Decoded(t) != long {
				t.Errorf("Accept-Encoding: %s: Content-Encoding %q, %d bytes, %v", accept, got, len(a.Body), a.Err)
			}
		})
	}
	ask("br")
	<-begun
	for _, accept := range []string{"gzip", "zstd", "", "br", "gzip"} {
		ask(accept)
	}
	close(rest)
	clients.Wait()
	if n := len(app.Requests("/page")); n != 1 {
		t.Errorf("the origin got %d requests, want 1", n)
	}
}

// A client that resumes by a date gets all of a text again, because it may have the beginning of a
// coding. It gets the rest of what has no codings.
func TestResumedByDate(t *testing.T) {
	t.Parallel()
	const changed = "Tue, 15 Nov 2022 08:12:31 GMT"
	serve := func(kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Last-Modified", changed)
			w.Header().Set("Cache-Control", "private")
			if r.Header.Get("Range") == "" {
				io.WriteString(w, longText)
				return
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 10-19/%d", len(longText)))
			w.WriteHeader(http.StatusPartialContent)
			io.WriteString(w, longText[10:20])
		}
	}
	e, _ := newTest(t, map[string]http.HandlerFunc{"/text": serve("text/plain"), "/zip": serve("application/zip")})
	for _, row := range []struct {
		target, accept, ifRange string
		status                  int
	}{
		{"/text", "br", changed, 200}, {"/text", "", changed, 206}, {"/text", "identity", changed, 206}, {"/text", "br", "", 206},
		{"/text", "br", `"1"`, 206}, {"/zip", "br", changed, 206},
	} {
		fields := []string{"Accept-Encoding", row.accept, "Range", "bytes=10-19"}
		if row.ifRange != "" {
			fields = append(fields, "If-Range", row.ifRange)
		}
		a := e.get(t, row.target, fields...)
		if want := map[int]string{200: longText, 206: longText[10:20]}[row.status]; a.StatusCode != row.status || a.Decoded(t) != want {
			t.Errorf("%s, Accept-Encoding: %s, If-Range: %s: %d, %d bytes; want %d", row.target, row.accept, row.ifRange,
				a.StatusCode, len(a.Body), row.status)
		}
	}
}

// Trailer fields follow a body in a coding, besides those that describe the body without it.
func TestSentTrailer(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, longText)
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "42")
		w.Header().Set(http.TrailerPrefix+"Content-Digest", "sha-256=:AA==:")
	}})
	r := e.answer(t, pipelinetest.Message{Method: http.MethodGet, URL: "/page",
		Fields: []string{"Accept-Encoding", "br", "TE", "trailers"}})
	a := pipelinetest.Read(r)
	if a.Header.Get("Content-Encoding") != "br" || a.Decoded(t) != longText {
		t.Errorf("%v, %d bytes", a.Header, len(a.Body))
	}
	if got := r.Ctx.Response.Header.Peek("X-Sum"); string(got) != "42" {
		t.Errorf("X-Sum: %s", got)
	}
	if got := r.Ctx.Response.Header.Peek("Content-Digest"); len(got) > 0 || bytes.Contains(r.Response.Lines, []byte("Digest")) {
		t.Errorf("Content-Digest: %s", got)
	}
}
