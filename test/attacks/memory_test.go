package attacks

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

// A hoard is a way for one client to make the edge hold memory. The client writes at most
// hoardInput bytes, from one address.
type hoard struct {
	name        string
	over        string // transport: tcp, raw, tls1, tls2, quic or initial
	connections int
	do          func(ctx context.Context, c *hoarder) error
}

// A crowd is the clients that carry out a hoard.
type crowd struct {
	addresses int   // that they have together
	input     int64 // bytes that they may send
}

var oneClient = crowd{1, hoardInput}

// address returns the address from which the nth connection comes.
func (c crowd) address(nth int) net.IP {
	if c.addresses == 1 {
		return net.IPv4(127, 0, 1, 2)
	}
	n := nth%c.addresses + 1
	return net.IPv4(127, 1, byte(n>>8), byte(n))
}

const (
	hoardInput  = 16 << 20         // bytes that the client may send, those of TLS and QUIC included
	hoardLimit  = 128 << 20        // bytes that the edge may use for them
	hoardHolds  = 6 * time.Second  // how long the client keeps its connections
	hoardBack   = 10 * time.Second // time limit until the memory is free again
	hoardMany   = 8000             // connections: half of all places
	hoardWorker = 64               // connections that are opened at a time
)

// A hoarder is one connection of the attacking client.
type hoarder struct {
	net.Conn
	quic   *quic.Conn
	socket net.PacketConn // of its own, for QUIC
	nth    int
}

// errSpent means that the client has sent all that it may.
var errSpent = errors.New("the input is spent")

// A metered connection counts the bytes that are written to it.
type metered struct {
	net.Conn
	left *atomic.Int64
}

func (m metered) Write(p []byte) (int, error) {
	if m.left.Add(-int64(len(p))) < 0 {
		return 0, errSpent
	}
	return m.Conn.Write(p)
}

// A meteredSocket counts the bytes that are sent by it. A deaf one receives nothing, so its
// handshakes never get beyond the first packets.
type meteredSocket struct {
	net.PacketConn
	left *atomic.Int64
	deaf bool
}

func (m meteredSocket) WriteTo(p []byte, to net.Addr) (int, error) {
	if m.left.Add(-int64(len(p))) < 0 {
		return len(p), nil
	}
	return m.PacketConn.WriteTo(p, to)
}

func (m meteredSocket) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := m.PacketConn.ReadFrom(p)
		if err != nil || !m.deaf {
			return n, from, err
		}
	}
}

