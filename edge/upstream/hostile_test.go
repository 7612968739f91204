package upstream

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An origin that lies gives an error within the deadline, and the next answer is its own.
func TestHostileOrigins(t *testing.T) {
	endless := func(piece string) func(net.Conn) {
		return func(c net.Conn) {
			for {
				if _, err := io.WriteString(c, piece); err != nil {
					return
				}
			}
		}
	}
	text := func(s string) func(net.Conn) { return func(c net.Conn) { io.WriteString(c, s) } }
	for _, o := range []struct {
		name   string
		answer func(net.Conn) // then the connection is closed
		want   error
	}{
		{"closes at once", text(""), ErrAnswer},
		{"closes in the status line", text("HTTP/1.1 200"), ErrAnswer},
		{"closes in the fields", text("HTTP/1.1 200 OK\r\nContent-Le"), ErrAnswer},
		{"closes in the body", text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), ErrAnswer},
		{"closes before the body", text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), ErrAnswer},
		{"closes in a chunk", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"), ErrAnswer},
		{"closes before the last chunk", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"), ErrAnswer},
		{"a chunk size that is none", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nab\r\n0\r\n\r\n"), ErrAnswer},
		{"a chunk longer than it says", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n"), ErrAnswer},
		{"a chunk size beyond all", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nab\r\n0\r\n\r\n"), ErrAnswer},
		{"a transfer coding that is unknown", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\nab"), ErrAnswer},
		{"two lengths", text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), ErrAnswer},
		{"a list of lengths", text("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nabc"), ErrAnswer},
		{"a negative length", text("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc"), ErrAnswer},
		{"a signed length", text("HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc"), ErrAnswer},
		{"a length of 2^64", text("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\nabc"), ErrAnswer},
		{"garbage", text("\x16\x03\x01 hello there\r\n\r\n"), ErrAnswer},
		{"HTTP/0.9", text("<html>hello</html>"), ErrAnswer},
		{"another version", text("HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"HTTP/2", text("HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"a status of two digits", text("HTTP/1.1 99 OK\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"a status below all", text("HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"a status above all", text("HTTP/1.1 600 OK\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"no status", text("HTTP/1.1 OK\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"101 unasked", text("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nwhatever"), ErrAnswer},
		{"206 unasked", text("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"304 unasked", text("HTTP/1.1 304 Not Modified\r\n\r\n"), ErrAnswer},
		{"a NUL in a field", text("HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"a bare CR in a field", text("HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"a space before the colon", text("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nab"), ErrAnswer},
		{"a field without a colon", text("HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 2\r\n\r\nab"), ErrAnswer},
		{"an endless status line", endless(strings.Repeat("H", 4096)), ErrAnswer},
		{"endless fields", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			endless("X: " + strings.Repeat("y", 1000) + "\r\n")(c)
		}, ErrAnswer},
		{"endless 103s", endless("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), ErrAnswer},
		{"an endless body", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); endless(strings.Repeat("y", 4096))(c) }, ErrTooLarge},
		{"endless chunks", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			endless("4\r\nabcd\r\n")(c)
		}, ErrTooLarge},
		{"a length that is too large", text("HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n"), ErrTooLarge},
	} {
		t.Run(o.name, func(t *testing.T) {
			origin := serve(t, func(c net.Conn, head string) bool {
				if strings.HasPrefix(head, "GET /bad ") {
					o.answer(c)
					return false
				}
				return says(ok)(c, head)
			})
			c := origin.client(t, Config{})
			_, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/bad"})
			wantProblem(t, err, 502, o.want)
			for range 3 {
				if a, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/good"}); err != nil || a.Status != 200 || a.body != "ok" {
					t.Fatalf("the next answer is %+v, %v", a, err)
				}
			}
		})
	}
}

// What is odd but has one meaning is passed on in one clean form.
func TestOddOrigins(t *testing.T) {
	for _, o := range []struct {
		name, text, body string
	}{
		{"1xx before", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + ok, "ok"},
		{"the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", "ok"},
		{"chunks, an extension, a trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n1;a=b\r\no\r\n1\r\nk\r\n0\r\nX: y\r\n\r\n", "ok"},
		{"until it closes", "HTTP/1.1 200 OK\r\n\r\nok", "ok"},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nok", "ok"},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", ""},
		{"an error of its own", "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno", "no"},
		{"an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
	} {
		t.Run(o.name, func(t *testing.T) {
			origin := serve(t, func(c net.Conn, _ string) bool { io.WriteString(c, o.text); return false })
			a, err := fetch(t.Context(), origin.client(t, Config{}), Request{Method: "GET", Target: "/"})
			if err != nil || a.body != o.body {
				t.Fatalf("answer is %+v, %v; want %q", a, err, o.body)
			}
			for _, field := range []string{"Transfer-Encoding", "Trailer", "X", "Link"} {
				if got := a.Header.Get(field); got != "" {
					t.Errorf("%s: %s is passed on", field, got)
				}
			}
		})
	}
}

func TestHeadKeepsItsLength(t *testing.T) {
	o := serve(t, says("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"))
	a, err := fetch(t.Context(), o.client(t, Config{}), Request{Method: "HEAD", Target: "/"})
	if err != nil || a.Header.Get("Content-Length") != "99999999999" || len(a.body) != 0 {
		t.Fatalf("answer is %+v, %v", a, err)
	}
}

// A pipe's client talks to answer over a connection within the bubble, where time passes only when all wait.
func pipeClient(cfg Config, answer func(net.Conn)) *Client {
	cfg.Origins = [][]*url.URL{{{Scheme: "http", Host: "origin"}}}
	c := New(cfg)
	c.transport.DialContext = c.watch(func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() { defer far.Close(); answer(far) }()
		return near, nil
	})
	return c
}

// The deadline is for the whole exchange: an origin that always sends a little does not move it.
func TestDeadline(t *testing.T) {
	drip := func(c net.Conn, text string) {
		for _, b := range []byte(text) {
			time.Sleep(time.Second)
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
		}
		io.Copy(io.Discard, c)
	}
	for name, answer := range map[string]func(net.Conn){
		"hangs":         func(c net.Conn) { io.Copy(io.Discard, c) },
		"does not read": func(c net.Conn) { time.Sleep(time.Hour) },
		"hangs in the body": func(c net.Conn) {
			drain(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")
			io.Copy(io.Discard, c)
		},
		"drips its fields": func(c net.Conn) { drain(c); drip(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") },
		"drips its body": func(c net.Conn) {
			drain(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
			drip(c, strings.Repeat("x", 99))
		},
		"drips 100 Continue": func(c net.Conn) { drain(c); drip(c, strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 9)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipeClient(Config{}, answer)
				start := time.Now()
				_, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/"})
				wantProblem(t, err, 504, ErrTimeout)
				if took := time.Since(start); took != 10*time.Second {
					t.Errorf("it took %v, want 10s", took)
				}
				if got := c.Stats(); got.Timeouts != 1 {
					t.Errorf("Stats = %+v, want a timeout", got)
				}
				time.Sleep(2 * time.Hour) // the answers end too
				synctest.Wait()
				if got := c.Stats(); got.Open != 0 {
					t.Errorf("Stats = %+v: a connection is left", got)
				}
			})
		})
	}
}

// drain reads one request of a pipe.
func drain(c net.Conn) { c.Read(make([]byte, 4096)) }
