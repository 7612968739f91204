package h2

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/internal/certs/certstest"
)

// An app has a ready response for /ready/N, a body of N bytes, and handles all other paths: it
// describes the request, waits for a signal at /wait, and writes /bytes/N in parts.
type app struct {
	wait    chan struct{}
	started chan struct{}
}

// letters are the longest text of a test. They are made once, because the race detector makes the
// loop slow.
var letters = func() []byte {
	b := make([]byte, 1<<20+1)
	for i := range b {
		b[i] = byte('a' + i%26)
	}
	return b
}()

// text returns the first n letters, which nobody changes.
func text(n int) []byte { return letters[:n:n] }

func sized(path, prefix string) (int, bool) {
	rest, ok := strings.CutPrefix(path, prefix)
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && 0 <= n && n <= 1<<20
}

var shared = NewSharedField([]byte("Vary"), []byte("Accept-Encoding"))

func (app) AnswerH2(dst []byte, r *request.Request, m *ClientTable) ([]byte, int, bool) {
	n, ok := sized(string(r.Target), "/ready/")
	if !ok {
		return dst, 0, false
	}
	start := len(dst)
	dst = AppendField(m.Append(AppendStatus(dst, 200), shared), "Content-Length", strconv.Itoa(n))
	size := len(dst) - start
	if n == 0 {
		return dst, size, true
	}
	return append(append(dst, make([]byte, Gap)...), text(n)...), size, true
}

func (a app) Handle(w *Writer, r *Request) {
	head := AppendStatus(nil, 200)
	if r.Refuse != 0 {
		w.Header(AppendStatus(nil, r.Refuse), true)
		return
	}
	if n, ok := sized(r.Path, "/bytes/"); ok {
		w.Header(AppendField(head, "Content-Length", strconv.Itoa(n)), false)
		w.Write(text(n))
		w.End()
		return
	}
	if r.Path == "/think" {
		time.Sleep(4 * time.Minute)
	}
	if r.Path == "/wait" && a.wait != nil {
		a.started <- struct{}{}
		select {
		case <-a.wait:
		case <-w.Gone():
			<-a.wait // like a shared fetch, it goes on without its client
		}
	}
	var says strings.Builder
	fmt.Fprintf(&says, "%s %s %s", r.Method, r.Authority, r.Path)
	for _, f := range r.Fields {
		fmt.Fprintf(&says, " %s=%s", f.Name, f.Value)
	}
	fmt.Fprintf(&says, " %d", len(r.Body))
	w.Header(AppendField(head, "Says", says.String()), true)
}

func newApp() app { return app{make(chan struct{}), make(chan struct{}, 1000)} }

// listen serves on a TCP port.
func listen(t *testing.T, s *Server, config *tls.Config) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { serveConn(s, c, config, netip.Prefix{}, nil) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.Shutdown(ctx)
		served.Wait()
	})
	return l.Addr().String()
}

// Go's own client gets complete responses over TCP and over TLS, for bodies of all sizes, many at
// once: 400, or with -short 160, which is still more than a client may have open.
func TestClient(t *testing.T) {
	many := 400
	if testing.Short() {
		many = 160
	}
	cert, err := tls.LoadX509KeyPair(certstest.Pair(t, t.TempDir(), "edge", "edge", "cdn.example"))
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*tls.Config{"h2c": nil,
		"tls": {Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}} {
		t.Run(name, func(t *testing.T) {
			address := listen(t, New(newApp(), newApp(), Config{MaxBody: 1 << 20}), config)
			scheme, tr := "https://", &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
				Protocols: new(http.Protocols)}
			tr.Protocols.SetHTTP2(true)
			if config == nil {
				scheme = "http://"
				tr.Protocols.SetUnencryptedHTTP2(true)
			}
			t.Cleanup(tr.CloseIdleConnections)
			c := &http.Client{Transport: tr}
			var all sync.WaitGroup
			for i := range many {
				all.Go(func() {
					n := []int{0, 1, 1000, 16384, 16385, 40000, 70000, 300000}[i%8]
					kind := []string{"/ready/", "/bytes/"}[i/8%2]
					resp, err := c.Get(scheme + address + kind + strconv.Itoa(n))
					if err != nil {
						t.Error(err)
						return
					}
					defer resp.Body.Close()
					if b, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(b, text(n)) {
						t.Errorf("%s%d: %d bytes, %v", kind, n, len(b), err)
					}
				})
			}
			all.Wait()
			resp, err := c.Post(scheme+address+"/post", "text/plain", bytes.NewReader(text(900000)))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if says := resp.Header.Get("Says"); !strings.HasPrefix(says, "POST "+address+" /post") ||
				!strings.HasSuffix(says, " 900000") || !strings.Contains(says, "content-type=text/plain") {
				t.Errorf("the request was %q", says)
			}
			if resp, err := c.Head(scheme + address + "/bytes/77"); err != nil || resp.ContentLength != 77 {
				t.Errorf("HEAD: %v, %v", resp, err)
			}
			if resp, err := c.Post(scheme+address+"/post", "text/plain",
				bytes.NewReader(text(1<<20+1))); err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("a body above the limit: %v, %v", resp, err)
			}
		})
	}
}