var hoards = []hoard{
	{"silence", "tcp", hoardMany, send("")},
	{"half a head of 3 bytes", "tcp", hoardMany, send("GET")},
	{"half a head of 2 kB", "tcp", hoardMany, send("GET /hot HTTP/1.1\r\nX: " + strings.Repeat("a", 2000))},
	{"half a head of 15 kB", "tcp", hoardMany, send("GET /hot HTTP/1.1\r\nX: " + strings.Repeat("a", 15000))},
	{"heads of 15 kB, then silence", "tcp", hoardMany,
		send("GET /hot HTTP/1.1\r\n" + home + "X: " + strings.Repeat("a", 15000) + "\r\n\r\n")},
	{"hits, then silence", "tcp", hoardMany, send(hit)},
	{"bodies of 60 kB, announced", "tcp", hoardMany, send(posting + "Content-Length: 60000\r\n\r\na")},
	{"bodies of 8 MB, announced", "tcp", hoardMany, send(posting + "Content-Length: 8000000\r\n\r\na")},
	{"bodies of 8 MB, half", "tcp", hoardMany, send(posting + "Content-Length: 8000000\r\n\r\n" + strings.Repeat("a", 2<<20))},
	{"bodies of 60 kB, half", "tcp", hoardMany, send(posting + "Content-Length: 60000\r\n\r\n" + strings.Repeat("a", 33_000))},
	{"chunks of 7 MB, announced", "tcp", hoardMany, send(posting + "Transfer-Encoding: chunked\r\n\r\n700000\r\na")},
	{"bodies of 60 kB, then silence", "tcp", hoardMany, send(posting + "Content-Length: 60000\r\n\r\n" + strings.Repeat("a", 60_000))},
	{"cold calls with heads of 1 kB", "tcp", hoardMany, func(_ context.Context, c *hoarder) error {
		_, err := fmt.Fprintf(c, "GET /stuck/%d HTTP/1.1\r\n%sX: %s\r\n\r\n", c.nth, home, strings.Repeat("a", 1000))
		return err
	}},
	{"tunnels, then silence", "tcp", hoardMany, send(upgrade)},
	{"tunnels whose bytes nobody reads", "tcp", hoardMany, send(flooded)},
	{"uploads that the origin does not read", "tcp", hoardMany,
		send("POST /stuck/upload HTTP/1.1\r\n" + home + "Content-Length: 100000000\r\n\r\n" + strings.Repeat("a", 200_000))},
	{"half a trailer of 15 kB", "tcp", hoardMany, send(trailer + "X: " + strings.Repeat("a", 15_000))},
	{"answers of 1 MiB, unread", "tcp", hoardMany, send(strings.Repeat("GET /large HTTP/1.1\r\n"+home+"\r\n", 10))},
	{"hits of 2 kB in a row, unread", "tcp", hoardMany, send(strings.Repeat("GET /small HTTP/1.1\r\n"+home+"\r\n", 60))},

	{"h2: settings, then silence", "tcp", hoardMany, frames(nil)},
	{"h2: indexed fields, open streams", "tcp", hoardMany, frames(indexedBombs(false))},
	{"h2: indexed fields, cold calls", "tcp", hoardMany, frames(indexedBombs(true))},
	{"h2: indexed tiny fields", "tcp", hoardMany, frames(tinyFields)},
	{"h2: cookie crumbs", "tcp", hoardMany, frames(crumbs)},
	{"h2: 128 streams", "tcp", hoardMany, frames(plainStreams(false))},
	{"h2: 128 cold calls", "tcp", hoardMany, frames(plainStreams(true))},
	{"h2: half a frame", "tcp", hoardMany, frames(func(*blockWriter) []byte { return []byte{0, 0x40, 0, 1, 4, 0, 0, 0, 1, 0x82} })},
	{"h2: half a block of 16 kB", "tcp", hoardMany, frames(halfBlocks)},
	{"h2: half a block of 10 bytes", "tcp", hoardMany,
		frames(func(w *blockWriter) []byte { return w.headers(1, 0, []byte("0123456789")) })},
	{"h2: bodies of 1 byte", "tcp", hoardMany, frames(bodies2(1))},
	{"h2: bodies of 60 kB", "tcp", hoardMany, frames(bodies2(60_000))},
	{"h2: no window, hits of 60 kB", "tcp", hoardMany, frames(noWindow("/medium"))},
	{"h2: no window, hits of 1 MiB", "tcp", hoardMany, frames(noWindow("/large"))},
	{"h2: hits of 60 kB, unread", "tcp", hoardMany, frames(openWindow("/medium"))},
	{"h2: table filled, then silence", "tcp", hoardMany, frames(fillTable)},

	{"tls: a byte", "raw", hoardMany, send("\x16")},
	{"tls: half a hello of 15 kB", "raw", hoardMany, send("\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03" + strings.Repeat("a", 15000))},
	{"tls: h1, silence", "tls1", hoardMany, send("")},
	{"tls: h1, half a head", "tls1", hoardMany, send("GET /hot HTTP/1.1\r\nX: a")},
	{"tls: h1, answers of 1 MiB, unread", "tls1", hoardMany, send(strings.Repeat("GET /large HTTP/1.1\r\n"+home+"\r\n", 10))},
	{"tls: h1, hits of 2 kB in a row, unread", "tls1", hoardMany, send(strings.Repeat("GET /small HTTP/1.1\r\n"+home+"\r\n", 60))},
	{"tls: h2, silence", "tls2", hoardMany, frames(nil)},
	{"tls: h2, indexed fields, open streams", "tls2", hoardMany, frames(indexedBombs(false))},
	{"tls: h2, half a block of 16 kB", "tls2", hoardMany, frames(halfBlocks)},
	{"tls: h2, no window, hits of 60 kB", "tls2", hoardMany, frames(noWindow("/medium"))},
	{"tls: h2, hits of 60 kB, unread", "tls2", hoardMany, frames(openWindow("/medium"))},

	{"h3: half a handshake", "initial", 4000, nil},
	{"h3: silence", "quic", 4000, func(context.Context, *hoarder) error { return nil }},
	{"h3: half a head on 128 streams", "quic", 2000, streams3([]byte{1, 0x40, 0xff, 0, 0, 0xd1})},
	{"h3: heads of 15 kB", "quic", 2000, streams3(append([]byte{1, 0x7f, 0xff, 0, 0}, bytes.Repeat([]byte{0xd1}, 10000)...))},
	{"h3: bodies of 1 byte", "quic", 2000, streams3(append(head3("POST", "/echo", ""), 0, 0x7f, 0xff, 'a'))},
	{"h3: many tiny fields", "quic", 2000, streams3(append(head3("POST", "/echo", strings.Repeat("\xd9", 90)), 0, 0x7f, 0xff, 'a'))},
	{"h3: cold calls", "quic", 2000, streams3(head3("GET", "/stuck/h3", ""))},
	{"h3: answers of 1 MiB, unread", "quic", 2000, streams3(large3)},
	{"h3: hits, then silence", "quic", 4000, func(ctx context.Context, c *hoarder) error {
		_, err := write3(ctx, c.quic, hit3, false)
		return err
	}},
	{"h3: half a head of 3 bytes on 128 streams", "quic", 2000, streams3([]byte{1, 0x40, 0xff})},
	{"h3: half a block of 16 kB on 128 streams", "quic", 2000,
		streams3(append([]byte{1, 0x7f, 0xfe, 0, 0}, bytes.Repeat([]byte{0xd1}, 16_000)...))},
	{"h3: half a frame that is reserved on 128 streams", "quic", 2000, streams3([]byte{0x21, 0x7f, 0xff, 'a'})},
	{"h3: fields by reference on 128 streams", "quic", 2000,
		streams3(append(head3("POST", "/echo", strings.Repeat("\xf5", 120)), 0, 0x7f, 0xff, 'a'))},
	{"h3: cookie crumbs on 128 streams", "quic", 2000,
		streams3(append(head3("POST", "/echo", strings.Repeat("\xc5", 300)), 0, 0x7f, 0xff, 'a'))},
	{"h3: bodies of 60 kB, half", "quic", 2000, streams3(
		append(append(head3("POST", "/echo", ""), 0, 0x80, 0, 0xea, 0x60), bytes.Repeat([]byte{'a'}, 33_000)...))},
	{"h3: bodies of 8 MB, half", "quic", 2000, streams3(
		append(append(head3("POST", "/echo", ""), 0, 0x80, 0x7a, 0x12, 0), bytes.Repeat([]byte{'a'}, 4<<20)...))},
	{"h3: uploads that the origin does not read", "quic", 2000,
		streams3(append(append([]byte{}, upload3...), bytes.Repeat([]byte{'a'}, 200_000)...))},
	{"h3: half a trailer of 15 kB on 128 streams", "quic", 2000,
		streams3(append(append([]byte{}, trailer3...), bytes.Repeat([]byte("\x21x\x01a"), 3700)...))},
	{"h3: tunnels, then silence", "quic", 2000, streams3(tunnel3)},
	{"h3: tunnels whose bytes nobody reads", "quic", 2000, streams3(flooded3)},
	{"h3: hits of 60 kB, unread", "quic", 2000, streams3(head3("GET", "/medium", ""))},
	{"h3: hits of 2 kB, unread", "quic", 2000, streams3(head3("GET", "/small", ""))},
}

