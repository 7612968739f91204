package quic

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

// large is the length of the response to /large.
const large = 4 << 20

// startOrigin starts an origin. It hangs on paths below /stuck, echoes bodies, and switches to
// another protocol below /tunnel.
func startOrigin(t *testing.T) string {
	t.Helper()
	text := strings.Repeat("0123456789abcdef", large/16)
	stuck := make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Upgrade") != "":
			tunnel(w, r)
		case r.URL.Path == "/hot":
			w.Header().Set("Cache-Control", "max-age=600")
			io.WriteString(w, "hot")
		case r.URL.Path == "/medium":
			w.Header().Set("Cache-Control", "max-age=600")
			io.WriteString(w, text[:60_000])
		case r.URL.Path == "/large":
			w.Header().Set("Cache-Control", "max-age=600")
			io.WriteString(w, text)
		case strings.HasPrefix(r.URL.Path, "/stuck"):
			select {
			case <-stuck:
			case <-r.Context().Done():
			}
		default:
			w.Header().Set("Cache-Control", "no-store")
			io.Copy(w, r.Body)
		}
	})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(ln)
	t.Cleanup(func() { close(stuck); s.Close() })
	return "http://" + ln.Addr().String()
}

// tunnel switches to another protocol and echoes its bytes.
func tunnel(w http.ResponseWriter, r *http.Request) {
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
	io.Copy(c, buffered)
}

// An edge is the process under attack.
type edge struct {
	*harness.Server
	address string // of QUIC
}

// startEdge starts an edge with a certificate for edge.test.
func startEdge(t *testing.T, more ...string) *edge {
	t.Helper()
	cert, key := certstest.Pair(t, t.TempDir(), "edge", "edge", "edge.test")
	s := harness.Start(t, t.TempDir(), append([]string{"edge", "--proxy-all", "--origin", startOrigin(t), "--listen",
		"127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--tls-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--max-connections", "4000"}, more...)...)
	e := &edge{s, s.Address("tls")}
	for _, path := range []string{"/hot", "/medium", "/large"} {
		harness.Eventually(t, path+" is cached", func() bool {
			resp, _ := harness.Get(t, s.Address("public"), path, "Host", "edge.test")
			return strings.Contains(resp.Header.Get("Cache-Status"), "hit")
		})
	}
	return e
}

// The addresses of the attackers and of the other client. Systems other than Linux have only one.
var (
	attackers = map[bool]net.IP{true: net.IPv4(127, 0, 1, 2), false: net.IPv4(127, 0, 0, 1)}[runtime.GOOS == "linux"]
	neighbour = net.IPv4(127, 0, 0, 1)
)

// dial opens a connection with quic-go's client.
func dial(ctx context.Context, address string, from net.IP, config *quic.Config) (*quic.Conn, error) {
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: from})
	if err != nil {
		return nil, err
	}
	c, err := dialOver(ctx, socket, to, config)
	if err != nil {
		socket.Close()
		return nil, err
	}
	context.AfterFunc(c.Context(), func() { socket.Close() })
	return c, nil
}

func dialOver(ctx context.Context, socket net.PacketConn, to net.Addr, config *quic.Config) (*quic.Conn, error) {
	if config == nil {
		config = &quic.Config{}
	}
	config.HandshakeIdleTimeout, config.MaxIdleTimeout = harness.Longest/4, harness.Longest
	transport := &quic.Transport{Conn: socket} // with connection IDs, which migration needs
	c, err := transport.Dial(ctx, to, clientTLS("h3"), config)
	if err != nil {
		transport.Close()
		return nil, err
	}
	context.AfterFunc(c.Context(), func() { transport.Close() })
	return c, nil
}

// A client is a well-behaved client, from an address of its own, over HTTP/3.
type client struct {
	edge *edge
	conn *quic.Conn
	*http3.ClientConn
}

func newClient(t *testing.T, e *edge) *client {
	t.Helper()
	c := &client{edge: e}
	c.connect(t)
	return c
}

// connect opens a connection.
func (c *client) connect(t *testing.T) {
	t.Helper()
	conn, err := dial(t.Context(), c.edge.address, neighbour, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "") })
	c.conn, c.ClientConn = conn, (&http3.Transport{DisableCompression: true}).NewClientConn(conn)
}

// get requests a path, and returns the length of the response.
func (c *client) get(ctx context.Context, path string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", "https://edge.test"+path, nil)
	if err != nil {
		return 0, err
	}
	resp, err := c.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return n, err
}

// calls is how many responses a client gets while others abuse the edge.
const calls = 20

// served requests a hit so many times, and fails the test unless each gets its response.
func (c *client) served(t *testing.T) {
	t.Helper()
	if c.conn.Context().Err() != nil { // it was idle for long
		c.connect(t)
	}
	failed := 0
	var example error
	for range calls {
		if _, err := c.get(t.Context(), "/hot"); err != nil {
			failed, example = failed+1, err
		}
	}
	if failed > 0 {
		t.Errorf("another client gets %d of %d responses: %v", calls-failed, calls, example)
	}
}

// usage is what the edge uses of its machine; zero where /proc does not show it.
type usage struct {
	memory int64         // bytes
	cpu    time.Duration // since the start
}

func (e *edge) usage() (u usage) {
	proc := "/proc/" + strconv.Itoa(e.Cmd.Process.Pid)
	u.memory = harness.Resident(e.Cmd.Process.Pid)
	threads, _ := os.ReadDir(proc + "/task")
	for _, thread := range threads {
		if stat, err := os.ReadFile(proc + "/task/" + thread.Name() + "/schedstat"); err == nil {
			var ns int64
			fmt.Sscan(string(stat), &ns)
			u.cpu += time.Duration(ns)
		}
	}
	return u
}
