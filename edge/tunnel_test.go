package edge

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// upgradeTo is a request for a tunnel.
const upgradeTo = "GET /socket HTTP/1.1\r\nHost: edge.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: " +
	"echo/1\r\nSec-WebSocket-Key: abc\r\n\r\n"

// An upgrader is an origin that switches to a protocol of the test at /socket and /early, and
// answers other requests.
type upgrader struct {
	requests atomic.Int64 // other requests
	open     atomic.Int64
	header   atomic.Pointer[http.Header]
	serve    func(c *net.TCPConn, rw *bufio.ReadWriter) // nil: echoes until the client's end
}

func (u *upgrader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.header.Store(&r.Header)
	if r.URL.Path != "/socket" {
		u.requests.Add(1)
		w.Header().Set("Cache-Control", "max-age=60")
		w.WriteHeader(map[string]int{"/refused": http.StatusForbidden}[r.URL.Path] | map[bool]int{true: 200}[r.URL.Path != "/refused"])
		io.WriteString(w, "no tunnel")
		return
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer c.Close()
	u.open.Add(1)
	defer u.open.Add(-1)
	sum := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	accept := base64.StdEncoding.EncodeToString(sum[:])
	if r.URL.RawQuery == "wrong" {
		accept = "wrong"
	}
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Accept: "+
		"%s\r\nX-Accept: yes\r\n\r\nhello ", r.Header.Get("Upgrade"), accept)
	if u.serve != nil {
		u.serve(c.(*net.TCPConn), rw)
		return
	}
	io.Copy(c, rw)
}

// A tunnelTest is an edge on a real socket, in front of an upgrader.
type tunnelTest struct {
	*edgeTest
	origin *upgrader
	public net.Listener
}

func newTunnelTest(t *testing.T, change ...func(*Config)) *tunnelTest {
	t.Helper()
	u := &upgrader{}
	e := newEdgeTest(t, u, append(change, func(c *Config) { c.ProxyAll = true })...)
	ln := listenTest(t)
	e.serveToo(t, ln, e.Proxy)
	return &tunnelTest{e, u, ln}
}

// connect sends bytes on a new connection.
func (e *tunnelTest) connect(t *testing.T, request string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c, err := dial(e.public)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(longEnough))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn), bufio.NewReader(c)
}

// tunnel opens a tunnel.
func (e *tunnelTest) tunnel(t *testing.T, request string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c, r := e.connect(t, request)
	resp, err := http.ReadResponse(r, nil)
	must(t, err)
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("X-Accept") != "yes" ||
		resp.Header.Get("Upgrade") != "echo/1" || resp.Header.Get("Connection") != "Upgrade" {
		t.Fatalf("%d %v, want the origin's 101", resp.StatusCode, resp.Header)
	}
	return c, r
}

// The edge passes an upgrade on, copies both directions, and keeps the direction of the origin open
// when the client has ended its own.
func TestTunnel(t *testing.T) {
	e := newTunnelTest(t)
	c, r := e.tunnel(t, upgradeTo+"early ")
	io.WriteString(c, "late")
	must(t, c.CloseWrite())
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "hello early late" {
		t.Errorf("%q, %v; want what the origin sent with its 101, and the echo of all bytes", got, err)
	}
	if h := *e.origin.header.Load(); h.Get("Upgrade") != "echo/1" || h.Get("Connection") != "Upgrade" ||
		h.Get("Sec-Websocket-Key") != "abc" || h.Get("Via") == "" {
		t.Errorf("the origin got %v", h)
	}
	settled(t, "the tunnel has ended at both ends", func() bool { return e.origin.open.Load() == 0 && e.Options.Tunnels.Stats().Open == 0 })
	if s := e.Options.Tunnels.Stats(); s.Opened != 1 || s.FromClient != 10 || s.FromOrigin != 16 {
		t.Errorf("%+v", s)
	}
}

// The origin may end its direction first.
func TestTunnelHalfClosedByOrigin(t *testing.T) {
	e := newTunnelTest(t)
	got := make(chan string, 1)
	e.origin.serve = func(c *net.TCPConn, rw *bufio.ReadWriter) {
		c.CloseWrite()
		b, _ := io.ReadAll(rw)
		got <- string(b)
	}
	c, r := e.tunnel(t, upgradeTo)
	if b, err := io.ReadAll(r); err != nil || string(b) != "hello " {
		t.Fatalf("%q, %v", b, err)
	}
	io.WriteString(c, "after the end")
	c.CloseWrite()
	if b := <-got; b != "after the end" {
		t.Errorf("after its end the origin got %q", b)
	}
}