// send writes a text, and leaves the connection open.
func send(s string) func(context.Context, *hoarder) error {
	return func(_ context.Context, c *hoarder) error {
		_, err := io.WriteString(c, s)
		return err
	}
}

// A blockWriter makes HTTP/2 frames with header blocks.
type blockWriter struct{ nth int }

func (w *blockWriter) frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), byte(kind), byte(flags)}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

func (w *blockWriter) headers(stream uint32, flags http2.Flags, block []byte) []byte {
	return w.frame(http2.FrameHeaders, flags, stream, block)
}

// pseudo returns the pseudo-header fields of a request, with the path as a literal.
func pseudo(method byte, path string) []byte {
	return append(append([]byte{method, 0x86, 0x01, 9}, "edge.test"...), append([]byte{0x04, byte(len(path))}, path...)...)
}

const (
	get2  = 0x82
	post2 = 0x83
)

// frames begins an HTTP/2 connection, and writes the frames that f returns.
func frames(f func(*blockWriter) []byte) func(context.Context, *hoarder) error {
	return func(_ context.Context, c *hoarder) error {
		w := &blockWriter{nth: c.nth}
		all := append([]byte(http2.ClientPreface), w.frame(http2.FrameSettings, 0, 0, nil)...)
		if f != nil {
			all = append(all, f(w)...)
		}
		_, err := c.Write(all)
		return err
	}
}

