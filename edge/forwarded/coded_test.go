package forwarded

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/vhosts"
)

var longText = strings.Repeat("<p>Text that gets smaller.</p>\n", 200)

// warm requests a target until the coding that a client prefers is stored, if the edge makes one.
func (e *test) warm(t testing.TB, target, accept string) {
	t.Helper()
	for range 2 {
		e.get(t, target, "Accept-Encoding", accept)
	}
	e.Compressed(t)
}

// purge purges a target.
func (e *test) purge(target string, soft bool) {
	e.Cache.Purge(cache.Purge{Tags: []string{cache.TargetTag(target)}, Soft: soft}, e.Now())
}

// Accept-Encoding decides, by its weights; a coding that is not made yet is not waited for.
func TestCompressedNegotiation(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, map[string]http.HandlerFunc{"/page": fetchtest.Says(longText, "Content-Type", "text/css",
		"Cache-Control", "max-age=600", "ETag", `"1"`)})
	for _, accept := range []string{"br", "gzip", "zstd"} {
		e.warm(t, "/page", accept)
	}
	for _, row := range []struct{ accept, want string }{
		{"", ""}, {"identity", ""}, {"gzip", "gzip"}, {"x-gzip", "gzip"}, {"zstd", "zstd"},
		{"gzip, deflate, br, zstd", "br"}, {"gzip, zstd", "zstd"}, {"*", "br"},
		{"br;q=0, *", "zstd"}, {"br;q=0.1, gzip;q=0.2", "gzip"}, {"identity;q=0, gzip;q=0.001", "gzip"},
		{"*;q=0", ""}, {"identity, br;q=0.5", ""}, {"deflate", ""}, {"br;q=2", ""},
		{"gzip;q=0", ""}, {"BR", "br"}, {strings.Repeat("x;q=0.1,", 500) + "br", "br"},
		{strings.Repeat("br;q=0,", 500) + "gzip", "gzip"}, {";;;,,,", ""},
	} {
		a := e.get(t, "/page", "Accept-Encoding", row.accept)
		if got := a.Header.Get("Content-Encoding"); got != row.want || a.Decoded(t) != longText {
			t.Errorf("Accept-Encoding: %.40s: Content-Encoding %q, want %q", row.accept, got, row.want)
		}
		if a.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding: %.40s: Vary %q", row.accept, a.Header.Get("Vary"))
		}
	}
	if a := e.get(t, "/page", "Accept-Encoding", "br", "Cache-Control",
		"no-transform"); a.Header.Get("Content-Encoding") != "" || a.Body != longText {
		t.Error("a client with no-transform gets a coding")
	}
}

