package pipeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/logtest"
	"github.com/iconedge/iconedge/internal/problem"
)

// A test has a writer, and a clock that stands still a minute after the entries of entrytest were
// stored.
type test struct {
	*pipeline.Writer
	site *vhosts.Site
	log  logtest.Log
	now  time.Time
}

func newTest(t testing.TB) *test {
	t.Helper()
	e := &test{now: entrytest.T0.Add(time.Minute)}
	c, err := cache.New(cache.Options{MaxBytes: 1 << 20, Clock: func() time.Time { return e.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	e.Writer = pipeline.NewWriter(compress.New(c, e.log.Logger()), e.log.Logger())
	settings := vhosts.Settings{}
	e.site = settings.Site(false, cachepolicy.Policy{}, nil)
	return e
}

func (e *test) request(t testing.TB, method string, fields ...string) *pipeline.Request {
	t.Helper()
	return pipelinetest.New(t, e.site, e.now, pipelinetest.Message{Method: method, URL: "http://edge.test/mdi/home.svg", Fields: fields})
}

const (
	body = `<svg fill="currentColor"/>`
	tag  = `"0123456789abcdef0123456789abcdef"`
)

// A stored response is written in the form that the request asks for: whole, a part, in a colour,
// in a coding, or not again.
func TestFinish(t *testing.T) {
	text := strings.Repeat(body, 100)
	for name, row := range map[string]struct {
		method string
		fields []string
		color  string
		status int
		body   string
		want   []string // fields, as name, value, and so on; an empty value: the field is absent
	}{
		"whole": {status: 200, body: text, want: []string{"ETag", tag, "Age", "60", "Accept-Ranges", "bytes",
			"Surrogate-Key", "icon/mdi/home pack/mdi release/0123456789abcdef", "Content-Type", "image/svg+xml"}},
		"HEAD":         {method: "HEAD", status: 200, want: []string{"ETag", tag}},
		"in a colour":  {color: "#ff0000", status: 200, body: strings.ReplaceAll(text, "currentColor", "#ff0000")},
		"known":        {fields: []string{"If-None-Match", `"a", W/` + tag}, status: 304, want: []string{"ETag", tag, "Link", ""}},
		"another one":  {fields: []string{"If-None-Match", `"a"`}, status: 200, body: text},
		"unchanged":    {fields: []string{"If-Modified-Since", "Sat, 21 Nov 2026 12:00:00 GMT"}, status: 304},
		"changed":      {fields: []string{"If-Modified-Since", "Sat, 21 Nov 2026 11:59:59 GMT"}, status: 200, body: text},
		"If-Match":     {fields: []string{"If-Match", tag}, status: 200, body: text},
		"not If-Match": {fields: []string{"If-Match", `"a"`}, status: 412, want: []string{"Content-Type", "application/problem+json"}},
		"a part": {fields: []string{"Range", "bytes=1-3"}, status: 206, body: text[1:4],
			want: []string{"Content-Range", "bytes 1-3/2600"}},
		"the end": {fields: []string{"Range", "bytes=-4"}, status: 206, body: text[2596:],
			want: []string{"Content-Range", "bytes 2596-2599/2600"}},
		"beyond":        {fields: []string{"Range", "bytes=2600-"}, status: 416, want: []string{"Content-Range", "bytes */2600"}},
		"two parts":     {fields: []string{"Range", "bytes=0-1,3-4"}, status: 200, body: text},
		"If-Range":      {fields: []string{"Range", "bytes=0-1", "If-Range", tag}, status: 206, body: text[:2]},
		"not If-Range":  {fields: []string{"Range", "bytes=0-1", "If-Range", `"a"`}, status: 200, body: text},
		"a part, HEAD":  {method: "HEAD", fields: []string{"Range", "bytes=1-3"}, status: 200},
		"an odd range":  {fields: []string{"Range", "lines=1-3"}, status: 200, body: text},
		"known in gzip": {fields: []string{"If-None-Match", strings.TrimSuffix(tag, `"`) + `-gzip"`, "Accept-Encoding", "gzip"}, status: 304},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTest(t)
			stored := entrytest.WithCodings(entrytest.Own("/mdi/home.svg", text))
			if row.method == "" {
				row.method = http.MethodGet
			}
			r := e.request(t, row.method, row.fields...)
			if row.color != "" {
				r.Target.Color = "#ff0000"
			}
			e.Finish(r, r.Hit(stored, exchange.Hit))
			a := pipelinetest.Read(r)
			if a.StatusCode != row.status || row.body != "" && a.Body != row.body {
				t.Errorf("%d %.80q, want %d %.80q", a.StatusCode, a.Body, row.status, row.body)
			}
			for i := 0; i < len(row.want); i += 2 {
				if got := a.Header.Get(row.want[i]); got != row.want[i+1] {
					t.Errorf("%s: %q, want %q", row.want[i], got, row.want[i+1])
				}
			}
			if bodyless := row.status == 304 || row.method == "HEAD"; bodyless && a.Body != "" {
				t.Errorf("the body %.80q", a.Body)
			}
		})
	}
}

// A client gets the coding that it accepts, with an entity tag of its own.
func TestFinishInCodings(t *testing.T) {
	e := newTest(t)
	stored := entrytest.WithCodings(entrytest.Own("/mdi/home.svg", strings.Repeat(body, 100)))
	tags := map[string]string{}
	for accept, want := range map[string]string{"": "", "gzip": "gzip", "gzip, br": "br", "gzip;q=0": "", "identity": ""} {
		r := e.request(t, http.MethodGet, "Accept-Encoding", accept)
		e.Finish(r, r.Hit(stored, exchange.Hit))
		a := pipelinetest.Read(r)
		if got := a.Header.Get("Content-Encoding"); got != want || a.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %q, Vary %q", accept, got, a.Header.Get("Vary"))
		}
		tags[want] = a.Header.Get("ETag")
	}
	if tags[""] == tags["gzip"] || tags["gzip"] == tags["br"] {
		t.Errorf("codings share entity tags: %q", tags)
	}
}

