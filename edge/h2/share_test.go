package h2

import (
	"bytes"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/edge/bodies"
)

var hog, other = netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")

// connectAs connects as a client with a share of the room.
func connectAs(t *testing.T, s *Server, client netip.Prefix, settings ...http2.Setting) *peer {
	t.Helper()
	c := dialPair(t)
	done := make(chan struct{})
	go func() { defer close(done); serveConn(s, c[0], nil, client, nil) }()
	t.Cleanup(func() { c[1].Close(); <-done })
	return dial(t, c[1], settings...)
}

// bombSize is about what a bomb counts: its fields and the overhead.
const bombSize = 4*(3700+1+perEntry) + 250

// bomb opens a stream with four references to a field of 3.7 kB, which is sent once.
func (p *peer) bomb(ends bool) (stream uint32) {
	long := hpack.HeaderField{Name: "x", Value: strings.Repeat("a", 3700)}
	block := p.headers("POST", "/wait")
	if p.next == 1 {
		p.block.Reset()
		p.enc.WriteField(long)
		block = append(block, p.block.Bytes()...)
		block = append(block, 0xbe, 0xbe, 0xbe)
	} else {
		block = append(block, 0xbe, 0xbe, 0xbe, 0xbe)
	}
	stream = p.next
	p.next += 2
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: bytes.Clone(block), EndHeaders: true, EndStream: ends})
	return stream
}

// seen waits until the server has handled all frames sent, and returns the streams that it has
// reset.
func (p *peer) seen() (refused map[uint32]http2.ErrCode) {
	p.t.Helper()
	refused = map[uint32]http2.ErrCode{}
	p.WritePing(false, [8]byte{7})
	p.until(func(f http2.Frame) bool {
		if r, ok := f.(*http2.RSTStreamFrame); ok {
			refused[r.StreamID] = r.ErrCode
		}
		ping, ok := f.(*http2.PingFrame)
		return ok && ping.IsAck()
	})
	return refused
}

// The header fields of incomplete requests count for their connection. Above 256 KiB further
// streams are refused until one of the requests is complete, and a client that continues loses the
// connection.
func TestUnfinishedHeads(t *testing.T) {
	a, room := newApp(), &bodies.Budget{Max: 64 << 20, Each: 64 << 20}
	defer close(a.wait)
	s := New(a, a, Config{Bodies: room})
	p := connectAs(t, s, hog)
	var open []uint32
	for range maxHeadBytes / bombSize {
		open = append(open, p.bomb(false))
	}
	refused := p.seen()
	if n := len(open) - len(refused); n < maxHeadBytes/(bombSize+2*streamCost) || room.Used() > maxHeadBytes ||
		room.Used() < maxHeadBytes/2 {
		t.Fatalf("%d streams accepted of %d, %d bytes counted", n, len(open), room.Used())
	}
	for len(refused) == 0 {
		id := p.bomb(false)
		if refused = p.seen(); len(refused) > 0 && refused[id] != http2.ErrCodeRefusedStream {
			t.Fatalf("above the limit: %v, want REFUSED_STREAM of %d", refused, id)
		}
	}
	if refused := func() map[uint32]http2.ErrCode { p.openStream("GET", "/wait", true); return p.seen() }(); len(refused) > 0 {
		t.Errorf("a complete request: %v", refused)
	}
	<-a.started
	p.WriteData(open[0], true, nil)
	<-a.started
	p.bomb(false)
	if refused := p.seen(); len(refused) > 0 {
		t.Errorf("after one request is complete: %v", refused)
	}
	go func() {
		for range 2 * maxCredit / resetCost {
			p.bomb(false)
		}
	}()
	if code, goneAway := p.ended(); !goneAway || code != http2.ErrCodeEnhanceYourCalm {
		t.Errorf("a client that continues: %v, GOAWAY: %v", code, goneAway)
	}
	settledAt(t, room, 2*HandlerCosts+fieldCopies*(bombSize+4*streamCost)) // only the handlers'
}

// settledAt waits until clients hold no more than n bytes.
func settledAt(t *testing.T, room *bodies.Budget, n int64) {
	t.Helper()
	for late := time.Now().Add(2 * time.Minute); room.Used() != 0 || room.Held(hog) > n; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d bytes used, %d of them by the client", room.Used(), room.Held(hog))
		}
	}
}