// A response that the origin or the operator excludes from compression gets no coding and no Vary.
// The operator has excluded all but stored responses.
func TestNotCompressed(t *testing.T) {
	t.Parallel()
	pages, want := map[string]http.HandlerFunc{}, map[string][]string{}
	for path, row := range map[string]struct {
		body   string
		fields []string
	}{
		"/no-transform": {longText, []string{"Content-Type", "text/html", "Cache-Control", "max-age=600, no-transform"}},
		"/coded": {longText, []string{"Content-Type", "text/html", "Cache-Control", "max-age=600",
			"Content-Encoding", "gzip", "Vary", "Accept-Encoding"}},
		"/short":    {longText[:1000], []string{"Content-Type", "text/html", "Cache-Control", "max-age=600"}},
		"/image":    {longText, []string{"Content-Type", "image/png", "Cache-Control", "max-age=600"}},
		"/typeless": {longText, []string{"Content-Type", "", "Cache-Control", "max-age=600"}},
		"/digest":   {longText, []string{"Content-Type", "text/html", "Cache-Control", "max-age=600", "Repr-Digest", "sha-256=:AA==:"}},
		"/private":  {longText, []string{"Content-Type", "text/html", "Cache-Control", "private, max-age=600"}},
		"/no-store": {longText, []string{"Content-Type", "text/html", "Cache-Control", "no-store"}},
		"/cookie":   {longText, []string{"Content-Type", "text/html", "Cache-Control", "max-age=600", "Set-Cookie", "id=1"}},
		"/any":      {longText, []string{"Content-Type", "text/html", "Cache-Control", "max-age=600", "Vary", "*"}},
	} {
		pages[path], want[path] = fetchtest.Says(row.body, row.fields...), []string{row.body, http.Header{"Vary": nil}.Get("Vary")}
		for i := 0; i < len(row.fields); i += 2 {
			if row.fields[i] == "Vary" {
				want[path][1] = row.fields[i+1]
			}
		}
	}
	e, _ := newTest(t, pages, func(s *vhosts.Settings, _ *cachepolicy.Policy) { s.Compress = config.CompressStored })
	check := func(e *test, path string, fields ...string) {
		t.Helper()
		for i := range 4 {
			a := e.get(t, path, append(fields, "Accept-Encoding", "gzip, br, zstd")...)
			if a.Body != want[path][0] || strings.Join(a.Header["Vary"], "|") != want[path][1] {
				t.Errorf("%s, request %d: Content-Encoding %q, Vary %q", path, i, a.Header.Get("Content-Encoding"), a.Header["Vary"])
			}
			e.Compressed(t)
		}
	}
	for path := range pages {
		check(e, path)
	}
	// A response to one user is not stored.
	pages["/user"] = fetchtest.Says(longText, "Content-Type", "text/html", "Cache-Control", "max-age=600")
	want["/user"] = []string{longText, ""}
	check(e, "/user", "Authorization", "Bearer x")
	off, _ := newTest(t, pages)
	off.site.Compress = config.CompressOff
	check(off, "/user")
	if made := e.Compressor.Stats().Made; made["br"]+made["gzip"]+made["zstd"] != 0 {
		t.Errorf("codings were made: %v", made)
	}
}

// A tagApp is an application whose resources have a version, which its entity tags name. It
// evaluates conditions like an origin, and records the conditions that it gets.
type tagApp struct {
	mu      sync.Mutex
	version int
	format  string // of the entity tag
	control string
	got     []string
}

func (a *tagApp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var conditions []string
	for _, name := range []string{"If-Match", "If-None-Match", "If-Range", "Range"} {
		if v := r.Header.Get(name); v != "" {
			conditions = append(conditions, name+": "+v)
		}
	}
	a.got = append(a.got, r.Method+" "+strings.Join(conditions, ", "))
	etag := fmt.Sprintf(a.format, a.version)
	h := w.Header()
	h.Set("ETag", etag)
	h.Set("Cache-Control", a.control)
	h.Set("Content-Type", "text/plain")
	switch {
	// Like many applications, it takes one tag and no list.
	case r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != etag:
		w.WriteHeader(http.StatusPreconditionFailed)
	case r.Method == http.MethodPut || r.Method == http.MethodDelete:
		a.version++
		h.Set("ETag", fmt.Sprintf(a.format, a.version))
		w.WriteHeader(http.StatusNoContent)
	case r.Header.Get("If-None-Match") == etag:
		w.WriteHeader(http.StatusNotModified)
	default:
		r.Header.Del("If-Match") // it is not for ServeContent, which compares strongly
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader([]byte(longText)))
	}
}

func (a *tagApp) last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.got[len(a.got)-1]
}

func (a *tagApp) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.got)
}

