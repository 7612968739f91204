package h2

import (
	"io"
	"maps"
	"slices"
	"testing"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/request"
)

// An echo opens a tunnel for each extended CONNECT, and sends back what it reads once ready is
// closed.
type echo struct{ ready chan struct{} }

func (echo) AnswerH2(dst []byte, _ *request.Request, _ *ClientTable) ([]byte, int, bool) {
	return dst, 0, false
}

func (h echo) Handle(w *Writer, r *Request) {
	if w.Tunnel == nil {
		w.Header(AppendStatus(nil, 405), true)
		return
	}
	w.Header(AppendStatus(nil, 200), false)
	w.Flush()
	end := w.TunnelEnd()
	defer end.Close()
	<-h.ready
	io.Copy(end, struct{ io.Reader }{end})
	end.CloseWrite()
}

func (p *peer) extended(fields ...string) uint32 {
	return p.openStream("CONNECT", "/socket", false, append([]string{":protocol", "websocket"}, fields...)...)
}

// Malformed extended CONNECTs are errors of their streams, and none opens a tunnel (RFC 8441,
// section 4).
func TestMalformedExtendedConnect(t *testing.T) {
	for name, tt := range map[string]struct {
		off    bool
		method string
		fields []string
	}{
		"not announced":     {true, "CONNECT", []string{":protocol", "websocket"}},
		"another method":    {false, "GET", []string{":protocol", "websocket"}},
		"twice":             {false, "CONNECT", []string{":protocol", "websocket", ":protocol", "websocket"}},
		"an empty protocol": {false, "CONNECT", []string{":protocol", ""}},
		"a length":          {false, "CONNECT", []string{":protocol", "websocket", "content-length", "5"}},
		"after a field":     {false, "CONNECT", []string{"x", "y", ":protocol", "websocket"}},
		"without protocol":  {false, "CONNECT", nil},
		"an Upgrade":        {false, "CONNECT", []string{":protocol", "websocket", "upgrade", "websocket"}},
		"a Connection":      {false, "CONNECT", []string{":protocol", "websocket", "connection", "upgrade"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := echo{make(chan struct{})}
			close(h.ready)
			p := connect(t, New(h, h, Config{Tunnels: !tt.off}))
			id := p.openStream(tt.method, "/socket", false, tt.fields...)
			f := p.until(func(f http2.Frame) bool { return f.Header().StreamID == id })
			if reset, ok := f.(*http2.RSTStreamFrame); !ok || reset.ErrCode != http2.ErrCodeProtocol {
				t.Errorf("%v, want a reset", f)
			}
		})
	}
}

// The client may send as much as its window allows before the tunnel is read, and no more. Its
// window opens again as the tunnel is read.
func TestTunnelWindow(t *testing.T) {
	h := echo{make(chan struct{})}
	p := connect(t, New(h, h, Config{Tunnels: true}), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	p.WriteWindowUpdate(0, 1<<20)
	first, second := p.extended(), p.extended()
	for range 4 {
		p.WriteData(first, false, make([]byte, 16<<10-1))
		p.WriteData(second, false, make([]byte, 16<<10-1))
	}
	p.WriteData(second, false, make([]byte, 100)) // too much
	p.until(func(f http2.Frame) bool {
		reset, ok := f.(*http2.RSTStreamFrame)
		return ok && reset.StreamID == second && reset.ErrCode == http2.ErrCodeFlowControl
	})
	close(h.ready)
	opened, echoed := 0, 0
	for echoed < 4*(16<<10-1) || opened < 3*tunnelWindow {
		switch f := p.read().(type) {
		case *http2.WindowUpdateFrame:
			if f.StreamID == first {
				opened += int(f.Increment)
			}
		case *http2.DataFrame:
			echoed += len(f.Data())
		}
	}
	p.WriteData(first, true, []byte("end"))
	p.until(func(f http2.Frame) bool {
		return f.Header().Flags.Has(http2.FlagDataEndStream) && f.Header().Type == http2.FrameData
	})
}

// A tunnel outlives the deadlines of requests and responses, and a reset by the client ends it.
func TestTunnelHasNoDeadline(t *testing.T) {
	h := echo{make(chan struct{})}
	close(h.ready)
	s := New(h, h, Config{Tunnels: true, Receive: 1, Send: 1})
	p := connect(t, s)
	id := p.extended()
	p.until(func(f http2.Frame) bool { return f.Header().StreamID == id && f.Header().Type == http2.FrameHeaders })
	s.mu.Lock()
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		c.overdue(c.now.AddDate(1, 0, 0))
		open := c.streams.open[id] != nil
		c.mu.Unlock()
		if !open {
			t.Error("the sweep has ended the tunnel")
		}
	}
	p.WriteRSTStream(id, http2.ErrCodeCancel)
	p.WritePing(false, [8]byte{1})
	p.until(func(f http2.Frame) bool { return f.Header().Type == http2.FramePing })
	for _, c := range conns {
		c.mu.Lock()
		open := len(c.streams.open) > 0
		c.mu.Unlock()
		if open {
			t.Error("the reset stream is open")
		}
	}
}
