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

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/eligible"
)

// longWay is a listener whose connections answer nothing by themselves.
type longWay struct {
	net.Listener
	clients access.Clients
}

func (l longWay) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Conn: proxied(l.clients, c)}, nil
}

// bothWays serves one handler twice: with and without the short way.
func bothWays(t testing.TB, h *handler) (short, long string) {
	t.Helper()
	serve := func(wrap func(net.Listener) net.Listener) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(h, h.log)
		done := make(chan struct{})
		go func() { defer close(done); s.Serve(wrap(ln)) }()
		t.Cleanup(func() { ln.Close(); <-done; shut(s) })
		return ln.Addr().String()
	}
	return serve(func(l net.Listener) net.Listener { return listener{l, h, nil} }), serve(func(l net.Listener) net.Listener { return longWay{l, h.clients} })
}

// ask sends bytes over a connection of its own and reads everything until the server closes it.
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

// last makes the server close the connection after its answer.
const last = "GET /healthz HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n"

// Whatever is sent, the short way and the long way give the same answer to the byte.
func TestShortWayIsTheLongWay(t *testing.T) {
	dir := t.TempDir()
	allow, deny := filepath.Join(dir, "allow"), filepath.Join(dir, "deny")
	writeList(t, allow, "203.0.113.10")
	writeList(t, deny, "203.0.113.9")
	for name, change := range map[string]func(*Config){
		"as it is":           func(*Config) {},
		"tokens are wanted":  func(c *Config) { c.RequireToken = true },
		"tokens have limits": func(c *Config) { c.Limits.Set("lifetime:search=1000/1h"); c.Limits.Set("cdn=1000000/1h") },
		"lists behind a proxy": func(c *Config) {
			c.AllowFile, c.DenyFile = allow, deny
			repeat(&c.TrustedProxies, access.ParsePrefix).Set("127.0.0.1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdgeTest(t, lifetime{newOurOrigin()}, func(c *Config) {
				for _, limit := range []string{"search=1000000/1h", "icon=1000000/1h", "packs=1000000/1h"} {
					c.Limits.Set(limit)
				}
				change(c)
			})
			must(t, e.library.Poll())
			targets := manyTargets
			if name != "as it is" {
				targets = hotTargets
			}
			e.sameBothWays(t, targets)
		})
	}
}

var hotTargets = []string{"/mdi/home.svg", "/mdi/home.svg?color=%23f00", "/api/v1/icon/mdi/home", "/api/v1/search?q=home", "/api/v1/packs", "/", "/healthz"}

var manyTargets = []string{"/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg", "/mdi/home.svg?color=%23f00", "/mdi/home.svg?color=ff000080", "/mdi/home.svg?size=48",
	"/mdi/home.svg?size=48&color=red", "/fc/apple.svg?color=f00", "/mdi/none.svg", "/api/v1/icon/mdi/home", "/api/v1/icon/mdi/home?color=f00", "/api/v1/icon/mdi/home?format=svg",
	"/api/v1/icon/mdi/home?format=svg&color=0f0", "/api/v1/search?q=home", "/api/v1/search?q=+home&limit=20", "/api/v1/packs", "/api/v1/packs/mdi", "/api/v1/openapi.json",
	"/", "/healthz", "/-/release", "/mdi/home.svg?", "/mdi/home.svg?x", "/mdi%2Fhome.svg", "//mdi/home.svg", "/mdi/home.svg/", "/mdi/./home.svg", "/other/dot.svg?color=f00", "/broken/x.svg"}

