package listen

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/pires/go-proxyproto"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/exchange"
)

// A proxiedConn is a connection of a proxy that the operator trusts. It may begin with a header of
// the PROXY protocol, version 1 or 2 (HAProxy's proxy-protocol.txt), which names the client;
// otherwise it begins with HTTP or TLS. The edge looks for such a header on no other connection.
type proxiedConn struct {
	tcpConn
	in proxyReader
}

// A tcpConn is a TCP connection: a *net.TCPConn, or a *netloop.Conn.
type tcpConn interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
	SetLinger(seconds int) error
}

// proxied returns conn as a proxiedConn, if its peer is a trusted proxy; otherwise conn itself.
func proxied(c access.Clients, conn net.Conn) net.Conn {
	tcp, ok := conn.(tcpConn)
	if !ok || len(c.Trusted) == 0 || !c.Trusts(exchange.Address(conn.RemoteAddr())) {
		return conn
	}
	return &proxiedConn{tcp, proxyReader{from: tcp}}
}

// RemoteAddr returns the address of the client that the header names, once the header has been
// read; until then, or without a header, that of the proxy.
func (c *proxiedConn) RemoteAddr() net.Addr {
	if c.in.client != nil {
		return c.in.client
	}
	return c.tcpConn.RemoteAddr()
}

// Read reads the bytes after the header. The header itself is subject to the read deadline of the
// connection.
func (c *proxiedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// A proxyReader removes the header from the bytes of a proxy.
type proxyReader struct {
	from   io.Reader
	begun  bool
	err    error    // of the header, after which nothing can be read
	client net.Addr // according to the header; nil: the peer itself
	rest   []byte   // bytes after the header that were read together with it
}

func (r *proxyReader) Read(p []byte) (int, error) {
	if !r.begun {
		r.begun, r.err = true, r.begin()
	}
	if r.err != nil {
		return 0, r.err
	}
	if len(r.rest) == 0 {
		return r.from.Read(p)
	}
	n := copy(p, r.rest)
	if r.rest = r.rest[n:]; len(r.rest) == 0 {
		r.rest = nil // frees the buffer
	}
	return n, nil
}

// begin reads until it has the whole header, in any number of pieces, or bytes that are no header.
func (r *proxyReader) begin() error {
	var b []byte
	for in := make([]byte, 512); ; {
		n, err := r.from.Read(in)
		b = append(b, in[:n]...)
		size, wrong := proxyHeaderSize(b)
		switch {
		case wrong != nil:
			return wrong
		case 0 <= size && size <= len(b):
			r.client, err = readProxyHeader(b[:size])
			r.rest = b[size:]
			return err
		case err == io.EOF && len(b) > 0:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
}

const (
	unknownSize    = -1
	maxProxyV1     = 107        // bytes, including CR LF
	maxProxyV2     = 4<<10 + 16 // the protocol allows 64 KiB, but no proxy sends as many
	fixedProxyV2   = 16         // bytes; the last two of them are the length of the others
	signatureProxy = "PROXY "
)

var errProxyHeader = errors.New("the header of the PROXY protocol is malformed")

// proxyHeaderSize returns the size in bytes of the header at the beginning of b: 0 if b does not
// begin with a header, unknownSize if more bytes must be read.
func proxyHeaderSize(b []byte) (int, error) {
	switch {
	case begins(b, proxyproto.SIGV2):
		return sizeOfV2(b)
	case begins(b, []byte(signatureProxy)):
		return sizeOfV1(b)
	}
	return 0, nil
}

// begins reports whether b begins with a signature or, if it is shorter, with the start of one.
func begins(b, signature []byte) bool {
	n := min(len(b), len(signature))
	return bytes.Equal(b[:n], signature[:n])
}

func sizeOfV1(b []byte) (int, error) {
	if i := bytes.IndexByte(b[:min(len(b), maxProxyV1)], '\n'); i >= 0 {
		return i + 1, nil
	}
	if len(b) >= maxProxyV1 {
		return 0, errProxyHeader
	}
	return unknownSize, nil
}

func sizeOfV2(b []byte) (int, error) {
	if len(b) < fixedProxyV2 {
		return unknownSize, nil
	}
	size := fixedProxyV2 + int(binary.BigEndian.Uint16(b[fixedProxyV2-2:]))
	if size > maxProxyV2 {
		return 0, errProxyHeader
	}
	return size, nil
}

// readProxyHeader returns the client that a whole header names. It is nil if the header names none:
// the proxy connects on its own behalf (LOCAL), does not know the client, or has the connection
// from a socket without IP addresses.
func readProxyHeader(b []byte) (net.Addr, error) {
	if len(b) == 0 {
		return nil, nil
	}
	h, err := proxyproto.Read(bufio.NewReader(bytes.NewReader(b)))
	if err == nil {
		_, err = h.TLVs()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errProxyHeader, err)
	}
	if h.Command.IsLocal() {
		return nil, nil
	}
	switch source := h.SourceAddr.(type) {
	case *net.TCPAddr:
		return source, nil
	case *net.UDPAddr:
		return &net.TCPAddr{IP: source.IP, Port: source.Port}, nil
	}
	return nil, nil
}
