package h1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/request"
)

// A wire is a fake socket: the bytes of a client that arrive in parts, and the room for responses.
type wire struct {
	net.Conn
	random   *rand.Rand // decides what happens when; nil: all at once, or in two parts
	first    int        // bytes of the first part
	coming   []byte
	arrived  []byte
	fin      bool // the client has sent its last byte
	room     int
	sent     bytes.Buffer
	timer    time.Time
	detached bool
	full     bool // the client took only a part of the last write
	closed   bool
	event    bool // the loop shall call Turn
	deadline time.Time
	wait     func() bool // lets a request arrive; false: the deadline passes before; nil: next does
}

// next lets some bytes arrive, or the end, alone or with the last bytes. It returns whether the
// end has arrived.
func (w *wire) next() (ending bool) {
	n := len(w.coming)
	if w.random != nil {
		n = w.random.IntN(n + 1)
	} else if w.first > 0 {
		n, w.first = w.first, 0
	}
	w.arrived, w.coming = append(w.arrived, w.coming[:n]...), w.coming[n:]
	if len(w.coming) == 0 && (w.random == nil || n == 0 || w.random.IntN(2) == 0) {
		w.fin = true
	}
	return w.fin
}

func (w *wire) TryRead(p []byte) (int, error) {
	if w.closed {
		return 0, net.ErrClosed
	}
	n := copy(p, w.arrived)
	w.arrived = w.arrived[n:]
	switch {
	case n > 0:
		return n, nil
	case w.fin:
		return 0, io.EOF
	}
	return 0, syscall.EAGAIN
}

func (w *wire) TryWrite(p []byte) (int, error) {
	if w.closed {
		return 0, net.ErrClosed
	}
	n := len(p)
	if w.random != nil {
		n = min(n, w.room)
		w.room -= n
	}
	w.sent.Write(p[:n])
	if n < len(p) {
		w.full = true
		return n, syscall.EAGAIN
	}
	return n, nil
}

func (w *wire) SetTimer(at time.Time) { w.timer = at }
func (w *wire) Detach()               { w.detached = true }
func (w *wire) Attach()               { w.detached = false }
func (w *wire) Wake()                 { w.event = true }

// Read is for the server, which waits.
func (w *wire) Read(p []byte) (int, error) {
	for len(w.arrived) == 0 && !w.fin {
		if w.wait != nil {
			if !w.wait() {
				return 0, os.ErrDeadlineExceeded
			}
			break
		}
		if w.random != nil && w.random.IntN(2) == 0 && time.Until(w.deadline) <= stay {
			return 0, os.ErrDeadlineExceeded
		}
		w.next()
	}
	return w.TryRead(p)
}

func (w *wire) Write(p []byte) (int, error)       { return w.sent.Write(p) }
func (w *wire) SetReadDeadline(t time.Time) error { w.deadline = t; return nil }
func (w *wire) SetWriteDeadline(time.Time) error  { return nil }
func (w *wire) RemoteAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)} }
func (w *wire) Close() error                      { w.closed = true; return nil }

// serveWire is a server that answers each request with its method, as long as c returns requests.
func serveWire(c *Conn) {
	for br := bufio.NewReaderSize(c, turnBuffer); ; {
		r, err := http.ReadRequest(br)
		if err != nil {
			if err != io.EOF {
				io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			}
			return
		}
		if !c.Strict() {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			return
		}
		body, _ := io.ReadAll(r.Body)
		io.WriteString(c, hitHead+r.Method+string(body))
	}
}

