package edge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/pires/go-proxyproto"
)

// headerV2 is a header of version 2 as its bytes are: the command, family and transport, and what follows.
func headerV2(command, family byte, rest ...byte) string {
	b := append([]byte(nil), proxyproto.SIGV2...)
	b = append(b, 0x20|command, family)
	b = binary.BigEndian.AppendUint16(b, uint16(len(rest)))
	return string(append(b, rest...))
}

// inet are the addresses of such a header: from 203.0.113.9:7 to 192.0.2.1:80.
var (
	inet  = []byte{203, 0, 113, 9, 192, 0, 2, 1, 0, 7, 0, 80}
	inet6 = append(append(append(make([]byte, 0, 36), netip.MustParseAddr("2001:db8::9").AsSlice()...), netip.MustParseAddr("2001:db8::1").AsSlice()...), 0, 7, 0, 80)
)

// proxyHeaders are headers, and whom they name; none: the peer itself.
var proxyHeaders = []struct{ name, header, client string }{
	{"no header", "", ""},
	{"v1 TCP4", "PROXY TCP4 203.0.113.9 192.0.2.1 7 80\r\n", "203.0.113.9"},
	{"v1 TCP6", "PROXY TCP6 2001:db8::9 2001:db8::1 7 80\r\n", "2001:db8::9"},
	{"v1 IPv4 in IPv6", "PROXY TCP6 ::ffff:203.0.113.9 ::1 7 80\r\n", "203.0.113.9"},
	{"v1 UNKNOWN", "PROXY UNKNOWN\r\n", ""},
	{"v1 UNKNOWN with addresses", "PROXY UNKNOWN ffff::ffff ffff::ffff 65535 65535\r\n", ""},
	{"v2 over IPv4", headerV2(1, 0x11, inet...), "203.0.113.9"},
	{"v2 over IPv6", headerV2(1, 0x21, inet6...), "2001:db8::9"},
	{"v2 of a datagram", headerV2(1, 0x12, inet...), "203.0.113.9"},
	{"v2 of a Unix socket", headerV2(1, 0x31, make([]byte, 216)...), ""},
	{"v2 LOCAL", headerV2(0, 0x00), ""},
	{"v2 LOCAL with addresses", headerV2(0, 0x11, inet...), ""},
	{"v2 with words of the sender's own", headerV2(1, 0x11, append(append([]byte{}, inet...), 4, 0, 2, 'h', 'i')...), "203.0.113.9"},
	{"v2 with many of them", headerV2(1, 0x11, append(append([]byte{}, inet...), append([]byte{4, 0x0f, 0}, make([]byte, 0xf00)...)...)...), "203.0.113.9"},
}

// wrongProxyHeaders look like one, and are none.
var wrongProxyHeaders = []struct{ name, header string }{
	{"v1 without addresses", "PROXY TCP4\r\n"},
	{"v1 of another family", "PROXY TCP4 2001:db8::9 2001:db8::1 7 80\r\n"},
	{"v1 of no family", "PROXY UDP4 203.0.113.9 192.0.2.1 7 80\r\n"},
	{"v1 with a name for an address", "PROXY TCP4 icons.test 192.0.2.1 7 80\r\n"},
	{"v1 with two spaces", "PROXY  TCP4 203.0.113.9 192.0.2.1 7 80\r\n"},
	{"v1 with a port too high", "PROXY TCP4 203.0.113.9 192.0.2.1 70000 80\r\n"},
	{"v1 that ends in LF", "PROXY TCP4 203.0.113.9 192.0.2.1 7 80\n"},
	{"v1 too long", "PROXY UNKNOWN " + strings.Repeat("f", 200) + "\r\n"},
	{"v1 twice", "PROXY TCP4 203.0.113.9 192.0.2.1 7 80\r\nPROXY TCP4 198.51.100.7 192.0.2.1 7 80\r\n"},
	{"v2 twice", headerV2(1, 0x11, inet...) + headerV2(1, 0x11, inet...)},
	{"v1 behind v2", headerV2(1, 0x11, inet...) + "PROXY TCP4 198.51.100.7 192.0.2.1 7 80\r\n"},
	{"v2 of another version", strings.Replace(headerV2(1, 0x11, inet...), "QUIT\n!", "QUIT\n1", 1)},
	{"v2 of no command", headerV2(5, 0x11, inet...)},
	{"v2 of no family", headerV2(1, 0x41, inet...)},
	{"v2 from nowhere", headerV2(1, 0x00)},
	{"v2 shorter than its addresses", headerV2(1, 0x11, inet[:8]...)},
	{"v2 too long", headerV2(1, 0x11, append(append([]byte{}, inet...), make([]byte, 8000)...)...)},
	{"v2 with words that end too soon", headerV2(1, 0x11, append(append([]byte{}, inet...), 4, 0, 9, 'h', 'i')...)},
}

