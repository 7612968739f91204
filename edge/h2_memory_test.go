package edge

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/test/sequential"
)

// idleBytes is how much memory an idle HTTP/2 connection without TLS may take, whatever happened on
// it before.
const idleBytes = 12 << 10

// ClientBytes is the memory of the client's end of a connection, which is in the same process.
const ClientBytes = 700

// frameOf returns an HTTP/2 frame.
func frameOf(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), byte(kind), byte(flags)}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// An idle HTTP/2 connection takes little memory, whatever its client has sent. The test measures
// the memory of the process for many connections, after garbage collection.
func TestIdleStreams(t *testing.T) {
	sequential.Test(t)
	many := 300
	if testing.Short() {
		many = 150
	}
	block := func(path string, more ...hpack.HeaderField) []byte {
		var to bytes.Buffer
		e := hpack.NewEncoder(&to)
		for _, f := range append([]hpack.HeaderField{{Name: ":method", Value: "GET"},
			{Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "edge.test"}, {Name: ":path", Value: path}}, more...) {
			e.WriteField(f)
		}
		return to.Bytes()
	}
	var small, short []hpack.HeaderField
	for i := range 110 {
		small = append(small, hpack.HeaderField{Name: string([]byte{'x', byte('a' + i%26), byte('a' + i/26)}), Value: "1"})
	}
	for i := range 44 {
		short = append(short, hpack.HeaderField{Name: string([]byte{'x', byte('a' + i%26), byte('a' + i/26)}),
			Value: strings.Repeat("v", 58)})
	}
	long := hpack.HeaderField{Name: "x", Value: strings.Repeat("a", 3900)}
	get := func(b []byte) []byte {
		return frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 1, b)
	}
	var many128, posts []byte
	for i := range 128 {
		id := uint32(2*i + 1)
		many128 = append(many128, frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream,
			id, block("/mdi/hot.svg?x="+strings.Repeat("a", i)))...)
		if i < 16 {
			posts = append(posts, frameOf(http2.FrameHeaders, http2.FlagHeadersEndHeaders, id,
				append([]byte{0x83}, block("/mdi/hot.svg")[1:]...))...)
			posts = append(posts, frameOf(http2.FrameData, 0, id, make([]byte, 16000))...)
			posts = append(posts, frameOf(http2.FrameRSTStream, 0, id, []byte{0, 0, 0, 8})...)
		}
	}
	for name, sent := range map[string][]byte{
		"nothing":                  nil,
		"a hit":                    get(block("/mdi/hot.svg")),
		"many small fields":        get(block("/mdi/hot.svg", small...)),
		"fields of all of a table": get(block("/mdi/hot.svg", short...)),
		"one long field":           get(block("/mdi/hot.svg", long)),
		"a list that is too long":  get(append(block("/mdi/hot.svg", long), 0xbe, 0xbe, 0xbe, 0xbe, 0xbe, 0xbe)),
		"a block in two frames": append(frameOf(http2.FrameHeaders, http2.FlagHeadersEndStream, 1,
			block("/mdi/hot.svg", long)[:1000]), frameOf(http2.FrameContinuation, http2.FlagContinuationEndHeaders, 1,
			block("/mdi/hot.svg", long)[1000:])...),
		"128 streams at once":          many128,
		"half bodies, then taken back": posts,
	} {
		t.Run(name, func(t *testing.T) {
			w := newRawEdge(t, false)
			w.ask(t, "/mdi/hot.svg")
			all := append([]byte(http2.ClientPreface), frameOf(http2.FrameSettings, 0, 0, nil)...)
			all = append(append(all, sent...), frameOf(http2.FramePing, 0, 0, []byte("the last"))...)
			talk := func(n int) (open []net.Conn) {
				for range n {
					c, err := net.Dial("tcp", w.public)
					must(t, err)
					t.Cleanup(func() { c.Close() })
					c.SetDeadline(time.Now().Add(longEnough))
					_, err = c.Write(all)
					must(t, err)
					open = append(open, c)
				}
				for _, c := range open {
					toPong(t, c)
				}
				settled(t, "all are idle", func() bool {
					return w.listeners.Stats().States["idle"] == n && w.listeners.StreamStats().Connections == n
				})
				return open
			}
			for _, c := range talk(20) { // allocates the memory that is shared by all
				c.Close()
			}
			settled(t, "nobody is connected", func() bool { return w.listeners.StreamStats().Connections == 0 })
			before := inUse()
			open := talk(many)
			var n int64
			for range 100 { // goroutines of many requests wait some seconds for more
				if n = (inUse()-before)/int64(many) - ClientBytes; n <= idleBytes*raceFactor {
					break
				}
				time.Sleep(200 * time.Millisecond)
			}
			if n > idleBytes*raceFactor {
				t.Errorf("%d bytes a connection, want at most %d", n, idleBytes*raceFactor)
			}
			runtime.KeepAlive(open)
		})
	}
}