// A client's conditions with the tag of a coding hold in the cache, and reach the origin with the
// origin's own tag.
func TestCodedConditions(t *testing.T) {
	t.Parallel()
	for _, format := range []string{`"v%d"`, `W/"v%d"`, `"page-%d-pt-br"`, `"v%d-gzip"`} {
		app := &tagApp{version: 1, format: format, control: "max-age=600"}
		e := newTestOf(t, fetchtest.New(t, app))
		e.warm(t, "/doc", "br")
		e.warm(t, "/doc", "gzip")
		own := fmt.Sprintf(format, 1)
		br, gz := compress.Tag(own, entry.Brotli), compress.Tag(own, entry.Gzip)
		if a := e.get(t, "/doc", "Accept-Encoding", "br"); a.Header.Get("ETag") != br {
			t.Fatalf("%s: ETag %s, want %s", format, a.Header.Get("ETag"), br)
		}
		before := app.asked()
		for _, row := range []struct {
			accept, held string
			code         int
			etag         string // of the response
		}{
			{"br", br, 304, br},
			{"br", own, 304, own}, // the client has the response from before the coding was made
			{"br, gzip", gz, 304, gz},
			{"", own, 304, own},
			{"", br, 200, own},
			{"gzip", br, 200, gz},
			{"br", `"other", ` + br, 304, br},
			{"br", "*", 304, br},
			{"br", `"other"`, 200, br},
			{"br", compress.Tag(fmt.Sprintf(format, 2), entry.Brotli), 200, br},
			{"br", strings.Replace(br, "v", "", 1), map[bool]int{true: 200, false: 304}[strings.Contains(format, "v")], br},
		} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				a := e.do(t, method, "/doc", "Accept-Encoding", row.accept, "If-None-Match", row.held)
				if a.StatusCode != row.code || a.Header.Get("ETag") != row.etag ||
					a.Header.Get("Vary") != "Accept-Encoding" || row.code == 304 && a.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s: %s Accept-Encoding: %s, If-None-Match: %s: %d, ETag %s, Vary %q; want %d, %s",
						format, method, row.accept, row.held, a.StatusCode, a.Header.Get("ETag"), a.Header.Get("Vary"), row.code, row.etag)
				}
			}
		}
		if app.asked() != before {
			t.Errorf("%s: the origin got %d requests for conditions that the cache can evaluate", format, app.asked()-before)
		}
		// If-Match is for the origin.
		for _, tag := range []string{br, gz, own} {
			if a := e.get(t, "/doc", "Accept-Encoding", "br", "If-Match", tag); a.StatusCode != 200 || app.last() != "GET If-Match: "+own {
				t.Errorf("%s: If-Match: %s: %d, the origin got %q", format, tag, a.StatusCode, app.last())
			}
		}
		for _, method := range []string{http.MethodPut, http.MethodDelete} {
			if a := e.do(t, method, "/doc", "If-Match", br); a.StatusCode != 204 || app.last() != method+" If-Match: "+own {
				t.Errorf("%s: %s If-Match: %s: %d, the origin got %q", format, method, br, a.StatusCode, app.last())
			}
			if a := e.do(t, method, "/doc", "If-Match", br); a.StatusCode != 412 {
				t.Errorf("%s: a second %s with the old tag: %d, want 412", format, method, a.StatusCode)
			}
			e.warm(t, "/doc", "br")
			a := e.get(t, "/doc", "Accept-Encoding", "br")
			own = fmt.Sprintf(format, app.version)
			if br = a.Header.Get("ETag"); br != compress.Tag(own, entry.Brotli) {
				t.Fatalf("%s: after %s: ETag %s of %s", format, method, br, own)
			}
		}
	}
}

// A tag that the origin itself sent stays as it is, even if an edge would have made it.
func TestForeignCodedTag(t *testing.T) {
	t.Parallel()
	made := compress.Tag(`"v1"`, entry.Brotli)
	app := &tagApp{version: 1, format: strings.ReplaceAll(made, "v1", "v%d"), control: "max-age=600, no-transform"}
	e := newTestOf(t, fetchtest.New(t, app))
	e.warm(t, "/doc", "br")
	if a := e.do(t, http.MethodPut, "/doc", "If-Match", made); a.StatusCode != 204 || app.last() != "PUT If-Match: "+made {
		t.Errorf("%d, the origin got %q", a.StatusCode, app.last())
	}
}

// The origin's 304 to a client's own condition names the tag that the client has.
func TestRelayedConfirmation(t *testing.T) {
	t.Parallel()
	app := &tagApp{version: 1, format: `"v%d"`, control: "no-store"}
	e := newTestOf(t, fetchtest.New(t, app), func(s *vhosts.Settings, _ *cachepolicy.Policy) { s.BypassCookies = []string{"session"} })
	br := compress.Tag(`"v1"`, entry.Brotli)
	for _, row := range []struct {
		name   string
		method string
		fields []string
	}{
		{"HEAD that is not stored", http.MethodHead, nil},
		{"a cookie that bypasses the cache", http.MethodGet, []string{"Cookie", "session=1"}},
		{"no-store of the origin", http.MethodGet, nil},
		{"no-store of the client", http.MethodGet, []string{"Cache-Control", "no-store"}},
	} {
		a := e.do(t, row.method, "/doc", append(row.fields, "Accept-Encoding", "br", "If-None-Match", br)...)
		if a.StatusCode != 304 || a.Header.Get("ETag") != br || strings.Contains(app.last(), br) {
			t.Errorf("%s: %d, ETag %s, want 304 and %s; the origin got %q", row.name, a.StatusCode, a.Header.Get("ETag"), br, app.last())
		}
		a = e.do(t, row.method, "/doc", append(row.fields, "Accept-Encoding", "br", "If-None-Match", `"v1"`)...)
		if a.StatusCode != 304 || a.Header.Get("ETag") != `"v1"` {
			t.Errorf("%s: %d, ETag %s, want 304 and the origin's own", row.name, a.StatusCode, a.Header.Get("ETag"))
		}
	}
}

