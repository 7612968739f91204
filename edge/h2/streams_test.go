package h2

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// A patient handler lets its client pause for eleven minutes.
type patient struct{ app }

func (patient) Handle(w *Writer, r *Request) {
	r.Upload.Relax(11 * time.Minute)
	n, err := io.Copy(io.Discard, r.Upload)
	w.Header(AppendField(AppendStatus(nil, 200), "Says", fmt.Sprint(n, err)), true)
}

// A client may pause in its request if the handler says so, for as long as it says.
func TestRelaxedUpload(t *testing.T) {
	for pause, want := range map[time.Duration]string{10 * time.Minute: "12 <nil>", 12 * time.Minute: "0 i/o timeout"} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			done := make(chan struct{})
			go func() {
				serveConn(New(app{}, patient{}, Config{Uploads: true}), ours, nil, netip.Prefix{}, nil)
				close(done)
			}()
			q := newQueue(theirs)
			p := dial(t, q)
			id := p.openStream(http.MethodPost, "/", false)
			go p.repeat(4, func(n int) error {
				time.Sleep(pause)
				return p.WriteData(id, n == 3, []byte("one"))
			})
			f := p.until(func(f http2.Frame) bool { h, ok := f.(*http2.MetaHeadersFrame); return ok && h.StreamEnded() })
			if says := f.(*http2.MetaHeadersFrame).RegularFields(); len(says) != 1 || says[0].Value != want {
				t.Errorf("pauses of %v: %v", pause, says)
			}
			theirs.Close()
			<-done
			close(q.closed)
			time.Sleep(time.Hour) // lets other goroutines finish writing
		})
	}
}

// A refuser begins its response, and ends it when no more of the request's body arrives.
type refuser struct {
	app
	ended chan error
}

func (a refuser) Handle(w *Writer, r *Request) {
	w.Header(AppendStatus(nil, 413), false)
	w.Flush()
	_, err := io.Copy(io.Discard, r.Upload)
	a.ended <- err
	w.Write([]byte("too large"))
	w.End()
}

// A client that stops its upload when the response begins, as curl does after an error, gets the
// whole response, although it has sent less than it had announced. Before the response begins that
// is an error.
func TestUploadStopsAtTheResponse(t *testing.T) {
	a := refuser{ended: make(chan error, 1)}
	p := connect(t, New(a, a, Config{Uploads: true}))
	id := p.openStream(http.MethodPut, "/", false, "content-length", "100000")
	p.until(func(f http2.Frame) bool { _, ok := f.(*http2.MetaHeadersFrame); return ok })
	p.WriteData(id, true, []byte("the beginning"))
	var got strings.Builder
	p.until(func(f http2.Frame) bool {
		if r, ok := f.(*http2.RSTStreamFrame); ok {
			t.Fatalf("a reset instead of the response: %v", r.ErrCode)
		}
		d, ok := f.(*http2.DataFrame)
		if ok {
			got.Write(d.Data())
		}
		return ok && d.StreamEnded()
	})
	if err := <-a.ended; err != io.ErrUnexpectedEOF || got.String() != "too large" {
		t.Errorf("%q after %v", got.String(), err)
	}
}