// However many connections a client has, it holds no more than its share, and another client still
// has room.
func TestShareOfClient(t *testing.T) {
	a, room := newApp(), &bodies.Budget{Max: 4 << 20, Each: 400 << 10}
	defer close(a.wait)
	s := New(a, a, Config{Bodies: room})
	taken := func(client netip.Prefix, ends bool) (n int) {
		p := connectAs(t, s, client)
		for range 15 {
			p.bomb(ends)
		}
		for id, code := range p.seen() {
			if n--; code != http2.ErrCodeRefusedStream {
				t.Errorf("stream %d: %v", id, code)
			}
		}
		return n + 15
	}
	for _, row := range []struct {
		name        string
		client      netip.Prefix
		ends        bool
		least, most int
	}{
		{"the first connection", hog, false, 15, 15},
		{"the second", hog, false, 5, 11},
		{"the third", hog, false, 0, 1},
		{"the fourth, with complete requests", hog, true, 0, 0},
		{"another client", other, false, 15, 15},
		{"another client, with complete requests", other, true, 1, 2}, // plus the cost of handlers
		{"no particular client", netip.Prefix{}, false, 15, 15},
		{"no particular client, with complete requests", netip.Prefix{}, true, 15, 15},
	} {
		if n := taken(row.client, row.ends); n < row.least || n > row.most {
			t.Errorf("%s: %d streams accepted of 15, want %d to %d", row.name, n, row.least, row.most)
		}
		if room.Held(hog) > room.Each || room.Held(other) > room.Each {
			t.Errorf("%s: %d and %d bytes held", row.name, room.Held(hog), room.Held(other))
		}
	}
}

// When all the room is used, streams with incomplete requests are refused, and complete requests
// pass.
func TestFullRoom(t *testing.T) {
	a, room := newApp(), &bodies.Budget{Max: 20 << 10, Each: 1 << 20}
	defer close(a.wait)
	s := New(a, a, Config{Bodies: room})
	connectAs(t, s, hog).bomb(false)
	p := connectAs(t, s, other)
	for late := time.Now().Add(2 * time.Minute); room.Used() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the first stream does not count")
		}
	}
	id := p.openStream("POST", "/wait", false, "long", strings.Repeat("a", 9000))
	if refused := p.seen(); refused[id] != http2.ErrCodeRefusedStream {
		t.Errorf("an incomplete request: %v", refused)
	}
	p.openStream("GET", "/wait", true, "long", strings.Repeat("a", 9000))
	if refused := p.seen(); len(refused) > 0 {
		t.Errorf("a complete request: %v", refused)
	}
}

// A talkative handler reads a request to its end, and then sends its response for a long time.
type talkative struct{ app }

func (a talkative) Handle(w *Writer, r *Request) {
	if r.Refuse != 0 {
		w.Header(AppendStatus(nil, r.Refuse), true)
		return
	}
	io.Copy(io.Discard, r.Upload)
	w.Header(AppendStatus(nil, 200), false)
	w.Flush()
	<-a.wait
	w.End()
}

// A request that has arrived makes room for others, however long its response lasts: calls of gRPC
// announce no length, and may last for hours.
func TestArrivedUploads(t *testing.T) {
	a := talkative{newApp()}
	defer close(a.wait)
	p := connect(t, New(a, a, Config{Uploads: true, Bodies: &bodies.Budget{Max: 2 * uploadCosts, Each: 1 << 30}}))
	for i := range 10 {
		id := p.openStream("POST", "/", false)
		p.WriteData(id, true, []byte("message"))
		f := p.until(func(f http2.Frame) bool { _, ok := f.(*http2.MetaHeadersFrame); return ok })
		if status := f.(*http2.MetaHeadersFrame).PseudoValue("status"); status != "200" {
			t.Fatalf("request %d: %s", i, status)
		}
	}
}

// Incomplete frames and header blocks count too, and so do ready responses that wait for a window.
func TestPartialFramesCount(t *testing.T) {
	for name, tt := range map[string]struct {
		settings []http2.Setting
		send     func(p *peer)
	}{
		"an incomplete frame": {nil, func(p *peer) { p.Conn.Write([]byte{0, 0x40, 0, 0, 0}) }},
		"an incomplete block": {nil, func(p *peer) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a, room := newApp(), &bodies.Budget{Max: 1 << 20, Each: 100 << 10}
			s := New(a, a, Config{Bodies: room})
			first := connectAs(t, s, hog, tt.settings...)
			tt.send(first)
			for late := time.Now().Add(2 * time.Minute); room.Held(hog) < inBuffer; time.Sleep(time.Millisecond) {
				if time.Now().After(late) {
					t.Fatal("nothing is counted")
				}
			}
			second := connectAs(t, s, hog, tt.settings...)
			tt.send(second)
			if code, goneAway := second.ended(); !goneAway || code != http2.ErrCodeEnhanceYourCalm {
				t.Errorf("above the share: %v, GOAWAY: %v", code, goneAway)
			}
			first.Close()
			settledAt(t, room, 0)
		})
	}
	a, room := newApp(), &bodies.Budget{Max: 1 << 20, Each: 100 << 10}
	p := connectAs(t, New(a, a, Config{Bodies: room}), hog, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	p.openStream("GET", "/ready/60000", true)
	id := p.openStream("GET", "/ready/60000", true)
	if refused := p.seen(); len(refused) != 1 || refused[id] != http2.ErrCodeEnhanceYourCalm {
		t.Errorf("ready responses that the client does not take: %v", refused)
	}
	p.Close()
	settledAt(t, room, 0)
}