// A peer is a client that reads and writes frames.
type peer struct {
	t *testing.T
	net.Conn
	*http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
	next  uint32
}

// dial starts a connection and exchanges settings.
func dial(t *testing.T, c net.Conn, settings ...http2.Setting) *peer {
	t.Helper()
	p := &peer{t: t, Conn: c, Framer: http2.NewFramer(c, c), next: 1}
	p.enc = hpack.NewEncoder(&p.block)
	p.ReadMetaHeaders = hpack.NewDecoder(tableSize, nil)
	io.WriteString(c, Preface)
	p.WriteSettings(settings...)
	p.WriteSettingsAck()
	for acked := false; !acked; {
		f := p.read()
		s, ok := f.(*http2.SettingsFrame)
		acked = ok && s.IsAck()
	}
	return p
}

func (p *peer) read() http2.Frame {
	p.t.Helper()
	f, err := p.ReadFrame()
	if err != nil {
		p.t.Fatalf("reading a frame: %v", err)
	}
	return f
}

// headers returns the header block of a request.
func (p *peer) headers(method, path string, fields ...string) []byte {
	p.block.Reset()
	for i, v := range append([]string{":method", method, ":scheme", "http", ":authority", "cdn.example", ":path", path}, fields...) {
		if i%2 == 0 {
			continue
		}
		name := append([]string{":method", method, ":scheme", "http", ":authority", "cdn.example", ":path", path}, fields...)[i-1]
		p.enc.WriteField(hpack.HeaderField{Name: name, Value: v})
	}
	return bytes.Clone(p.block.Bytes())
}

// openStream opens a stream with a request.
func (p *peer) openStream(method, path string, ends bool, fields ...string) uint32 {
	id := p.next
	p.next += 2
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.headers(method, path, fields...),
		EndHeaders: true, EndStream: ends})
	return id
}

// until reads frames up to the first that is wanted.
func (p *peer) until(wanted func(http2.Frame) bool) http2.Frame {
	p.t.Helper()
	for {
		if f := p.read(); wanted(f) {
			return f
		}
	}
}

// ended reads to the end of the connection, and returns the code of the GOAWAY before it.
func (p *peer) ended() (code http2.ErrCode, goneAway bool) {
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return code, goneAway
		}
		if g, ok := f.(*http2.GoAwayFrame); ok {
			code, goneAway = g.ErrCode, true
		}
	}
}

