package main

import (
	"bufio"
	"context"
	"crypto/tls"

	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

// TestRestarts stops and starts processes under load while their sockets stay open. No request may
// fail, although the clients never retry: neither on new connections, which wait between two
// processes, nor on kept ones, where the server announces its last response.
func TestRestarts(t *testing.T) {
	home := t.TempDir()
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	for name, begin := range map[string]func(t *testing.T, home string) *restarted{"edge": restartEdge,
		"origin": restartOrigin, "run": restartRun} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := begin(t, home)
			now := r.start()
			l := newSteady(t, r.kinds)
			for range 3 {
				l.more(t, 40)
				if status := now.Stop(); status != 0 {
					t.Errorf("after SIGTERM: status %d", status)
				}
				now = r.start()
			}
			l.more(t, 40)
			l.end(t)
		})
	}
}

// A restarted process has sockets that outlive it, and clients of many kinds.
type restarted struct {
	start func() *harness.Server
	kinds map[string]clientMaker
}

// A clientMaker makes one of several clients of a kind, each with connections of its own. ask sends
// a request, and returns an error if the response is not right.
type clientMaker func() (ask func(ctx context.Context, path string) error)

// pathsOf returns the paths in turn: hits, icons coloured by the edge, paths of which no two are
// alike, and unknown names.
func pathsOf(n int) string {
	switch n % 4 {
	case 0:
		return "/demo/arrow.svg"
	case 1:
		return "/demo/dot.svg?color=%23f00"
	case 2:
		return fmt.Sprintf("/demo/dot.svg?size=%d", 1+rand.IntN(4000))
	}
	return "/api/v1/icon/demo/arrow"
}

var unlimited = []string{"--limit", "search=off", "--limit", "icon=off", "--limit", "packs=off"}

// restartSecured returns an edge or `iconedge run`, whose sockets all stay open.
func restartSecured(t *testing.T, home string, args ...string) *restarted {
	cert, key := certstest.Pair(t, t.TempDir(), "edge", "edge", "edge.test")
	public, secured, admin := hold(t, publicSocket, "127.0.0.1:0"), hold(t, tlsSocket, "127.0.0.1:0"), hold(t, adminSocket, "127.0.0.1:0")
	quic := hold(t, quicSocket, secured.addr.String())
	args = append(append(args, "--tls-cert", cert, "--tls-key", key), unlimited...)
	config := func(protocols ...string) *tls.Config {
		return &tls.Config{InsecureSkipVerify: true, ServerName: "edge.test", NextProtos: protocols}
	}
	return &restarted{
		start: func() *harness.Server {
			return harness.StartCommand(t, passing(harness.Program(t, home, args...), public, admin, quic, secured)).Ready()
		},
		kinds: map[string]clientMaker{
			"h1, new":           h1Clients(public.addr, nil, false),
			"h1, kept":          h1Clients(public.addr, nil, true),
			"h1 over TLS, new":  h1Clients(secured.addr, config("http/1.1"), false),
			"h1 over TLS, kept": h1Clients(secured.addr, config("http/1.1"), true),
			"h2, new":           h2Clients(secured.addr, config("h2"), false),
			"h2, kept":          h2Clients(secured.addr, config("h2"), true),
			"h2c, kept":         h2Clients(public.addr, nil, true),
		},
	}
}

func restartEdge(t *testing.T, home string) *restarted {
	origin := harness.Start(t, home, "origin", "--mirror", filepath.Join(t.TempDir(), "mirror"), "--listen",
		"127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	return restartSecured(t, home, "edge", "--origin", "http://"+origin.Address("public"))
}

func restartRun(t *testing.T, home string) *restarted { return restartSecured(t, home, "run") }

// restartOrigin returns an origin with clients of its own, and clients of an edge in front of it
// that request uncached paths.
func restartOrigin(t *testing.T, home string) *restarted {
	public, admin, mirror := hold(t, publicSocket, "127.0.0.1:0"), hold(t, adminSocket, "127.0.0.1:0"), filepath.Join(t.TempDir(), "mirror")
	begin := func() *harness.Server {
		return harness.StartCommand(t, passing(harness.Program(t, home, "origin", "--mirror", mirror), public, admin)).Ready()
	}
	first := begin()
	args := append([]string{"edge", "--origin", "http://" + public.addr.String(), "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0"}, unlimited...)
	edge, err := net.ResolveTCPAddr("tcp", harness.Start(t, home, args...).Ready().Address("public"))
	if err != nil {
		t.Fatal(err)
	}
	return &restarted{
		start: func() *harness.Server {
			if s := first; s != nil {
				first = nil
				return s
			}
			return begin()
		},
		kinds: map[string]clientMaker{
			"h1, new":         h1Clients(public.addr, nil, false),
			"h1, kept":        h1Clients(public.addr, nil, true),
			"through an edge": h1Clients(edge, nil, true),
		},
	}
}

// A steady load has clients of each kind send requests until it ends.
type steady struct {
	stop     context.CancelFunc
	all      sync.WaitGroup
	answered map[string]*atomic.Int64
	failed   atomic.Int64
	progress chan struct{}
}

const clientsEach = 3

func newSteady(t *testing.T, kinds map[string]clientMaker) *steady {
	ctx, stop := context.WithCancel(t.Context())
	l := &steady{stop: stop, answered: map[string]*atomic.Int64{}, progress: make(chan struct{}, 1)}
	for kind, clientMaker := range kinds {
		count := &atomic.Int64{}
		l.answered[kind] = count
		for range clientsEach {
			l.all.Go(func() { l.ask(ctx, t, kind, clientMaker(), count) })
		}
	}
	return l
}

func (l *steady) ask(ctx context.Context, t *testing.T, kind string, ask func(context.Context, string) error, count *atomic.Int64) {
	for n := 0; ctx.Err() == nil; n++ {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), harness.Longest)
		if err := ask(within, pathsOf(n)); err != nil && l.failed.Add(1) <= 20 {
			t.Errorf("%s: %s: %v", kind, pathsOf(n%4), err)
		}
		cancel()
		count.Add(1)
		select {
		case l.progress <- struct{}{}:
		default:
		}
		time.Sleep(rand.N(20 * time.Millisecond)) // kept connections are idle between two requests
	}
}

