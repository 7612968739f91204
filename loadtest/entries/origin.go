//go:build linux

package entries

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"
)

// An origin answers /PACK/N.svg with an icon that depends only on N. It does as little as possible
// for a response, because a core has to fill an edge with millions of them. Edges may not make
// codings of them, so that all entries have the same size.
type origin struct {
	listener net.Listener
	size     int           // bytes of a body
	tagged   uint64        // icons 1 to tagged of the pack stored have the surrogate key
	answers  atomic.Uint64 // so far
}

// tag is the surrogate key of the tagged responses.
const tag = "some"

func startOrigin(size int, tagged uint64) (*origin, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &origin{listener: listener, size: size, tagged: tagged}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go o.serve(conn)
		}
	}()
	return o, nil
}

func (o *origin) address() netip.AddrPort { return o.listener.Addr().(*net.TCPAddr).AddrPort() }

func (o *origin) close() { o.listener.Close() }

// serve answers the requests of a connection, which have no bodies.
func (o *origin) serve(conn net.Conn) {
	defer conn.Close()
	in, out := bufio.NewReader(conn), []byte(nil)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		path, _, _ := bytes.Cut(bytes.TrimPrefix(line, []byte("GET ")), []byte(" "))
		out = o.appendAnswer(out[:0], path)
		for len(line) > len("\r\n") {
			if line, err = in.ReadSlice('\n'); err != nil {
				return
			}
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// head has the fields of an icon that do not depend on it.
const head = "HTTP/1.1 200 OK\r\nContent-Type: image/svg+xml\r\nCache-Control: public, max-age=86400, no-transform\r\n" +
	"Last-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\nDate: "

func (o *origin) appendAnswer(b, path []byte) []byte {
	pack, name, _ := bytes.Cut(bytes.TrimPrefix(path, []byte("/")), []byte("/"))
	n, err := strconv.ParseUint(string(bytes.TrimSuffix(name, []byte(".svg"))), 10, 64)
	if err != nil {
		return append(b, "HTTP/1.1 404 Not Found\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n"...)
	}
	o.answers.Add(1)
	b = time.Now().UTC().AppendFormat(append(b, head...), http.TimeFormat)
	b = append(append(b, "\r\nSurrogate-Key: "...), pack...)
	if string(pack) == stored && n <= o.tagged {
		b = append(b, " "+tag...)
	}
	b = fmt.Appendf(b, "\r\nETag: \"%d\"\r\nContent-Length: %d\r\n\r\n", n, o.size)
	return append(b, body(n, o.size)...)
}

// body returns size bytes that repeat a number.
func body(n uint64, size int) []byte {
	b := make([]byte, 0, size)
	b = append(strconv.AppendUint(b, n, 10), ' ')
	for len(b) < size {
		b = append(b, b[:min(len(b), size-len(b))]...)
	}
	return b[:size]
}
