package h2

import (
	"net/http"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Frames, including trailers, that a client has sent on a stream before it received the reset are
// ignored, and the connection stays open.
func TestLateFramesOfAResetStream(t *testing.T) {
	for name, begin := range map[string]func(p *peer) uint32{
		"a malformed request": func(p *peer) uint32 { return p.openStream(http.MethodPost, "/post", false, "connection", "close") },
		"a body longer than announced": func(p *peer) uint32 {
			id := p.openStream(http.MethodPost, "/post", false, "content-length", "1")
			p.WriteData(id, false, []byte("two"))
			return id
		},
		"a refused request": func(p *peer) uint32 {
			for range MaxStreams {
				p.openStream(http.MethodGet, "/wait", true)
			}
			return p.openStream(http.MethodPost, "/post", false)
		},
		"a response before the request's end": func(p *peer) uint32 {
			return p.openStream(http.MethodPost, "/post", false, "content-length", "999999999999")
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApp()
			defer close(a.wait)
			p := connect(t, New(a, a, Config{MaxBody: 1 << 20, MaxList: 16 << 10}))
			id := begin(p)
			p.until(func(f http2.Frame) bool {
				r, ok := f.(*http2.RSTStreamFrame)
				return ok && r.StreamID == id
			})
			p.WriteData(id, false, []byte("late"))
			p.block.Reset()
			p.enc.WriteField(hpack.HeaderField{Name: "x-trailer", Value: "late"})
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block.Bytes(), EndHeaders: true, EndStream: true})
			p.WritePing(false, [8]byte{1})
			p.until(func(f http2.Frame) bool {
				switch f := f.(type) {
				case *http2.GoAwayFrame:
					t.Fatalf("GOAWAY with %v", f.ErrCode)
				case *http2.RSTStreamFrame:
					if f.StreamID == id {
						t.Errorf("a second reset: %v", f.ErrCode)
					}
				case *http2.PingFrame:
					return f.IsAck()
				}
				return false
			})
		})
	}
}

// Trailers on a stream that has ended normally are a connection error.
func TestLateTrailersOfAnEndedStream(t *testing.T) {
	a := newApp()
	defer close(a.wait)
	p := connect(t, New(a, a, Config{}))
	id := p.openStream(http.MethodGet, "/wait", true)
	p.block.Reset()
	p.enc.WriteField(hpack.HeaderField{Name: "x-trailer", Value: "late"})
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block.Bytes(), EndHeaders: true, EndStream: true})
	if code, goneAway := p.ended(); !goneAway || code != http2.ErrCodeStreamClosed {
		t.Errorf("%v, GOAWAY %v", code, goneAway)
	}
}

// A connection remembers a bounded number of resets.
func TestResetsAreBounded(t *testing.T) {
	var r resets
	for i := range uint32(1000) {
		r.add(2*i + 1)
		r.add(2*i + 1)
	}
	if len(r.streams) != maxResets || r.has(1) || !r.has(1999) || !r.has(2001-2*maxResets) || r.has(1999-2*maxResets) {
		t.Errorf("%d resets remembered: %v", len(r.streams), r.streams)
	}
}