// indexedBombs refers four times to a field of 3.7 kB on each of 128 streams.
func indexedBombs(whole bool) func(*blockWriter) []byte {
	return func(w *blockWriter) (all []byte) {
		flags := http2.FlagHeadersEndHeaders
		if whole {
			flags |= http2.FlagHeadersEndStream
		}
		for i := range 128 {
			block := pseudo(post2, "/echo")
			if whole {
				block = pseudo(get2, fmt.Sprintf("/stuck/%d/%d", w.nth, i))
			}
			if i == 0 {
				block = append(block, 0x40, 1, 'x', 0x7f, 0xf5, 0x1b) // 127 + 3573
				block = append(block, bytes.Repeat([]byte("a"), 3700)...)
				block = append(block, 0xbe, 0xbe, 0xbe)
			} else {
				block = append(block, 0xbe, 0xbe, 0xbe, 0xbe)
			}
			all = append(all, w.headers(uint32(2*i+1), flags, block)...)
		}
		return all
	}
}

// tinyFields sends the maximum number of fields, a byte each.
func tinyFields(w *blockWriter) (all []byte) {
	for i := range 128 {
		block := append(pseudo(post2, "/echo"), bytes.Repeat([]byte{0x90}, 90)...)
		all = append(all, w.headers(uint32(2*i+1), http2.FlagHeadersEndHeaders, block)...)
	}
	return all
}

// crumbs sends a cookie in many parts.
func crumbs(w *blockWriter) (all []byte) {
	for i := range 128 {
		block := pseudo(post2, "/echo")
		if i == 0 {
			block = append(block, 0x60, 100)
			block = append(block, bytes.Repeat([]byte("c"), 100)...)
		}
		block = append(block, bytes.Repeat([]byte{0xbe}, 90)...)
		all = append(all, w.headers(uint32(2*i+1), http2.FlagHeadersEndHeaders, block)...)
	}
	return all
}

func plainStreams(whole bool) func(*blockWriter) []byte {
	return func(w *blockWriter) (all []byte) {
		for i := range 128 {
			if whole {
				all = append(all, w.headers(uint32(2*i+1), http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream,
					pseudo(get2, fmt.Sprintf("/stuck/%d/%d", w.nth, i)))...)
			} else {
				all = append(all, w.headers(uint32(2*i+1), http2.FlagHeadersEndHeaders, pseudo(post2, "/echo"))...)
			}
		}
		return all
	}
}

func halfBlocks(w *blockWriter) []byte {
	return append(w.headers(1, 0, make([]byte, 16000)), w.frame(http2.FrameContinuation, 0, 1, make([]byte, 16000))...)
}

