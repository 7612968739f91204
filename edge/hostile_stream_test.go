package edge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// hostileUploads are bodies that end too early, too late or not at all, with the status of the
// response; 0: none.
var hostileUploads = []struct {
	name   string
	send   func(t *testing.T, s *securedTest) int
	status int // in the access log
}{
	{"shorter than announced, then the end", byH1("Content-Length: 100000\r\n\r\n"+strings.Repeat("a", 80_000), true), 400},
	{"a chunk shorter than announced, then the end",
		byH1("Transfer-Encoding: chunked\r\n\r\n20000\r\n"+strings.Repeat("a", 80_000), true), 400},
	{"a chunk longer than announced", byH1("Transfer-Encoding: chunked\r\n\r\n5\r\n"+strings.Repeat("a", 80_000), false), 400},
	{"chunks without the last", byH1("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true), 400},
	{"a malformed chunk behind a long one", byH1("Transfer-Encoding: chunked\r\n\r\n13880\r\n"+
		strings.Repeat("a", 80_000)+"\r\nzz\r\n", false), 400},
	{"trailer fields that are too long", byH1("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"+
		strings.Repeat("X: "+strings.Repeat("a", 9000)+"\r\n", 3), false), 400},
	{"h2: shorter than announced", byStream("100000", 80_000), 0},
	{"h2: longer than announced", byStream("70000", 80_000), 0},
}

// byH1 sends a body, and returns the status of the response. It may end its direction first.
func byH1(body string, ends bool) func(*testing.T, *securedTest) int {
	return func(t *testing.T, s *securedTest) int {
		c, err := net.Dial("tcp", s.plain)
		must(t, err)
		defer c.Close()
		c.SetDeadline(time.Now().Add(longEnough))
		go func() {
			io.WriteString(c, "POST /put HTTP/1.1\r\nHost: edge.test\r\n"+body)
			if ends {
				c.(*net.TCPConn).CloseWrite()
			}
		}()
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Error(err)
			return 0
		}
		io.Copy(io.Discard, resp.Body)
		if b, _ := io.ReadAll(r); len(b) > 0 {
			t.Errorf("a second response: %.100q", b)
		}
		return resp.StatusCode
	}
}

// byStream sends so many bytes of a body with another length. It returns the status of the
// response, or 0 if the stream is reset.
func byStream(length string, size int) func(*testing.T, *securedTest) int {
	return func(t *testing.T, s *securedTest) int {
		c, f := dialH2(t, s.plain)
		defer c.Close()
		block := headerBlock([]string{":method POST", ":scheme http", ":authority edge.test", ":path /put", "content-length " + length})
		must(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndHeaders: true}))
		for left, window := size, 65_535; left > 0; {
			n := min(left, window, 16<<10)
			if n > 0 {
				left, window = left-n, window-n
				must(t, f.WriteData(1, left == 0, make([]byte, n)))
				continue
			}
			frame, err := f.ReadFrame()
			must(t, err)
			if update, ok := frame.(*http2.WindowUpdateFrame); ok && update.StreamID == 1 {
				window += int(update.Increment)
			}
		}
		for {
			frame, err := f.ReadFrame()
			must(t, err)
			switch frame := frame.(type) {
			case *http2.RSTStreamFrame:
				return 0
			case *http2.MetaHeadersFrame:
				status := 0
				fmt.Sscan(frame.PseudoValue("status"), &status)
				return status
			}
		}
	}
}

// A body longer or shorter than announced ends the exchange on both sides: the origin never sees a
// whole body, and the client gets one response or a reset. Each is logged once, and other clients
// are answered.
func TestHostileUploads(t *testing.T) {
	t.Parallel()
	for _, row := range hostileUploads {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var whole, under atomic.Int64
			logged, text := logs(t)
			s := newSecured(t, newSite(map[string]http.HandlerFunc{
				"/put": func(_ http.ResponseWriter, r *http.Request) {
					under.Add(1)
					defer under.Add(-1)
					if _, err := io.Copy(io.Discard, r.Body); err == nil {
						whole.Add(1)
					}
				},
				"/page": says("page", "Cache-Control", "no-store"),
			}), logged, func(c *Config) { c.ProxyAll = true })
			if got := row.send(t, s); got != row.status {
				t.Errorf("the client gets %d, want %d", got, row.status)
			}
			settled(t, "the upload is logged", func() bool { return len(linesIn(t, text())) == 1 })
			if a := s.by(t, "h1").get(t, "/page"); a.StatusCode != http.StatusOK {
				t.Errorf("another client: %d", a.StatusCode)
			}
			settled(t, "the exchange has ended at the origin", func() bool { return under.Load() == 0 })
			s.end()
			if n := whole.Load(); n > 0 {
				t.Errorf("the origin got %d whole bodies", n)
			}
			lines := linesIn(t, text())
			if len(lines) != 2 || lines[0].Path == "/page" || lines[0].Status < 400 {
				t.Errorf("the access log: %+v, want one line for the upload and one for the page", lines)
			}
		})
	}
}

// A client that reads no byte of a stream of events, or of a tunnel, holds up only itself. Its
// exchange ends, is logged once, and its slot at the origin is free again.
func TestHostileStreams(t *testing.T) {
	t.Parallel()
	flood := func(w io.Writer) {
		for err := error(nil); err == nil; {
			_, err = w.Write(make([]byte, 16<<10))
		}
	}
	for name, request := range map[string]string{
		"events": "GET /events HTTP/1.1\r\nHost: edge.test\r\n\r\n",
		"tunnel": strings.Replace(upgradeTo, "/socket", "/tunnel", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for a deadline, in which another client has to be answered
			var open atomic.Int64
			logged, text := logs(t)
			s := newSecured(t, newSite(map[string]http.HandlerFunc{
				"/events": func(w http.ResponseWriter, r *http.Request) {
					open.Add(1)
					defer open.Add(-1)
					w.Header().Set("Content-Type", "text/event-stream")
					w.Header().Set("Cache-Control", "no-store")
					flood(w)
				},
				"/tunnel": func(w http.ResponseWriter, r *http.Request) {
					open.Add(1)
					defer open.Add(-1)
					c, _, err := http.NewResponseController(w).Hijack()
					must(t, err)
					defer c.Close()
					io.WriteString(c, "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: echo/1\r\n\r\n")
					flood(c)
				},
				"/page": says("page", "Cache-Control", "no-store"),
			}), logged, func(c *Config) {
				c.ProxyAll, c.AnswerTimeout, c.Tunnels.TunnelIdle = true, 10*time.Second, 10*time.Second
			})
			c, err := net.Dial("tcp", s.plain)
			must(t, err)
			defer c.Close()
			io.WriteString(c, request)
			settled(t, "the origin sends", func() bool { return open.Load() == 1 })
			if a := s.by(t, "h1").get(t, "/page"); a.StatusCode != http.StatusOK {
				t.Errorf("another client: %d", a.StatusCode)
			}
			settled(t, "the exchange has ended at the origin", func() bool { return open.Load() == 0 })
			settled(t, "no tunnel is open", func() bool { return s.Options.Tunnels.Stats().Open == 0 })
			s.end()
			n := 0
			for _, line := range linesIn(t, text()) {
				if line.Path == "/"+name {
					n++
				}
			}
			if n != 1 {
				t.Errorf("the access log has %d lines of it, want 1", n)
			}
		})
	}
}