func connect(t *testing.T, s *Server, settings ...http2.Setting) *peer {
	t.Helper()
	c, err := net.Dial("tcp", listen(t, s, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(2 * time.Minute)) // a silent server fails the test
	return dial(t, c, settings...)
}

// Each kind of flood ends its connection with the expected error.
func TestFloods(t *testing.T) {
	t.Parallel() // the server pauses in a flood
	for name, tt := range map[string]struct {
		send func(p *peer)
		want http2.ErrCode
	}{
		"ping": {func(p *peer) { p.repeat(5000, func(int) error { return p.WritePing(false, [8]byte{}) }) },
			http2.ErrCodeEnhanceYourCalm},
		"settings": {func(p *peer) { p.repeat(5000, func(int) error { return p.WriteSettings() }) }, http2.ErrCodeEnhanceYourCalm},
		"priority": {func(p *peer) {
			p.repeat(5000, func(i int) error { return p.WritePriority(uint32(2*i+1), http2.PriorityParam{StreamDep: 0}) })
		}, http2.ErrCodeEnhanceYourCalm},
		"one-byte windows": {func(p *peer) { p.repeat(5000, func(int) error { return p.WriteWindowUpdate(0, 1) }) },
			http2.ErrCodeEnhanceYourCalm},
		"unknown frames": {func(p *peer) {
			p.repeat(5000,
				func(int) error { return p.WriteRawFrame(0xbe, 0, 0, nil) })
		}, http2.ErrCodeEnhanceYourCalm},
		"empty DATA": {func(p *peer) {
			id := p.openStream("POST", "/post", false)
			p.repeat(5000, func(int) error { return p.WriteData(id, false, nil) })
		}, http2.ErrCodeEnhanceYourCalm},
		"DATA with only padding": {func(p *peer) {
			id := p.openStream("POST", "/post", false)
			p.repeat(2300, func(int) error { return p.WriteDataPadded(id, false, nil, make([]byte, 255)) })
		}, http2.ErrCodeEnhanceYourCalm},
		"DATA that is mostly padding": {func(p *peer) {
			id := p.openStream("POST", "/post", false)
			p.repeat(2300, func(int) error { return p.WriteDataPadded(id, false, []byte{'x'}, make([]byte, 255)) })
		}, http2.ErrCodeEnhanceYourCalm},
		"padded HEADERS with a reset": {func(p *peer) {
			p.repeat(5000, func(int) error {
				id := p.next
				p.next += 2
				p.WriteHeaders(http2.HeadersFrameParam{StreamID: id,
					BlockFragment: p.headers("GET", "/wait", "a", "b"), EndHeaders: true, PadLength: 255})
				return p.WriteRSTStream(id, http2.ErrCodeCancel)
			})
		}, http2.ErrCodeEnhanceYourCalm},
		"rapid reset of running requests": {func(p *peer) {
			p.repeat(5000, func(int) error { return p.WriteRSTStream(p.openStream("GET", "/wait", true), http2.ErrCodeCancel) })
		}, http2.ErrCodeEnhanceYourCalm},
		"CONTINUATION without end": {func(p *peer) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			p.repeat(20, func(int) error { return p.WriteContinuation(1, false, []byte{0x82}) })
		}, http2.ErrCodeEnhanceYourCalm},
		"CONTINUATION, long": {func(p *peer) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 16000)})
			p.repeat(5, func(int) error { return p.WriteContinuation(1, false, make([]byte, 16000)) })
		}, http2.ErrCodeEnhanceYourCalm},
		"two HPACK bombs": {func(p *peer) {
			p.repeat(2, func(int) error {
				block := append(p.headers("GET", "/", "bomb", strings.Repeat("b", 3000)), bytes.Repeat([]byte{0xbe}, 10000)...)
				id := p.next
				p.next += 2
				return p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: true})
			})
		}, http2.ErrCodeEnhanceYourCalm},
		"windows up and down": {func(p *peer) {
			for range 100 {
				p.openStream("GET", "/wait", true)
			}
			p.repeat(200, func(i int) error {
				return p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(i % 2)})
			})
		}, http2.ErrCodeEnhanceYourCalm},
		"bytes one by one": {func(p *peer) {
			id := p.openStream("GET", "/bytes/1000000", true)
			p.repeat(70_000, func(int) error {
				p.WriteWindowUpdate(0, 1)
				return p.WriteWindowUpdate(id, 1)
			})
		}, http2.ErrCodeEnhanceYourCalm},
		"a window too large": {func(p *peer) {
			p.repeat(2, func(int) error { return p.WriteWindowUpdate(0, 1<<31-1) })
		}, http2.ErrCodeFlowControl},
		"a table size above the limit": {func(p *peer) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1,
				BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x0f}, EndHeaders: true})
		}, http2.ErrCodeCompression},
		"a frame too long": {func(p *peer) { p.Conn.Write([]byte{0, 0x40, 1, 0, 0, 0, 0, 0, 1}) }, http2.ErrCodeFrameSize},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApp()
			defer close(a.wait)
			s := New(a, a, Config{})
			p := connect(t, s)
			go tt.send(p)
			// A client that goes on sending may see only the reset.
			if code, goneAway := p.ended(); goneAway && code != tt.want {
				t.Errorf("GOAWAY with %v; want %v", code, tt.want)
			}
			if got := s.Stats(); tt.want == http2.ErrCodeEnhanceYourCalm && got.Calmed != 1 ||
				tt.want != http2.ErrCodeEnhanceYourCalm && got.Broken != 1 {
				t.Errorf("Stats = %+v", got)
			}
		})
	}
}

func (p *peer) repeat(n int, send func(i int) error) {
	for i := range n {
		if send(i) != nil {
			return
		}
	}
}

