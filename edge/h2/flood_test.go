package h2

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// answered waits for the response to a request without a body that is sent next.
func (p *peer) answered(path string) (took time.Duration) {
	p.t.Helper()
	start := time.Now()
	p.openStream("GET", path, true)
	p.until(func(f http2.Frame) bool { h, ok := f.(*http2.MetaHeadersFrame); return ok && h.StreamEnded() })
	return time.Since(start)
}

// pings sends pings, each when the one before has its reply.
func (p *peer) pings(n int) (took time.Duration) {
	p.t.Helper()
	start := time.Now()
	for range n {
		p.WritePing(false, [8]byte{})
		p.until(func(f http2.Frame) bool { ping, ok := f.(*http2.PingFrame); return ok && ping.IsAck() })
	}
	return time.Since(start)
}

// A client that sends frames without content has to wait before more of its frames are read, each
// time longer, and no longer when its requests have outweighed them. In the bubble, time passes
// only while the server pauses.
func TestPausesInAFlood(t *testing.T) {
	piped(t, app{}, func(t *testing.T, p *peer) {
		const few, more = 8, framesPerPause // a ping costs 5
		if took := p.pings(few); took > 0 {
			t.Errorf("%d pings took %v, want no pause", few, took)
		}
		if took, least := p.pings(more), 5*afterUseless*pausePerCredit; took < least {
			t.Errorf("%d more took %v, want at least %v", more, took, least)
		}
		time.Sleep(time.Second) // the last pause ends
		for i := range 2 * more {
			if took := p.answered("/ready/0"); took > 0 {
				t.Errorf("request %d took %v, want no pause", i, took)
			}
		}
		if took := p.pings(few); took > 0 {
			t.Errorf("%d pings after the requests took %v, want no pause", few, took)
		}
	})
}

// A client that resets its requests has to wait too, although they have responses.
func TestPausesForResets(t *testing.T) {
	piped(t, app{}, func(t *testing.T, p *peer) {
		start := time.Now()
		for range 100 {
			id := p.openStream("GET", "/ready/70000", true) // longer than the window
			p.until(func(f http2.Frame) bool { _, ok := f.(*http2.MetaHeadersFrame); return ok })
			p.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		if took, least := time.Since(start), 4*afterUseless*pausePerCredit; took < least {
			t.Errorf("100 requests with a reset each took %v, want at least %v", took, least)
		}
	})
}

// A request that its client resets in the same packet reaches no handler, and holds nothing.
func TestResetAtOnce(t *testing.T) {
	a := newApp()
	close(a.wait)
	s := New(a, a, Config{})
	p := connect(t, s)
	var packet bytes.Buffer
	f := http2.NewFramer(&packet, nil)
	const n = MaxStreams / 2
	for i := range uint32(n) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: p.headers("GET", "/wait"),
			EndHeaders: true, EndStream: true})
		f.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
	}
	p.next = 2*n + 1
	if _, err := p.Conn.Write(packet.Bytes()); err != nil {
		t.Fatal(err)
	}
	p.answered("/wait")
	if started := len(a.started); started != 1 {
		t.Errorf("%d handlers ran, want that of the last request alone", started)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		if c.load.handlers > 1 {
			t.Errorf("%d handlers count as running", c.load.handlers)
		}
		c.mu.Unlock()
	}
}

// A client that opens the window often for long responses does not have to wait.
func TestNoPauseForWindows(t *testing.T) {
	piped(t, app{}, func(t *testing.T, p *peer) {
		for range 5 * afterUseless {
			p.WriteWindowUpdate(0, 1)
		}
		if took := p.pings(1) + p.answered("/ready/0"); took > 0 {
			t.Errorf("a ping and a request took %v, want no pause", took)
		}
	})
}

// A talker is an app that answers /talk with many small messages, each of which it sends at once.
type talker struct{ app }

func (a talker) Handle(w *Writer, r *Request) {
	if r.Path != "/talk" {
		a.app.Handle(w, r)
		return
	}
	w.Header(AppendStatus(nil, 200), false)
	for range 2000 {
		if _, err := w.Write(text(100)); err != nil || w.Flush() != nil {
			return
		}
	}
	w.End()
}

// Clients answer DATA with frames without content: Go's with two WINDOW_UPDATEs for each 4 KiB that
// are read, HAProxy with two for each frame, those of gRPC with a WINDOW_UPDATE and a PING. They
// have to wait for nothing, and keep their connections.
func TestNoPauseForResponses(t *testing.T) {
	two := func(p *peer, id uint32, n int) {
		p.WriteWindowUpdate(0, uint32(n))
		p.WriteWindowUpdate(id, uint32(n))
	}
	slowly := func(p *peer, id uint32, n int) {
		for ; n > 0; n -= 4096 {
			two(p, id, min(n, 4096))
		}
	}
	for name, tt := range map[string]struct {
		path   string
		answer func(p *peer, id uint32, n int)
		pings  bool // with a PING for each message, when the one before has its reply
	}{
		"two windows for each 4 KiB of a long response":  {"/bytes/1000000", slowly, false},
		"two windows for each 4 KiB of a ready response": {"/ready/1000000", slowly, false},
		"two windows for each message":                   {"/talk", two, false},
		"two windows and a ping for each message":        {"/talk", two, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := New(app{}, talker{}, Config{})
			p := connect(t, server)
			pinging := false
			for range 8 {
				id := p.openStream("GET", tt.path, true)
				p.until(func(f http2.Frame) bool {
					if ping, ok := f.(*http2.PingFrame); ok && ping.IsAck() {
						pinging = false
					}
					d, ok := f.(*http2.DataFrame)
					if ok && len(d.Data()) > 0 {
						if tt.pings && !pinging {
							pinging = true
							p.WritePing(false, [8]byte{})
						}
						tt.answer(p, id, len(d.Data()))
					}
					return ok && d.StreamEnded()
				})
			}
			p.pings(1) // the server has read all of the frames
			server.mu.Lock()
			defer server.mu.Unlock()
			for c := range server.conns {
				c.mu.Lock()
				if c.flood.useless > afterUseless {
					t.Errorf("%d useless frames, so that the client has to wait", c.flood.useless)
				}
				c.mu.Unlock()
			}
		})
	}
}
