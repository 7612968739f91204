package edge

import (
	"errors"
	"io"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/listen/listentest"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/hostport"
)

// newProxied starts an edge with public listeners on TCP, with and without the hit path, that
// trusts the given proxies. A test learns from the remaining calls of a limit which client the edge
// has identified.
func newProxied(t *testing.T, trusted ...string) (e *edgeTest, ways []string) {
	t.Helper()
	e = newEdgeTest(t, owntest.NewOrigin(), func(c *Config) {
		c.TrustedProxies = nil
		for _, p := range trusted {
			must(t, repeated.Flag(&c.TrustedProxies, hostport.ParsePrefix).Set(p))
		}
		c.Limits.Set("cdn=1000/1h")
		c.Limits.Set("icon=off")
	})
	must(t, e.library.Poll())
	short, long := bothWays(t, e)
	ask(t, long, "GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\n\r\n"+last)
	return e, []string{short, long}
}

// used returns how many calls the edge has counted for a client. Each use counts as one call
// itself.
func (e *edgeTest) used(client string) int {
	c, _, _ := e.admission.AdmitFast(netip.MustParseAddr(client), e.ages.now(), nil, routes.ClassCDN)
	return 999 - c.Decision.Remaining
}

const homeCall = "GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

// Limits count the client that a trusted proxy names, on the hit path and in the pipeline.
func TestProxyHeaders(t *testing.T) {
	e, ways := newProxied(t, "127.0.0.0/8")
	for _, way := range ways {
		for _, tt := range listentest.ProxyHeaders {
			client := tt.Client
			if client == "" {
				client = "127.0.0.1"
			}
			before := e.used(client)
			two := strings.Replace(homeCall, "Connection: close\r\n", "", 1) + homeCall
			answers := ask(t, way, tt.Header+two)
			if n := strings.Count(answers, "HTTP/1.1 200 OK\r\n"); n != 2 {
				t.Errorf("%s: %d good answers, want 2: %.200q", tt.Name, n, answers)
			}
			if got := e.used(client) - before - 1; got != 2 { // one for having asked
				t.Errorf("%s: %d calls of %s are counted, want 2", tt.Name, got, client)
			}
		}
	}
}

func TestWrongProxyHeaders(t *testing.T) {
	_, ways := newProxied(t, "127.0.0.0/8")
	for _, way := range ways {
		for _, tt := range listentest.WrongProxyHeaders {
			if got := ask(t, way, tt.Header+homeCall); !strings.HasPrefix(got, "HTTP/1.1 400 ") || strings.Count(got, "HTTP/1.1 ") != 1 {
				t.Errorf("%s: %.200q, want one 400 and no more", tt.Name, got)
			}
		}
	}
}

// A PROXY header from a peer that is not a trusted proxy is a malformed request. The limits do not
// count the client that it names.
func TestProxyHeaderOfAStranger(t *testing.T) {
	for _, trusted := range [][]string{nil, {"10.0.0.0/8"}} {
		e, ways := newProxied(t, trusted...)
		for _, way := range ways {
			for _, tt := range listentest.ProxyHeaders[1:] {
				if got := ask(t, way, tt.Header+homeCall); !strings.HasPrefix(got, "HTTP/1.1 400 ") ||
					strings.Count(got, "HTTP/1.1 ") != 1 {
					t.Errorf("%s: %.200q, want one 400 and no more", tt.Name, got)
				}
			}
		}
		if n := e.used("203.0.113.9"); n != 0 {
			t.Errorf("%d calls counted for a client that no trusted proxy has named", n)
		}
	}
}

// If a PROXY header names another trusted proxy as the client, X-Forwarded-For counts as it does
// without a header. Otherwise it does not.
func TestProxyHeaderAndFields(t *testing.T) {
	e, ways := newProxied(t, "127.0.0.0/8", "203.0.113.9")
	call := strings.Replace(homeCall, "Host: a\r\n", "Host: a\r\nX-Forwarded-For: 198.51.100.7\r\n", 1)
	for i, way := range ways {
		ask(t, way, "PROXY TCP4 203.0.113.9 192.0.2.1 7 80\r\n"+call)
		ask(t, way, "PROXY TCP4 203.0.113.8 192.0.2.1 7 80\r\n"+call)
		for _, client := range []string{"198.51.100.7", "203.0.113.8"} {
			if got := e.used(client); got != 2*i+1 {
				t.Errorf("%d calls of %s counted, want %d", got, client, 2*i+1)
			}
		}
	}
}

// A header that drips ends with the connection's deadline, as a dripping request does. The edge
// closes the connection without a response.
func TestProxyHeaderDrips(t *testing.T) {
	t.Parallel()
	e, _ := newProxied(t, "127.0.0.0/8")
	ln := listenTest(t)
	e.serveToo(t, ln, e.Proxy, func(o *listen.Options) { o.Capacity.IdleTimeout = 50 * time.Millisecond })
	c, err := dial(ln)
	must(t, err)
	defer c.Close()
	io.WriteString(c, "PROXY TCP4 203.0.113.9")
	c.SetReadDeadline(time.Now().Add(longEnough))
	// The deadline may pass before the first byte arrives, which resets the connection.
	if got, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) || len(got) > 0 {
		t.Errorf("%.100q (%v), want a closed connection without a response", got, err)
	}
}