// Resetting streams does not let a client run more handlers.
func TestRunningHandlersAreCounted(t *testing.T) {
	t.Parallel() // the server pauses in a flood
	a := newApp()
	p := connect(t, New(a, a, Config{}))
	for range MaxStreams {
		id := p.openStream("GET", "/wait", true)
		<-a.started
		p.WriteRSTStream(id, http2.ErrCodeCancel)
	}
	id := p.openStream("GET", "/wait", true)
	f := p.until(func(f http2.Frame) bool { _, ok := f.(*http2.RSTStreamFrame); return ok }).(*http2.RSTStreamFrame)
	if f.StreamID != id || f.ErrCode != http2.ErrCodeRefusedStream {
		t.Errorf("one stream too many: %v", f)
	}
	close(a.wait)
	for { // until a handler has ended
		id := p.openStream("GET", "/hello", true)
		f := p.until(func(f http2.Frame) bool { return f.Header().StreamID == id })
		if _, ok := f.(*http2.MetaHeadersFrame); ok {
			break
		}
	}
}

// Bodies count until their handlers are done with them, for one connection and for all together.
// Incomplete bodies are given back too.
func TestHeldBodies(t *testing.T) {
	a, room := newApp(), &bodies.Budget{Max: 64 << 20}
	p := connect(t, New(a, a, Config{MaxBody: maxBodyBytes / 2, Bodies: room}))
	post := func(parts int, ends bool) (stream uint32) {
		id := p.openStream("POST", "/wait", false)
		for i := range parts {
			p.WriteData(id, ends && i == parts-1, make([]byte, 16<<10))
			p.until(func(f http2.Frame) bool { w, ok := f.(*http2.WindowUpdateFrame); return ok && w.StreamID == 0 })
		}
		return id
	}
	for range 2 {
		post(maxBodyBytes/2/(16<<10), true)
		<-a.started
	}
	if n := room.Used(); n != maxBodyBytes {
		t.Errorf("two bodies in handlers take %d bytes, want %d", n, maxBodyBytes)
	}
	id := post(1, false)
	answer := p.until(func(f http2.Frame) bool {
		h, ok := f.(*http2.MetaHeadersFrame)
		return ok &&
			h.StreamID == id
	}).(*http2.MetaHeadersFrame)
	if status := answer.PseudoValue("status"); status != "503" {
		t.Errorf("a third body: %s", status)
	}
	close(a.wait)
	given := func(name string) {
		t.Helper()
		for late := time.Now().Add(2 * time.Minute); room.Used() != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("%s: %d bytes still taken", name, room.Used())
			}
		}
	}
	given("after all responses")
	half := func() (stream uint32) {
		id := post(8, false)
		if room.Used() == 0 {
			t.Error("an incomplete body takes nothing")
		}
		return id
	}
	p.WriteRSTStream(half(), http2.ErrCodeCancel)
	given("when the client takes it back")
	half()
	p.Close()
	given("when the connection is gone")
}

// A body that exceeds its window waits, and is sent as the window opens, however little.
func TestClosedWindow(t *testing.T) {
	for _, path := range []string{"/ready/300", "/bytes/300"} {
		t.Run(path[1:], func(t *testing.T) {
			p := connect(t, New(newApp(), newApp(), Config{}), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			id := p.openStream("GET", path, true)
			p.until(func(f http2.Frame) bool { _, ok := f.(*http2.MetaHeadersFrame); return ok })
			var got []byte
			for len(got) < 300 {
				p.WriteWindowUpdate(id, 7)
				d := p.until(func(f http2.Frame) bool { _, ok := f.(*http2.DataFrame); return ok }).(*http2.DataFrame)
				if len(d.Data()) > 7 {
					t.Fatalf("%d bytes through a window of 7", len(d.Data()))
				}
				got = append(got, d.Data()...)
			}
			if !bytes.Equal(got, text(300)) {
				t.Errorf("%q", got)
			}
		})
	}
}

// The most urgent body is sent first (RFC 9218).
func TestUrgency(t *testing.T) {
	p := connect(t, New(newApp(), newApp(), Config{}), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	p.openStream("GET", "/ready/10", true)
	last := p.openStream("GET", "/ready/10", true, "priority", "u=5, i")
	first := p.openStream("GET", "/ready/10", true, "priority", "u=1")
	p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100})
	var order []uint32
	for len(order) < 3 {
		order = append(order, p.until(func(f http2.Frame) bool { _, ok := f.(*http2.DataFrame); return ok }).Header().StreamID)
	}
	if fmt.Sprint(order) != fmt.Sprint([]uint32{first, 1, last}) {
		t.Errorf("order of streams: %v", order)
	}
}

