package edge

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/pires/go-proxyproto"
)

// A proxiedConn is the connection of a proxy that the operator trusts. It may say first for whom it is, in a header of the PROXY
// protocol, version 1 or 2 (HAProxy's proxy-protocol.txt); what begins in another way is HTTP. From nobody else such a
// header is even looked for.
type proxiedConn struct {
	*net.TCPConn
	in proxyReader
}

// proxied makes conn understand a header, if its peer is trusted. Everybody else's connection stays what it is.
func (c clients) proxied(conn net.Conn) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || len(c.trusted) == 0 || !c.trusts(addressOf(conn.RemoteAddr())) {
		return conn
	}
	return &proxiedConn{tcp, proxyReader{from: tcp}}
}

// RemoteAddr is the client that the header names, once it has been read.
func (c *proxiedConn) RemoteAddr() net.Addr {
	if c.in.client != nil {
		return c.in.client
	}
	return c.TCPConn.RemoteAddr()
}

// Read reads what comes behind the header. The header has as long as a connection may be silent: the deadline is the connection's.
func (c *proxiedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// A proxyReader takes the header off what a proxy sends.
type proxyReader struct {
	from   io.Reader
	begun  bool
	err    error    // of the header: there is nothing behind it to be read
	client net.Addr // as the header has it; nil: the peer itself
	rest   []byte   // read behind the header
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
		r.rest = nil // and with it the buffer
	}
	return n, nil
}

// begin reads until it has the whole header, in however many pieces that comes, or bytes that are none.
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
	maxProxyV1     = 107        // bytes, with its CR LF
	maxProxyV2     = 4<<10 + 16 // the protocol allows 64 KiB of a sender's own words; nobody has so many
	fixedProxyV2   = 16         // bytes before those that the last two of them count
	signatureProxy = "PROXY "
)

var errProxyHeader = errors.New("the header of the PROXY protocol is malformed")

// proxyHeaderSize is how many bytes the header has that b begins with: none where b begins with something else, unknownSize where
// more must be read.
func proxyHeaderSize(b []byte) (int, error) {
	switch {
	case begins(b, proxyproto.SIGV2):
		return sizeOfV2(b)
	case begins(b, []byte(signatureProxy)):
		return sizeOfV1(b)
	}
	return 0, nil
}

// begins reports whether b begins with a signature, as far as b goes.
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

// readProxyHeader is the client that a whole header names. It is nil where there is none: the proxy asks for itself (LOCAL), or does
// not know, or has it from a socket without addresses.
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
