package edge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/test/sequential"
)

// bothWays serves one edge twice: with and without the hit path.
func bothWays(t testing.TB, e *edgeTest) (short, long string) {
	t.Helper()
	serve := func(h listen.Handler) string {
		ln := listenTest(t)
		e.serveToo(t, ln, h)
		return ln.Addr().String()
	}
	return serve(e.Proxy), serve(pipelineOnly{e.Proxy})
}

// ask sends request over a new connection, and returns everything that the server sends until it
// closes the connection.
func ask(t testing.TB, address, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(longEnough))
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%v after %q", err, b)
	}
	return string(b)
}

// last is a health check after which the server closes the connection. Tests of the hit path name
// its host in other requests too, because it could take the place of theirs among the known hosts.
const last = "GET /healthz HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n"

// The hit path and the pipeline give the same response to every request, byte for byte, apart from
// the state of limits.
func TestHitPathEqualsPipeline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	allow, deny := filepath.Join(dir, "allow"), filepath.Join(dir, "deny")
	writeList(t, allow, "203.0.113.10")
	writeList(t, deny, "203.0.113.9")
	for name, change := range map[string]func(*Config){
		"default config":    func(*Config) {},
		"tokens required":   func(c *Config) { c.RequireToken = true },
		"limits for tokens": func(c *Config) { c.Limits.Set("lifetime:search=1000/1h"); c.Limits.Set("cdn=1000000/1h") },
		"lists behind a proxy": func(c *Config) {
			c.AllowFile, c.DenyFile = allow, deny
			repeated.Flag(&c.TrustedProxies, hostport.ParsePrefix).Set("127.0.0.1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdgeTest(t, lifetime{owntest.NewOrigin()}, func(c *Config) {
				for _, limit := range []string{"search=1000000/1h", "icon=1000000/1h", "packs=1000000/1h"} {
					c.Limits.Set(limit)
				}
				change(c)
			})
			must(t, e.library.Poll())
			targets := manyTargets
			if name != "default config" {
				targets = hotTargets
			}
			e.sameBothWays(t, targets)
		})
	}
}

var hotTargets = []string{"/mdi/home.svg", "/mdi/home.svg?color=%23f00", "/api/v1/icon/mdi/home",
	"/api/v1/search?q=home", "/api/v1/packs", "/", "/healthz"}

var manyTargets = []string{"/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg", "/mdi/home.svg?color=%23f00",
	"/mdi/home.svg?color=ff000080", "/mdi/home.svg?size=48",
	"/mdi/home.svg?size=48&color=red", "/fc/apple.svg?color=f00", "/mdi/none.svg", "/api/v1/icon/mdi/home",
	"/api/v1/icon/mdi/home?color=f00", "/api/v1/icon/mdi/home?format=svg",
	"/api/v1/icon/mdi/home?format=svg&color=0f0", "/api/v1/search?q=home", "/api/v1/search?q=+home&limit=20",
	"/api/v1/packs", "/api/v1/packs/mdi", "/api/v1/openapi.json",
	"/", "/healthz", "/-/release", "/mdi/home.svg?", "/mdi/home.svg?x", "/mdi%2Fhome.svg", "//mdi/home.svg",
	"/mdi/home.svg/", "/mdi/./home.svg", "/other/dot.svg?color=f00", "/broken/x.svg"}

// manyFields are sets of field lines; each request has one of the sets.
var manyFields = []string{"", "Accept-Encoding: br\r\n", "Accept-Encoding: gzip, deflate, br, zstd\r\n",
	"Accept-Encoding: gzip;q=0.5, identity;q=0.9\r\n", "Accept-Encoding: *\r\n", "accept-encoding: GZIP\r\n", "Accept-Encoding:\r\n",
	"If-None-Match: \"home0123\"\r\n", "If-None-Match: W/\"home0123\"\r\n",
	"If-None-Match: \"home0123-br\"\r\nAccept-Encoding: br\r\n", "If-None-Match: \"home0123-ff0000\"\r\n",
	"If-None-Match: \"x\", \"home0123\"\r\n", "If-None-Match: *\r\n", "If-None-Match: home0123\r\n",
	"If-None-Match: \"x\"\r\n", "If-None-Match:\r\n", "If-Modified-Since: Wed, 21 Oct 2026 07:28:00 GMT\r\n",
	"Range: bytes=0-3\r\n", "Range: bytes=0-3\r\nIf-Range: \"home0123\"\r\n", "If-Match: \"x\"\r\n",
	"Cache-Control: no-cache\r\n", "Cache-Control: only-if-cached\r\n", "Pragma: no-cache\r\n", "Cookie: a=b\r\n",
	"Authorization: Bearer x\r\n", "Authorization: Bearer " + good + "\r\n", "authorization: bearer " + bad + "\r\n",
	"X-Forwarded-For: 203.0.113.9\r\n", "X-Forwarded-For: 203.0.113.10\r\n", "Connection: keep-alive\r\n",
	"Connection: Keep-Alive, X\r\n", "TE: trailers\r\n", "X A: b\r\n", "X: a\tb\r\n", "X:\r\n", "X: \xc3\xa9\r\n",
	"Expect: 100-continue\r\n", "Upgrade: h2c\r\n", "Content-Length: 0\r\n"}