// A field that many responses share is sent as text once. A client whose table is smaller than the
// default gets an acknowledgement once (RFC 7541, section 4.2), whenever it changes the size, and
// no more indexed fields.
func TestClientTableSize(t *testing.T) {
	for _, tt := range []struct {
		name  string
		begin []http2.Setting
		later bool
		long  []bool // whether the shared field is sent as text
		ack   int    // index of the block with the acknowledgement; -1: none
	}{
		{"the default", nil, false, []bool{true, false, false, false}, -1},
		{"size 0 from the beginning", []http2.Setting{{ID: http2.SettingHeaderTableSize, Val: 0}}, false,
			[]bool{true, true, true, true}, 0},
		{"size 0 from the third block on", nil, true, []bool{true, false, true, true}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := connect(t, New(newApp(), newApp(), Config{}), tt.begin...)
			p.ReadMetaHeaders = nil
			d := hpack.NewDecoder(tableSize, nil)
			for i, path := range []string{"/ready/1", "/ready/2", "/hello", "/ready/1", "/ready/1"} {
				if i == 2 && tt.later {
					p.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
				}
				p.openStream("GET", path, true)
				h := p.until(func(f http2.Frame) bool { _, ok := f.(*http2.HeadersFrame); return ok }).(*http2.HeadersFrame)
				block := h.HeaderBlockFragment()
				if acked := block[0] == 0x20; acked != (i == tt.ack) {
					t.Errorf("block %d begins with %x", i, block[0])
				}
				if fields, err := d.DecodeFull(block); err != nil || len(fields) == 0 {
					t.Fatalf("block %d: %v, %v", i, fields, err)
				}
				if path == "/hello" {
					continue
				}
				if long := bytes.Contains(block, []byte("Accept-Encoding")); long != tt.long[0] {
					t.Errorf("block %d: %q", i, block)
				}
				tt.long = tt.long[1:]
			}
		})
	}
}

// A reader reads the bodies of requests while they arrive.
type reader struct{ app }

func (reader) Handle(w *Writer, r *Request) {
	if r.Upload != nil {
		io.Copy(io.Discard, r.Upload)
	}
	w.Header(AppendStatus(nil, 200), true)
}

// A 100 is a header block too, so it acknowledges the size of the client's table if it is the
// first.
func TestClientTableSizeBeforeContinue(t *testing.T) {
	for _, uploads := range []bool{false, true} {
		p := connect(t, New(reader{}, reader{}, Config{Uploads: uploads}), http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1000})
		p.ReadMetaHeaders = nil
		id := p.openStream("POST", "/", false, "expect", "100-continue")
		for i, acked := range []bool{true, false} {
			h := p.until(func(f http2.Frame) bool { _, ok := f.(*http2.HeadersFrame); return ok }).(*http2.HeadersFrame)
			if block := h.HeaderBlockFragment(); (block[0] == 0x20) != acked {
				t.Errorf("uploads %v: block %d begins with %x", uploads, i, block[0])
			}
			p.WriteData(id, true, []byte("body"))
		}
	}
}