// toPong reads up to the answer to the last PING.
func toPong(t *testing.T, c net.Conn) {
	t.Helper()
	f := http2.NewFramer(io.Discard, c)
	for {
		got, err := f.ReadFrame()
		must(t, err)
		if p, ok := got.(*http2.PingFrame); ok && p.IsAck() {
			return
		}
	}
}

// inUse returns the bytes of heap and stacks after garbage collection. It collects several times,
// because stacks shrink by half with each collection, and the contents of a sync.Pool survive one.
func inUse() int64 {
	least := int64(math.MaxInt64)
	for range 8 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, int64(m.HeapAlloc+m.StackInuse))
	}
	return least
}

// The memory of a client's connections and requests counts against its own share, and no other.
func TestShareOfMemory(t *testing.T) {
	t.Run("loop=on", func(t *testing.T) { shareOfMemory(t, listen.LoopOn, listen.RestingBytes) })
	t.Run("loop=off", func(t *testing.T) { shareOfMemory(t, listen.LoopOff, listen.ConnBytes) })
}

// shareOfMemory expects that a client with a share for two connections gets no more.
func shareOfMemory(t *testing.T, loop listen.Loop, connection int64) {
	w := newRawEdge(t, true, func(c *Config) {
		c.Loop = loop
		c.ClientBytes = 2*connection + 1000
		// The client that warms the cache has no share.
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("127.0.0.1/32"))
	})
	w.ask(t, "/mdi/hot.svg")
	settled(t, "nobody is connected", func() bool { return w.listeners.Stats().Open() == 0 })
	held := func() int64 { return w.memory.Held(ratelimit.ClientKey(netip.MustParseAddr("127.0.0.2"))) }
	const hit = "GET /mdi/hot.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n"
	first := w.from(t, "127.0.0.2")
	if !answersTo(first, hit, 200) {
		t.Error("a hit is refused")
	}
	if !answersTo(first, "POST /echo HTTP/1.1\r\nHost: edge.test\r\nContent-Length: 1\r\n\r\na", 503) {
		t.Error("a request beyond the share is not refused")
	}
	second := w.from(t, "127.0.0.2")
	if !answersTo(second, hit, 200) {
		t.Error("a second connection is refused")
	}
	if c := w.from(t, "127.0.0.3"); !answersTo(c, hit, 200) {
		t.Error("another client is refused")
	}
	third, err := w.dialFrom(t, "127.0.0.2")
	if err == nil && answersTo(third, hit, 200) {
		settled(t, "the first has gone", func() bool { return held() == 2*connection })
	}
	fourth, err := w.dialFrom(t, "127.0.0.2")
	if err == nil && answersTo(fourth, hit, 200) {
		t.Error("a connection beyond the share is not refused")
	}
	for _, c := range []*net.TCPConn{first, second, third, fourth} {
		if c != nil {
			c.Close()
		}
	}
	settled(t, "all is given back", func() bool { return held() == 0 })
}

// answersTo reports whether the response to a request has that status.
func answersTo(c net.Conn, request string, status int) bool {
	if _, err := io.WriteString(c, request); err != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	return err == nil && resp.StatusCode == status
}
