package edge

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/internal/tier"
)

// from opens a connection to an edge from a given loopback address.
func (w *rawEdge) from(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := w.dialFrom(t, address)
	must(t, err)
	return c
}

func (w *rawEdge) dialFrom(t *testing.T, address string) (*net.TCPConn, error) {
	// Before the window is announced.
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
	}}
	c, err := d.DialContext(t.Context(), "tcp", w.public)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn), c.SetDeadline(time.Now().Add(longEnough))
}

// answers reports whether a request on c gets a response.
func answers(c net.Conn) bool {
	_, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: edge.test\r\n\r\n")
	if err != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	return err == nil && resp.StatusCode == http.StatusOK
}

// admitted reports whether a request on a new connection from an address gets a response. A refused
// connection may end before it is set up.
func (w *rawEdge) admitted(t *testing.T, address string) bool {
	t.Helper()
	c, err := w.dialFrom(t, address)
	if errors.Is(err, syscall.ECONNRESET) {
		return false
	}
	must(t, err)
	return answers(c)
}

// longEnough is more time than any machine needs for a step of these tests. A test that waits
// longer has failed.
const longEnough = 2 * time.Minute

// settled waits until f reports true, because the edge accepts, counts and closes connections in
// the background.
func settled(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end, pause := time.Now().Add(longEnough), time.Millisecond; !f(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(pause)
	}
}

// A testClock is a clock that a test can move and stop. It counts how often it is read.
type testClock struct {
	ahead   atomic.Int64 // of the time, in nanoseconds
	stopped atomic.Pointer[time.Time]
	looks   atomic.Int64
}

func (c *testClock) now() time.Time {
	c.looks.Add(1)
	if at := c.stopped.Load(); at != nil {
		return *at
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}

// A stoppedClock stands still until the test moves it on, so that nothing ages while a slow machine
// runs the test. It begins with a whole second, as the Date of an origin does.
type stoppedClock struct {
	began time.Time
	ahead atomic.Int64 // in nanoseconds
}

func newStoppedClock() *stoppedClock {
	now := time.Now()
	return &stoppedClock{began: now.Add(-time.Duration(now.Nanosecond()))}
}

func (c *stoppedClock) now() time.Time { return c.began.Add(time.Duration(c.ahead.Load())) }

func (c *stoppedClock) move(by time.Duration) { c.ahead.Add(int64(by)) }

// stop gives an edge a clock of ages that stands still.
func stop(c *Config) *stoppedClock {
	ages := newStoppedClock()
	c.Clock = ages.now
	return ages
}

// later moves the clock of the connections on.
func (e *edgeTest) later(by time.Duration) { e.clock.ahead.Store(int64(by)) }

// freeze stops the clock of the connections, so that none rests for any time.
func (e *edgeTest) freeze() {
	now := time.Now()
	e.clock.stopped.Store(&now)
}

// One client may have only a limited number of connections, and may open another after closing one.
// Other clients have their own limits, and a trusted proxy has none.
func TestConnectionsPerClient(t *testing.T) {
	w := newRawEdge(t, false, func(c *Config) {
		c.MaxConnectionsPerClient, c.TrustedProxies = 3, []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}
	})
	var mine []*net.TCPConn
	for range 3 {
		mine = append(mine, w.from(t, "127.0.0.2"))
		if !answers(mine[len(mine)-1]) {
			t.Fatal("a connection within the limit is not answered")
		}
	}
	if w.admitted(t, "127.0.0.2") {
		t.Error("a fourth connection is answered")
	}
	if !w.admitted(t, "127.0.0.3") {
		t.Error("another client is refused")
	}
	for range 10 {
		if !w.admitted(t, "127.0.0.9") {
			t.Error("a trusted proxy is refused")
		}
	}
	if n := w.listeners.Stats(); n.Refused["client"] != 1 || n.RefusedQUIC["client"] != 0 {
		t.Errorf("%d refused connections are counted, %d of them over QUIC, want 1 and 0", n.Refused["client"], n.RefusedQUIC["client"])
	}
	mine[0].Close()
	settled(t, "a connection that is closed makes room", func() bool { return w.admitted(t, "127.0.0.2") })
}