// Requests, responses and connections have deadlines as a whole.
func TestDeadlines(t *testing.T) {
	isHeaders := func(f http2.Frame) bool { _, ok := f.(*http2.MetaHeadersFrame); return ok }
	isReset := func(f http2.Frame) bool { _, ok := f.(*http2.RSTStreamFrame); return ok }
	for name, tt := range map[string]func(t *testing.T, p *peer){
		"a dripping body": func(t *testing.T, p *peer) {
			start := time.Now()
			id := p.openStream("POST", "/post", false)
			go p.repeat(100, func(int) error {
				time.Sleep(time.Second)
				return p.WriteData(id, false, []byte{'x'})
			})
			h := p.until(isHeaders).(*http2.MetaHeadersFrame)
			if took := time.Since(start); h.PseudoValue("status") != "408" || took > 22*time.Second {
				t.Errorf("%v after %v", h, took)
			}
		},
		"a response through a window of one byte a second": func(t *testing.T, p *peer) {
			start := time.Now()
			p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			ready, handled := p.openStream("GET", "/ready/1000", true), p.openStream("GET", "/bytes/1000", true)
			go p.repeat(100, func(int) error {
				time.Sleep(time.Second)
				p.WriteWindowUpdate(ready, 1)
				return p.WriteWindowUpdate(handled, 1)
			})
			for range 2 {
				f := p.until(isReset).(*http2.RSTStreamFrame)
				if took := time.Since(start); f.ErrCode != http2.ErrCodeCancel || took > 33*time.Second {
					t.Errorf("%v after %v", f, took)
				}
			}
		},
		// A response does not pay for the time in which the client takes others.
		"many responses to a client of 50 kB/s": func(t *testing.T, p *peer) {
			if !onLoop {
				return // handlers wait for a lock while one writes, so that synctest stands still
			}
			p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: maxWindow})
			p.WriteWindowUpdate(0, maxWindow-ourWindow)
			for range 8 {
				p.openStream("GET", "/bytes/400000", true)
			}
			for ended := 0; ended < 8; {
				switch f := p.read().(type) {
				case *http2.DataFrame:
					time.Sleep(time.Duration(len(f.Data())) * time.Second / 50_000)
					if f.StreamEnded() {
						ended++
					}
				case *http2.RSTStreamFrame:
					t.Fatalf("after %d responses: %v", ended, f)
				}
			}
		},
		"silence": func(t *testing.T, p *peer) {
			start := time.Now()
			code, goneAway := p.ended()
			if took := time.Since(start); !goneAway || code != http2.ErrCodeNo || took > 25*time.Second {
				t.Errorf("%v, GOAWAY %v, after %v", code, goneAway, took)
			}
		},
		"frames without a request": func(t *testing.T, p *peer) {
			id := p.openStream("GET", "/ready/10", true)
			start := time.Now()
			go p.repeat(100, func(i int) error {
				time.Sleep(time.Second)
				switch i % 5 {
				case 0:
					return p.WritePing(false, [8]byte{})
				case 1:
					return p.WriteSettings()
				case 2:
					return p.WriteWindowUpdate(0, 1)
				case 3:
					return p.WritePriority(id, http2.PriorityParam{})
				}
				return p.WriteRawFrame(0xbe, 0, 0, nil)
			})
			p.ended()
			if took := time.Since(start); took > 25*time.Second {
				t.Errorf("after %v", took)
			}
		},
		"pings and incomplete pings": func(t *testing.T, p *peer) {
			start := time.Now()
			ping := []byte{0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}
			p.Conn.Write(ping[:9])
			go p.repeat(100, func(int) error {
				time.Sleep(time.Second)
				_, err := p.Conn.Write(append(bytes.Clone(ping[9:]), ping[:9]...))
				return err
			})
			p.ended()
			// The deadline for a partial frame may begin near the end of the idle time.
			if took := time.Since(start); took > 45*time.Second {
				t.Errorf("after %v", took)
			}
		},
		"padding and DATA on an ended stream": func(t *testing.T, p *peer) {
			id := p.openStream("GET", "/ready/10", true)
			start := time.Now()
			go p.repeat(100, func(i int) error {
				time.Sleep(time.Second)
				return p.WriteDataPadded(id, false, nil, make([]byte, 255))
			})
			p.ended()
			if took := time.Since(start); took > 25*time.Second {
				t.Errorf("after %v", took)
			}
		},
		"requests with pauses": func(t *testing.T, p *peer) {
			start := time.Now()
			for range 10 {
				time.Sleep(15 * time.Second)
				p.openStream("GET", "/ready/10", true)
				p.until(isHeaders)
			}
			last := time.Now()
			p.ended()
			if took := time.Since(last); took < 20*time.Second || took > 25*time.Second {
				t.Errorf("%v after the last request, %v in total", took, time.Since(start))
			}
		},
		"a long upload with frames in halves": func(t *testing.T, p *peer) {
			id := p.openStream("POST", "/post", false)
			p.WriteData(id, false, text(100))
			data := append([]byte{0, 0, 100, 0, 0, 0, 0, 0, byte(id)}, text(100)...)
			go func() {
				p.Conn.Write(data[:50])
				p.repeat(15, func(int) error {
					time.Sleep(time.Second)
					_, err := p.Conn.Write(append(bytes.Clone(data[50:]), data[:50]...))
					return err
				})
				p.Conn.Write(data[50:])
				p.WriteData(id, true, nil)
			}()
			p.until(isHeaders)
			start := time.Now()
			p.ended()
			if took := time.Since(start); took < 20*time.Second || took > 25*time.Second {
				t.Errorf("%v after the response", took)
			}
		},
		"a response that takes longer than the idle time": func(t *testing.T, p *peer) {
			p.openStream("GET", "/think", true)
			p.until(isHeaders)
			start := time.Now()
			p.ended()
			if took := time.Since(start); took < 20*time.Second || took > 25*time.Second {
				t.Errorf("%v after the response", took)
			}
		},
		"a dripping frame": func(t *testing.T, p *peer) {
			start := time.Now()
			go p.repeat(100, func(i int) error {
				time.Sleep(time.Second)
				_, err := p.Conn.Write([]byte{0, 0, 200, 1, 5, 0, 0, 0, 1, 0x82, 0x82, 0x82}[min(i, 9):][:1])
				return err
			})
			p.ended()
			if took := time.Since(start); took > 25*time.Second {
				t.Errorf("after %v", took)
			}
		},
		"a dripping header block": func(t *testing.T, p *peer) {
			start := time.Now()
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			go p.repeat(8, func(int) error {
				time.Sleep(5 * time.Second)
				return p.WriteContinuation(1, false, []byte{0x82})
			})
			p.ended()
			if took := time.Since(start); took > 25*time.Second {
				t.Errorf("after %v", took)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { piped(t, newApp(), tt) })
	}
}

