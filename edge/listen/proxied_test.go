package listen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/listen/listentest"
)

const proxiedCall = "GET /mdi/home.svg HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

// A header may come in pieces. The end of the input in the middle of a header is
// io.ErrUnexpectedEOF.
func TestProxyHeaderInPieces(t *testing.T) {
	for _, tt := range listentest.ProxyHeaders {
		for name, read := range map[string]func(io.Reader) io.Reader{"by the byte": iotest.OneByteReader,
			"with the end": iotest.DataErrReader} {
			c := &proxyReader{from: read(strings.NewReader(tt.Header + proxiedCall))}
			got, err := io.ReadAll(c)
			if err != nil || string(got) != proxiedCall || (c.client == nil) != (tt.Client == "") ||
				tt.Client != "" && exchange.Address(c.client).String() != tt.Client {
				t.Errorf("%s, %s: %q from %v (%v)", tt.Name, name, got, c.client, err)
			}
		}
		for n := 1; n < len(tt.Header); n++ {
			c := &proxyReader{from: strings.NewReader(tt.Header[:n])}
			if _, err := c.Read(make([]byte, 100)); err != io.ErrUnexpectedEOF {
				t.Fatalf("%s, cut after %d bytes: %v", tt.Name, n, err)
			}
		}
	}
}

// proxyHeaderSize returns the size that a header declares, up to the maximum.
func TestProxyHeaderSize(t *testing.T) {
	fixed := func(length uint16) []byte {
		return binary.BigEndian.AppendUint16([]byte(listentest.HeaderV2(1, 0x11)[:14]), length)
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

// Only connections from trusted proxies are wrapped. A wrapped connection has the methods that
// others have.
func TestOnlyTrustedAreProxied(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	for network, want := range map[string]bool{"127.0.0.0/8": true, "10.0.0.0/8": false, "::/0": false} {
		client, err := net.Dial("tcp", ln.Addr().String())
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

// Bytes give the same client and the same rest however they are cut, or are refused. Bytes that are
// no header are passed on unchanged.
func FuzzProxyHeader(f *testing.F) {
	for _, tt := range listentest.ProxyHeaders {
		f.Add([]byte(tt.Header+proxiedCall), 1)
	}
	for _, tt := range listentest.WrongProxyHeaders {
		f.Add([]byte(tt.Header), 7)
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