func bodies2(n int) func(*blockWriter) []byte {
	return func(w *blockWriter) (all []byte) {
		for i := range 100 {
			all = append(all, w.headers(uint32(2*i+1), http2.FlagHeadersEndHeaders, pseudo(post2, "/echo"))...)
			for left := n; left > 0; left -= min(left, 16384) {
				all = append(all, w.frame(http2.FrameData, 0, uint32(2*i+1), make([]byte, min(left, 16384)))...)
			}
		}
		return all
	}
}

// noWindow and openWindow request a path a hundred times, with windows of 0 bytes or of 1 GiB.
func noWindow(path string) func(*blockWriter) []byte   { return withWindow(path, 0) }
func openWindow(path string) func(*blockWriter) []byte { return withWindow(path, 1<<30) }

func withWindow(path string, size uint32) func(*blockWriter) []byte {
	return func(w *blockWriter) []byte {
		all := w.frame(http2.FrameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, 4}, size))
		if size > 0 {
			all = append(all, w.frame(http2.FrameWindowUpdate, 0, 0, binary.BigEndian.AppendUint32(nil, size))...)
		}
		for i := range 100 {
			all = append(all, w.headers(uint32(2*i+1), http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, pseudo(get2, path))...)
		}
		return all
	}
}

// fillTable fills the decoder's dynamic table with small fields.
func fillTable(w *blockWriter) []byte {
	block := pseudo(get2, "/hot")
	for i := range 110 {
		block = append(block, 0x40, 2, 'x', byte('a'+i%26), 1, byte('a'+i%26))
	}
	return w.headers(1, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, block)
}

// head3 returns a HEADERS frame of HTTP/3 that uses only the static table; more holds further
// fields, encoded.
func head3(method, path, more string) []byte {
	block := []byte{0, 0, map[string]byte{"GET": 0xd1, "POST": 0xd4, "CONNECT": 0xcf}[method], 0xd7}
	block = append(append(block, 0x50, 9), "edge.test"...)
	block = append(append(block, 0x51, byte(len(path))), path...)
	block = append(block, more...)
	return append([]byte{1, 0x40 | byte(len(block)>>8), byte(len(block))}, block...)
}

// streams3 writes the same bytes on the maximum number of streams.
func streams3(b []byte) func(context.Context, *hoarder) error {
	return func(ctx context.Context, c *hoarder) error {
		for range 128 {
			s, err := c.quic.OpenStream()
			if err != nil {
				return err
			}
			s.SetWriteDeadline(time.Now().Add(time.Second))
			if _, err := s.Write(b); err != nil {
				return err
			}
		}
		return nil
	}
}

// dial opens the connection that the hoard needs.
func (h hoard) dial(ctx context.Context, e *harness.Server, from net.IP, left *atomic.Int64, nth int,
	socket *quic.Transport) (*hoarder, error) {
	address := e.Address("public")
	if h.over != "tcp" {
		address = e.Address("tls")
	}
	config := &tls.Config{InsecureSkipVerify: true,
		NextProtos: []string{map[string]string{"tls1": "http/1.1", "tls2": "h2", "quic": "h3", "initial": "h3"}[h.over]}}
	if h.over == "quic" || h.over == "initial" {
		to, err := net.ResolveUDPAddr("udp", address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, map[string]time.Duration{"quic": 5 * time.Second,
			"initial": 100 * time.Millisecond}[h.over])
		defer cancel()
		windows := smallWindows(&quic.Config{MaxIdleTimeout: time.Minute})
		if socket != nil {
			c, err := socket.Dial(ctx, to, config, windows)
			return &hoarder{quic: c, nth: nth}, err
		}
		own, err := net.ListenUDP("udp", &net.UDPAddr{IP: from})
		if err != nil {
			return nil, err
		}
		c, err := quic.Dial(ctx, meteredSocket{own, left, false}, to, config, windows)
		if err != nil {
			own.Close()
		}
		return &hoarder{quic: c, socket: own, nth: nth}, err
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}, Timeout: 5 * time.Second, Control: smallWindow}
	raw, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	raw.(*net.TCPConn).SetLinger(0)
	c := net.Conn(metered{raw, left})
	if h.over == "tls1" || h.over == "tls2" {
		t := tls.Client(c, config)
		t.SetDeadline(time.Now().Add(5 * time.Second))
		if err := t.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		c = t
	}
	return &hoarder{Conn: c, nth: nth}, nil
}