// newProxied is an edge whose public listener is on TCP, with and without the short way; trusted are its proxies. What it says
// of the client is the remaining calls of a limit: each has ten.
func newProxied(t *testing.T, trusted ...string) (e *edgeTest, ways []string) {
	t.Helper()
	e = newEdgeTest(t, newOurOrigin(), func(c *Config) {
		c.TrustedProxies = nil
		for _, p := range trusted {
			must(t, repeat(&c.TrustedProxies, access.ParsePrefix).Set(p))
		}
		c.Limits.Set("cdn=1000/1h")
		c.Limits.Set("icon=off")
	})
	must(t, e.library.Poll())
	short, long := bothWays(t, e.handler)
	ask(t, long, "GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\n\r\n"+last)
	return e, []string{short, long}
}

// used is how many calls the edge has counted of a client.
func (e *edgeTest) used(client string) int {
	c, _ := e.admission.AdmitFast(&eligible.Request{Client: netip.MustParseAddr(client), Now: time.Now()}, routes.ClassCDN)
	return 999 - c.Decision.Remaining
}

const homeCall = "GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

// The client that a trusted proxy names is the one that counts, on both ways.
func TestProxyHeaders(t *testing.T) {
	e, ways := newProxied(t, "127.0.0.0/8")
	for _, way := range ways {
		for _, tt := range proxyHeaders {
			client := tt.client
			if client == "" {
				client = "127.0.0.1"
			}
			before := e.used(client)
			two := strings.Replace(homeCall, "Connection: close\r\n", "", 1) + homeCall
			answers := ask(t, way, tt.header+two)
			if n := strings.Count(answers, "HTTP/1.1 200 OK\r\n"); n != 2 {
				t.Errorf("%s: %d good answers, want 2: %.200q", tt.name, n, answers)
			}
			if got := e.used(client) - before - 1; got != 2 { // one for having asked
				t.Errorf("%s: %d calls of %s are counted, want 2", tt.name, got, client)
			}
		}
	}
}

func TestWrongProxyHeaders(t *testing.T) {
	_, ways := newProxied(t, "127.0.0.0/8")
	for _, way := range ways {
		for _, tt := range wrongProxyHeaders {
			if got := ask(t, way, tt.header+homeCall); !strings.HasPrefix(got, "HTTP/1.1 400 ") || strings.Count(got, "HTTP/1.1 ") != 1 {
				t.Errorf("%s: %.200q, want one 400 and no more", tt.name, got)
			}
		}
	}
}

// What somebody else sends is garbage, and he is whom he was before.
func TestProxyHeaderOfAStranger(t *testing.T) {
	for _, trusted := range [][]string{nil, {"10.0.0.0/8"}} {
		e, ways := newProxied(t, trusted...)
		for _, way := range ways {
			for _, tt := range proxyHeaders[1:] {
				if got := ask(t, way, tt.header+homeCall); !strings.HasPrefix(got, "HTTP/1.1 400 ") || strings.Count(got, "HTTP/1.1 ") != 1 {
					t.Errorf("%s: %.200q, want one 400 and no more", tt.name, got)
				}
			}
		}
		if n := e.used("203.0.113.9"); n != 0 {
			t.Errorf("%d calls are counted of a client that nobody trusted has named", n)
		}
	}
}

// Behind a proxy that is itself trusted the fields are read, as they are without a header; else they are not.
func TestProxyHeaderAndFields(t *testing.T) {
	e, ways := newProxied(t, "127.0.0.0/8", "203.0.113.9")
	call := strings.Replace(homeCall, "Host: a\r\n", "Host: a\r\nX-Forwarded-For: 198.51.100.7\r\n", 1)
	for i, way := range ways {
		ask(t, way, "PROXY TCP4 203.0.113.9 192.0.2.1 7 80\r\n"+call)
		ask(t, way, "PROXY TCP4 203.0.113.8 192.0.2.1 7 80\r\n"+call)
		for _, client := range []string{"198.51.100.7", "203.0.113.8"} {
			if got := e.used(client); got != 2*i+1 {
				t.Errorf("%d calls of %s are counted, want %d", got, client, 2*i+1)
			}
		}
	}
}

// A header may come in pieces, and whoever breaks off in the middle of one is told so.
func TestProxyHeaderInPieces(t *testing.T) {
	for _, tt := range proxyHeaders {
		for name, read := range map[string]func(io.Reader) io.Reader{"by the byte": iotest.OneByteReader, "with the end": iotest.DataErrReader} {
			c := &proxyReader{from: read(strings.NewReader(tt.header + homeCall))}
			got, err := io.ReadAll(c)
			if err != nil || string(got) != homeCall || (c.client == nil) != (tt.client == "") || tt.client != "" && exchange.Address(c.client).String() != tt.client {
				t.Errorf("%s, %s: %q from %v (%v)", tt.name, name, got, c.client, err)
			}
		}
		for n := 1; n < len(tt.header); n++ {
			c := &proxyReader{from: strings.NewReader(tt.header[:n])}
			if _, err := c.Read(make([]byte, 100)); err != io.ErrUnexpectedEOF {
				t.Fatalf("%s, cut after %d bytes: %v", tt.name, n, err)
			}
		}
	}
}