// more waits until each kind has had a number of further responses.
func (l *steady) more(t *testing.T, answers int64) {
	want := map[string]int64{}
	for kind, count := range l.answered {
		want[kind] = count.Load() + answers
	}
	late := time.After(2 * harness.Longest)
	for kind, count := range l.answered {
		for count.Load() < want[kind] {
			select {
			case <-l.progress:
			case <-late:
				t.Fatalf("%s: only %d responses, want %d", kind, count.Load(), want[kind])
			}
		}
	}
}

func (l *steady) end(t *testing.T) {
	l.stop()
	l.all.Wait()
	for kind, count := range l.answered {
		t.Logf("%s: %d responses", kind, count.Load())
	}
	if n := l.failed.Load(); n > 0 {
		t.Errorf("%d requests failed", n)
	}
}

func dial(ctx context.Context, address net.Addr, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address.String())
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address.String())
}

// h1Clients makes clients of HTTP/1.1. They keep a connection until the server announces its last
// response.
func h1Clients(address net.Addr, config *tls.Config, kept bool) clientMaker {
	return func() func(context.Context, string) error {
		var conn net.Conn
		var from *bufio.Reader
		return func(ctx context.Context, path string) (err error) {
			if conn == nil {
				if conn, err = dial(ctx, address, config); err != nil {
					return fmt.Errorf("connecting: %w", err)
				}
				from = bufio.NewReader(conn)
			}
			last, err := requestH1(ctx, conn, from, path)
			if err != nil || last || !kept {
				conn.Close()
				conn = nil
			}
			return err
		}
	}
}

// requestH1 sends one request, and reports whether the response is the connection's last.
func requestH1(ctx context.Context, conn net.Conn, from *bufio.Reader, path string) (last bool, err error) {
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: edge.test\r\n\r\n", path); err != nil {
		return true, fmt.Errorf("sending: %w", err)
	}
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		return true, fmt.Errorf("reading the response: %w", err)
	}
	return resp.Close, checkIcon(resp)
}

// checkIcon reads a response to its end, and checks that it has an icon.
func checkIcon(resp *http.Response) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "svg xmlns=") {
		return fmt.Errorf("response %s %.200s", resp.Status, body)
	}
	return nil
}

// h2Clients makes clients of HTTP/2. They keep a connection until the server sends GOAWAY.
func h2Clients(address net.Addr, config *tls.Config, kept bool) clientMaker {
	scheme := "https"
	if config == nil {
		scheme = "http"
	}
	connect := func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, address, config) }
	via := &http.Transport{Protocols: new(http.Protocols), DialContext: connect, DialTLSContext: connect}
	via.Protocols.SetHTTP2(true)
	via.Protocols.SetUnencryptedHTTP2(true)
	return func() func(context.Context, string) error {
		var conn *http.ClientConn
		return func(ctx context.Context, path string) (err error) {
			for {
				if conn == nil || conn.Available() == 0 {
					if conn, err = via.NewClientConn(ctx, scheme, address.String()); err != nil {
						return fmt.Errorf("connecting: %w", err)
					}
				}
				sent, err := requestH2(ctx, conn, scheme+"://edge.test"+path)
				if !kept || err != nil {
					conn.Close()
					conn = nil
				}
				if sent || err == nil || ctx.Err() != nil {
					return err
				}
			}
		}
	}
}

// requestH2 sends one request, and reports whether it was sent: GOAWAY may have come just before.
func requestH2(ctx context.Context, conn *http.ClientConn, url string) (sent bool, err error) {
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{WroteHeaders: func() { sent = true }}), http.MethodGet, url, nil)
	if err != nil {
		return true, err
	}
	resp, err := conn.RoundTrip(req)
	if err != nil {
		return sent, fmt.Errorf("requesting: %w", err)
	}
	return true, checkIcon(resp)
}