// Clients that stay within their shares may together hold more than there is for all. Then the
// client that holds most loses the streams that it has opened last, those of others stay, and a
// complete request of another client passes.
func TestCrowdOfClients(t *testing.T) {
	for name, tt := range map[string]struct {
		ends bool
		part int64 // of eight, of the memory that one client may hold
		code http2.ErrCode
	}{
		"incomplete requests": {false, 6, http2.ErrCodeRefusedStream},
		"handlers":            {true, 7, http2.ErrCodeEnhanceYourCalm},
	} {
		t.Run(name, func(t *testing.T) {
			const many = 12
			a := newApp()
			defer close(a.wait)
			alone := &bodies.Budget{Max: 64 << 20}
			p := connectAs(t, New(a, a, Config{Bodies: alone}), hog)
			p.bomb(tt.ends)
			p.seen()
			each, _ := alone.Stats()
			// The first client fills it up to what only other clients may hold.
			room := &bodies.Budget{Max: 64 << 20, Each: 64 << 20, Requests: (many*each.Held + 8) * 8 / tt.part}
			s := New(a, a, Config{Bodies: room})
			first := connectAs(t, s, hog)
			var opened []uint32
			for range many {
				opened = append(opened, first.bomb(tt.ends))
			}
			if refused := first.seen(); len(refused) > 0 {
				t.Fatalf("refused before there is a second client: %v", refused)
			}
			second := connectAs(t, s, netip.MustParsePrefix("198.51.100.1/32"))
			second.bomb(tt.ends)
			if refused := second.seen(); len(refused) > 0 {
				t.Errorf("the first stream of another client: %v", refused)
			}
			f := first.until(func(f http2.Frame) bool { _, ok := f.(*http2.RSTStreamFrame); return ok }).(*http2.RSTStreamFrame)
			if f.StreamID != opened[many-1] || f.ErrCode != tt.code {
				t.Errorf("stream %d lost with %v, want %d with %v", f.StreamID, f.ErrCode, opened[many-1], tt.code)
			}
			p = connectAs(t, s, other)
			p.openStream("GET", "/bytes/10", true)
			got := p.until(func(f http2.Frame) bool { _, ok := f.(*http2.MetaHeadersFrame); return ok }).(*http2.MetaHeadersFrame)
			if status := got.PseudoValue("status"); status != "200" {
				t.Errorf("a request of another client: %s", status)
			}
			if q, _ := room.Stats(); q.Held > room.Requests {
				t.Errorf("%d bytes held of %d", q.Held, room.Requests)
			}
		})
	}
}

// The bytes of responses that clients leave unread count as long as the client takes nothing. A
// handler does not count against the memory for requests once its response has begun.
func TestUnreadResponses(t *testing.T) {
	a := newApp()
	defer close(a.wait)
	room := &bodies.Budget{Max: 64 << 20, Each: 64 << 20, Requests: 1 << 20, Responses: 1 << 20}
	s := New(a, a, Config{Bodies: room})
	p := connectAs(t, s, hog, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	const held = true
	settled := func(when string, requests, responses bool) {
		t.Helper()
		for late := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
			q, r := room.Stats()
			if q.Held > 0 == requests && r.Held > 0 == responses {
				return
			}
			if time.Now().After(late) {
				t.Fatalf("%s: requests hold %d bytes, responses %d", when, q.Held, r.Held)
			}
		}
	}
	id := p.openStream("GET", "/bytes/60000", true)
	settled("a closed window", !held, held)
	p.WriteWindowUpdate(id, 100_000)
	settled("a taken response", !held, !held)
	p.openStream("GET", "/wait", true)
	settled("a handler that has not answered", held, !held)
}
