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

// A resting client opens connections for HTTP/2, asks once on each of them and keeps it. It is written by hand because a client of the
// library's would take more memory than what it measures, and because the same bytes must do for a server that knows TLS alone.
type resting struct {
	target netip.AddrPort
	path   string
	want   int64 // bytes of the answer's body
	config *tls.Config
	conns  []net.Conn
}

// open makes n more connections, from several addresses as n clients would come.
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
			return fmt.Errorf("asking on connection %d: %w", i+1, err)
		}
	}
	return nil
}

const (
	restingClients = 16
	restTime       = 10 * time.Second // for a handshake, and for an answer
)

func (r *resting) close() {
	for _, c := range r.conns {
		c.Close()
	}
}

// ask asks for the path in the first stream, and reads until its end.
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
			return fmt.Errorf("it is refused by a frame of type %d: %x", kind, payload)
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
		return fmt.Errorf("a body of %d bytes, wanted %d: %w", got, r.want, errWrong)
	}
	return conn.SetDeadline(time.Time{})
}

// opening is the client's first flight: preface, settings as they are by default, and a request whose fields stand in HPACK without
// Huffman's code and without an entry in the table (RFC 7541, section 6.2.2); the indices are those of its appendix A.
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

// maxLiteral is the longest string whose length fits into the seven bits that opening gives it (RFC 7541, section 5.1).
const maxLiteral = 126

var errFrame = errors.New("a frame is longer than was allowed")

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
