package listen

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/edge/h1"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/netloop"
	"github.com/iconedge/iconedge/internal/certs/certstest"
)

// handshakesFailed counts failed handshakes.
type handshakesFailed struct{ atomic.Int64 }

func (h *handshakesFailed) HandshakeDone(err error) {
	if err != nil {
		h.Add(1)
	}
}

func (h *handshakesFailed) Certificates(time.Time, bool) {}

func (h *handshakesFailed) AuthorityFailed() {}

func (h *handshakesFailed) AuthorityCertificates(int, time.Time) {}

// A connection that does not begin with a handshake is closed at once; one that stops in the middle
// of a handshake, after ten seconds. Each is counted, and leaves nothing behind.
func TestNoHandshake(t *testing.T) {
	hello := clientHello(t)
	pair, err := tls.LoadX509KeyPair(certstest.Pair(t, t.TempDir(), "a", "edge", "edge.test"))
	must(t, err)
	sent := map[string]string{
		"garbage": strings.Repeat("\x00\xff garbage", 100), "HTTP": "GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\n\r\n",
		"HTTP/2 in the clear": h2.Preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"nothing":             "", "one byte": hello[:1], "half a hello": hello[:len(hello)/2],
		"a hello and no more": hello, "a record that is too long": "\x16\x03\x01\xff\xff" + strings.Repeat("x", 1000),
	}
	var failed handshakesFailed
	s, err := New(Options{Capacity: Capacity{}.Filled(), Observer: &failed, Log: slog.New(slog.DiscardHandler)}, &Sockets{}, nil)
	must(t, err)
	synctest.Test(t, func(t *testing.T) { // ten seconds pass at once here
		s.options.Life = t.Context()
		l := newSecureListener(nil, s, &tls.Config{Certificates: []tls.Certificate{pair}})
		for name, what := range sent {
			client, server := net.Pipe()
			began, cutAfter := time.Now(), time.Duration(0)
			if strings.HasPrefix(hello, what) {
				cutAfter = handshakeTimeout
			}
			go l.handshake(s.conns.admit(server, s, l.config))
			go io.Copy(client, strings.NewReader(what))
			io.Copy(io.Discard, client)
			if took := time.Since(began); took != cutAfter {
				t.Errorf("%s: cut after %v, want %v", name, took, cutAfter)
			}
			client.Close()
		}
	})
	if n := failed.Load(); n != int64(len(sent)) {
		t.Errorf("%v failed handshakes are counted, want %d", n, len(sent))
	}
	if n := s.conns.phases(); n != [h1.Writing + 1]int{} {
		t.Errorf("connections are left: %v", n)
	}
}

// closesAtHandshake closes a connection when its handshake is complete, to make room for another.
type closesAtHandshake struct {
	handshakesFailed
	close func()
}

func (h *closesAtHandshake) HandshakeDone(error) { h.close() }

// A connection that is closed to make room between its handshake and HTTP/2 leaves nothing behind.
func TestClosedAtHandshake(t *testing.T) {
	pair, err := tls.LoadX509KeyPair(certstest.Pair(t, t.TempDir(), "a", "edge", "edge.test"))
	must(t, err)
	var closes closesAtHandshake
	s, err := New(Options{Capacity: Capacity{Loop: LoopOff}.Filled(), Observer: &closes,
		Log: slog.New(slog.DiscardHandler), Life: t.Context()}, &Sockets{}, nil)
	must(t, err)
	if s.looped, err = newLooped(s); err != nil {
		t.Skip(err)
	}
	defer s.looped.close()
	s.looped.run()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	accepting, err := netloop.Listen(tcp, s.looped.loops)
	must(t, err)
	defer accepting.Close()
	l := newSecureListener(accepting, s, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}})
	for range 20 {
		go tls.Dial("tcp", tcp.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		raw, err := l.listener.Accept()
		must(t, err)
		c := raw.(*lingeringConn)
		closes.close = func() {
			s.conns.close([]holding[*lingeringConn]{{conn: c, resting: true}}, time.Now())
		}
		l.handshake(c)
	}
	for until := time.Now().Add(2 * time.Minute); s.streams.Stats().Connections > 0 ||
		s.conns.phases() != [h1.Writing + 1]int{}; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("connections are left: %v, %d of HTTP/2", s.conns.phases(), s.streams.Stats().Connections)
		}
	}
}

// clientHello returns the ClientHello of a client.
func clientHello(t testing.TB) string {
	t.Helper()
	ours, theirs := net.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go tls.Client(theirs, &tls.Config{InsecureSkipVerify: true, ServerName: "edge.test"}).HandshakeContext(ctx)
	b := make([]byte, 4<<10)
	n, err := ours.Read(b)
	must(t, err)
	return string(b[:n])
}
