package attacks

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/test/harness"
)

// A sender sends the nth piece of an attack by HTTP/2; the first begins the attack.
type sender func(f *http2.Framer, nth int) error

// framesOnly sends one piece a second, and reads the responses.
func framesOnly(send sender) func(context.Context, *net.TCPConn) error {
	return byHTTP2(send, time.Second)
}

// flooding sends pieces without a pause.
func flooding(send sender) func(context.Context, *net.TCPConn) error { return byHTTP2(send, 0) }

func byHTTP2(send sender, pause time.Duration) func(context.Context, *net.TCPConn) error {
	return func(ctx context.Context, c *net.TCPConn) error {
		f := http2.NewFramer(c, nil)
		go io.Copy(io.Discard, c)
		if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
			return err
		}
		if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}); err != nil {
			return err
		}
		for nth := 0; ctx.Err() == nil; nth++ {
			if err := send(f, nth); err != nil {
				return err
			}
			if pause > 0 {
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		}
		return ctx.Err()
	}
}

// blockOf returns the header block of a request, which uses no dynamic table.
func blockOf(method, path string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSizeLimit(0)
	for _, f := range [][2]string{{":method", method}, {":scheme", "http"}, {":authority", "edge.test"}, {":path", path}} {
		e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true})
	}
	return b.Bytes()
}

var (
	hitBlock   = blockOf("GET", "/hot")
	largeBlock = blockOf("GET", "/large")
	postBlock  = blockOf("POST", "/echo")

	connectBlock = append(blockOf("CONNECT", "/tunnel"), "\x10\x09:protocol\x06attack"...)
)

func pings(f *http2.Framer, _ int) error { return f.WritePing(false, [8]byte{}) }

func windows(f *http2.Framer, nth int) error {
	switch nth % 3 {
	case 0:
		return f.WriteWindowUpdate(0, 1)
	case 1:
		return f.WriteSettings()
	}
	return f.WritePriority(1, http2.PriorityParam{})
}

// padding sends DATA frames that consist of padding.
func padding(f *http2.Framer, nth int) error {
	if nth == 0 {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: postBlock, EndHeaders: true})
	}
	return f.WriteDataPadded(1, false, nil, make([]byte, 255))
}

// connects opens tunnels by extended CONNECT (RFC 8441), and leaves them silent.
func connects(f *http2.Framer, nth int) error {
	if nth >= 20 {
		return pings(f, nth)
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*nth + 1), BlockFragment: connectBlock, EndHeaders: true})
}

func resets(f *http2.Framer, nth int) error {
	id := uint32(2*nth + 1)
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: largeBlock, EndHeaders: true,
		EndStream: true}); err != nil {
		return err
	}
	return f.WriteRSTStream(id, http2.ErrCodeCancel)
}

func continuations(f *http2.Framer, nth int) error {
	if nth == 0 {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: hitBlock})
	}
	return f.WriteContinuation(1, false, []byte("\x00\x01a\x01b"))
}

// bombs sends header blocks that refer to a long field of the table repeatedly.
func bombs(f *http2.Framer, nth int) error {
	block := bytes.Clone(hitBlock)
	if nth == 0 {
		// a literal of 3000 bytes that enters the table
		block = append(block, 0x40, 1, 'a', 0x7f, 0xb9, 0x16)
		block = append(block, bytes.Repeat([]byte("b"), 3000)...)
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*nth + 1),
		BlockFragment: append(block, bytes.Repeat([]byte{0xbe}, 8000)...), EndHeaders: true, EndStream: true})
}

// endlessHead begins a header block after pings, and never ends it.
func endlessHead(f *http2.Framer, nth int) error {
	if nth%15 == 14 {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: hitBlock})
	}
	return pings(f, nth)
}

func slowBodies(f *http2.Framer, nth int) error {
	if nth == 0 {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: postBlock, EndHeaders: true})
	}
	return f.WriteData(1, false, []byte("a"))
}

// closedWindow requests a long response with a window of one byte.
func closedWindow(f *http2.Framer, nth int) error {
	if nth < 100 {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*nth + 1), BlockFragment: largeBlock,
			EndHeaders: true, EndStream: true})
	}
	return pings(f, nth)
}

// coldAndQuick requests paths that are not cached, and that the origin answers at once.
func coldAndQuick(ctx context.Context, c *net.TCPConn) error {
	for i := 0; ctx.Err() == nil; i++ {
		fmt.Fprintf(c, "GET /cold/%s/%d HTTP/1.1\r\n%s\r\n", c.LocalAddr(), i, home)
		if _, err := c.Read(make([]byte, 4<<10)); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ctx.Err()
}

var attackersTLS = &tls.Config{InsecureSkipVerify: true, ServerName: "edge.test"}

// handshakes completes TLS handshakes, and closes.
func handshakes(ctx context.Context, c *net.TCPConn) error {
	return tls.Client(c, attackersTLS).HandshakeContext(ctx)
}

// idleAfterHandshake completes a TLS handshake, and sends no request.
func idleAfterHandshake(ctx context.Context, c *net.TCPConn) error {
	s := tls.Client(c, attackersTLS)
	if err := s.HandshakeContext(ctx); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, s)
	return err
}

// smallWindows has a client take only a kilobyte before it reads.
func smallWindows(c *quic.Config) *quic.Config {
	const window = 1 << 10
	c.InitialStreamReceiveWindow, c.InitialConnectionReceiveWindow, c.MaxStreamReceiveWindow,
		c.MaxConnectionReceiveWindow = window, window, window, window
	return c
}

// overUDP opens a QUIC connection.
func overUDP(ctx context.Context, from net.IP, address string, use func(*quic.Conn)) error {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: from})
	if err != nil {
		return err
	}
	defer socket.Close()
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return err
	}
	config := attackersTLS.Clone()
	config.NextProtos = []string{"h3"}
	c, err := quic.Dial(ctx, socket, to, config, smallWindows(&quic.Config{KeepAlivePeriod: time.Second}))
	if err != nil {
		return err
	}
	use(c)
	return c.CloseWithError(0, "")
}

// keptAlive keeps a connection alive without a request.
func keptAlive(ctx context.Context, from net.IP, address string) error {
	return overUDP(ctx, from, address, func(c *quic.Conn) {
		select {
		case <-ctx.Done():
		case <-c.Context().Done():
		}
	})
}

// begunAndLeft begins a handshake, and abandons it.
func begunAndLeft(ctx context.Context, from net.IP, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	return overUDP(ctx, from, address, func(*quic.Conn) {})
}

// TestFewDescriptors: an address that opens as many connections as it can, and keeps them alive by
// pings, does not displace another client, even where the process has few descriptors.
func TestFewDescriptors(t *testing.T) {
	cmd := harness.Program(t, t.TempDir(), "edge", "--proxy-all", "--icons", "on", "--origin", startOrigin(t),
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell, which the limit of descriptors needs")
	}
	cmd.Path, cmd.Args = shell, append([]string{"sh", "-c", `ulimit -n 200 && exec "$0" "$@"`}, cmd.Args...)
	e := harness.StartCommand(t, cmd)
	to := targets{plain: e.Address("public")}
	pinging := attack{connections: 300, pause: 100 * time.Millisecond, do: framesOnly(pings)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); pinging.run(ctx, to, pinging.connections) }()
	harness.Eventually(t, "the attackers have opened their connections",
		func() bool { return footprint(e.Cmd.Process.Pid).descriptors > 50 })
	for range 20 {
		client := newClient(true, harness.Longest)
		if err := requestHot(client, to.plain); err != nil {
			t.Errorf("another client: %v", err)
		}
	}
	stop()
	<-done
}