// manyFields are lines that a request may have.
var manyFields = []string{"", "Accept-Encoding: br\r\n", "Accept-Encoding: gzip, deflate, br, zstd\r\n", "Accept-Encoding: gzip;q=0.5, identity;q=0.9\r\n", "Accept-Encoding: *\r\n", "accept-encoding: GZIP\r\n", "Accept-Encoding:\r\n",
	"If-None-Match: \"home0123\"\r\n", "If-None-Match: W/\"home0123\"\r\n", "If-None-Match: \"home0123-br\"\r\nAccept-Encoding: br\r\n", "If-None-Match: \"home0123-ff0000\"\r\n",
	"If-None-Match: \"x\", \"home0123\"\r\n", "If-None-Match: *\r\n", "If-None-Match: home0123\r\n", "If-None-Match: \"x\"\r\n", "If-None-Match:\r\n", "If-Modified-Since: Wed, 21 Oct 2026 07:28:00 GMT\r\n",
	"Range: bytes=0-3\r\n", "Range: bytes=0-3\r\nIf-Range: \"home0123\"\r\n", "If-Match: \"x\"\r\n", "Cache-Control: no-cache\r\n", "Cache-Control: only-if-cached\r\n", "Pragma: no-cache\r\n", "Cookie: a=b\r\n", "Authorization: Bearer x\r\n", "Authorization: Bearer " + good + "\r\n", "authorization: bearer " + bad + "\r\n",
	"X-Forwarded-For: 203.0.113.9\r\n", "X-Forwarded-For: 203.0.113.10\r\n", "Connection: keep-alive\r\n", "Connection: Keep-Alive, X\r\n", "TE: trailers\r\n", "X A: b\r\n", "X: a\tb\r\n", "X:\r\n", "X: \xc3\xa9\r\n", "Expect: 100-continue\r\n", "Upgrade: h2c\r\n", "Content-Length: 0\r\n"}

// sameBothWays sends everything both ways.
func (e *edgeTest) sameBothWays(t *testing.T, targets []string) {
	t.Helper()
	short, long := bothWays(t, e.handler)
	for _, target := range targets {
		for range 2 { // until it is known
			ask(t, long, "GET "+target+" HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "+good+"\r\n\r\n"+last)
		}
		for _, f := range manyFields {
			for _, method := range []string{"GET", "HEAD"} {
				request := method + " " + target + " HTTP/1.1\r\nHost: a\r\n" + f + "\r\n" + last
				var a, b string
				if !agree(func() bool {
					a, b = ask(t, short, request), ask(t, long, request)
					return timeless(a) == timeless(b)
				}) {
					t.Errorf("%q\nshort: %q\nlong:  %q", request, a, b)
				}
			}
		}
	}
}

// agree reports whether two answers are the same. Between the one and the other the time of what is stored may be over; that does not happen
// three times in a row.
func agree(same func() bool) bool {
	for range 3 {
		if same() {
			return true
		}
	}
	return false
}

// timeless is the first answer, without what differs from one moment to the next.
func timeless(s string) string {
	if i := strings.LastIndex(s, "HTTP/1.1 200 OK\r\nContent-Type: text/plain"); i > 0 {
		s = s[:i]
	}
	moments := []string{"Age: ", "RateLimit: "}
	if !strings.Contains(s, "\r\nAge: ") {
		moments = append(moments, "Date: ") // it was made for this request
	}
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\r\n") {
		for _, name := range moments {
			if strings.HasPrefix(line, name) {
				line = name
			}
		}
		if i := strings.Index(line, "; ttl="); i > 0 && strings.HasPrefix(line, "Cache-Status: ") {
			line = line[:i]
		}
		b.WriteString(line + "\r\n")
	}
	return b.String()
}

// The short way is taken: else nothing above would have been compared.
func TestShortWayIsTaken(t *testing.T) {
	e := newEdgeTest(t, newOurOrigin())
	must(t, e.library.Poll())
	for _, target := range []string{"/mdi/home.svg", "/mdi/home.svg?color=f00", "/mdi/home.svg?size=48", "/api/v1/search?q=home", "/api/v1/icon/mdi/home", "/api/v1/packs"} {
		e.get(t, target)
		e.get(t, target) // else no variant is stored
		q := ready(target)
		if out, ok := e.Answer(nil, q); !ok || !strings.HasPrefix(string(out), "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s took the long way: %q", target, out)
		}
	}
}