// A stale response with codings is confirmed by the origin's own tag, and keeps its codings.
func TestCodedRevalidation(t *testing.T) {
	t.Parallel()
	app := &tagApp{version: 1, format: `"v%d"`, control: "max-age=600"}
	e := newTestOf(t, fetchtest.New(t, app))
	e.warm(t, "/doc", "br")
	e.purge("/doc", true)
	a := e.get(t, "/doc", "Accept-Encoding", "br")
	if a.Header.Get("Content-Encoding") != "br" || a.Decoded(t) != longText || app.last() != "GET If-None-Match: \"v1\"" {
		t.Errorf("Content-Encoding %q, Cache-Status %q; the origin got %q", a.Header.Get("Content-Encoding"),
			a.Header.Get("Cache-Status"), app.last())
	}
	if a.Header.Get("Vary") != "Accept-Encoding" || len(e.Cache.Get("http://edge.test/doc").Vary) > 0 {
		t.Errorf("Vary %q; stored by %q", a.Header["Vary"], e.Cache.Get("http://edge.test/doc").Vary)
	}
	if made := e.Compressor.Stats().Made["br"]; made != 1 {
		t.Errorf("made %d times, want once", made)
	}
	// Since now the origin forbids codings.
	app.control = "max-age=600, no-transform"
	e.purge("/doc", true)
	for range 3 {
		a = e.get(t, "/doc", "Accept-Encoding", "br")
		e.Compressed(t)
	}
	if a.Header.Get("Content-Encoding") != "" || a.Body != longText || a.Header.Get("Vary") != "" || a.Header.Get("ETag") != `"v1"` {
		t.Errorf("under no-transform: %v", a.Header)
	}
	if e.Cache.Get("http://edge.test/doc").Variant(entry.Brotli) != nil {
		t.Error("a response under no-transform still has its coding in memory")
	}
	app.control = "max-age=600"
	e.purge("/doc", true)
	e.warm(t, "/doc", "br")
	if a = e.get(t, "/doc", "Accept-Encoding", "br"); a.Header.Get("Content-Encoding") != "br" {
		t.Errorf("after no-transform: %v", a.Header)
	}
	e.purge("/doc", false)
	a = e.get(t, "/doc", "Accept-Encoding", "br")
	if a.Header.Get("ETag") != compress.SentTag(`"v1"`, entry.Brotli) || !strings.Contains(a.Header.Get("Cache-Status"), "fwd=uri-miss") {
		t.Errorf("after a purge: %v", a.Header)
	}
}