// A response that arrives from the origin is sent while it arrives, and its length is counted at
// its end, once.
func TestFinishStream(t *testing.T) {
	e := newTest(t)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r := e.request(t, method)
		closed := 0
		stored := entrytest.New("/page", "")
		e.Finish(r, pipeline.Response{Entry: stored, Relayed: true, Length: 5,
			Stream: &stream{strings.NewReader("whole"), func() { closed++ }}})
		if method == http.MethodHead {
			if closed != 1 || r.Ctx.Response.Header.ContentLength() != 5 || !r.Ctx.Response.SkipBody {
				t.Errorf("HEAD: closed %d times, length %d", closed, r.Ctx.Response.Header.ContentLength())
			}
			continue
		}
		told := 0
		r.Stream.Tell = func(n int) { told += n }
		var sent bytes.Buffer
		if n, err := r.Stream.WriteTo(&sent); n != 5 || err != nil || sent.String() != "whole" {
			t.Errorf("%d bytes, %q: %v", n, sent.String(), err)
		}
		r.Stream.Close()
		r.Stream.Close()
		if told != 5 {
			t.Errorf("%d bytes are reported, want 5", told)
		}
	}
}

// A client of HTTP/1.0 does not understand chunks, so it gets a body of unknown length as a whole.
func TestFinishForHTTP10(t *testing.T) {
	e := newTest(t)
	for name, row := range map[string]struct {
		read   io.Reader
		status int
		body   string
	}{
		"a body":    {strings.NewReader("whole"), 200, "whole"},
		"a failure": {io.MultiReader(strings.NewReader("who"), failing{}), 502, ""},
	} {
		r := e.request(t, http.MethodGet)
		r.Ctx.Request.Header.SetProtocol("HTTP/1.0")
		closed := 0
		e.Finish(r, pipeline.Response{Entry: entrytest.New("/page", ""), Relayed: true, Length: -1,
			Stream: &stream{row.read, func() { closed++ }}})
		if a := pipelinetest.Read(r); a.StatusCode != row.status || row.body != "" && a.Body != row.body || closed != 1 {
			t.Errorf("%s: %d %q, closed %d times", name, a.StatusCode, a.Body, closed)
		}
	}
}

type stream struct {
	io.Reader
	close func()
}

func (s *stream) Close() error { s.close(); return nil }

type failing struct{}

func (failing) Read([]byte) (int, error) {
	return 0, problem.New(http.StatusBadGateway, "the origin closed the connection")
}