// Two users of one address have connections of their own at the origin, and no byte of one reaches
// the other. Long messages pass whole.
func TestTunnelsDoNotMix(t *testing.T) {
	e := newTunnelTest(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			c, r := e.tunnel(t, upgradeTo)
			sent := bytes.Repeat([]byte{byte('a' + i)}, 300_000)
			go func() { c.Write(sent); c.CloseWrite() }()
			got, err := io.ReadAll(r)
			if err != nil || string(got) != "hello "+string(sent) {
				t.Errorf("tunnel %d: %d bytes (%v), or those of another", i, len(got), err)
			}
		})
	}
	all.Wait()
}

// Bytes behind a request for a tunnel never become a request: they belong to the tunnel, or the
// connection ends.
func TestNoRequestBehindUpgrade(t *testing.T) {
	const hidden = "GET /hidden HTTP/1.1\r\nHost: edge.test\r\n\r\n"
	for _, tt := range []struct {
		name, request string
		status        int
		body          string // begins with
	}{
		{"the origin switches", upgradeTo, 101, "hello GET /hidden"},
		{"the origin refuses", strings.Replace(upgradeTo, "/socket", "/refused", 1), 403, "no tunnel"},
		{"the origin ignores it", strings.Replace(upgradeTo, "/socket", "/other", 1), 200, "no tunnel"},
		{"h2c", strings.Replace(upgradeTo, "echo/1", "h2c", 1), 200, ""},
		{"TLS", strings.Replace(upgradeTo, "echo/1", "TLS/1.3", 1), 200, ""},
		{"Connection does not name it", strings.Replace(upgradeTo, "keep-alive, Upgrade", "keep-alive", 1), 200, ""},
		{"HTTP/1.0", strings.Replace(upgradeTo, "HTTP/1.1", "HTTP/1.0", 1), 200, ""},
		{"chunks", strings.Replace(upgradeTo, "GET", "POST", 1)[:len(upgradeTo)-1] +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, ""},
		{"a length that hides it", strings.Replace(upgradeTo, "GET", "POST", 1)[:len(upgradeTo)-1] +
			"Content-Length: 3\r\n\r\nabc", 101, "hello abcGET /hidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newTunnelTest(t)
			e.origin.serve = nil
			c, r := e.connect(t, tt.request+hidden)
			resp, err := http.ReadResponse(r, nil)
			// The origin of the test switches to any protocol.
			if tt.status == 200 && tt.body == "" {
				if err == nil && resp.StatusCode == 101 {
					t.Fatal("the edge switched to a protocol that it must not pass on")
				}
			} else if err != nil || resp.StatusCode != tt.status {
				t.Fatalf("%v, %v; want %d", resp, err, tt.status)
			}
			c.CloseWrite()
			rest := io.Reader(r)
			if resp != nil && resp.StatusCode != 101 {
				b, _ := io.ReadAll(resp.Body)
				if !strings.HasPrefix(string(b), tt.body) {
					t.Errorf("body %q", b)
				}
			}
			b, _ := io.ReadAll(rest)
			if tt.status == 101 && !strings.HasPrefix(string(b), tt.body) {
				t.Errorf("the tunnel carried %q", b)
			}
			if tt.status != 101 && len(b) > 0 {
				t.Errorf("after the response came %q", b)
			}
			if n := e.origin.requests.Load(); n > 1 {
				t.Errorf("the origin got %d requests, so the hidden one reached it", n)
			}
		})
	}
}

// An origin's 101 that no client asked for, or to another protocol, is a failure of the origin.
func TestUnwantedSwitch(t *testing.T) {
	for name, head := range map[string]string{
		"another protocol": "Connection: Upgrade\r\nUpgrade: other\r\n",
		"no protocol":      "Connection: Upgrade\r\n",
		"two protocols":    "Connection: Upgrade\r\nUpgrade: echo/1\r\nUpgrade: other\r\n",
		"h2c":              "Connection: Upgrade\r\nUpgrade: h2c\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			o := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				c, _, _ := http.NewResponseController(w).Hijack()
				defer c.Close()
				io.WriteString(c, "HTTP/1.1 101 X\r\n"+head+"\r\nevil")
			}))
			defer o.Close()
			e := newTunnelTest(t, func(c *Config) { c.Origins.Set(o.URL) })
			_, r := e.connect(t, upgradeTo)
			resp, err := http.ReadResponse(r, nil)
			must(t, err)
			if resp.StatusCode != http.StatusBadGateway || e.Options.Tunnels.Stats().Open != 0 {
				t.Errorf("%d, %d tunnels; want 502 and none", resp.StatusCode, e.Options.Tunnels.Stats().Open)
			}
		})
	}
}