// A range is one of the identity body. A client that has a part of the coded body gets the whole.
func TestCodedRanges(t *testing.T) {
	t.Parallel()
	app := &tagApp{version: 1, format: `"v%d"`, control: "max-age=600"}
	e := newTestOf(t, fetchtest.New(t, app))
	br, sent := compress.Tag(`"v1"`, entry.Brotli), compress.SentTag(`"v1"`, entry.Brotli)
	// Before anything is stored, the origin must not join the two either.
	for _, tag := range []string{br, sent} {
		if a := e.get(t, "/doc", "Accept-Encoding", "br", "Range", "bytes=10-19", "If-Range", tag); a.StatusCode != 200 ||
			a.Decoded(t) != longText || app.last() != "GET " {
			t.Errorf("If-Range at the origin: %d, %d bytes; the origin got %q", a.StatusCode, len(a.Body), app.last())
		}
		e.purge("/doc", false)
	}
	e.warm(t, "/doc", "br")
	for _, row := range []struct {
		name   string
		fields []string
		code   int
		coding string
	}{
		{"a range", nil, 206, ""},
		{"with the identity's tag", []string{"If-Range", `"v1"`}, 206, ""},
		{"with the coding's tag", []string{"If-Range", br}, 200, "br"},
		{"with the tag of a coding that was made while it was sent", []string{"If-Range", sent}, 200, "br"},
		{"with another tag", []string{"If-Range", `"v0"`}, 200, "br"},
		{"with a date", []string{"If-Range", "Tue, 15 Nov 2022 08:12:31 GMT"}, 200, "br"},
	} {
		a := e.get(t, "/doc", append(row.fields, "Accept-Encoding", "br", "Range", "bytes=10-19")...)
		if a.StatusCode != row.code || a.Header.Get("Content-Encoding") != row.coding {
			t.Errorf("%s: %d, Content-Encoding %q, want %d, %q", row.name, a.StatusCode,
				a.Header.Get("Content-Encoding"), row.code, row.coding)
		}
		if row.code == 206 && (a.Body != longText[10:20] || a.Header.Get("ETag") != `"v1"`) ||
			row.code == 200 && a.Decoded(t) != longText {
			t.Errorf("%s: %d bytes, ETag %s", row.name, len(a.Body), a.Header.Get("ETag"))
		}
		if a.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: Vary %q", row.name, a.Header.Get("Vary"))
		}
	}
}

// Without an entity tag a coded response has none either, and dates decide.
func TestCodedWithoutTag(t *testing.T) {
	t.Parallel()
	const changed = "Tue, 15 Nov 2022 08:12:31 GMT"
	for _, etag := range []string{"", "unquoted", `"one" "two"`} {
		e, _ := newTest(t, map[string]http.HandlerFunc{"/page": fetchtest.Says(longText, "Content-Type", "text/html",
			"Cache-Control", "max-age=600", "Last-Modified", changed, "ETag", etag)})
		e.warm(t, "/page", "br")
		if a := e.get(t, "/page", "Accept-Encoding", "br"); a.Header.Get("Content-Encoding") != "br" || a.Header["Etag"] != nil {
			t.Errorf("ETag %q: Content-Encoding %q, ETag %q", etag, a.Header.Get("Content-Encoding"), a.Header["Etag"])
		}
		if a := e.get(t, "/page", "Accept-Encoding", "br", "If-Modified-Since", changed); a.StatusCode != 304 {
			t.Errorf("ETag %q: If-Modified-Since: %d", etag, a.StatusCode)
		}
		for accept, code := range map[string]int{"br": 200, "gzip": 200, "": 206, "identity": 206} {
			// The date does not tell of which coding the client has the beginning.
			if a := e.get(t, "/page", "Accept-Encoding", accept, "Range", "bytes=10-19", "If-Range", changed); a.StatusCode != code {
				t.Errorf("ETag %q: If-Range with Accept-Encoding: %s: %d, want %d", etag, accept, a.StatusCode, code)
			}
		}
	}
}

// An origin that compresses by itself is passed through unchanged. A client for which it has no
// coding gets one of the edge's.
func TestOriginCompresses(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html")
		h.Set("Cache-Control", "max-age=600")
		h.Set("Vary", "accept-encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			h.Set("ETag", `"gz"`)
			z := gzip.NewWriter(w)
			io.WriteString(z, longText)
			z.Close()
			return
		}
		h.Set("ETag", `"plain"`)
		io.WriteString(w, longText)
	}})
	for _, row := range []struct{ accept, coding, etag string }{
		{"gzip, br", "gzip", `"gz"`}, {"br", "br", compress.Tag(`"plain"`, entry.Brotli)}, {"", "", `"plain"`},
	} {
		e.warm(t, "/page", row.accept)
		a := e.get(t, "/page", "Accept-Encoding", row.accept)
		if a.Header.Get("Content-Encoding") != row.coding || a.Header.Get("ETag") != row.etag ||
			a.Decoded(t) != longText || strings.Join(a.Header["Vary"], "|") != "accept-encoding" {
			t.Errorf("Accept-Encoding: %s: %v", row.accept, a.Header)
		}
	}
}
