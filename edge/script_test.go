package edge

import (
	"cmp"
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/cespare/webtest"
	"github.com/valyala/fasthttp/fasthttputil"

	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/proxy"
	"github.com/iconedge/iconedge/edge/purge"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// An edgeTest is an edge on in-memory connections, in front of the test's own origin. It does not
// poll the release by itself.
type edgeTest struct {
	*Server
	*proxy.Proxy
	follows *purge.Follower
	clock   *testClock    // of the connections
	ages    *stoppedClock // of ages, lifetimes and limits
	ln      testListener
	via     http.RoundTripper // replaces ln; nil: use ln
	of      testing.TB

	plainly bool // via does not use TLS
}

// testCacheBytes is the size of a test's cache. That of the default takes 4 MB before it stores
// anything, for each of the more than a thousand edges of these tests.
const testCacheBytes = 32 << 20

// newTestServer returns an edge with the default flags and a small cache, which change may change.
// Its listeners are in memory, unless change gives others.
func newTestServer(t testing.TB, change ...func(*Config)) *edgeTest {
	t.Helper()
	var cfg Config
	cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
	patient(&cfg)
	cfg.Log, cfg.Version = slog.New(slog.DiscardHandler), "test"
	cfg.CacheBytes = testCacheBytes
	clock := new(testClock)
	ages := stop(&cfg)
	cfg.Now = clock.now
	ln := newTestListener(t)
	cfg.Listener, cfg.AdminListener = fasthttputil.NewInmemoryListener(), fasthttputil.NewInmemoryListener()
	for _, f := range change {
		f(&cfg)
	}
	if cfg.ProxyAll && cfg.Icons == "" {
		// Most tests compare the edge's own paths with forwarded ones, as those of pages are here.
		cfg.Icons, cfg.Pages = vhosts.On, vhosts.Off
	}
	// A slow machine must not make the edge begin a response that it would otherwise have whole.
	cfg.Hold = cmp.Or(cfg.Hold, time.Second)
	s, err := New(cfg)
	must(t, err)
	t.Cleanup(s.Close)
	return &edgeTest{Server: s, Proxy: s.proxy, follows: s.peers.Follow(s.purges, s.library, false), clock: clock,
		ages: ages, ln: ln, of: t}
}

func newEdgeTest(t testing.TB, origin http.Handler, change ...func(*Config)) *edgeTest {
	t.Helper()
	o := httptest.NewServer(origin)
	t.Cleanup(o.Close)
	e := newTestServer(t, append([]func(*Config){func(c *Config) {
		// In-memory connections come from 0.0.0.0, so that X-Forwarded-For names the client.
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")}
		if testLoop == listen.LoopOn {
			c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(proxyAddress+"/32"))
		}
	}}, append(change, func(c *Config) {
		if len(c.Origins) == 0 {
			c.Origins.Set(o.URL)
		}
	})...)...)
	e.serveToo(t, e.ln, e.Proxy)
	return e
}

// A testListener is that of the clients of a test.
type testListener interface {
	net.Listener
	Dial() (net.Conn, error)
}

// newTestListener returns a listener in memory or, if the tests are to run on event loops, one with
// sockets.
func newTestListener(t testing.TB) testListener {
	if testLoop == listen.LoopOn {
		return socketListener{listenTest(t)}
	}
	return fasthttputil.NewInmemoryListener()
}

const (
	proxyAddress  = "127.0.0.99" // of a trusted proxy
	clientAddress = "127.0.0.98"
)

// A socketListener accepts connections over TCP.
type socketListener struct{ net.Listener }

// Dial connects as a trusted proxy.
func (l socketListener) Dial() (net.Conn, error) { return l.from(proxyAddress) }

func (l socketListener) from(address string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return d.Dial("tcp", l.Addr().String())
}

// dialRaw connects as a client whose first bytes no header of a proxy can precede.
func (e *edgeTest) dialRaw() (net.Conn, error) {
	if l, ok := e.ln.(socketListener); ok {
		return l.from(clientAddress)
	}
	return e.ln.Dial()
}

// drainFor is the time that the listeners of a test have to drain. Connections that the test has
// left open end with it.
const drainFor = 50 * time.Millisecond

