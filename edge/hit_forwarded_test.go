package edge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/request/requesttest"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/test/sequential"
)

// pagesOfApplication are responses of an application in all forms that decide about a hit.
func pagesOfApplication() map[string]http.HandlerFunc {
	text := strings.Repeat("words that become shorter ", 60)
	const date = "Mon, 02 Jan 2006 15:04:05 GMT"
	return map[string]http.HandlerFunc{
		"/plain": says(text, "Cache-Control", "max-age=60000", "Content-Type", "text/plain", "ETag", `"a"`, "Last-Modified", date),
		"/image": says("pixels", "Cache-Control", "max-age=60000", "Content-Type", "image/png", "ETag", `"i"`,
			"X-Request-Id", "unique", "Link", "</a>; rel=preload", "Link", "</b>; rel=preload"),
		"/weak":     says(text, "Cache-Control", "max-age=60000", "Content-Type", "text/html", "ETag", `W/"a"`),
		"/untagged": says(text, "Cache-Control", "max-age=60000", "Content-Type", "text/html"),
		"/empty":    says("", "Cache-Control", "max-age=60000", "Content-Type", "text/plain"),
		"/typeless": says("a", "Cache-Control", "max-age=60000", "Content-Type", ""),
		"/long":     says(strings.Repeat(text, 40), "Cache-Control", "max-age=60000", "Content-Type", "image/gif", "ETag", `"l"`),
		"/longer":   says(strings.Repeat(text, 400), "Cache-Control", "max-age=60000", "Content-Type", "image/gif", "ETag", `"ll"`),
		"/coding":   says(text, "Cache-Control", "max-age=60000", "Content-Type", "text/html", "Vary", "Accept-Encoding", "ETag", `"c"`),
		"/device": says("phone", "Cache-Control", "max-age=60000", "Content-Type", "text/html", "Vary",
			"X-Device, Accept", "ETag", `"d"`),
		"/language":   says("hallo", "Cache-Control", "max-age=60000", "Content-Type", "text/html", "Vary", "Accept-Language, Origin"),
		"/forward":    says("{}", "Cache-Control", "max-age=60000", "Content-Type", "application/json", "Vary", "X-Forwarded-Proto"),
		"/session":    says("hello", "Cache-Control", "max-age=60000", "Content-Type", "text/html", "Vary", "Cookie"),
		"/cookie":     says("hello", "Cache-Control", "max-age=60000", "Content-Type", "text/html", "Set-Cookie", "a=b"),
		"/guess":      says("hello", "Last-Modified", date, "Content-Type", "text/html"),
		"/private":    says("hello", "Cache-Control", "private, max-age=60000", "Content-Type", "text/html"),
		"/transform":  says(text, "Cache-Control", "max-age=60000, no-transform", "Content-Type", "text/html", "ETag", `"t"`),
		"/revalidate": says("hello", "Cache-Control", "no-cache", "ETag", `"r"`, "Content-Type", "text/html"),
		"/tagged": says("hello", "Cache-Control", "max-age=60000", "Surrogate-Key", "one two", "Content-Type",
			"text/html", "Alt-Svc", `h2=":1"`, "RateLimit", `"x";r=1`),
		"/queries": says(text, "Cache-Control", "max-age=60000", "No-Vary-Search", "params", "Content-Type", "text/plain",
			"ETag", `"q"`),
		"/queries-of-all": says(text, "Cache-Control", "public, max-age=60000", "No-Vary-Search", `params=("a"), key-order`,
			"Content-Type", "text/html", "Vary", "X-Device", "ETag", `"q"`),
		"/gone":    saysWith(http.StatusGone, "gone", "Cache-Control", "max-age=60000", "Content-Type", "text/html", "ETag", `"g"`),
		"/moved":   saysWith(http.StatusMovedPermanently, "", "Cache-Control", "max-age=60000", "Location", "/plain"),
		"/nothing": saysWith(http.StatusNoContent, "", "Cache-Control", "max-age=60000"),
		"/missing": saysWith(http.StatusNotFound, "no", "Cache-Control", "max-age=60000", "Content-Type", "text/plain"),
	}
}