// Trailer fields follow a body over HTTP/1.1 if the client says that it takes them, and over
// streams always. They belong to a GET with a body alone.
func TestFinishWithTrailer(t *testing.T) {
	e := newTest(t)
	for name, row := range map[string]struct {
		protocol exchange.Protocol
		method   string
		te       string
		follows  bool
	}{
		"HTTP/1.1":              {exchange.H1, "GET", "", false},
		"HTTP/1.1 with TE":      {exchange.H1, "GET", "trailers", true},
		"HTTP/1.1 with more TE": {exchange.H1, "GET", "deflate;q=0.5, Trailers", true},
		"HTTP/1.1 with other":   {exchange.H1, "GET", "gzip", false},
		"HTTP/2":                {exchange.H2, "GET", "", true},
		"HEAD":                  {exchange.H2, "HEAD", "", false},
	} {
		r := e.request(t, row.method)
		if row.te != "" {
			r.Ctx.Request.Header.Set("TE", row.te)
		}
		r.Protocol, r.Forwarded = row.protocol, true
		e.Finish(r, pipeline.Response{Entry: entrytest.New("/page", "whole"), Relayed: true, Trailer: &collapse.Trailer{
			Announced: []string{"X-Sum"}, Lines: func() []byte { return []byte("X-Sum: 42\r\n") }}})
		if follows := r.Response.Trailer != nil; follows != row.follows {
			t.Errorf("%s: follows %v, want %v", name, follows, row.follows)
		}
		a := pipelinetest.Read(r)
		if announced := a.Header.Get("Trailer") != ""; announced != row.follows || row.method == "GET" && a.Body != "whole" {
			t.Errorf("%s: Trailer %q, body %q", name, a.Header.Get("Trailer"), a.Body)
		}
	}
}

// A problem replaces everything that was written to the response before.
func TestFail(t *testing.T) {
	e := newTest(t)
	r := e.request(t, http.MethodGet)
	e.Finish(r, r.Hit(entrytest.Own("/mdi/home.svg", body), exchange.Hit))
	r.Ctx.Response.SetConnectionClose()
	e.Fail(r, pipeline.Overloaded())
	a := pipelinetest.Read(r)
	if a.StatusCode != 503 || a.Header.Get("ETag") != "" || a.Header.Get("Retry-After") != "1" ||
		!strings.Contains(a.Body, `"status":503`) || a.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %q %v", a.StatusCode, a.Body, a.Header)
	}
	if !r.Ctx.Response.ConnectionClose() {
		t.Error("the connection stays open")
	}
}

// An edge behind this one learns that the origin has no release yet, and no other client does.
func TestFailUnready(t *testing.T) {
	e := newTest(t)
	for _, tier := range []bool{true, false} {
		r := e.request(t, http.MethodGet)
		r.Tier = tier
		e.Fail(r, problem.New(http.StatusBadGateway, "no release").Because(pipeline.ErrUnready))
		if got := pipelinetest.Read(r).Header.Get("Iconedge-Ready"); got != map[bool]string{true: "?0"}[tier] {
			t.Errorf("to a tier %v: Iconedge-Ready: %q", tier, got)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for want, err := range map[int]error{
		431: fmt.Errorf("reading: %w", &fasthttp.ErrSmallBuffer{}), 413: fasthttp.ErrBodyTooLarge,
		503: bodies.ErrOverloaded, 408: late{}, 400: errors.New("another"),
	} {
		if p := pipeline.Unreadable(err); p.Status != want {
			t.Errorf("%v: %d, want %d", err, p.Status, want)
		}
	}
}

// A late error is that of a connection whose deadline is over.
type late struct{}

func (late) Error() string   { return "late" }
func (late) Timeout() bool   { return true }
func (late) Temporary() bool { return false }

// The target of a request keeps its spelling, also as a part of a whole URL.
func TestRawTarget(t *testing.T) {
	for sent, want := range map[string]string{
		"/a%2fb?x=%20": "/a%2fb?x=%20", "http://edge.test/a?b": "/a?b", "http://edge.test?b": "/?b", "http://edge.test": "/",
	} {
		ctx := &fasthttp.RequestCtx{}
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI(sent)
		if got := pipeline.RawTarget(ctx); got != want {
			t.Errorf("%s: %q, want %q", sent, got, want)
		}
	}
}