// looped sends bytes to a connection on an event loop, and returns what it sends.
func looped(t *testing.T, w *wire) string {
	random := w.random
	f := &fetches{random: random}
	c := NewLooped(w, w, f, &limits, addressOf(w))
	c.delivery.unacked = func(net.Conn) int64 { return 0 }
	scratch := NewScratch()
	w.event = true
	for over := false; ; {
		if f.waiting != nil && (w.fin || random.IntN(3) == 0) {
			w.event = false
			if f.waiting(); !w.event {
				t.Fatal("the loop is not woken when a response is ready")
			}
			f.waiting = nil
		}
		// As from epoll: an event for bytes, for the end, for room, or for several of them, and
		// none for bytes that a turn has left unread.
		if unread, ended := len(w.arrived), w.fin; !w.fin {
			w.next()
			w.event = w.event || len(w.arrived) > unread || w.fin != ended
		}
		if random != nil {
			w.room += random.IntN(100 << random.IntN(12))
			w.event = w.event || w.full && w.room > 0
		}
		if over && w.room > 0 {
			t.Fatalf("a connection waits after the last event, with %q unread; it has sent %q", w.arrived, w.sent.Bytes())
		}
		if !w.event {
			continue
		}
		w.event, w.full = false, false
		next := Again
		for next == Again {
			next = c.Turn(scratch, w.fin)
		}
		switch next {
		case ForServer:
			if serveWire(c); !c.Rests() {
				return w.sent.String()
			}
			c.Rest(time.Now())
			if len(w.arrived) > 0 || w.fin {
				over, w.event = false, true
				continue // as after an event that came meanwhile
			}
		case End:
			return w.sent.String()
		}
		if w.detached {
			t.Fatal("a resting connection is detached")
		}
		if c.backlog == nil && len(w.arrived) > 0 {
			t.Fatalf("a connection waits with %q unread; it has sent %q", w.arrived, w.sent.Bytes())
		}
		over = w.fin && c.backlog == nil
	}
}

// A goroutine waits for the next request of a connection whose last requests were for the server.
func TestConnectionStaysWithServer(t *testing.T) {
	for _, row := range []struct {
		requests string // P for the server, g for the Answerer; each arrives when it is waited for
		handed   int    // how often the server gets the connection
	}{{"P", 1}, {"PP", 2}, {"PPP", 2}, {"PPPPPP", 2}, {"PgP", 2}, {"PgPgP", 3}, {"PPgP", 3}, {"PPPggP", 3}} {
		w := &wire{}
		c := NewLooped(w, w, hits{}, &limits, addressOf(w))
		c.delivery.unacked = func(net.Conn) int64 { return 0 }
		next := func() bool {
			if row.requests == "" {
				return false
			}
			method := map[byte]string{'P': "DELETE", 'g': "GET"}[row.requests[0]]
			w.arrived, row.requests = append(w.arrived, method+" /hit HTTP/1.1\r\nHost: a\r\n\r\n"...), row.requests[1:]
			return true
		}
		w.wait = next
		scratch, handed := NewScratch(), 0
		for next() {
			if c.Turn(scratch, false) != ForServer {
				continue
			}
			handed++
			if serveWire(c); !c.Rests() {
				t.Fatalf("the connection ended; it has sent %q", w.sent.Bytes())
			}
			c.Rest(time.Now())
		}
		if handed != row.handed {
			t.Errorf("the server got the connection %d times, want %d", handed, row.handed)
		}
	}
}

// fetches makes the responses to some of the requests for /miss ready, at once or later.
type fetches struct {
	hits
	random  *rand.Rand // nil: none
	waiting func()
}

func (f *fetches) Fetch(r *request.Request, _ interface{ ClientGone() bool }, ready func(func([]byte) []byte, any)) request.Pending {
	if f.random == nil || f.random.IntN(4) == 0 || !bytes.HasPrefix(r.Target, []byte("/miss")) {
		return nil
	}
	response := func(dst []byte) []byte { return append(dst, hitHead+"GET"...) }
	switch f.random.IntN(4) {
	case 0:
		ready(response, nil)
	case 1:
		f.waiting = func() { ready(nil, f) }
	default:
		f.waiting = func() { ready(response, nil) }
	}
	return &pending{due: r.Now.Add(waitTime)}
}

const waitTime = 5 * time.Second

// A pending counts the calls of Expire.
type pending struct {
	due     time.Time
	expired int
	expire  func() // nil: nothing happens
}

func (p *pending) Due() time.Time { return p.due }

func (p *pending) Expire() {
	if p.expired++; p.expire != nil {
		p.expire()
	}
}

