package edge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// overQUICBy returns a client of HTTP/3 of the same edge, whose requests another handler answers.
func (s *securedTest) overQUICBy(t testing.TB, h listen.Handler) *edgeTest {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	o := s.listening()
	o.Secure.TLSListen = "127.0.0.1:0"
	server, err := listen.New(o, &listen.Sockets{Public: listenTest(t), TLS: listenTest(t), QUIC: socket}, h)
	must(t, err)
	server.Serve(make(chan error, 4))
	t.Cleanup(func() { server.Close() })
	other := *s
	other.tls = socket.LocalAddr().String()
	return other.by(t, "h3").edgeTest
}

// A pipelineCount counts the requests that the hit path leaves to the pipeline.
type pipelineCount struct {
	listen.Handler
	n atomic.Int64
}

func (p *pipelineCount) ServeRequest(ctx *fasthttp.RequestCtx, x *exchange.Request) {
	p.n.Add(1)
	p.Handler.ServeRequest(ctx, x)
}

// Over HTTP/3 the hit path and the pipeline give the same response to requests for stored responses
// of another application.
func TestHitOverH3EqualsPipeline(t *testing.T) {
	t.Parallel()
	pages := pagesOfApplication()
	s := newSecured(t, newSite(pages), func(c *Config) {
		c.ProxyAll, c.Icons = true, vhosts.Off
		must(t, c.Limits.Set("forwarded=1000000/1s"))
	})
	count := &pipelineCount{Handler: s.Proxy}
	fast, slow := s.overQUICBy(t, count), s.overQUICBy(t, pipelineOnly{s.Proxy})
	random := rand.New(rand.NewPCG(1, 3))
	paths, names := slices.Sorted(maps.Keys(pages)), slices.Sorted(maps.Keys(choicesOfFields))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "Connection" || name == "Te" })
	rounds := 1000
	if testing.Short() {
		rounds = 150
	}
	for range rounds {
		method, path, fields := randomRequest(random, paths, []string{"?", "?a=1"}, names, 3)
		slow.call(t, method, path, fields, nil)
		var a, b string
		if !s.agree(t, func() bool {
			a, b = fast.call(t, method, path, fields, nil), slow.call(t, method, path, fields, nil)
			const hit = "iconedge; hit"
			return !strings.Contains(a, hit) && !strings.Contains(b, hit) || a == b
		}) {
			t.Fatalf("%s %s %q\n%s", method, path, fields, differing(a, b))
		}
	}
	if n := count.n.Load(); n == 0 || n > int64(rounds)*3/4 {
		t.Errorf("the pipeline answered %d of %d requests", n, rounds)
	}
}

// The hit path answers hits over HTTP/3: icons, forwarded paths, bodies longer than a packet, 304,
// HEAD. They are counted under their protocol.
func TestHitOverH3IsTaken(t *testing.T) {
	t.Parallel()
	icons := newSecured(t, lifetime{owntest.NewOrigin()})
	pages := newSecured(t, newSite(pagesOfApplication()),
		func(c *Config) { c.ProxyAll, c.Icons, c.Compress = true, vhosts.Off, config.CompressOff })
	for _, row := range []struct {
		of           *securedTest
		target, line string
		status       int
	}{
		{icons, "/mdi/home.svg", "", 200}, {icons, "/mdi/home.svg", "Accept-Encoding: br, gzip\r\n", 200},
		{icons, "/mdi/home.svg?color=f00", "", 200},
		{icons, "/mdi/home.svg", "If-None-Match: \"home0123\"\r\n", 304}, {icons, "/api/v1/search?q=home", "", 200},
		{pages, "/plain", "", 200}, {pages, "/plain?a=1", "Cookie: a=b; c=d\r\nPriority: u=1, i\r\n", 200},
		{pages, "/image", "", 200}, {pages, "/moved", "", 301},
		{pages, "/plain", "If-None-Match: \"a\"\r\n", 304}, {pages, "/plain", "Range: bytes=0-3\r\n", 206}, {pages, "/empty", "", 200},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if method == http.MethodHead && row.status == 206 {
				continue
			}
			count := &pipelineCount{Handler: row.of.Proxy}
			fast, slow := row.of.overQUICBy(t, count), row.of.overQUICBy(t, pipelineOnly{row.of.Proxy})
			slow.call(t, http.MethodGet, row.target, "", nil)
			slow.call(t, http.MethodGet, row.target, row.line, nil)
			got := ""
			taken := func() bool {
				before := count.n.Load()
				got = fast.call(t, method, row.target, row.line, nil)
				return count.n.Load() == before
			}
			// Unless the end of a request is late.
			settled(t, "the hit path answers "+method+" "+row.target+" with "+row.line, taken)
			if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d", row.status)) {
				t.Errorf("%s %s with %q: %.100q", method, row.target, row.line, got)
			}
		}
	}
	icons.onlyBy(t, exchange.H3)
}

