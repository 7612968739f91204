package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadMessage(t *testing.T) {
	for _, row := range []struct{ about, in, want string }{
		{"one", "Content-Length: 2\r\n\r\n{}", "{}"},
		{"other headers, any case", "content-TYPE: x\r\ncontent-length:2\r\n\r\n{}rest", "{}"},
		{"line feeds alone", "Content-Length: 2\n\n{}", "{}"},
		{"nothing", "", "EOF"},
		{"the editor has gone", "Content-Length: 20\r\n\r\n{}", "EOF"},
		{"within a header", "Content-Len", "EOF"},
		{"no length", "X: 1\r\n\r\n{}", "no Content-Length"},
		{"a negative length", "Content-Length: -1\r\n\r\n", "must be a number"},
		{"a length that is none", "Content-Length: 0x2\r\n\r\n", "must be a number"},
		{"two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "once"},
		{"a huge length", "Content-Length: 99999999999\r\n\r\n", "must be a number"},
		{"no header: it has a colon, so it is an unknown one", "{\"jsonrpc\":\"2.0\"}\r\n", "EOF"},
		{"no colon", "nonsense\r\n\r\n", "no colon"},
		{"a long header", "X: " + strings.Repeat("x", 10000) + "\r\n\r\n", "too long"},
	} {
		got, err := readMessage(bufio.NewReaderSize(strings.NewReader(row.in), 64<<10))
		if err != nil && !strings.Contains(err.Error(), row.want) || err == nil && string(got) != row.want {
			t.Errorf("%s: %q, %v; want %s", row.about, got, err, row.want)
		}
	}
}

// FuzzFrame: a written message is read again; other input is an error, and allocates no more than
// its own length.
func FuzzFrame(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte("Content-Length: 33554432\r\n\r\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		if err := writeMessage(&b, data); err != nil {
			t.Fatal(err)
		}
		if got, err := readMessage(bufio.NewReader(&b)); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%q was read as %q, %v", data, got, err)
		}
		r := bufio.NewReader(bytes.NewReader(data))
		for {
			got, err := readMessage(r)
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, errFrame) {
					t.Fatal(err)
				}
				return
			}
			if cap(got) > 8*len(data)+1024 {
				t.Fatalf("%d bytes for an input of %d", cap(got), len(data))
			}
		}
	})
}

// FuzzDocument: the position of every offset leads back to it, and an edit replaces exactly its
// range.
func FuzzDocument(f *testing.F) {
	f.Add("a\r\nb\n\rc“😀”", 3, 5, "x", true)
	f.Add("", 0, 0, "\n", false)
	f.Fuzz(func(t *testing.T, text string, start, end int, with string, inBytes bool) {
		text = strings.ToValidUTF8(text, "?")
		d := newDocument("a", "html", 1, text, inBytes)
		var offsets []int
		for i := range text + "x" {
			if i > 0 && i < len(text) && text[i] == '\n' && text[i-1] == '\r' {
				continue // no position is within the end of a line
			}
			if p := d.position(i); d.offset(p) != i {
				t.Fatalf("%q: offset %d is position %+v, which is offset %d", text, i, p, d.offset(p))
			}
			offsets = append(offsets, i)
		}
		from, to := offsets[uint(start)%uint(len(offsets))], offsets[uint(end)%uint(len(offsets))]
		if to < from {
			from, to = to, from
		}
		at := d.span(from, to)
		if got := d.apply(2, []change{{&at, with}}).text; got != text[:from]+with+text[to:] {
			t.Fatalf("%q with %q at %d to %d: %q", text, with, from, to, got)
		}
		d.offset(position{start, end})
	})
}