// saysWith returns a handler that answers with a status, as says does with 200.
func saysWith(status int, body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "")
		for i := 0; i < len(fields); i += 2 {
			w.Header().Add(fields[i], fields[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// choicesOfFields are values of the request fields that decide about a hit.
var choicesOfFields = map[string][]string{
	"Accept":            {"text/html", "*/*"},
	"Accept-Encoding":   {"gzip", "br, gzip", "identity", "zstd;q=0", "gzip, deflate, br, zstd", ""},
	"Accept-Language":   {"de", "en, de;q=0.5"},
	"Cookie":            {"session=1", "a=b; c=d"},
	"If-None-Match":     {`"a"`, `"a-gzip"`, `W/"a"`, `"other"`, "*", `"x", "a"`, "malformed"},
	"If-Modified-Since": {"Mon, 02 Jan 2006 15:04:05 GMT", "Sun, 01 Jan 2006 15:04:05 GMT", "Fri, 27 Nov 2099 00:00:00 GMT", "yesterday"},
	"Origin":            {"https://a.test"},
	"User-Agent":        {"curl/8"},
	"X-Device":          {"phone", "desktop", ""},
	"X-Requested-With":  {"XMLHttpRequest"},
	"X-Forwarded-Proto": {"https"},
	"X-Forwarded-For":   {"203.0.113.9"},
	"X-Forwarded-Host":  {"a", "A", "b"},
	"Forwarded":         {"for=203.0.113.9;proto=https;host=a", "for=203.0.113.7", "proto=http"},
	"Cache-Control":     {"no-cache", "only-if-cached", "max-age=0", "no-transform", "no-store"},
	"Pragma":            {"no-cache"},
	"Range":             {"bytes=0-3", "bytes=2-", "bytes=-2", "bytes=9999999-", "bytes=0-1,3-4", "lines=1"},
	"If-Range":          {`"a"`, `"c"`, `"other"`, "Mon, 02 Jan 2006 15:04:05 GMT"},
	"Authorization":     {"Basic YTpi", "AWS4-HMAC-SHA256 x"},
	"Connection":        {"keep-alive"},
	"Te":                {"trailers"},
}

// randomRequest returns a request for one of the paths, with or without one of the queries, and
// with the lines of up to most of the named choicesOfFields.
func randomRequest(random *rand.Rand, paths, queries, names []string, most int) (method, path, fields string) {
	path = paths[random.IntN(len(paths))]
	if random.IntN(4) == 0 {
		path += queries[random.IntN(len(queries))]
	}
	for range random.IntN(most + 1) {
		name := names[random.IntN(len(names))]
		fields += name + ": " + choicesOfFields[name][random.IntN(len(choicesOfFields[name]))] + "\r\n"
	}
	return []string{"GET", "HEAD"}[random.IntN(4)/3], path, fields
}

// The hit path and the pipeline give the same response to random requests for stored responses of
// another application, byte for byte apart from fields that depend on the moment.
func TestForwardedHitEqualsPipeline(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"defaults":        func(*Config) {},
		"without codings": func(c *Config) { c.Compress = config.CompressOff },
		"limits, no cookies, no tracking": func(c *Config) {
			must(t, c.Limits.Set("forwarded=1000000/1s"))
			c.BypassCookies, c.IgnoreQuery, c.StoreCookies = []string{"session"}, []string{"utm_*"}, true
		},
		"behind a proxy": func(c *Config) {
			must(t, repeated.Flag(&c.TrustedProxies, hostport.ParsePrefix).Set("127.0.0.1"))
			must(t, c.Limits.Set("forwarded=1000000/1h"))
		},
		"strict":       func(c *Config) { c.ClientRevalidation = true },
		"beside icons": func(c *Config) { c.Icons = vhosts.On },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pages := pagesOfApplication()
			e := newEdgeTest(t, newSite(pages), func(c *Config) {
				c.ProxyAll, c.Icons = true, vhosts.Off
				change(c)
			})
			fast, slow := bothWays(t, e)
			random := rand.New(rand.NewPCG(1, uint64(len(name))))
			paths, names := slices.Sorted(maps.Keys(pages)), slices.Sorted(maps.Keys(choicesOfFields))
			rounds := 1000
			if testing.Short() {
				rounds = 100
			}
			for range rounds {
				method, path, fields := randomRequest(random, paths,
					[]string{"?", "?a=1", "?utm_source=x", "?a=1&utm_source=x&b"}, names, 4)
				request := method + " " + path + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + lastForwarded
				ask(t, slow, request)
				var a, b string
				if !e.agree(t, func() bool {
					a, b = ask(t, fast, request), ask(t, slow, request)
					const hit = "iconedge; hit" // other responses may differ in framing
					return !strings.Contains(a, hit) && !strings.Contains(b, hit) || cookiesLast(uncounted(a)) == cookiesLast(uncounted(b))
				}) {
					t.Fatalf("%q\nhit path: %q\npipeline: %q", request, a, b)
				}
			}
		})
	}
}

// cookiesLast returns the first response with Set-Cookie at the end of its head, where fasthttp
// writes it.
func cookiesLast(answer string) string {
	if at := strings.LastIndex(answer, "HTTP/1.1 404 "); at > 0 {
		answer = answer[:at] // the answer to lastForwarded
	}
	head, body, _ := strings.Cut(answer, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Count(a[:min(len(a), 10)], "Set-Cookie") - strings.Count(b[:min(len(b), 10)], "Set-Cookie")
	})
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// lastForwarded is a request after which the server closes the connection.
const lastForwarded = "GET /end HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n"