// run makes the edge hold memory until ctx ends. made counts the connections.
func (h hoard) run(ctx context.Context, e *harness.Server, from crowd, made *atomic.Int64) (spent int64, err error) {
	var left atomic.Int64
	left.Store(from.input)
	var socket *quic.Transport
	if h.over == "initial" || h.over == "quic" && from.addresses == 1 {
		udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 1, 2)})
		if err != nil {
			return 0, err
		}
		socket = &quic.Transport{Conn: meteredSocket{udp, &left, h.over == "initial"}}
		defer socket.Close()
	}
	var mu sync.Mutex
	var open []*hoarder
	next := make(chan int)
	var workers sync.WaitGroup
	for range hoardWorker {
		workers.Go(func() {
			for nth := range next {
				c, dialed := h.dial(ctx, e, from.address(nth), &left, nth, socket)
				if dialed != nil {
					if h.over == "initial" && left.Load() > 0 {
						made.Add(1)
					}
					continue
				}
				made.Add(1)
				if c.Conn != nil {
					c.Conn.SetDeadline(time.Now().Add(3 * time.Second))
				}
				h.do(ctx, c)
				mu.Lock()
				open = append(open, c)
				mu.Unlock()
			}
		})
	}
	for nth := 0; nth < h.connections && ctx.Err() == nil && left.Load() > 0; nth++ {
		next <- nth
	}
	close(next)
	workers.Wait()
	select {
	case <-ctx.Done():
	case <-time.After(hoardHolds):
	}
	spent = from.input - max(0, left.Load())
	left.Store(from.input) // the edge must learn that they are closed
	for _, c := range open {
		if c.quic != nil {
			c.quic.CloseWithError(0x100, "")
			if c.socket != nil {
				c.socket.Close()
			}
		} else if m, ok := c.Conn.(metered); ok {
			m.Conn.Close()
		} else {
			c.Conn.Close()
		}
	}
	return spent, nil
}

// TestHoards has one client send 16 MB in every way that may make the edge hold memory. It measures
// how much that is, and whether the edge frees it. ICONEDGE_HOARDS=NAME carries out a single one;
// the names are in the list.
func TestHoards(t *testing.T) {
	which := os.Getenv("ICONEDGE_HOARDS")
	if which == "" {
		t.Skip("long: `make attacks` runs it, as does ICONEDGE_HOARDS=all")
	}
	var table []string
	for _, h := range hoards {
		if which != "all" && which != h.name {
			continue
		}
		t.Run(h.name, func(t *testing.T) { table = append(table, h.whole(t)) })
	}
	fmt.Printf("| what one client sends | connections | bytes sent | memory before | at most | 10 s later "+
		"|\n|---|---|---|---|---|---|\n%s\n", strings.Join(table, "\n"))
}

func (h hoard) whole(t *testing.T) string {
	cert, key := certstest.Pair(t, t.TempDir(), "edge", "edge", "edge.test")
	// By default one client may have half of the connections.
	e := startEdge(t, "--tls-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--max-connections", strconv.Itoa(2*hoardMany))
	time.Sleep(time.Second)
	before := footprint(e.Cmd.Process.Pid).memory
	ctx, stop := context.WithCancel(t.Context())
	peak := watchFootprint(ctx, e.Cmd.Process.Pid)
	var made atomic.Int64
	spent, err := h.run(ctx, e, oneClient, &made)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	most := (<-peak).memory
	time.Sleep(hoardBack)
	after := footprint(e.Cmd.Process.Pid).memory
	if most-before > hoardLimit || after-before > hoardLimit/4 {
		t.Errorf("%d MiB, then %d, and 10 s later %d", before>>20, most>>20, after>>20)
	}
	return fmt.Sprintf("| %s | %d | %.1f MB | %d MiB | %d MiB | %d MiB |", h.name, made.Load(), float64(spent)/1e6,
		before>>20, most>>20, after>>20)
}