// When there is no room and all clients hold the same number, the connections that have been idle
// longest are closed, and none that is in use. If all are in use, the new one is refused.
func TestRoomForNewConnections(t *testing.T) {
	w := newRawEdge(t, false, func(c *Config) { c.MaxConnections = 4 })
	w.ask(t, "/mdi/hot.svg")
	settled(t, "nobody is connected", func() bool { return w.listeners.Stats().Open() == 0 })
	var open []*net.TCPConn
	for i := range 4 {
		open = append(open, w.from(t, fmt.Sprintf("127.0.0.%d", i+2)))
		if !answers(open[i]) {
			t.Fatal("not answered")
		}
		settled(t, "it is idle", func() bool { return w.listeners.Stats().States["idle"] == i+1 })
		time.Sleep(2 * time.Millisecond) // so that their ages differ
	}
	w.later(-time.Minute)
	if w.admitted(t, "127.0.0.6") {
		t.Error("it is answered although all connections have just been used")
	}
	if !answers(open[0]) { // now the second has been idle longest
		t.Fatal("not answered")
	}
	settled(t, "all are idle", func() bool { return w.listeners.Stats().States["idle"] == 4 })
	w.later(listen.IdleFor)
	if !w.admitted(t, "127.0.0.7") {
		t.Error("idle connections kept a new one out")
	}
	if !answers(open[0]) || answers(open[1]) || !answers(open[2]) || !answers(open[3]) {
		t.Error("another connection than the one idle for longest was closed")
	}
	if made, refused := w.listeners.Stats().Reclaimed, w.listeners.Stats().Refused["total"]; made != 1 || refused != 1 {
		t.Errorf("%d made room, %d were refused, want 1 and 1", made, refused)
	}
}

// The client that holds most connections makes room, even if those of others have been idle for
// longer. A trusted proxy does not, however many it holds. Keep-alive frames do not count as use.
func TestLargestHolderMakesRoom(t *testing.T) {
	w := newRawEdge(t, false, func(c *Config) {
		c.MaxConnections, c.TrustedProxies = 10, []netip.Prefix{netip.MustParsePrefix("127.0.0.9/32")}
	})
	open := func(address string) *net.TCPConn {
		c := w.from(t, address)
		if !answers(c) {
			t.Fatal("not answered")
		}
		return c
	}
	var light, heavy []*net.TCPConn
	for _, address := range []string{"127.0.0.9", "127.0.0.9", "127.0.0.9", "127.0.0.9", "127.0.0.9", "127.0.0.9", "127.0.0.2"} {
		light = append(light, open(address))
	}
	for range 3 {
		heavy = append(heavy, open("127.0.0.3"))
	}
	settled(t, "all are idle", func() bool { return w.listeners.Stats().States["idle"] == 10 })
	w.later(time.Second)
	newcomers := []*net.TCPConn{w.from(t, "127.0.0.4"), w.from(t, "127.0.0.5")}
	for _, c := range newcomers {
		if !answers(c) {
			t.Error("idle connections kept another client out")
		}
	}
	for i, c := range light {
		if !answers(c) {
			t.Errorf("connection %d, of a client that holds few or is trusted, made room", i)
		}
	}
	left := 0
	for _, c := range heavy {
		if answers(c) {
			left++
		}
	}
	if left != 1 {
		t.Errorf("the client that holds most keeps %d of 3, want 1", left)
	}
}

// By default one client may have half of all connections, whatever it does with them.
func TestHalfOfAllPlaces(t *testing.T) {
	w := newRawEdge(t, false, func(c *Config) { c.MaxConnections = 10 })
	for range 5 {
		if !answers(w.from(t, "127.0.0.2")) {
			t.Fatal("not answered")
		}
	}
	if w.admitted(t, "127.0.0.2") {
		t.Error("a client has more than half of all connections")
	}
	for i := range 5 {
		if !w.admitted(t, fmt.Sprintf("127.0.0.%d", 3+i)) {
			t.Error("another client is refused")
		}
	}
}