// While a stale response is revalidated in the background, the hit path serves it. The pipeline
// begins the revalidation.
func TestHitWhileRevalidating(t *testing.T) {
	asked, release := make(chan struct{}, 8), make(chan struct{})
	defer close(release)
	var n atomic.Int64
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60, stale-while-revalidate=600")
		if n.Add(1) > 1 {
			asked <- struct{}{}
			<-release
		}
		fmt.Fprint(w, "body")
	}), func(c *Config) { c.ProxyAll, c.Icons = true, vhosts.Off })
	e.get(t, "/page")
	q := eligibleRequest(t, "/page", "")
	if _, ok := e.Answer(nil, q); !ok {
		t.Fatal("a fresh response took the pipeline")
	}
	e.ages.move(100 * time.Second)
	if out, ok := e.Answer(nil, q); ok {
		t.Fatalf("the hit path served a stale response that no fetch revalidates: %q", out)
	}
	if a := e.get(t, "/page"); a.body != "body" {
		t.Fatalf("the pipeline answered %q", a.body)
	}
	<-asked
	out, ok := e.Answer(nil, q)
	if !ok || !strings.HasSuffix(string(out), "\r\n\r\nbody") ||
		!strings.Contains(string(out), "Cache-Status: iconedge; hit; ttl=-40\r\n") {
		t.Errorf("while it is revalidated: answered %v, %q", ok, out)
	}
}

// The hit path answers these requests. If it did not, the comparison above would compare the
// pipeline with itself.
func TestForwardedHitIsTaken(t *testing.T) {
	sequential.Test(t) // it counts allocations
	for name, icons := range map[string]vhosts.Switch{"an application": vhosts.Off, "beside icons": vhosts.On} {
		t.Run(name, func(t *testing.T) { testForwardedHitIsTaken(t, icons) })
	}
}

func testForwardedHitIsTaken(t *testing.T, icons vhosts.Switch) {
	e := newEdgeTest(t, newSite(pagesOfApplication()), func(c *Config) {
		c.ProxyAll, c.Icons, c.Compress = true, icons, config.CompressOff
		must(t, c.Limits.Set("forwarded=1000000/1s"))
	})
	for _, row := range []struct {
		target, fields, want string
	}{
		{"/plain", "", "HTTP/1.1 200 OK\r\n"},
		{"/plain?a=1", "", "HTTP/1.1 200 OK\r\n"},
		{"/image", "Accept: image/*\r\nAccept-Encoding: gzip, br\r\nCookie: a=b\r\nSec-Fetch-Mode: no-cors\r\nReferer: http://a/\r\n",
			"HTTP/1.1 200 OK\r\n"},
		{"/plain", "If-None-Match: \"x\", \"a\"\r\n", "HTTP/1.1 304 Not Modified\r\n"},
		{"/plain", "If-Modified-Since: Mon, 02 Jan 2006 15:04:05 GMT\r\n", "HTTP/1.1 304 Not Modified\r\n"},
		{"/plain", "Range: bytes=0-3\r\n", "HTTP/1.1 206 Partial Content\r\n"},
		{"/device", "X-Device: phone\r\nAccept: a, b\r\n", "HTTP/1.1 200 OK\r\n"},
		{"/plain", "Cache-Control: max-age=0\r\n", "HTTP/1.1 200 OK\r\n"},
		{"/plain", "Authorization: Basic YTpi\r\n", "HTTP/1.1 200 OK\r\n"},
		{"/moved", "", "HTTP/1.1 301 Moved Permanently\r\n"},
		{"/long", "", "HTTP/1.1 200 OK\r\n"},
	} {
		var fields []string
		for line := range strings.SplitSeq(strings.TrimSuffix(row.fields, "\r\n"), "\r\n") {
			if name, value, ok := strings.Cut(line, ": "); ok && name != "Range" && !strings.HasPrefix(name, "If-") {
				fields = append(fields, name, value)
			}
		}
		e.get(t, row.target, fields...)
		q := eligibleRequest(t, row.target, row.fields)
		out, ok := e.Answer(make([]byte, 0, 64<<10), q)
		if !ok || !strings.HasPrefix(string(out), row.want) {
			t.Errorf("%s with %q took the pipeline, or got another response: %q", row.target, row.fields, out)
			continue
		}
		if n := testing.AllocsPerRun(200, func() { e.Answer(out[:0], q) }); n > 0 {
			t.Errorf("a hit of %s with %q allocates %v times", row.target, row.fields, n)
		}
	}
}

// eligibleRequest returns an eligible request with some lines of fields.
func eligibleRequest(t testing.TB, target, fields string) *request.Request {
	return requesttest.New(t, "edge.test", target, strings.FieldsFunc(fields, func(c rune) bool { return c == '\r' || c == '\n' })...)
}