// A queue writes to a pipe in the background, because a pipe has no buffer and both sides may write
// at once.
type queue struct {
	net.Conn
	writes chan []byte
	closed chan struct{}
}

func newQueue(c net.Conn) *queue {
	q := &queue{c, make(chan []byte, 1000), make(chan struct{})}
	go func() {
		for {
			select {
			case b := <-q.writes:
				q.Conn.Write(b)
			case <-q.closed:
				return
			}
		}
	}()
	return q
}

func (q *queue) Write(p []byte) (int, error) {
	select {
	case <-q.closed:
		return 0, io.ErrClosedPipe
	default:
	}
	q.writes <- bytes.Clone(p)
	return len(p), nil
}

// piped runs f with a client on a pipe, in a bubble in which time passes at once.
func piped(t *testing.T, a app, f func(t *testing.T, p *peer)) {
	pipedWith(t, Config{}, a, f)
}

func pipedWith(t *testing.T, config Config, a app, f func(t *testing.T, p *peer)) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			serveConn(New(a, a, config), ours, nil, netip.Prefix{}, nil)
			close(done)
		}()
		q := newQueue(theirs)
		f(t, dial(t, q))
		theirs.Close()
		<-done
		close(q.closed)
		time.Sleep(time.Minute) // lets other goroutines finish writing
	})
}

// Idle counts from the last request, whatever else the client sends, and WaitsForClient reports
// whether the client alone holds up its streams.
func TestIdleAndWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		use   func(p *peer)
		idle  bool
		waits bool
	}{
		"pings":                 {use: func(p *peer) { p.openStream("GET", "/ready/1", true) }, idle: true},
		"an incomplete request": {use: func(p *peer) { p.openStream("POST", "/post", false) }, waits: true},
		"a closed window":       {use: func(p *peer) { p.openStream("GET", "/ready/70000", true) }, waits: true},
		"a blocked handler":     {use: func(p *peer) { p.openStream("GET", "/bytes/70000", true) }, waits: true},
		"a busy handler":        {use: func(p *peer) { p.openStream("GET", "/think", true) }},
		"one of two streams is busy": {use: func(p *peer) {
			p.openStream("POST", "/post", false)
			p.openStream("GET",
				"/think", true)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				a, begun := app{}, make(chan *Conn, 1)
				go serveConn(New(a, a, Config{}), ours, nil, netip.Prefix{}, func(c *Conn) { begun <- c })
				conn := <-begun
				q := newQueue(theirs)
				p := dial(t, q)
				go io.Copy(io.Discard, theirs)
				time.Sleep(time.Second)
				start := time.Now()
				tt.use(p)
				p.repeat(10, func(int) error {
					time.Sleep(time.Second)
					return p.WritePing(false, [8]byte{})
				})
				synctest.Wait() // the connection has read the last one
				idle, since := conn.Idle()
				if idle != tt.idle || idle && since.After(start.Add(time.Second)) {
					t.Errorf("idle: %v since %v", idle, since.Sub(start))
				}
				since, waits := conn.WaitsForClient()
				if waits != tt.waits || waits && since.After(start.Add(time.Second)) {
					t.Errorf("waits: %v since %v", waits, since.Sub(start))
				}
				if closed := conn.CloseIdle(); closed != tt.idle {
					t.Errorf("closed: %v", closed)
				}
				theirs.Close()
				close(q.closed)
				time.Sleep(10 * time.Minute) // lets the handlers finish
			})
		})
	}
}

// A silent client is not cut off while a handler works for it.
func TestSlowHandler(t *testing.T) {
	piped(t, app{}, func(t *testing.T, p *peer) {
		p.openStream("GET", "/think", true)
		p.until(func(f http2.Frame) bool { _, ok := f.(*http2.MetaHeadersFrame); return ok })
	})
}

