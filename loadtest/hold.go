//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"sync"

	"github.com/iconedge/iconedge/internal/cli"
)

const holdHelp = `
Holds TLS connections and does nothing else: it completes the handshake, and answers any input with one HTTP/2 frame of
--body bytes. Its cost for a connection is the cost of TLS, for comparison with other servers.

  loadtest hold --listen 127.0.0.1:8443 --pem FILE --body 1000`

func runHold(ctx context.Context, std cli.Streams, args []string) error {
	fs := program.Flags("hold", "", holdHelp)
	listen := fs.String("listen", "127.0.0.1:0", "`address` to answer on")
	pem := fs.String("pem", "", "`file` of a certificate and its key")
	size := fs.Int("body", 1000, "`bytes` of each response body")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if *size < 0 || *size > maxFrame {
		return cli.Usage(fmt.Sprintf("--body must be 0 to %d", maxFrame))
	}
	pair, err := tls.LoadX509KeyPair(*pem, *pem)
	if err != nil {
		return cli.Usage("--pem: " + err.Error())
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"}, DynamicRecordSizingDisabled: true}
	ln, err := tls.Listen("tcp", *listen, config)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "listening address=%s\n", ln.Addr())
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	return hold(ctx, ln, append(frame(frameData, flagEndStream, firstStream, *size), make([]byte, *size)...))
}

// hold answers every connection until ctx ends.
func hold(ctx context.Context, ln net.Listener, answer []byte) error {
	rests := sync.Pool{New: func() any { return new([4 << 10]byte) }}
	for {
		conn, err := ln.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			var first [1]byte // the only memory that an idle connection has of its own
			for {
				if _, err := conn.Read(first[:]); err != nil {
					return
				}
				rest := rests.Get().(*[4 << 10]byte)
				_, err := conn.Read(rest[:])
				rests.Put(rest)
				if err == nil {
					_, err = conn.Write(answer)
				}
				if err != nil {
					return
				}
			}
		}()
	}
}

// The part of HTTP/2's framing that is needed here (RFC 9113, sections 4.1 and 6).
const (
	frameData     = 0x0
	frameHeaders  = 0x1
	frameReset    = 0x3
	frameSettings = 0x4
	frameGoAway   = 0x7

	flagEndStream  = 0x1 // in DATA and HEADERS
	flagAck        = 0x1 // in SETTINGS
	flagEndHeaders = 0x4

	firstStream = 1
	frameHead   = 9
	maxFrame    = 16384 // the maximum without SETTINGS_MAX_FRAME_SIZE
	preface     = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// frame returns a frame header.
func frame(kind, flags byte, stream uint32, length int) []byte {
	b := []byte{byte(length >> 16), byte(length >> 8), byte(length), kind, flags}
	return binary.BigEndian.AppendUint32(b, stream)
}