// The bytes that a client has not taken count against its share, except those of cached bodies. It
// loses its connection if its share is used up. Without memory for a fetch the server answers.
func TestBacklogOfClient(t *testing.T) {
	client := netip.MustParsePrefix("192.0.2.1/32")
	hit, long, miss := "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /hit/longer HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /miss HTTP/1.1\r\nHost: a\r\n\r\n"
	response := len(hitHead) + 3
	for _, tt := range []struct {
		name, sent string
		room       int
		each       int64
		next       Next
		held       int
	}{
		{"a taken response", hit, 1000, 1, Wait, 0},
		{"two responses", hit + hit, 1, 1000, Wait, 2*response - 1},
		{"a request behind a response", long + hit, 1000, 1000, Wait, len(hit)},
		{"a long response", long, 1000, 1, Wait, 0},
		{"too many responses", strings.Repeat(hit, 40), 1, 1000, End, 0},
		{"a fetch", miss, 1, fetchCosts + 100, Wait, fetchCosts + len(miss)},
		{"no fetch", miss, 1, fetchCosts, ForServer, 0},
	} {
		l := limits
		l.Bodies = &bodies.Budget{Max: 1 << 20, Each: tt.each}
		w := &wire{random: rand.New(rand.NewPCG(1, 1)), arrived: []byte(tt.sent), room: tt.room}
		f := &later{}
		c := NewLooped(w, w, f, &l, addressOf(w))
		c.SetClient(client, nil)
		scratch := NewScratch()
		if next := c.Turn(scratch, false); next != tt.next || l.Bodies.Held(client) != int64(tt.held) {
			t.Errorf("%s: next %d, %d bytes held, want %d and %d", tt.name, next, l.Bodies.Held(client), tt.next, tt.held)
		}
		if tt.next != Wait {
			continue
		}
		if f.ready != nil {
			f.ready(func(dst []byte) []byte { return append(dst, hitHead...) }, nil)
		}
		for w.room = 1 << 20; c.backlog != nil; {
			if next := c.Turn(scratch, false); next == End {
				t.Fatalf("%s: the connection ends", tt.name)
			}
		}
		if n := l.Bodies.Held(client); n != 0 {
			t.Errorf("%s: %d bytes held after all were taken", tt.name, n)
		}
	}
}

// A connection on an event loop sends the same bytes as one that a goroutine serves, however its
// bytes arrive, and whatever its client takes at a time. No event is lost.
func FuzzTurn(f *testing.F) {
	long := "GET /hit/long HTTP/1.1\r\nHost: a\r\n\r\nGET /hit/longer HTTP/1.1\r\nHost: a\r\n\r\n"
	hit, miss, post := "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /miss HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /hit/001 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /"
	for _, s := range []string{
		long, long[:len(long)/2] + miss + hit + miss, hit + hit + long + miss + hit, "GET /hit/short HTTP/1.1\r\nHost: a\r\n\r\n" + hit,
		hit, miss, hit + hit + miss + hit, post + hit, hit + post + post + miss, strings.Repeat(hit, 200),
		strings.Repeat(hit, 3) + "GET /hit/0",
		"\r\n" + hit + "\r\n\r\n" + miss + hit, hit + "GET /hit/002 HTTP/1.1\nHost: a\r\n\r\n",
		strings.Repeat(hit+miss, 70), hit + "\x00",
		strings.Repeat("GET /hit/001 HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 3000)+"\r\n\r\n", 9),
		"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n" + hit, "GET /" + strings.Repeat("y", 20000),
	} {
		f.Add([]byte(s), uint64(1))
		f.Add([]byte(s), uint64(2))
	}
	f.Fuzz(func(t *testing.T, sent []byte, seed uint64) {
		if bytes.Count(sent, []byte("/hit/long")) > 2 {
			t.Skip("without a loop, the server gets the requests behind a full batch")
		}
		w := &wire{coming: sent}
		serveWire(func() *Conn {
			c := NewConn(w, hits{}, &limits)
			c.delivery.unacked = func(net.Conn) int64 { return 0 }
			return c
		}())
		want := w.sent.String()
		if got := looped(t, &wire{coming: sent}); got != want {
			t.Fatalf("all at once: %s", difference(got, want))
		}
		for i := range uint64(4) {
			if got := looped(t, &wire{coming: sent, random: rand.New(rand.NewPCG(seed, i))}); got != want {
				t.Fatalf("seed %d, %d: %s", seed, i, difference(got, want))
			}
		}
	})
}

// difference describes where two long strings differ.
func difference(got, want string) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	around := func(s string) string { return s[max(0, n-100):min(n+100, len(s))] }
	return fmt.Sprintf("%d and %d bytes differ from byte %d on: %q\nwant %q", len(got), len(want), n, around(got), around(want))
}