// After Shutdown a client gets the responses to its earlier requests, and no stream for later ones.
func TestShutdown(t *testing.T) {
	a := newApp()
	s := New(a, a, Config{})
	p := connect(t, s)
	p.openStream("GET", "/wait", true)
	<-a.started
	down := make(chan error)
	go func() { down <- s.Shutdown(t.Context()) }()
	p.until(func(f http2.Frame) bool { _, ok := f.(*http2.GoAwayFrame); return ok })
	p.until(func(f http2.Frame) bool { g, ok := f.(*http2.GoAwayFrame); return ok && g.LastStreamID == 1 })
	p.openStream("GET", "/hello", true)
	close(a.wait)
	if h := p.until(func(f http2.Frame) bool { _, ok := f.(*http2.MetaHeadersFrame); return ok }); h.Header().StreamID != 1 {
		t.Errorf("response: %v", h)
	}
	if code, goneAway := p.ended(); goneAway && code != http2.ErrCodeNo {
		t.Errorf("GOAWAY with %v", code)
	}
	if err := <-down; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// A connection that begins during a shutdown gets our SETTINGS first (RFC 9113, section 3.4), and
// has time for a request before GOAWAY: net/http's client gives up a connection that gets GOAWAY
// before its first request.
func TestShutdownBegins(t *testing.T) {
	s := New(newApp(), newApp(), Config{})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", listen(t, s, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	frames := http2.NewFramer(c, c)
	if _, err := io.WriteString(c, Preface); err != nil || frames.WriteSettings() != nil || frames.WritePing(false, [8]byte{1}) != nil {
		t.Fatal(err)
	}
	for _, want := range []http2.FrameType{http2.FrameSettings, http2.FrameSettings, http2.FramePing, http2.FrameGoAway} {
		if f, err := frames.ReadFrame(); err != nil || f.Header().Type != want {
			t.Errorf("%v, %v, want %v", f, err, want)
		}
	}
}

// A client that connects during a shutdown could not know, so its first request is answered at
// once, after our SETTINGS, and GOAWAY follows.
func TestConnectDuringShutdown(t *testing.T) {
	s := New(newApp(), newApp(), Config{})
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := connect(t, s)
	p.openStream("GET", "/hello", true)
	p.until(func(f http2.Frame) bool { h, ok := f.(*http2.MetaHeadersFrame); return ok && h.StreamID == 1 })
	p.until(func(f http2.Frame) bool { g, ok := f.(*http2.GoAwayFrame); return ok && g.LastStreamID == 1 })
	if code, goneAway := p.ended(); goneAway && code != http2.ErrCodeNo {
		t.Errorf("GOAWAY with %v", code)
	}
}

// An idle connection holds no buffers.
func TestIdleHoldsNoBuffers(t *testing.T) {
	s := New(newApp(), newApp(), Config{})
	p := connect(t, s)
	p.openStream("GET", "/ready/100", true)
	p.until(func(f http2.Frame) bool { d, ok := f.(*http2.DataFrame); return ok && d.StreamEnded() })
	p.WritePing(false, [8]byte{1})
	p.until(func(f http2.Frame) bool { g, ok := f.(*http2.PingFrame); return ok && g.IsAck() })
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.mu.Lock()
		if c.out.buffer != nil || c.link.pending != nil || len(c.decoder.table.text) > 200 {
			t.Errorf("%d bytes wait to be written", c.out.size())
		}
		c.mu.Unlock()
	}
}

// Whatever a client sends, the server sends valid frames, and the connection ends when the client's
// side does.
func FuzzServe(f *testing.F) {
	var b bytes.Buffer
	p := &peer{Framer: http2.NewFramer(&b, nil), next: 1}
	p.enc = hpack.NewEncoder(&p.block)
	p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 50})
	p.openStream("GET", "/ready/100", true)
	p.WriteWindowUpdate(1, 100)
	p.openStream("POST", "/post", false, "content-length", "3")
	p.WriteDataPadded(3, true, []byte("abc"), []byte{0, 0})
	p.WritePing(false, [8]byte{})
	p.openStream("GET", "/bytes/20", true)
	p.WriteRSTStream(5, http2.ErrCodeCancel)
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, sent []byte) {
		c := &script{in: bytes.NewReader([]byte(Preface + string(sent)))}
		serveConn(New(app{}, app{}, Config{}), c, nil, netip.Prefix{}, nil)
		fr := http2.NewFramer(nil, &c.out)
		fr.ReadMetaHeaders = hpack.NewDecoder(tableSize, nil)
		for {
			if _, err := fr.ReadFrame(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("the server sent an invalid frame: %v", err)
			}
		}
	})
}

// A script is a connection whose client sends fixed bytes.
type script struct {
	in     *bytes.Reader
	out    bytes.Buffer
	closed bool
}

func (s *script) Read(p []byte) (int, error) { return s.in.Read(p) }

func (s *script) Write(p []byte) (int, error) {
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	return s.out.Write(p)
}

func (s *script) Close() error                     { s.closed = true; return nil }
func (s *script) LocalAddr() net.Addr              { return nil }
func (s *script) RemoteAddr() net.Addr             { return nil }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