// What a client sends on a stream after the end of the response is checked as before it, so that no
// result depends on which of the two is first.
func TestFramesAfterTheResponse(t *testing.T) {
	window := func(p *peer, id uint32, by ...uint32) {
		for _, n := range by {
			p.WriteRawFrame(http2.FrameWindowUpdate, 0, id, binary.BigEndian.AppendUint32(nil, n))
		}
	}
	trailers := func(p *peer, id uint32, name string, ends bool) {
		p.block.Reset()
		p.enc.WriteField(hpack.HeaderField{Name: name, Value: "late"})
		p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block.Bytes(), EndHeaders: true, EndStream: ends})
	}
	goAway := func(code http2.ErrCode) string { return "GOAWAY " + code.String() }
	rst := func(code http2.ErrCode) string { return "RST_STREAM " + code.String() }
	protocol, closed, flow := http2.ErrCodeProtocol, http2.ErrCodeStreamClosed, http2.ErrCodeFlowControl
	for name, tt := range map[string]struct {
		send  func(p *peer, id uint32)
		soon  string // what the client gets if the stream is not yet reset; empty: nothing
		later string // and if it is
	}{
		"nothing":                             {func(*peer, uint32) {}, rst(http2.ErrCodeNo), ""},
		"a window by 0":                       {func(p *peer, id uint32) { window(p, id, 0) }, rst(protocol), goAway(protocol)},
		"a larger window":                     {func(p *peer, id uint32) { window(p, id, 5) }, rst(http2.ErrCodeNo), ""},
		"a window too large":                  {func(p *peer, id uint32) { window(p, id, maxWindow) }, rst(flow), ""},
		"windows that are too large together": {func(p *peer, id uint32) { window(p, id, maxWindow-ourWindow, 1) }, rst(flow), ""},
		"a window by 0 after the end": {func(p *peer, id uint32) {
			p.WriteData(id, true, []byte("four"))
			window(p, id, 0)
		}, goAway(protocol), goAway(protocol)},
		"the rest": {func(p *peer, id uint32) { p.WriteData(id, true, []byte("four")) }, "", ""},
		"the rest, and trailers": {func(p *peer, id uint32) {
			p.WriteData(id, false, []byte("four"))
			trailers(p, id, "x-trailer", true)
		}, "", ""},
		"too much":                {func(p *peer, id uint32) { p.WriteData(id, false, []byte("seven..")) }, rst(protocol), ""},
		"too little":              {func(p *peer, id uint32) { p.WriteData(id, true, []byte("one")) }, "", ""},
		"too little, by trailers": {func(p *peer, id uint32) { trailers(p, id, "x-trailer", true) }, "", ""},
		"trailers without an end": {func(p *peer, id uint32) { trailers(p, id, "x-trailer", false) }, rst(protocol), ""},
		"malformed trailers":      {func(p *peer, id uint32) { trailers(p, id, ":path", true) }, rst(protocol), ""},
		"DATA after the end": {func(p *peer, id uint32) {
			p.WriteData(id, true, []byte("four"))
			p.WriteData(id, true, []byte("four"))
		}, rst(closed), ""},
		"trailers after the end": {func(p *peer, id uint32) {
			p.WriteData(id, true, []byte("four"))
			trailers(p, id, "x-trailer", true)
		}, goAway(closed), ""},
		"a reset": {func(p *peer, id uint32) { p.WriteRSTStream(id, http2.ErrCodeCancel) }, "", ""},
		"DATA after a reset": {func(p *peer, id uint32) {
			p.WriteRSTStream(id, http2.ErrCodeCancel)
			p.WriteData(id, true, []byte("four"))
		}, rst(closed), rst(closed)},
		"trailers after a reset": {func(p *peer, id uint32) {
			p.WriteRSTStream(id, http2.ErrCodeCancel)
			trailers(p, id, "x-trailer", true)
		}, goAway(closed), goAway(closed)},
		"PRIORITY on itself": {func(p *peer, id uint32) {
			p.WritePriority(id, http2.PriorityParam{StreamDep: id})
		}, rst(protocol), rst(protocol)},
		"PRIORITY of an idle stream on itself": {func(p *peer, id uint32) {
			p.WritePriority(id+2, http2.PriorityParam{StreamDep: id + 2})
		}, goAway(protocol), goAway(protocol)},
		"short PRIORITY": {func(p *peer, id uint32) {
			p.WriteRawFrame(http2.FramePriority, 0, id, nil)
		}, rst(http2.ErrCodeFrameSize), rst(http2.ErrCodeFrameSize)},
		"short PRIORITY of an idle stream": {func(p *peer, id uint32) {
			p.WriteRawFrame(http2.FramePriority, 0, id+2, nil)
		}, goAway(http2.ErrCodeFrameSize), goAway(http2.ErrCodeFrameSize)},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, late %v", name, late), func(t *testing.T) {
				pipedWith(t, Config{Uploads: true}, app{}, func(t *testing.T, p *peer) {
					id := p.openStream(http.MethodPost, "/hello", false, "expect", "100-continue", "content-length", "4")
					p.until(func(f http2.Frame) bool {
						h, ok := f.(*http2.MetaHeadersFrame)
						return ok && h.StreamEnded()
					})
					want := tt.soon
					if late {
						want = tt.later
						p.until(func(f http2.Frame) bool {
							r, ok := f.(*http2.RSTStreamFrame)
							return ok && r.ErrCode == http2.ErrCodeNo
						})
					}
					tt.send(p, id)
					if got := p.outcome(); got != want {
						t.Errorf("the client gets %q; want %q", got, want)
					}
				})
			})
		}
	}
}

// outcome returns the first GOAWAY or RST_STREAM within a minute, or nothing if there is neither.
func (p *peer) outcome() string {
	go func() {
		time.Sleep(10 * time.Second)
		p.WritePing(false, [8]byte{1})
	}()
	f := p.until(func(f http2.Frame) bool {
		switch f := f.(type) {
		case *http2.GoAwayFrame, *http2.RSTStreamFrame:
			return true
		case *http2.PingFrame:
			return f.IsAck()
		}
		return false
	})
	switch f := f.(type) {
	case *http2.GoAwayFrame:
		return "GOAWAY " + f.ErrCode.String()
	case *http2.RSTStreamFrame:
		return "RST_STREAM " + f.ErrCode.String()
	}
	return ""
}

// A connection remembers a bounded number of resets.
func TestResetsAreBounded(t *testing.T) {
	var r resets
	for i := range uint32(1000) {
		r.add(2*i+1, nil)
		r.add(2*i+1, nil)
	}
	if len(r) != maxResets || r.has(1) || !r.has(1999) || !r.has(2001-2*maxResets) || r.has(1999-2*maxResets) {
		t.Errorf("%d resets remembered: %v", len(r), r)
	}
}
