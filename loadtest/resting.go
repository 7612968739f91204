//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// A resting client opens HTTP/2 connections, sends one request on each, and keeps them open. It
// does not use a library's client, because that would take more memory than the server under
// measurement, and because a server that knows only TLS must accept the same bytes.
type resting struct {
	target netip.AddrPort
	path   string
	want   int64 // bytes of the response body
	config *tls.Config
	conns  []net.Conn
}

// open makes n more connections, from several addresses as n clients would.
func (r *resting) open(ctx context.Context, n int) error {
	from := sources(restingClients)
	for i := range n {
		local := &net.TCPAddr{IP: from[i%len(from)].AsSlice()}
		d := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: local, Timeout: restTime}, Config: r.config}
		conn, err := d.DialContext(ctx, "tcp", r.target.String())
		if err != nil {
			return fmt.Errorf("opening connection %d: %w", i+1, err)
		}
		r.conns = append(r.conns, conn)
		if err := r.ask(conn); err != nil {
			return fmt.Errorf("sending a request on connection %d: %w", i+1, err)
		}
	}
	return nil
}

const (
	restingClients = 16
	restTime       = 10 * time.Second // for a handshake, and for a response
)

func (r *resting) close() {
	for _, c := range r.conns {
		c.Close()
	}
}

// ask requests the path on the first stream and reads to its end.
func (r *resting) ask(conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(restTime))
	if _, err := conn.Write(opening(r.target.String(), r.path)); err != nil {
		return err
	}
	var got int64
	for {
		kind, flags, payload, err := readFrame(conn)
		if err != nil {
			return err
		}
		switch kind {
		case frameReset, frameGoAway:
			return fmt.Errorf("the server sent a frame of type %d: %x", kind, payload)
		case frameSettings:
			if flags&flagAck == 0 {
				if _, err := conn.Write(frame(frameSettings, flagAck, 0, 0)); err != nil {
					return err
				}
			}
		case frameData:
			got += int64(len(payload))
		}
		if (kind == frameData || kind == frameHeaders) && flags&flagEndStream != 0 {
			break
		}
	}
	if got != r.want {
		return fmt.Errorf("a body of %d bytes, want %d: %w", got, r.want, errWrong)
	}
	return conn.SetDeadline(time.Time{})
}

// opening returns the first bytes of the client: preface, default settings, and a request whose
// fields are HPACK literals without Huffman coding or indexing (RFC 7541, section 6.2.2). The
// indices are those of RFC 7541, appendix A.
func opening(authority, path string) []byte {
	block := []byte{0x82, 0x87} // :method GET, :scheme https
	for index, value := range map[byte]string{1: authority, 4: path} {
		block = append(block, index, byte(len(value)))
		block = append(block, value...)
	}
	b := append([]byte(preface), frame(frameSettings, 0, 0, 0)...)
	b = append(b, frame(frameHeaders, flagEndStream|flagEndHeaders, firstStream, len(block))...)
	return append(b, block...)
}

// maxLiteral is the longest string whose length fits into the seven bits that opening uses (RFC
// 7541, section 5.1).
const maxLiteral = 126

var errFrame = errors.New("a frame exceeds the maximum size")

// readFrame reads one frame (RFC 9113, section 4.1).
func readFrame(r io.Reader) (kind, flags byte, payload []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	length := binary.BigEndian.Uint32(append([]byte{0}, head[:3]...))
	if length > maxFrame {
		return 0, 0, nil, errFrame
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(r, payload)
	return head[3], head[4], payload, err
}
