//go:build linux

package load

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// How the next response is read, for answer.begin.
const summing, ofHead = true, true

func TestAnswer(t *testing.T) {
	for _, row := range []struct {
		name, bytes string
		status      int
		body, rest  string
		err         error
	}{
		{"plain", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", "", nil},
		{"any case, no space", "HTTP/1.1 200 OK\r\ncontent-LENGTH:5\r\n\r\nhello", 200, "hello", "", nil},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "", "", nil},
		{"bytes of the next response are left", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP", 200, "hello", "HTTP", nil},
		{"a 304 has no body, whatever its length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n", 304, "", "", nil},
		{"neither has a 204", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", "", nil},
		{"an interim answer is passed over", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
			200, "ok", "", nil},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: z\r\n\r\n", 200, "hello",
			"", nil},
		{"the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, "ok", "", nil},

		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", 0, "", "", errLength},
		// RFC 9112, section 6.3
		{"length and chunks", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, "", "", errLength},
		{"a coding that is not read", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 0, "", "", errLength},
		{"a sign", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", 0, "", "", errLength},
		{"no end", "HTTP/1.1 200 OK\r\n\r\nok", 0, "", "", errEndless},
		{"a folded line", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n 3\r\n\r\nok", 0, "", "", errHead},
		{"no chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 0, "", "", errChunk},
		{"a chunk that is longer than it says", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nhel\r\n", 0, "", "", errChunk},
		{"another protocol", "SSH-2.0-OpenSSH_9.2p1 Debian\r\n\r\n", 0, "", "", errHead},
		{"HTTP/2", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", 0, "", "", errHead},
	} {
		var a answer
		a.begin(summing, !ofHead)
		rest, err := a.read([]byte(row.bytes))
		switch {
		case !errors.Is(err, row.err):
			t.Errorf("%s: error %v, want %v", row.name, err, row.err)
		case err == nil && (a.state != complete || a.status != row.status || a.length != int64(len(row.body)) ||
			a.sum != Checksum([]byte(row.body)) || string(rest) != row.rest):
			t.Errorf("%s: %+v and rest %q, want %d with %q and %q", row.name, a, rest, row.status, row.body, row.rest)
		}
	}
}

func TestClosing(t *testing.T) {
	for head, want := range map[string]bool{
		"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n":      true,
		"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n":                           true,
		"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n": false,
	} {
		var a answer
		if _, err := a.read([]byte(head)); err != nil || a.closing != want {
			t.Errorf("%q: closing %v (%v), want %v", head, a.closing, err, want)
		}
	}
}

func TestEndlessHead(t *testing.T) {
	var a answer
	part := bytes.Repeat([]byte("X-Fill: more\r\n"), 1000)
	for range 10 {
		if _, err := a.read(part); err != nil {
			if !errors.Is(err, errLong) {
				t.Fatalf("error %v, want %v", err, errLong)
			}
			return
		}
	}
	t.Fatal("a header section of 140 kB was accepted")
}

// FuzzAnswer: a response that arrives in two parts, cut anywhere, gives the same result as in one
// part, and the same as net/http.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 20)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"), 50)
	f.Add([]byte("HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"), 3)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA ;x\r\n0123456789\r\n0\r\nA: b\r\n\r\n"), 60)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		whole, rest, err := readIn(b)
		cut = max(0, min(cut, len(b)))
		parts, restOfParts, errOfParts := readIn(b[:cut], b[cut:])
		if whole.state != parts.state || whole.status != parts.status || whole.length != parts.length || whole.sum != parts.sum ||
			!bytes.Equal(rest, restOfParts) || !errors.Is(errOfParts, err) {
			t.Fatalf("whole: %+v, %v; in two parts: %+v, %v", whole, err, parts, errOfParts)
		}
		if err != nil || whole.state != complete || bytes.HasPrefix(b, []byte("HTTP/1.1 1")) {
			return
		}
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil)
		if err != nil {
			return // net/http is stricter in points that do not matter here
		}
		body, err := io.ReadAll(r.Body)
		if err == nil && (r.StatusCode != whole.status || int64(len(body)) != whole.length || Checksum(body) != whole.sum) {
			t.Fatalf("%+v, but net/http read %d and %d bytes", whole, r.StatusCode, len(body))
		}
	})
}

func readIn(parts ...[]byte) (a answer, rest []byte, err error) {
	a.begin(summing, !ofHead)
	for _, part := range parts {
		var left []byte
		if left, err = a.read(bytes.Clone(part)); err != nil {
			return a, nil, err
		}
		rest = append(rest, left...)
	}
	return a, rest, nil
}

func TestReadingDoesNotAllocate(t *testing.T) {
	b := []byte("HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 16:31:29 GMT\r\nContent-Type: image/svg+xml\r\nContent-Length: 5\r\n\r\nhello")
	var a answer
	if n := testing.AllocsPerRun(100, func() { a.begin(summing, !ofHead); a.read(b) }); n > 0 {
		t.Errorf("%v allocations an answer", n)
	}
}

func BenchmarkAnswer(b *testing.B) {
	in := []byte("HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 16:31:29 GMT\r\nContent-Type: image/svg+xml\r\nContent-Length: 5\r\n" +
		strings.Repeat("Access-Control-Expose-Headers: ETag, Age, Cache-Status\r\n", 15) + "\r\nhello")
	b.ReportAllocs()
	var a answer
	for b.Loop() {
		a.begin(!summing, !ofHead)
		if _, err := a.read(in); err != nil || a.length != 5 {
			b.Fatal(err, a.length)
		}
	}
}