// A connection is split after each of its bytes.
func TestTurnAtEveryByte(t *testing.T) {
	sent := "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\nGET /miss HTTP/1.1\r\nHost: a\r\n\r\nGET /hit/002 HTTP/1.1\r\nHost: a\r\n\r\n"
	for i := range sent {
		if got := looped(t, &wire{coming: []byte(sent), first: i}); got != hitHead+"001"+hitHead+"GET"+hitHead+"002" {
			t.Errorf("split after %d bytes: %q", i, got)
		}
	}
}

// A connection without requests, or whose client does not take its responses, ends when its time is
// over, and not before.
func TestTurnTimes(t *testing.T) {
	hit := "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, tt := range []struct {
		name    string
		sent    string
		room    int
		unacked int64
		after   time.Duration
		ended   bool
		overdue int64
	}{
		{"no request", "", 1000, 0, 22 * time.Second, true, 0},
		{"no request yet", "", 1000, 0, 20 * time.Second, false, 0},
		{"an idle client", hit, 1000, 0, 22 * time.Second, true, 0},
		{"a client that still takes its response", hit, 1000, 10, 22 * time.Second, false, 0},
		{"a client that took none of it", hit, 1000, int64(len(hitHead) + 3), 40 * time.Second, true, 1},
		{"responses that wait", hit, 1, 0, 29 * time.Second, false, 0},
		{"responses that wait for too long", hit, 1, 0, 31 * time.Second, true, 1},
	} {
		var overdue atomic.Int64
		l := limits
		l.Overdue = &overdue
		w := &wire{random: rand.New(rand.NewPCG(1, 1)), arrived: []byte(tt.sent), room: tt.room}
		c := NewLooped(w, w, hits{}, &l, addressOf(w))
		c.delivery.unacked = func(net.Conn) int64 { return tt.unacked }
		if next := c.Turn(NewScratch(), false); next != Wait {
			t.Errorf("%s: %d", tt.name, next)
		}
		now := time.Time(c.reading)
		if c.backlog != nil {
			now = c.delivery.due.Add(-limits.Answer)
		}
		if ended := c.Expired(now.Add(tt.after)); ended != tt.ended || overdue.Load() != tt.overdue ||
			!ended && !w.timer.After(now.Add(tt.after)) {
			t.Errorf("%s: ended %v, overdue %d, next look after %v", tt.name, ended, overdue.Load(), w.timer.Sub(now))
		}
		if phase, _ := c.Phase(); (phase == Writing) != (tt.room == 1) {
			t.Errorf("%s: phase %d", tt.name, phase)
		}
		if tt.room == 1 && !tt.ended && c.CloseIdle() {
			t.Errorf("%s: it was closed as idle", tt.name)
		}
	}
}

// What a connection holds while it rests.
func TestRestingSize(t *testing.T) {
	if size := unsafe.Sizeof(Conn{}); size > 352 {
		t.Errorf("a Conn takes %d bytes", size)
	}
	w := &wire{arrived: []byte("GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n")}
	c := NewLooped(w, w, hits{}, &limits, addressOf(w))
	if c.Turn(NewScratch(), false); c.serving != nil || c.backlog != nil {
		t.Error("a resting connection holds more than itself")
	}
}

// BenchmarkTurn measures a request on an event loop without the network and the Answerer.
func BenchmarkTurn(b *testing.B) {
	w := &wire{}
	c := NewLooped(w, w, hits{}, &limits, addressOf(w))
	c.delivery.unacked = func(net.Conn) int64 { return 0 }
	s, request := NewScratch(), []byte("GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n")
	b.ReportAllocs()
	for b.Loop() {
		w.sent.Reset()
		w.arrived = request
		if c.Turn(s, false) != Wait {
			b.Fatal("not answered")
		}
	}
}