// sameBothWays sends requests for the targets with each set of manyFields to both addresses, and
// compares the responses. With -short each target gets a third of the sets.
func (e *edgeTest) sameBothWays(t *testing.T, targets []string) {
	t.Helper()
	fast, slow := bothWays(t, e)
	for n, target := range targets {
		for range 2 { // the doorkeeper lets a form of an icon be stored on the second request
			ask(t, slow, "GET "+target+" HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "+good+"\r\n\r\n"+last)
		}
		for i, f := range manyFields {
			if testing.Short() && (i+n)%3 > 0 {
				continue
			}
			for _, method := range []string{"GET", "HEAD"} {
				request := method + " " + target + " HTTP/1.1\r\nHost: a\r\n" + f + "\r\n" + last
				var a, b string
				if !e.agree(t, func() bool {
					a, b = ask(t, fast, request), ask(t, slow, request)
					return uncounted(a) == uncounted(b)
				}) {
					t.Errorf("%q\nhit path: %q\npipeline:  %q", request, a, b)
				}
			}
		}
	}
}

// agree reports whether same reports true in one of three attempts. A stored response may get a
// coding in the background between the two requests that same compares, so that agree waits for it.
func (e *edgeTest) agree(t *testing.T, same func() bool) bool {
	t.Helper()
	for range 3 {
		if same() {
			return true
		}
		e.compressed(t)
	}
	return false
}

// uncounted returns the first response, without the state of limits, which each request changes,
// and the Date of an origin that generated the response for this request.
func uncounted(s string) string {
	if i := strings.LastIndex(s, "HTTP/1.1 200 OK\r\nContent-Type: text/plain"); i > 0 {
		s = s[:i]
	}
	counted := []string{"RateLimit: "}
	if !strings.Contains(s, "\r\nAge: ") {
		counted = append(counted, "Date: ") // the response was generated for this request
	}
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\r\n") {
		for _, name := range counted {
			if strings.HasPrefix(line, name) {
				line = name
			}
		}
		b.WriteString(line + "\r\n")
	}
	return b.String()
}

// The hit path answers these requests. If it did not, the comparison above would compare the
// pipeline with itself.
func TestHitPathIsTaken(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin())
	must(t, e.library.Poll())
	for _, target := range []string{"/mdi/home.svg", "/mdi/home.svg?color=f00", "/mdi/home.svg?size=48",
		"/api/v1/search?q=home", "/api/v1/icon/mdi/home", "/api/v1/packs"} {
		e.get(t, target)
		e.get(t, target) // the doorkeeper lets a form of an icon be stored on the second request
		q := ready(target)
		if out, ok := e.Answer(nil, q); !ok || !strings.HasPrefix(string(out), "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s took the pipeline: %q", target, out)
		}
	}
}

// A hit on the hit path allocates no memory.
func TestHitDoesNotAllocate(t *testing.T) {
	sequential.Test(t)
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.Limits.Set("search=1000000/1s"); c.Limits.Set("icon=1000000/1s") })
	must(t, e.library.Poll())
	for _, target := range []string{"/mdi/home.svg", "/mdi/home.svg?color=f00", "/api/v1/search?q=home", "/api/v1/icon/mdi/home"} {
		e.get(t, target)
		q, out := ready(target), make([]byte, 0, 16<<10)
		if n := testing.AllocsPerRun(1000, func() {
			q.Now = time.Now()
			if _, ok := e.Answer(out, q); !ok {
				t.Fatalf("%s took the pipeline", target)
			}
		}); n > 0 {
			t.Errorf("a hit of %s allocates %v times", target, n)
		}
	}
}