// A rawH3 is a connection of HTTP/3 whose client sends its frames itself.
type rawH3 struct {
	*quic.Conn
	t testing.TB
}

func (s *securedTest) rawH3(t testing.TB, q *quic.Config) rawH3 {
	t.Helper()
	c, err := quic.DialAddr(t.Context(), s.tls, http3.ConfigureTLSConfig(trusting.Clone()), q)
	must(t, err)
	t.Cleanup(func() { c.CloseWithError(0, "") })
	return rawH3{c, t}
}

// headOf returns the HEADERS frame of a GET.
func headOf(target string, fields ...string) []byte {
	var section bytes.Buffer
	enc := qpack.NewEncoder(&section)
	fields = append([]string{":method", "GET", ":scheme", "https", ":authority", "edge.test", ":path", target}, fields...)
	for i := 0; i < len(fields); i += 2 {
		enc.WriteField(qpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	n := section.Len()
	return append([]byte{0x01, 0x40 | byte(n>>8), byte(n)}, section.Bytes()...)
}

// open opens a stream with some bytes of a request.
func (c rawH3) open(b []byte) *quic.Stream {
	c.t.Helper()
	stream, err := c.OpenStream()
	must(c.t, err)
	_, err = stream.Write(b)
	must(c.t, err)
	return stream
}

// answer reads a response, and returns its status and the length of all of its frames.
func (c rawH3) answer(stream *quic.Stream) (status string, size int) {
	c.t.Helper()
	b, err := io.ReadAll(stream)
	must(c.t, err)
	start := 3
	if b[1]>>6 == 0 {
		start = 2
	}
	f, err := qpack.NewDecoder().Decode(b[start:])()
	must(c.t, err)
	return f.Value, len(b)
}

// A request that arrives in parts keeps no other from being answered, and is answered when it is
// complete: whether the rest is of its head, or only its end.
func TestRequestInPartsOverH3(t *testing.T) {
	t.Parallel()
	s := newSecured(t, owntest.NewOrigin())
	s.by(t, "h3").get(t, "/mdi/home.svg")
	c := s.rawH3(t, nil)
	head := headOf("/mdi/home.svg")
	var parts []*quic.Stream
	for _, n := range []int{1, 2, 3, len(head) / 2, len(head) - 1, len(head)} {
		parts = append(parts, c.open(head[:n]))
	}
	empty := c.open(nil)
	whole := c.open(head)
	must(t, whole.Close())
	if status, size := c.answer(whole); status != "200" || size < 100 {
		t.Errorf("a request beside them gets %s, %d bytes", status, size)
	}
	for i, n := range []int{1, 2, 3, len(head) / 2, len(head) - 1, len(head)} {
		_, err := parts[i].Write(head[n:])
		must(t, err)
		must(t, parts[i].Close())
		if status, _ := c.answer(parts[i]); status != "200" {
			t.Errorf("after %d bytes and the rest: %s", n, status)
		}
	}
	_, err := empty.Write(head)
	must(t, err)
	must(t, empty.Close())
	if status, _ := c.answer(empty); status != "200" {
		t.Errorf("a stream that was empty: %s", status)
	}
	body := c.open(append(head, 0x00, 0x01, 'x'))
	must(t, body.Close())
	if status, _ := c.answer(body); status != "200" {
		t.Errorf("a GET with a body: %s", status)
	}
}

// http3 refuses malformed requests, and the connection's other requests are answered. (test/quic
// has the errors that end a connection.)
func TestMalformedOverH3(t *testing.T) {
	t.Parallel()
	s := newSecured(t, owntest.NewOrigin())
	s.by(t, "h3").get(t, "/mdi/home.svg")
	c := s.rawH3(t, nil)
	for name, b := range map[string][]byte{
		"nothing": nil, "a control character": headOf("/mdi/home.svg", "a", "b\x00"),
		"Connection": headOf("/mdi/home.svg", "connection", "close"),
		"two paths":  headOf("/mdi/home.svg", ":path", "/"),
	} {
		stream := c.open(b)
		must(t, stream.Close())
		_, err := io.ReadAll(stream)
		var refused *quic.StreamError
		if !errors.As(err, &refused) || !refused.Remote {
			t.Errorf("%s: %v", name, err)
		}
	}
	stream := c.open(headOf("/mdi/home.svg"))
	must(t, stream.Close())
	if status, _ := c.answer(stream); status != "200" {
		t.Errorf("the next request gets %s", status)
	}
}

// A client that does not take a long response is charged for it until its time has passed; then the
// stream is reset. Requests whose responses fit into a packet are answered meanwhile.
func TestUntakenHitOverH3(t *testing.T) {
	t.Parallel()
	s := newSecured(t, newSite(longPage()), func(c *Config) {
		c.ProxyAll, c.Icons, c.TrustedProxies = true, vhosts.Off, nil
		c.AnswerTimeout = 2 * time.Second
	})
	h3 := s.by(t, "h3")
	for _, target := range []string{"/long", "/short"} {
		h3.get(t, target)
	}
	client := ratelimit.ClientKey(netip.MustParseAddr("127.0.0.1"))
	c := s.rawH3(t, &quic.Config{InitialStreamReceiveWindow: 2 << 10, MaxStreamReceiveWindow: 2 << 10})
	settled(t, "nothing but connections is held", func() bool { return s.memory.Held(client) < 1<<20 })
	before := s.memory.Held(client)
	untaken := c.open(headOf("/long"))
	must(t, untaken.Close())
	settled(t, "the client is charged", func() bool { return s.memory.Held(client) >= before+20<<10 })
	other := c.open(headOf("/short"))
	must(t, other.Close())
	if status, _ := c.answer(other); status != "200" {
		t.Errorf("a request beside it gets %s", status)
	}
	settled(t, "it is charged no more", func() bool { return s.memory.Held(client) <= before })
	_, err := io.ReadAll(untaken)
	var reset *quic.StreamError
	if !errors.As(err, &reset) || !reset.Remote || reset.ErrorCode != quic.StreamErrorCode(http3.ErrCodeInternalError) {
		t.Errorf("the response ends with %v", err)
	}
}

// A response of many packets arrives whole, to several requests at a time.
func TestLongHitOverH3(t *testing.T) {
	t.Parallel()
	s := newSecured(t, newSite(longPage()), func(c *Config) { c.ProxyAll, c.Icons = true, vhosts.Off })
	count := &pipelineCount{Handler: s.Proxy}
	client := s.overQUICBy(t, count)
	client.get(t, "/long")
	want := client.call(t, http.MethodGet, "/long", "", nil)
	before := count.n.Load()
	const at, each = 8, 20
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for range each {
				if got := client.call(t, http.MethodGet, "/long", "", nil); got != want {
					t.Error(differing(got, want))
				}
			}
		})
	}
	all.Wait()
	if n := count.n.Load() - before; n > at*each/2 {
		t.Errorf("the pipeline answered %d of %d", n, at*each)
	}
}

// longPage is a response that is nearly as long as a hit can be over HTTP/3, and a short one.
func longPage() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/long":  says(strings.Repeat("pixels ", 4<<10), "Cache-Control", "max-age=60000", "Content-Type", "image/png"),
		"/short": says("pixels", "Cache-Control", "max-age=60000", "Content-Type", "image/png"),
	}
}