// A hit costs no memory.
func TestHitDoesNotAllocate(t *testing.T) {
	e := newEdgeTest(t, newOurOrigin(), func(c *Config) { c.Limits.Set("search=1000000/1s"); c.Limits.Set("icon=1000000/1s") })
	must(t, e.library.Poll())
	for _, target := range []string{"/mdi/home.svg", "/mdi/home.svg?color=f00", "/api/v1/search?q=home", "/api/v1/icon/mdi/home"} {
		e.get(t, target)
		q, out := ready(target), make([]byte, 0, 16<<10)
		if n := testing.AllocsPerRun(1000, func() {
			q.Now = time.Now()
			if _, ok := e.Answer(out, q); !ok {
				t.Fatalf("%s took the long way", target)
			}
		}); n != 0 {
			t.Errorf("a hit of %s allocates %v times", target, n)
		}
	}
}

// A client over its limit is refused on the short way as well, and its calls there count.
func TestShortWayCounts(t *testing.T) {
	e := newEdgeTest(t, newOurOrigin(), func(c *Config) { c.Limits.Set("search=5/1h") })
	must(t, e.library.Poll())
	short, _ := bothWays(t, e.handler)
	c, err := net.Dial("tcp", short)
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

// So do those of drawings, where the operator limits these.
func TestShortWayCountsDrawings(t *testing.T) {
	e := newEdgeTest(t, newOurOrigin(), func(c *Config) { c.Limits.Set("cdn=5/1h") })
	must(t, e.library.Poll())
	e.get(t, "/mdi/home.svg")
	for i, q := 0, ready("/mdi/home.svg"); i < 7; i++ { // all in one moment
		out, ok := e.Answer(nil, q)
		if want := fmt.Sprintf("\r\nRateLimit-Policy: \"cdn\";q=5;w=3600\r\nRateLimit: \"cdn\";r=%d;t=3600\r\n", 4-i); ok != (i < 5) || ok && !strings.Contains(string(out), want) {
			t.Errorf("call %d: %v %q", i+1, ok, out)
		}
	}
}

// Who is denied, or lacks a token, gets nothing of what lies ready.
func TestShortWayIsNotForAll(t *testing.T) {
	e, _, _ := listed(t)
	for _, target := range []string{"/mdi/home.svg", "/api/v1/search?q=home"} {
		e.get(t, target)
		for client, want := range map[string]bool{"203.0.113.5": true, "192.0.2.1": true, "198.51.100.9": false} {
			q := ready(target)
			q.Client = netip.MustParseAddr(client)
			if out, ok := e.Answer(nil, q); ok != want || ok && client == "192.0.2.1" && strings.Contains(string(out), "RateLimit:") {
				t.Errorf("%s for %s: %v %q", target, client, ok, out)
			}
		}
	}
	e, _, _ = listed(t, func(c *Config) { c.RequireToken = true })
	e.get(t, "/mdi/home.svg")
	for target, want := range map[string]bool{"/mdi/home.svg": true, "/api/v1/search?q=home": false} {
		if out, ok := e.Answer(nil, ready(target)); ok != want {
			t.Errorf("%s without a token: %v %q", target, ok, out)
		}
	}
}

func ready(target string) *eligible.Request {
	return &eligible.Request{Target: []byte(target), Host: []byte("edge.test"), AcceptEncoding: []byte("gzip, deflate, br, zstd"),
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

// BenchmarkReady is one request on the short way, without its connection.
func BenchmarkReady(b *testing.B) {
	for name, target := range map[string]string{"plain": "/mdi/home.svg", "colored": "/mdi/home.svg?color=f00", "search": "/api/v1/search?q=home"} {
		b.Run(name, func(b *testing.B) {
			e := newEdgeTest(b, newOurOrigin(), func(c *Config) { c.Limits.Set("search=off") })
			e.library.Poll()
			e.get(b, target)
			q, out := ready(target), make([]byte, 0, 16<<10)
			b.ReportAllocs()
			for b.Loop() {
				q.Now = time.Now()
				if _, ok := e.Answer(out, q); !ok {
					b.Fatal("it took the long way")
				}
			}
		})
	}
}