// Requests on the hit path count against the limit of the client, so a client that exceeds it gets
// a 429.
func TestHitPathCounts(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.Limits.Set("search=5/1h") })
	must(t, e.library.Poll())
	fast, _ := bothWays(t, e)
	c, err := net.Dial("tcp", fast)
	must(t, err)
	defer c.Close()
	br := bufio.NewReader(c)
	for i := range 7 {
		io.WriteString(c, "GET /api/v1/search?q=home HTTP/1.1\r\nHost: a\r\n\r\n")
		a := readAnswer(t, br)
		if want := map[bool]int{true: 200, false: 429}[i < 5]; a.StatusCode != want {
			t.Fatalf("call %d: %d, want %d", i+1, a.StatusCode, want)
		}
	}
}

// Requests for icons on the hit path count too, if the operator limits them, and the response has
// the state of the limit.
func TestHitPathCountsIcons(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.Limits.Set("cdn=5/1h") })
	must(t, e.library.Poll())
	e.get(t, "/mdi/home.svg")
	for i, q := 0, ready("/mdi/home.svg"); i < 7; i++ { // all at the same time
		out, ok := e.Answer(nil, q)
		status := map[bool]string{true: "HTTP/1.1 200 OK\r\n", false: "HTTP/1.1 429 Too Many Requests\r\n"}[i < 5]
		if want := fmt.Sprintf("\r\nRateLimit-Policy: \"cdn\";q=5;w=3600\r\nRateLimit: \"cdn\";r=%d;t=3600\r\n",
			max(4-i, 0)); !ok || !strings.HasPrefix(string(out), status) || !strings.Contains(string(out), want) {
			t.Errorf("call %d: answered %v, %q; want %q with %q", i+1, ok, out, status, want)
		}
	}
}

// The hit path answers neither a client on the deny list nor a request that lacks a required
// token. Its responses to a client on the allow list have no RateLimit field.
func TestHitPathLeavesOthers(t *testing.T) {
	e, _, _ := listed(t)
	for _, target := range []string{"/mdi/home.svg", "/api/v1/search?q=home"} {
		e.get(t, target)
		for client, want := range map[string]bool{"203.0.113.5": true, "192.0.2.1": true, "198.51.100.9": false} {
			q := ready(target)
			q.Client = netip.MustParseAddr(client)
			if out, ok := e.Answer(nil, q); ok != want || ok && client == "192.0.2.1" && strings.Contains(string(out), "RateLimit:") {
				t.Errorf("%s for %s: answered %v, want %v: %q", target, client, ok, want, out)
			}
		}
	}
	e, _, _ = listed(t, func(c *Config) { c.RequireToken = true })
	e.get(t, "/mdi/home.svg")
	for target, want := range map[string]bool{"/mdi/home.svg": true, "/api/v1/search?q=home": false} {
		if out, ok := e.Answer(nil, ready(target)); ok != want {
			t.Errorf("%s without a token: answered %v, want %v: %q", target, ok, want, out)
		}
	}
}

// ready returns an eligible request for target.
func ready(target string) *request.Request {
	return &request.Request{Target: []byte(target), Host: []byte("edge.test"), AcceptEncoding: []byte("gzip, deflate, br, zstd"),
		Client: netip.MustParseAddr("192.0.2.1"), Now: time.Now()}
}

func readAnswer(t *testing.T, br *bufio.Reader) answer {
	t.Helper()
	resp, err := http.ReadResponse(br, nil)
	must(t, err)
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return answer{resp, string(b)}
}

// BenchmarkHitPath measures a hit on the hit path, without a connection.
func BenchmarkHitPath(b *testing.B) {
	for name, target := range map[string]string{"plain": "/mdi/home.svg", "colored": "/mdi/home.svg?color=f00",
		"search": "/api/v1/search?q=home"} {
		b.Run(name, func(b *testing.B) {
			e := newEdgeTest(b, owntest.NewOrigin(), func(c *Config) { c.Limits.Set("search=off") })
			e.library.Poll()
			e.get(b, target)
			q, out := ready(target), make([]byte, 0, 16<<10)
			b.ReportAllocs()
			for b.Loop() {
				q.Now = time.Now()
				if _, ok := e.Answer(out, q); !ok {
					b.Fatal("the request took the pipeline")
				}
			}
		})
	}
}