// A refused upgrade is the origin's response, and no cache stores it or answers with a stored one.
func TestRefusedUpgradeIsPassedOn(t *testing.T) {
	e := newTunnelTest(t)
	e.get(t, "/other") // stored
	for i := range 2 {
		_, r := e.connect(t, strings.Replace(upgradeTo, "/socket", "/other", 1))
		resp, err := http.ReadResponse(r, nil)
		must(t, err)
		if resp.StatusCode != 200 || !resp.Close || !strings.Contains(resp.Header.Get("Cache-Status"), "fwd=bypass") {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
		if n := e.origin.requests.Load(); n != int64(2+i) {
			t.Errorf("the origin got %d requests, want %d", n, 2+i)
		}
	}
	if n := e.Options.Tunnels.Stats().Open; n != 0 {
		t.Errorf("%d places are taken after refused upgrades", n)
	}
}

// Beyond the limits a client gets 503 with Retry-After, in all and for one client alone.
func TestTooManyTunnels(t *testing.T) {
	e := newTunnelTest(t, func(c *Config) {
		c.Tunnels.MaxTunnels = 4
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("127.0.0.1/32"))
	})
	of := func(client string) string {
		return strings.Replace(upgradeTo, "\r\n\r\n", "\r\nX-Forwarded-For: "+client+"\r\n\r\n", 1)
	}
	refused := func(client string) {
		t.Helper()
		_, r := e.connect(t, of(client))
		resp, err := http.ReadResponse(r, nil)
		must(t, err)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%d %v, want 503 with Retry-After", resp.StatusCode, resp.Header)
		}
	}
	first, _ := e.tunnel(t, of("192.0.2.1"))
	e.tunnel(t, of("192.0.2.1"))
	refused("192.0.2.1")
	e.tunnel(t, of("192.0.2.2"))
	e.tunnel(t, of("192.0.2.3"))
	refused("192.0.2.4")
	first.Close()
	settled(t, "the place is free", func() bool { return e.Options.Tunnels.Stats().Open == 3 })
	e.tunnel(t, of("192.0.2.4"))
	if n := e.Options.Tunnels.Stats().Refused; n != 2 {
		t.Errorf("%d were refused, want 2", n)
	}
}

// A tunnel's line is written once, at its end: 101, the bytes to the client, the whole time.
func TestTunnelIsLoggedOnce(t *testing.T) {
	logged, text := logs(t)
	e := newTunnelTest(t, logged)
	c, r := e.tunnel(t, upgradeTo)
	io.ReadFull(r, make([]byte, len("hello ")))
	io.WriteString(c, "some bytes")
	io.ReadFull(r, make([]byte, len("some bytes")))
	c.CloseWrite()
	io.ReadAll(r)
	settled(t, "the place is free", func() bool { return e.Options.Tunnels.Stats().Open == 0 })
	e.Server.Close()
	lines := linesIn(t, text())
	if len(lines) != 1 || lines[0].Status != 101 || lines[0].Bytes != 16 || lines[0].Path != "/socket" ||
		lines[0].Cache != "passed" || lines[0].Protocol != "h1" {
		t.Errorf("%+v", lines)
	}
}

// An edge that ends gives tunnels its drain time, and no more.
func TestDrainCutsTunnels(t *testing.T) {
	e := newTunnelTest(t)
	ln := listenTest(t)
	s := e.serveToo(t, ln, e.Proxy)
	e.public = ln
	c, r := e.tunnel(t, upgradeTo)
	began := time.Now()
	s.Drain(300 * time.Millisecond)
	if took := time.Since(began); took < 300*time.Millisecond || took > endsAtOnce {
		t.Errorf("the drain took %v, want 300 ms", took)
	}
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Errorf("the tunnel was cut before the drain was over: %v", err)
	}
	e.endTunnels()
	if _, err := io.ReadAll(r); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the tunnel is open after the drain: %v", err)
	}
	if n := e.Options.Tunnels.Stats().Open; n != 0 {
		t.Errorf("%d tunnels are open after the drain", n)
	}
}

// Without --proxy-all, and on the edge's own paths, there are no tunnels.
func TestNoTunnelOnOwnRoutes(t *testing.T) {
	e := newTunnelTest(t)
	_, r := e.connect(t, strings.Replace(upgradeTo, "/socket", "/healthz", 1))
	resp, err := http.ReadResponse(r, nil)
	must(t, err)
	if resp.StatusCode != 200 || e.Options.Tunnels.Stats().Opened != 0 {
		t.Errorf("%d", resp.StatusCode)
	}
}