// An edge behind this one forwards for many clients. Its connections count against no client,
// whether it authenticates by the secret or by a certificate.
func TestTiersAreExempt(t *testing.T) {
	s, cert := newShield(t, owntest.NewOrigin(), func(c *Config) { c.MaxConnectionsPerClient = 2 })
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}
	config := trusting.Clone()
	config.Certificates = []tls.Certificate{cert}
	for i := range 8 {
		plainly, err := d.Dial("tcp", s.plain)
		must(t, err)
		defer plainly.Close()
		c, field := plainly, tier.Field+": "+tierSecret+"\r\n"
		if i%2 == 1 {
			plainly.Close()
			c, err = tls.DialWithDialer(&d, "tcp", s.tls, config)
			must(t, err)
			defer c.Close()
			field = ""
		}
		must(t, c.SetDeadline(time.Now().Add(longEnough)))
		io.WriteString(c, "GET /mdi/home.svg HTTP/1.1\r\nHost: edge.test\r\n"+field+"\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("connection %d: %v, %v", i, resp, err)
		}
	}
	settled(t, "they count for nobody", func() bool { return s.listeners.Stats().Clients == 0 })
}

// If no connection is idle, one whose request has been arriving slowly makes room, over HTTP/2 too.
func TestSlowRequestsMakeRoom(t *testing.T) {
	var stream bytes.Buffer
	f := http2.NewFramer(&stream, nil)
	io.WriteString(&stream, http2.ClientPreface)
	must(t, f.WriteSettings())
	must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("\x83\x86\x84\x01\x09edge.test"), EndHeaders: true}))
	for name, begun := range map[string]string{"HTTP/1.1": "GET /mdi/ho", "HTTP/2": stream.String()} {
		t.Run(name, func(t *testing.T) {
			w := newRawEdge(t, false, func(c *Config) { c.MaxConnections = 2 })
			slow := []*net.TCPConn{w.from(t, "127.0.0.2"), w.from(t, "127.0.0.3")}
			for _, c := range slow {
				io.WriteString(c, begun)
			}
			settled(t, "both are being read", func() bool { return w.listeners.Stats().States["reading"] == 2 })
			w.later(-time.Minute)
			if w.admitted(t, "127.0.0.4") {
				t.Error("a request that has just begun made room")
			}
			w.later(listen.SlowFor)
			if !w.admitted(t, "127.0.0.4") {
				t.Error("slow requests kept another client out")
			}
		})
	}
}

// A scarceListener fails for lack of descriptors a given number of times.
type scarceListener struct {
	net.Listener
	times int
}

