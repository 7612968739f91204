package own_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// A gzipOrigin records what an edge asks for, and may change the bodies of icons in gzip.
type gzipOrigin struct {
	*owntest.Origin
	accept, condition atomic.Value // of the last request for an icon
	change            func(coded []byte) []byte
}

func (o *gzipOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, ".svg") {
		o.accept.Store(r.Header.Get("Accept-Encoding"))
		o.condition.Store(r.Header.Get("If-None-Match"))
		if o.change != nil {
			rec := httptest.NewRecorder()
			o.Origin.ServeHTTP(rec, r)
			for name, lines := range rec.Header() {
				w.Header()[name] = lines
			}
			w.WriteHeader(rec.Code)
			w.Write(o.change(rec.Body.Bytes()))
			return
		}
	}
	o.Origin.ServeHTTP(w, r)
}

func newGzipOrigin() *gzipOrigin { return &gzipOrigin{Origin: owntest.NewOrigin()} }

// The edge asks an origin of ours for gzip, as soon as it knows that it is one, and passes the body
// on as it came. The entity tags of all codings follow from that of the identity.
func TestGzipFromOrigin(t *testing.T) {
	origin := newGzipOrigin()
	e := owntest.New(t, origin)
	e.Get(t, "/fc/apple.svg")
	if got := origin.accept.Load(); got != "identity" {
		t.Errorf("an unknown origin was asked for %q", got)
	}
	must(t, e.Library.Poll())
	a := e.Get(t, "/mdi/home.svg", "Accept-Encoding", "gzip, br")
	if got := origin.accept.Load(); got != "gzip" {
		t.Errorf("an origin of ours was asked for %q", got)
	}
	coded := string(owntest.Gzip([]byte(owntest.SVG(owntest.ReleaseA))))
	if a.Body != coded || a.Header.Get("ETag") != `"home0123-gzip"` || a.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%q %v", a.Body, a.Header)
	}
	for _, row := range []struct{ accept, etag, body string }{{"identity", `"home0123"`, owntest.SVG(owntest.ReleaseA)},
		{"gzip", `"home0123-gzip"`, coded}} {
		a := e.Get(t, "/mdi/home.svg", "Accept-Encoding", row.accept)
		if a.Body != row.body || a.Header.Get("ETag") != row.etag || a.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %q %v", row.accept, a.Body, a.Header)
		}
		if a := e.Get(t, "/mdi/home.svg", "Accept-Encoding", row.accept, "If-None-Match",
			row.etag); a.StatusCode != http.StatusNotModified {
			t.Errorf("%s: %d, want 304", row.accept, a.StatusCode)
		}
	}
	if a := e.Get(t, "/mdi/home.svg", "Accept-Encoding", "identity", "Range",
		"bytes=1-3"); a.StatusCode != http.StatusPartialContent || a.Body != owntest.SVG(owntest.ReleaseA)[1:4] {
		t.Errorf("a range: %d %q", a.StatusCode, a.Body)
	}
	if a := e.Get(t, "/mdi/home.svg?color=f00", "Accept-Encoding",
		"gzip"); a.Body != strings.ReplaceAll(owntest.SVG(owntest.ReleaseA), "currentColor", "#ff0000") {
		t.Errorf("coloured: %q", a.Body)
	}

	// It validates by the tag that the origin gave, and keeps the codings.
	e.Age(t, "/mdi/home.svg", 2*24*time.Hour)
	e.Get(t, "/mdi/home.svg", "Accept-Encoding", "gzip")
	fetchtest.Settled(t, "the icon is validated", func() bool { return origin.condition.Load() == `"home0123-gz"` })
	fetchtest.Settled(t, "the icon is fresh again", func() bool {
		a := e.Get(t, "/mdi/home.svg", "Accept-Encoding", "gzip")
		return strings.Contains(a.Header.Get("Cache-Status"), "hit") && a.Body == coded
	})
	// The forms of icons, and everything else, are asked for as before.
	e.Get(t, "/mdi/home.svg?size=48")
	if got := origin.accept.Load(); got != "identity" {
		t.Errorf("a form of an icon was asked for %q", got)
	}
}

// A body in gzip that is damaged is a failure of the origin, and is not stored.
func TestDamagedGzipFromOrigin(t *testing.T) {
	for why, change := range map[string]func([]byte) []byte{
		"cut off":           func(b []byte) []byte { return b[:len(b)-9] },
		"another checksum":  func(b []byte) []byte { b[len(b)-8] ^= 1; return b },
		"a length of 4 GB":  func(b []byte) []byte { b[len(b)-1] = 0xff; return b },
		"bytes that follow": func(b []byte) []byte { return append(b, "<svg/>"...) },
		"empty":             func([]byte) []byte { return nil },
		"no gzip after all": func([]byte) []byte { return []byte(owntest.SVG(owntest.ReleaseA)) },
		"more than 16 MiB":  func([]byte) []byte { return owntest.Gzip(make([]byte, maxOwnIcon+1)) },
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			origin := newGzipOrigin()
			e := owntest.New(t, origin)
			must(t, e.Library.Poll())
			origin.change = change
			if a := e.Get(t, "/mdi/home.svg", "Accept-Encoding", "gzip"); a.StatusCode != http.StatusBadGateway {
				t.Errorf("%d %q", a.StatusCode, a.Body)
			}
			if e.Cache.Get("/mdi/home.svg") != nil {
				t.Error("it is stored")
			}
		})
	}
}

// maxOwnIcon is the length of the longest response on the edge's own routes, in bytes.
const maxOwnIcon = 16 << 20
