package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const fields = "Content-Length: 2\r\n\r\n"
	for _, row := range []struct {
		why, text string
		want      Form
	}{
		{"plain", "HTTP/1.1 200 OK\r\n" + fields, Plain},
		{"without a reason", "HTTP/1.1 200\r\n" + fields, Plain},
		{"kept alive", "HTTP/1.1 200 OK\r\nConnection: Keep-Alive\r\n" + fields, Plain},
		{"the last one", "HTTP/1.1 200 OK\r\nConnection: close\r\n" + fields, Plain},
		{"no body", "HTTP/1.1 304 Not Modified\r\n\r\n", Plain},
		{"nothing yet", "", Incomplete},
		{"a part of the version", "HTTP/", Incomplete},
		{"a part of a line", "HTTP/1.1 200 OK\r\nContent-Le", Incomplete},
		{"no end", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", Incomplete},
		{"CR without LF", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r", Incomplete},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n" + fields, Unusual},
		{"HTTP/0.9", "<p>", Unusual},
		{"1xx", "HTTP/1.1 103 Early Hints\r\n\r\n", Unusual},
		{"a switch", "HTTP/1.1 101 Switching Protocols\r\n\r\n", Unusual},
		{"1000", "HTTP/1.1 1000 OK\r\n" + fields, Unusual},
		{"a status of four digits", "HTTP/1.1 2000 OK\r\n" + fields, Unusual},
		{"a signed status", "HTTP/1.1 +20 OK\r\n" + fields, Unusual},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n", Unusual},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + fields, Unusual},
		{"a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n", Unusual},
		{"a signed length", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n", Unusual},
		{"an enormous length", "HTTP/1.1 200 OK\r\nContent-Length: 1234567890123456\r\n\r\n", Unusual},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Unusual},
		{"chunks and a length", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n" + fields, Unusual},
		{"an option of the connection", "HTTP/1.1 200 OK\r\nConnection: X\r\n" + fields, Unusual},
		{"a trailer", "HTTP/1.1 200 OK\r\nTrailer: X\r\n" + fields, Unusual},
		{"a folded line", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n" + fields, Unusual},
		{"a space before the colon", "HTTP/1.1 200 OK\r\nX : a\r\n" + fields, Unusual},
		{"no colon", "HTTP/1.1 200 OK\r\nX\r\n" + fields, Unusual},
		{"LF alone", "HTTP/1.1 200 OK\nContent-Length: 2\n\n", Unusual},
		{"LF alone in a field", "HTTP/1.1 200 OK\r\nX: a\nY: b\r\n" + fields, Unusual},
		{"CR alone", "HTTP/1.1 200 OK\r\nX: a\rY: b\r\n" + fields, Unusual},
		{"NUL", "HTTP/1.1 200 OK\r\nX: a\x00\r\n" + fields, Unusual},
		{"too many fields", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: a\r\n", maxFields) + fields, Unusual},
		{"too long, and incomplete", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: a\r\n", maxPlain/6+1), Unusual},
		{"too long", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", maxPlain) + "\r\n" + fields, Unusual},
	} {
		if _, _, got := Parse([]byte(row.text)); got != row.want {
			t.Errorf("%s: %v, want %v", row.why, got, row.want)
		}
	}
}

// A plain head is plain however it is cut, and net/http reads the same from it.
func FuzzParse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: \"x\"\r\nlink: a\r\nLink: \tb \r\n\r\nokHTTP/1.1"))
	f.Add([]byte("HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 204\r\nPragma: no-cache\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		h, n, form := Parse(p)
		if form == Incomplete && bytes.Contains(p, headEnd) {
			t.Fatal("a whole head is incomplete")
		}
		if form != Plain {
			return
		}
		for cut := range n {
			if _, _, form := Parse(p[:cut]); form != Incomplete {
				t.Fatalf("the first %d bytes: %v", cut, form)
			}
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(p)), &http.Request{Method: http.MethodGet})
		if err != nil {
			t.Fatalf("net/http: %v", err)
		}
		want := resp.Header // without two changes that package upstream undoes
		if _, sent := h.Header["Cache-Control"]; !sent {
			delete(want, "Cache-Control")
		}
		if c := h.Header["Connection"]; c != nil {
			want["Connection"] = c
		}
		if h.Code != resp.StatusCode || h.Status != resp.Status || !reflect.DeepEqual(h.Header, want) || h.Close != resp.Close {
			t.Fatalf("got %+v, net/http %+v", h, resp)
		}
		got := p[n:][:min(h.Length, int64(len(p)-n))]
		body, err := io.ReadAll(resp.Body)
		if !bytes.Equal(body, got) || (err == nil) != (int64(len(got)) == h.Length) {
			t.Fatalf("the body has %d bytes, by net/http %d (%v)", len(got), len(body), err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	head := []byte("HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nCache-Control: public, " +
		"max-age=86400\r\nContent-Length: 0\r\nContent-Type: image/svg+xml\r\n" +
		"Date: Mon, 23 Nov 2026 08:00:00 GMT\r\nEtag: \"x-gz\"\r\nIconedge-Monochrome: ?1\r\nIconedge-Release: " +
		"x\r\nLast-Modified: Mon, 23 Nov 2026 08:00:00 GMT\r\nVary: Accept-Encoding\r\n\r\n")
	b.ReportAllocs()
	for b.Loop() {
		Parse(head)
	}
}