func (l *scarceListener) Accept() (net.Conn, error) {
	if l.times > 0 {
		l.times--
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// An edge that has run out of descriptors goes on when some are free again.
func TestOutOfDescriptors(t *testing.T) {
	w := newRawEdge(t, false)
	ln := &scarceListener{listenTest(t), 3}
	go func() {
		if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
			t.Cleanup(func() { c.Close() })
		}
	}()
	extra := w.serveToo(t, ln, w.Proxy)
	settled(t, "the connection is accepted", func() bool { return extra.Stats().Open() == 1 })
	if n := extra.Stats().Refused["descriptors"]; n != 3 {
		t.Errorf("%d failures are counted, want 3", n)
	}
}

// A request that drips in gets a 408 when its time is over, and its connection is closed.
func TestDrips(t *testing.T) {
	t.Parallel()
	w := newRawEdge(t, true, func(c *Config) { c.RequestTimeout = 150 * time.Millisecond })
	for name, head := range map[string]string{
		"a head":           "GET /x HTTP/1.1\r\nX: ",
		"a body":           "POST /x HTTP/1.1\r\nHost: edge.test\r\nContent-Length: 1000\r\n\r\n",
		"a body, long":     "POST /x HTTP/1.1\r\nHost: edge.test\r\nContent-Length: 8000000\r\n\r\n",
		"chunks":           "POST /x HTTP/1.1\r\nHost: edge.test\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n",
		"behind an answer": "GET /healthz HTTP/1.1\r\nHost: edge.test\r\n\r\nGET /x HTTP/1.1\r\nX: ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := w.from(t, "127.0.0.2")
			io.WriteString(c, head)
			go func() {
				for range 100 {
					if _, err := io.WriteString(c, "a"); err != nil {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
			}()
			got, _ := io.ReadAll(c)
			if !bytes.Contains(got, []byte("HTTP/1.1 408 ")) || !bytes.Contains(got, []byte("application/problem+json")) {
				t.Errorf("%.300q, want a 408", got)
			}
		})
	}
}

// largeResponse returns an edge before an origin with one long body. Clients have the given time
// for each MiB of a response.
func largeResponse(t *testing.T, each time.Duration, change ...func(*Config)) (*rawEdge, int) {
	w := newRawEdge(t, true, append(change, func(c *Config) { c.AnswerTimeout, c.CacheBytes = each, defaultCacheBytes })...)
	body := strings.Repeat("0123456789abcdef", 512<<10) // 8 MiB
	w.origin.lies["/large"] = corpusCase{origin: fmt.Sprintf("HTTP/1.1 200 OK\r\nCache-Control: "+
		"max-age=600\r\nContent-Length: %d\r\n\r\n%s", len(body), body)}
	return w, len(body)
}

// The edge cuts a client that does not read its response, whether the response comes from the
// origin or the cache, is the last on its connection or not, and whether or not the client has
// closed its own direction.
func TestSlowReaders(t *testing.T) {
	t.Parallel() // it waits for deadlines
	w, length := largeResponse(t, 40*time.Millisecond, func(c *Config) { c.IdleTimeout = 3 * time.Second })
	short := strings.Repeat("a", 110_000) // the system's buffers take all of it
	w.origin.lies["/short"] = corpusCase{origin: fmt.Sprintf("HTTP/1.1 200 OK\r\nCache-Control: "+
		"max-age=600\r\nContent-Length: %d\r\n\r\n%s", len(short), short)}
	rows := []struct {
		target, fields string
		half           bool
	}{
		{"/large", "", false}, {"/large", "Connection: close\r\n", false}, {"/large", "", true},
		{"/large", "Range: bytes=100-7000000\r\n", false},
		{"/short", "", false}, {"/short", "Connection: close\r\n", false}, {"/short", "", true},
	}
	var all []*net.TCPConn
	for i, row := range rows {
		c := w.from(t, fmt.Sprintf("127.0.1.%d", i+1))
		io.WriteString(c, "GET "+row.target+" HTTP/1.1\r\nHost: edge.test\r\n"+row.fields+"\r\n")
		if row.half {
			must(t, c.CloseWrite())
		}
		settled(t, "it is stored for the next one", func() bool { return w.stored(row.target) != nil })
		all = append(all, c)
	}
	settled(t, "each is cut", func() bool { return w.listeners.Stats().Overdue == int64(len(rows)) })
	for i, row := range rows {
		got, err := io.Copy(io.Discard, all[i])
		if err == nil || row.target == "/large" && got >= int64(length) || got > 110_000 && row.target == "/short" {
			t.Errorf("%+v: %d bytes, %v", row, got, err)
		}
	}
	settled(t, "nothing of them is left", func() bool { return w.listeners.Stats().Open() == 0 })
}

// A client that is slow but within the minimum rate gets the whole response: here it stops for
// longer than it has for one MiB, of the time for eight.
func TestSlowReaderInTime(t *testing.T) {
	t.Parallel() // it is slow
	const each = 12 * time.Second
	w, length := largeResponse(t, each)
	c := w.from(t, "127.0.0.2")
	must(t, c.SetReadBuffer(1<<20))
	io.WriteString(c, "GET /large HTTP/1.1\r\nHost: edge.test\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	time.Sleep(each + time.Second)
	if got, err := io.Copy(io.Discard, resp.Body); err != nil || got != int64(length) {
		t.Errorf("%v after %d bytes", err, got)
	}
}

// The edge cuts a client that sends request after request and reads no response. Meanwhile it costs
// no memory.
func TestPipelineFlood(t *testing.T) {
	w, _ := largeResponse(t, 300*time.Millisecond)
	w.ask(t, "/mdi/hot.svg")
	for _, method := range []string{"GET", "HEAD"} { // the hit path and the pipeline
		before := w.listeners.Stats().Overdue
		c := w.from(t, "127.0.0.2")
		must(t, c.SetReadBuffer(4<<10))
		many := []byte(strings.Repeat(method+" /mdi/hot.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n", 1000))
		for range 1000 {
			if _, err := c.Write(many); err != nil {
				break
			}
		}
		settled(t, method+": it is cut", func() bool { return w.listeners.Stats().Overdue > before })
	}
}

// A request may have at most 100 fields.
func TestManyFields(t *testing.T) {
	w := newRawEdge(t, false)
	for lines, want := range map[int]int{99: 200, 100: 431, 1000: 431} { // besides Host
		if m := w.tell(t, "GET /mdi/hot.svg HTTP/1.1\r\nHost: edge.test\r\n"+strings.Repeat("X: y\r\n", lines-1)+
			"Connection: close\r\n\r\n"); m.status() != want {
			t.Errorf("%d fields and Host: %d, want %d", lines, m.status(), want)
		}
		c := w.from(t, "127.0.0.2")
		io.WriteString(c, "GET /mdi/hot.svg HTTP/1.1\r\nHost: edge.test\r\n"+strings.Repeat("X: y\r\n", lines)+"\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != want {
			t.Errorf("%d fields and Host, stored: %v, %v, want %d", lines, resp, err, want)
		}
	}
}

// When every slot is taken, cached responses are still served, on the hit path and by the
// pipeline. Other requests are refused at once.
func TestStuckOrigin(t *testing.T) {
	const places = 5
	w := newRawEdge(t, true, func(c *Config) { c.MaxWaiting = places })
	w.ask(t, "/mdi/hot.svg")
	w.ask(t, "/page")
	w.origin.take()
	w.origin.mu.Lock()
	for i := range places + 2 {
		// The origin does not answer.
		w.origin.lies[fmt.Sprintf("/mdi/stuck-%d.svg", i)] = corpusCase{}
	}
	w.origin.mu.Unlock()
	stuck := func(i int) *net.TCPConn {
		c := w.from(t, fmt.Sprintf("127.0.2.%d", i+1))
		fmt.Fprintf(c, "GET /mdi/stuck-%d.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n", i)
		return c
	}
	for i := range places {
		stuck(i)
	}
	settled(t, "all places are taken", func() bool {
		return w.Server.origin.Waiting() == places && w.origin.requests() == places
	})
	t.Cleanup(func() { w.origin.ln.Close() }) // first, so that cut requests are not retried
	refused := w.ask(t, "/mdi/stuck-5.svg")
	if refused.status() != 503 || strings.Join(refused.fields["retry-after"], "") != "1" ||
		strings.Join(refused.fields["cache-control"], "") != "no-store" {
		t.Errorf("beyond the slots: %s %v", refused.line, refused.fields)
	}
	for name, request := range map[string]string{
		"a hit":                  "GET /mdi/hot.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n",
		"a hit, by the pipeline": "GET /mdi/hot.svg HTTP/1.1\r\nHost: edge.test\r\nConnection: close\r\n\r\n",
		"a hit for HEAD":         "HEAD /mdi/hot.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n",
		"a forwarded hit":        "GET /page HTTP/1.1\r\nHost: edge.test\r\n\r\n",
		"health":                 "GET /healthz HTTP/1.1\r\nHost: edge.test\r\n\r\n",
	} {
		if m := w.tell(t, request); m.status() != 200 {
			t.Errorf("%s: %s", name, m.line)
		}
	}
}

// A long body that is only announced takes no memory of the edge. A body that has arrived takes
// none once it has been used, even if its connection stays open.
func TestAnnouncedBodies(t *testing.T) {
	w := newRawEdge(t, true)
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	before := allocated()
	for range 50 {
		c := w.from(t, "127.0.0.2")
		io.WriteString(c, "POST /x HTTP/1.1\r\nHost: edge.test\r\nContent-Length: 8000000\r\n\r\na")
	}
	settled(t, "all are being read", func() bool { return w.listeners.Stats().States["reading"] == 50 })
	if n := (allocated() - before) / 50; n > 1<<20 {
		t.Errorf("a body that is announced costs %d bytes", n)
	}
	body := strings.Repeat("a", 4<<20)
	inUse := func() uint64 {
		w.origin.take()
		runtime.GC()
		runtime.GC() // frees the contents of pools
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before = inUse()
	for range 8 {
		c := w.call(t)
		defer c.Close()
		c.send("POST /x HTTP/1.1\r\nHost: edge.test\r\nContent-Length: 4194304\r\nExpect: 100-continue\r\n\r\n" + body)
		if m, err := c.answer("POST", true); err != nil || m.body != echoed("POST", "/x", body) {
			t.Errorf("%v, %d bytes of %s", err, len(m.body), m.line)
		}
	}
	if n := int64(inUse()) - int64(before); n > 16<<20 {
		t.Errorf("after bodies of 32 MiB together %d bytes more are in use", n)
	}
	settled(t, "nothing of them counts", func() bool { return w.listeners.Stats().BodiesBytes < 8<<20 })
}
