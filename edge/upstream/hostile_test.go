package upstream

import (
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
)

// A hostile origin causes an error within the deadline, and the next request gets its own response.
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
		answer func(net.Conn) // afterwards the connection is closed
		want   error
	}{
		{"closes at once", text(""), ErrResponse},
		{"closes in the status line", text("HTTP/1.1 200"), ErrResponse},
		{"closes in the fields", text("HTTP/1.1 200 OK\r\nContent-Le"), ErrResponse},
		{"closes in the body", text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), ErrResponse},
		{"closes before the body", text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), ErrResponse},
		{"a body longer than its length", text(ok + "!"), ErrResponse},
		{"a long body longer than its length", text("HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" +
			strings.Repeat("y", 50001)), ErrResponse},
		{"a long body whose head came before", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n")
			io.WriteString(c, strings.Repeat("y", 60000))
		}, ErrResponse},
		{"a body although the length is 0", text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n!"), ErrResponse},
		{"closes in a chunk", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"), ErrResponse},
		{"closes before the last chunk", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"), ErrResponse},
		{"an invalid chunk size", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nab\r\n0\r\n\r\n"), ErrResponse},
		{"a chunk longer than its size", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n"), ErrResponse},
		{"a chunk size above 2^64", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nab\r\n0\r\n\r\n"),
			ErrResponse},
		{"an unknown transfer coding", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\nab"), ErrResponse},
		{"a transfer coding before chunked", text(
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"), ErrResponse},
		{"chunked twice", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
			ErrResponse},
		{"chunks and a length", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
			ErrResponse},
		{"a length and chunks", text("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"),
			ErrResponse},
		{"chunks in HTTP/1.0", text("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"), ErrResponse},
		{"a 103, then chunks and a length", text("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 " +
			"OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nab\r\n0\r\n\r\n"), ErrResponse},
		{"an invalid trailer", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX\r\n\r\n"), ErrResponse},
		{"closes in the trailers", text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n"), ErrResponse},
		{"two lengths", text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), ErrResponse},
		{"a list of lengths", text("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nabc"), ErrResponse},
		{"a negative length", text("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc"), ErrResponse},
		{"a signed length", text("HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc"), ErrResponse},
		{"a length of 2^64", text("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\nabc"), ErrResponse},
		{"garbage", text("\x16\x03\x01 hello there\r\n\r\n"), ErrResponse},
		{"HTTP/0.9", text("<html>hello</html>"), ErrResponse},
		{"another version", text("HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nab"), ErrResponse},
		{"HTTP/2", text("HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nab"), ErrResponse},
		{"a status of two digits", text("HTTP/1.1 99 OK\r\nContent-Length: 2\r\n\r\nab"), ErrResponse},
		{"a status below 100", text("HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\nab"), ErrResponse},
		{"a status of four digits", text("HTTP/1.1 1000 OK\r\nContent-Length: 2\r\n\r\nab"), ErrResponse},
		{"no status", text("HTTP/1.1 OK\r\nContent-Length: 2\r\n\r\nab"), ErrResponse},
		{"an unexpected 101", text("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nwhatever"), ErrResponse},
		{"an unexpected 206", text("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\nab"),
			ErrResponse},
		{"an unexpected 304", text("HTTP/1.1 304 Not Modified\r\n\r\n"), ErrResponse},
		{"a NUL in a field", text("HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 2\r\n\r\nab"), ErrResponse},
		{"a bare CR in a field", text("HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\nab"), ErrResponse},
		{"a space before the colon", text("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nab"), ErrResponse},
		{"a field without a colon", text("HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 2\r\n\r\nab"), ErrResponse},
		{"an endless status line", endless(strings.Repeat("H", 4096)), ErrResponse},
		{"endless fields", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			endless("X: " + strings.Repeat("y", 1000) + "\r\n")(c)
		}, ErrResponse},
		{"endless 103s", endless("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), ErrResponse},
		{"an endless body", func(c net.Conn) {
			io.WriteString(c,
				"HTTP/1.1 200 OK\r\n\r\n")
			endless(strings.Repeat("y", 4096))(c)
		}, ErrTooLarge},
		{"endless chunks", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			endless("4\r\nabcd\r\n")(c)
		}, ErrTooLarge},
		{"Content-Length too large", text("HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n"), ErrTooLarge},
	} {
		t.Run(o.name, func(t *testing.T) {
			origin := serve(t, func(c net.Conn, head string) bool {
				if strings.HasPrefix(head, "GET /bad ") {
					o.answer(c)
					return false
				}
				return responds(ok)(c, head)
			})
			c := origin.client(t, Config{})
			_, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/bad", StrictLength: true})
			wantProblem(t, err, 502, o.want)
			for range 3 {
				if a, err := fetch(t.Context(), c, get("/good")); err != nil || a.Status != 200 || a.body != "ok" {
					t.Fatalf("the next response is %+v, %v", a, err)
				}
			}
		})
	}
}

// An odd but unambiguous response is passed on in one canonical form.
func TestUnusualOrigins(t *testing.T) {
	for _, o := range []struct {
		name, text, body string
		length           int64
	}{
		{"1xx before", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + ok, "ok", 2},
		{"the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", "ok", 2},
		{"chunks, an extension, a trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: " +
			"X\r\n\r\n1;a=b\r\no\r\n1\r\nk\r\n0\r\nX: y\r\n\r\n", "ok", -1},
		{"an unannounced trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", "ok", -1},
		{"a length in a 1xx", "HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\nConnection: Date\r\n\r\nHTTP/1.1 200 " +
			"OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok", -1},
		{"a body until the connection ends", "HTTP/1.1 200 OK\r\n\r\nok", "ok", -1},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nok", "ok", -1},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", "", 0},
		{"no content, with Content-Length", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "", 0},
		{"followed by another response", ok + evil, "ok", 2},
		{"followed by half of another response", ok + "HT", "ok", 2},
		{"a long body followed by another response",
			"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + strings.Repeat("y", 50000) + evil, strings.Repeat("y", 50000), 50000},
		{"followed by an empty line", ok + "\r\n", "ok", 2},
		{"a 500", "HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno", "no", 2},
		{"an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", 0},
		{"Connection with close and a field name",
			"HTTP/1.1 200 OK\r\nConnection: close, X\r\nX: y\r\nContent-Length: 2\r\n\r\nok", "ok", 2},
		{"a folded Connection", "HTTP/1.1 200 OK\r\nConnection: close,\r\n X\r\nX: y\r\nContent-Length: 2\r\n\r\nok", "ok", 2},
	} {
		t.Run(o.name, func(t *testing.T) {
			origin := serve(t, func(c net.Conn, _ string) bool { io.WriteString(c, o.text); return false })
			a, err := fetch(t.Context(), origin.client(t, Config{}), Request{Method: "GET", Target: "/", StrictLength: true})
			if err != nil || a.body != o.body || a.Length != o.length {
				t.Fatalf("response %+v, %v; want %q of %d", a, err, o.body, o.length)
			}
			for _, field := range []string{"Transfer-Encoding", "Trailer", "X", "Link", "Connection"} {
				if got, has := a.Header[field]; has {
					t.Errorf("%s: %s is passed on", field, got)
				}
			}
			if got := a.Header.Get("Content-Length"); got != "" && a.Status == 204 {
				t.Errorf("Content-Length: %s in a 204", got) // RFC 9110, section 8.6
			}
			// RFC 9110, section 7.6.3.
			if want := "1." + o.text[7:8] + " iconedge"; a.Header.Get("Via") != want {
				t.Errorf("Via is %q, want %q", a.Header.Get("Via"), want)
			}
		})
	}
}

// Without Exact, bytes after Content-Length are ignored, as other proxies do.
func TestWithoutExact(t *testing.T) {
	o := serve(t, responds(ok+"!"))
	if a, err := fetch(t.Context(), o.client(t, Config{}), get("/")); err != nil || a.body != "ok" {
		t.Errorf("%+v, %v", a, err)
	}
}

// net/http sets Cache-Control because of Pragma; the Response has the fields that the origin sent.
func TestPragmaIsUnchanged(t *testing.T) {
	for text, want := range map[string]string{
		"Pragma: no-cache\r\n":                              "",
		"Pragma: no-cache\r\nCache-Control: no-cache\r\n":   "no-cache",
		"cache-control: max-age=1\r\n pragma: no-cache\r\n": "max-age=1 pragma: no-cache",
	} {
		o := serve(t, responds("HTTP/1.1 200 OK\r\n"+text+"Content-Length: 2\r\n\r\nok"))
		a, err := fetch(t.Context(), o.client(t, Config{}), get("/"))
		if err != nil || a.Header.Get("Cache-Control") != want {
			t.Errorf("%q: Cache-Control is %q, %v; want %q", text, a.Header.Get("Cache-Control"), err, want)
		}
	}
}

// A 206 is accepted if the request has a Range, and a 304 if it has a condition.
func TestRangeAndConditions(t *testing.T) {
	const part = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\nok"
	const same = "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"
	for _, row := range []struct{ field, text, status string }{
		{"Range", part, "206"}, {"If-None-Match", same, "304"}, {"If-Modified-Since", same, "304"},
		{"If-Match", same, ""}, {"If-None-Match", part, ""}, {"Range", same, ""},
	} {
		o := serve(t, responds(row.text))
		a, err := fetch(t.Context(), o.client(t, Config{}),
			Request{Method: "GET", Target: "/", Header: map[string][]string{row.field: {"x"}}})
		if row.status == "" {
			wantProblem(t, err, 502, ErrResponse)
		} else if err != nil || row.text[9:12] != row.status || a.Length != int64(len(a.body)) {
			t.Errorf("%s: %+v, %v; want %s", row.field, a, err, row.status)
		}
	}
}

// S3 clients request an object part by part with ?partNumber=N, without a Range.
func TestPartsByNumber(t *testing.T) {
	const part = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\nok"
	for target, accepted := range map[string]bool{"/a?partNumber=1": true, "/a?x&partNumber=12&y=z": true,
		"/a?partNumber=": false, "/a?partnumber=1": false, "/a?xpartNumber=1": false, "/partNumber=1": false} {
		o := serve(t, responds(part))
		a, err := fetch(t.Context(), o.client(t, Config{}), Request{Method: "GET", Target: target})
		if accepted && (err != nil || a.body != "ok") || !accepted && err == nil {
			t.Errorf("%s: %+v, %v; want accepted %v", target, a, err, accepted)
		}
	}
}

func TestHeadKeepsItsLength(t *testing.T) {
	o := serve(t, responds("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"))
	a, err := fetch(t.Context(), o.client(t, Config{}), Request{Method: "HEAD", Target: "/"})
	if err != nil || a.Header.Get("Content-Length") != "99999999999" || a.body != "" || a.Length != 0 {
		t.Fatalf("response %+v, %v", a, err)
	}
}

// A refused response leaves no connection open.
func TestRefusedIsClosed(t *testing.T) {
	for _, text := range []string{"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nab",
		"HTTP/1.1 206 Partial Content\r\nContent-Length: 9\r\n\r\nab", "HTTP/9.9 200 OK\r\n\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			c := network{"a": {answer: responds(text)}}.client(Config{}, "a")
			_, err := c.Do(t.Context(), get("/"))
			wantProblem(t, err, 502, ErrResponse)
			synctest.Wait()
			if got := c.Stats(); got.Open != 0 {
				t.Errorf("after %q Stats = %+v", text, got)
			}
		})
	}
}