// Requests that arrive during a fetch, or while the client takes no response, are answered without
// a further event: an edge-triggered descriptor reports them once.
func TestNoRequestIsLeftUnread(t *testing.T) {
	hit, miss := "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /miss HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, tt := range map[string]struct {
		first, later string
		room         int // of the client at first
		responses    int
	}{
		"during a fetch, behind another request": {miss + hit, hit, 1 << 20, 3},
		"during a fetch":                         {miss, hit + hit, 1 << 20, 3},
		"while the client takes nothing":         {strings.Repeat(hit, turnAnswers+1), hit, 0, turnAnswers + 2},
	} {
		w := &wire{random: rand.New(rand.NewPCG(1, 2)), room: tt.room, arrived: []byte(tt.first)}
		f := &later{}
		c := NewLooped(w, w, f, &limits, addressOf(w))
		c.delivery.unacked = func(net.Conn) int64 { return 0 }
		scratch := NewScratch()
		turn := func() {
			for c.Turn(scratch, false) == Again {
			}
		}
		turn()
		w.arrived = append(w.arrived, tt.later...)
		turn() // the event of the later bytes
		w.room = 1 << 20
		if f.ready != nil {
			f.ready(func(dst []byte) []byte { return append(dst, hitHead+"GET"...) }, nil)
		}
		turn() // the event of the room, or that the response is ready
		if n := strings.Count(w.sent.String(), "HTTP/1.1 200"); n != tt.responses || len(w.arrived) > 0 {
			t.Errorf("%s: %d responses, want %d; %q is unread", name, n, tt.responses, w.arrived)
		}
	}
}

// later makes the responses to requests for /miss ready when the test says so.
type later struct {
	hits
	ready   func(func([]byte) []byte, any)
	pending *pending
}

func (l *later) Fetch(r *request.Request, _ interface{ ClientGone() bool }, ready func(func([]byte) []byte, any)) request.Pending {
	if !bytes.HasPrefix(r.Target, []byte("/miss")) {
		return nil
	}
	l.ready = ready
	l.pending = &pending{due: r.Now.Add(waitTime)}
	return l.pending
}

// A connection waits for a fetch until its time is over, and then goes to the server with the
// error, or sends the response that became ready meanwhile. The next request has its whole time.
func TestFetchExpires(t *testing.T) {
	hit, miss := "GET /hit/001 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /miss HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, inTime := range []bool{false, true} {
		w := &wire{arrived: []byte(hit + miss)}
		f, scratch := &later{}, NewScratch()
		c := NewLooped(w, w, f, &limits, addressOf(w))
		c.delivery.unacked = func(net.Conn) int64 { return 0 }
		if next := c.Turn(scratch, false); next != Wait || !w.timer.Equal(f.pending.due) {
			t.Fatalf("%d, and the timer is %v after the fetch's", next, w.timer.Sub(f.pending.due))
		}
		f.pending.expire = func() { f.ready(nil, "late") }
		if inTime {
			f.pending.expire = func() {}
			f.ready(func(dst []byte) []byte { return append(dst, hitHead+"GET"...) }, nil)
		}
		if early := f.pending.due.Add(-time.Nanosecond); c.Expired(early) || f.pending.expired != 0 || !w.timer.Equal(f.pending.due) {
			t.Fatalf("expired %d times before its time", f.pending.expired)
		}
		w.event = inTime
		if c.Expired(f.pending.due) || f.pending.expired != 1 || !w.event {
			t.Fatalf("expired %d times, woken: %v", f.pending.expired, w.event)
		}
		next := c.Turn(scratch, false)
		if inTime {
			for next == Again {
				next = c.Turn(scratch, false)
			}
			if next != Wait || w.sent.String() != hitHead+"001"+hitHead+"GET" {
				t.Fatalf("%d: %q", next, w.sent.Bytes())
			}
			if !w.timer.After(f.pending.due) {
				t.Error("no timer is set for the next request")
			}
			continue
		}
		if next != ForServer || c.Fetched() != "late" || !w.detached {
			t.Fatalf("%d, detached: %v", next, w.detached)
		}
		c.Rest(f.pending.due)
		if c.Expired(f.pending.due.Add(limits.Idle)) {
			t.Error("the next request has no time of its own")
		}
	}
}