// What a header says of its length is believed only so far.
func TestProxyHeaderSize(t *testing.T) {
	fixed := func(length uint16) []byte {
		return binary.BigEndian.AppendUint16([]byte(headerV2(1, 0x11)[:14]), length)
	}
	for _, tt := range []struct {
		name  string
		b     []byte
		size  int
		wrong bool
	}{
		{"nothing", nil, unknownSize, false},
		{"HTTP", []byte("GET "), 0, false},
		{"a blank line before HTTP", []byte("\r\nGET "), 0, false},
		{"another word that begins alike", []byte("PROXYING "), 0, false},
		{"the beginning of v1", []byte("PRO"), unknownSize, false},
		{"the beginning of v2", []byte("\r\n\r"), unknownSize, false},
		{"v1 without its end", []byte("PROXY UNKNOWN"), unknownSize, false},
		{"v1", []byte("PROXY UNKNOWN\r\nGET "), 15, false},
		{"v2 of 12 bytes, none of which has come", fixed(12), 28, false},
		{"v2 of as many as may be", fixed(maxProxyV2 - fixedProxyV2), maxProxyV2, false},
		{"v2 of one more", fixed(maxProxyV2 - fixedProxyV2 + 1), 0, true},
	} {
		if size, err := proxyHeaderSize(tt.b); size != tt.size || (err != nil) != tt.wrong {
			t.Errorf("%s: %d, %v, want %d", tt.name, size, err, tt.size)
		}
	}
}

// A header that drips ends with the time of the connection, as a request does that drips, and is answered so.
func TestProxyHeaderDrips(t *testing.T) {
	t.Parallel()
	e, _ := newProxied(t, "127.0.0.0/8")
	s := newServer(e.handler, e.log)
	e.conns.limits.Idle = 50 * time.Millisecond
	ln := listenTest(t)
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(listener{ln, e.handler, nil}) }()
	defer func() { ln.Close(); <-done }()
	c, err := dial(ln)
	must(t, err)
	defer c.Close()
	io.WriteString(c, "PROXY TCP4 203.0.113.9")
	c.SetReadDeadline(time.Now().Add(longEnough))
	if got, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) || len(got) > 0 { // it may have been too late from the first byte on
		t.Errorf("%.100q (%v), want the end", got, err)
	}
}

// The connections of all others are left as they are; those of proxies can do what others can.
func TestOnlyTrustedAreProxied(t *testing.T) {
	ln := listenTest(t)
	for network, want := range map[string]bool{"127.0.0.0/8": true, "10.0.0.0/8": false, "::/0": false} {
		client, err := dial(ln)
		must(t, err)
		defer client.Close()
		conn, err := ln.Accept()
		must(t, err)
		defer conn.Close()
		c := proxied(access.Clients{Trusted: []netip.Prefix{netip.MustParsePrefix(network)}}, conn)
		if _, got := c.(*proxiedConn); got != want || !got && c != conn {
			t.Errorf("with proxies in %s the connection of %s is wrapped: %v", network, conn.RemoteAddr(), got)
		}
		_, closes := c.(interface{ CloseWrite() error })
		_, cuts := c.(interface{ SetLinger(int) error })
		if _, tells := c.(syscall.Conn); !closes || !cuts || !tells {
			t.Errorf("%T can't be closed in halves or cut, or its socket is out of sight", c)
		}
	}
}

// However bytes are cut, they give the same client and the same rest, or are refused; what is no header is passed on untouched.
func FuzzProxyHeader(f *testing.F) {
	for _, tt := range proxyHeaders {
		f.Add([]byte(tt.header+homeCall), 1)
	}
	for _, tt := range wrongProxyHeaders {
		f.Add([]byte(tt.header), 7)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		whole := &proxyReader{from: bytes.NewReader(b)}
		pieces := &proxyReader{from: iotest.OneByteReader(bytes.NewReader(b))}
		got, err := io.ReadAll(whole)
		again, errAgain := io.ReadAll(pieces)
		if !bytes.Equal(got, again) || (err == nil) != (errAgain == nil) || fmt.Sprint(whole.client) != fmt.Sprint(pieces.client) {
			t.Fatalf("%q: %q %v %v whole, %q %v %v in pieces", b, got, whole.client, err, again, pieces.client, errAgain)
		}
		if err == nil && !bytes.HasSuffix(b, got) {
			t.Fatalf("%q: %q is not its end", b, got)
		}
		if size, _ := proxyHeaderSize(b); size == 0 && err == nil && !bytes.Equal(got, b) {
			t.Fatalf("%q is no header, and %q is passed on", b, got)
		}
	})
}
