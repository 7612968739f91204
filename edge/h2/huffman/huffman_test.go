package huffman

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// The decoder accepts the same Huffman strings as x/net's, with the same results, and appends them
// to other text.
func check(t *testing.T, s []byte) {
	t.Helper()
	var want bytes.Buffer
	_, wantErr := hpack.HuffmanDecode(&want, s)
	got, err := Append([]byte("before"), s)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: error %v, x/net's %v", s, err, wantErr)
	}
	if err == nil && string(got) != "before"+want.String() {
		t.Fatalf("%x: %q, x/net's %q", s, got[len("before"):], want.Bytes())
	}
}

// Every pair of symbols, every string of three bytes and every cut of a long string is decoded as
// x/net does.
func TestAppend(t *testing.T) {
	for i := range 1 << 16 {
		check(t, hpack.AppendHuffmanString(nil, string([]byte{byte(i), byte(i >> 8)})))
		check(t, []byte{byte(i), byte(i >> 8)})
	}
	for i := 0; i < 1<<24; i += 37 {
		check(t, []byte{byte(i), byte(i >> 8), byte(i >> 16)})
	}
	long := hpack.AppendHuffmanString(nil, "/material-symbols-light/"+fields+"~|{}\x00\xff")
	for i := range long {
		check(t, long[:i])
		check(t, long[i:])
		check(t, append(long[:i:i], 0xff))
		check(t, append(long[:i:i], 0xff, 0xff, 0xff, 0xff))
	}
}

const fields = "Mozilla/5.0 (X11; Linux x86_64) image/avif,image/webp,*/*;q=0.8 gzip, deflate, br"

// All symbols of icons' addresses are in the table, so that x/net is not asked.
func TestTable(t *testing.T) {
	for _, s := range []string{"/mdi/home.svg?color=%23ff0000&size=24", fields, ""} {
		if got, ok := appendShortCodes(nil, hpack.AppendHuffmanString(nil, s)); !ok || string(got) != s {
			t.Errorf("%q: %q, %v", s, got, ok)
		}
	}
}

// FuzzAppend compares the decoder with x/net's for any bytes.
func FuzzAppend(f *testing.F) {
	f.Add(hpack.AppendHuffmanString(nil, fields))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(check)
}

func BenchmarkAppend(b *testing.B) {
	s := hpack.AppendHuffmanString(nil, "/material-symbols-light/home-rounded-2.svg")
	var out appender
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			out, _ = Append(out[:0], s)
		}
	})
	b.Run("x/net", func(b *testing.B) {
		for b.Loop() {
			out = out[:0]
			hpack.HuffmanDecode(&out, s)
		}
	})
}