// serve has the edge serve its listeners until the test ends.
func (e *edgeTest) serve(t testing.TB) {
	e.listeners.Serve(make(chan error, 4))
	t.Cleanup(func() {
		e.Proxy.Drain()
		e.listeners.Drain(drainFor)
	})
}

// serveToo serves one more listener by a handler, until the test ends.
func (e *edgeTest) serveToo(t testing.TB, ln net.Listener, h listen.Handler, change ...func(*listen.Options)) *listen.Server {
	t.Helper()
	if sockets, ok := ln.(socketListener); ok {
		ln = sockets.Listener
	}
	o := e.listening()
	o.Secure = listen.Secure{}
	for _, f := range change {
		f(&o)
	}
	s, err := listen.New(o, &listen.Sockets{Public: ln}, h)
	must(t, err)
	s.Serve(make(chan error, 4))
	t.Cleanup(func() { s.Drain(drainFor); s.Close() })
	return s
}

// A pipelineOnly answers nothing on the hit path.
type pipelineOnly struct{ listen.Handler }

func (pipelineOnly) Answer(dst []byte, _ *request.Request) ([]byte, bool) { return dst, false }

func (pipelineOnly) AnswerH2(dst []byte, _ *request.Request, _ *h2.ClientTable) ([]byte, int, bool) {
	return dst, 0, false
}

// AnswerH3 implements h3.Answerer.
func (pipelineOnly) AnswerH3(dst []byte, _ *request.Request) ([]byte, bool) { return dst, false }

// patient sets deadlines that no machine needs, so that a request which reaches one was kept
// waiting by the edge.
func patient(c *Config) {
	c.Loop = testLoop
	stop(c)
	c.OriginTimeout, c.ConnectTimeout, c.Hesitation, c.Drain = 2*longEnough, longEnough, longEnough, 2*longEnough
	c.IdleTimeout, c.RequestTimeout, c.AnswerTimeout, c.HandshakeTimeout = 2*longEnough, 2*longEnough, 2*longEnough, longEnough
}

// RoundTrip sends a request through the edge and checks that the API description documents the
// response's status.
func (e *edgeTest) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.send(r)
	if err == nil {
		e.describes(e.of, r.Method, pathOfURL(r.URL), resp.StatusCode)
	}
	return resp, err
}

func (e *edgeTest) send(r *http.Request) (*http.Response, error) {
	if e.via != nil {
		r = r.Clone(r.Context())
		if r.URL.Scheme = "https"; e.plainly {
			r.URL.Scheme = "http"
		}
		return e.via.RoundTrip(r)
	}
	rt := &http.Transport{DisableCompression: true, DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return e.ln.Dial() }}
	return rt.RoundTrip(r)
}

// ServeHTTP relays a request to the edge and copies its response.
func (e *edgeTest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", "edge.test"
	resp, err := e.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), 599)
		return
	}
	defer resp.Body.Close()
	for name, lines := range resp.Header {
		w.Header()[name] = lines
	}
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}

type answer struct {
	*http.Response
	body string
}

// do sends a request to the edge; fields are name, value, name, value.
func (e *edgeTest) do(t testing.TB, method, target string, fields ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, "http://edge.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	resp, err := e.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp, string(b)}
}

func (e *edgeTest) get(t testing.TB, target string, fields ...string) answer {
	t.Helper()
	return e.do(t, http.MethodGet, target, fields...)
}

// afterCodings waits before each request until the edge has made the codings of earlier responses.
func afterCodings(t *testing.T, e *edgeTest, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.compressed(t)
		next.ServeHTTP(w, r)
	})
}

// The scripts pass over every protocol, and the edge counts every call under its protocol.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			e := newEdgeTest(t, owntest.NewOrigin())
			if err := e.library.Poll(); err != nil {
				t.Fatal(err)
			}
			webtest.TestHandler(t, file, afterCodings(t, e, e))
		})
		for way, of := range wayOf {
			t.Run(filepath.Base(file)+" by "+way, func(t *testing.T) {
				t.Parallel()
				s := newSecured(t, owntest.NewOrigin(), of.changes()...).by(t, way)
				webtest.TestHandler(t, file, afterCodings(t, s.edgeTest, s))
				s.onlyBy(t, of.protocol)
			})
		}
	}
}
