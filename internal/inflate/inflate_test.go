package inflate

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// memberOf returns text as a writer of a level compresses it.
func memberOf(t testing.TB, text []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(text)
	w.Close()
	return b.Bytes()
}

// Member decodes what every level of compress/gzip writes, and no other length, nor a member with a
// byte more, a byte less, or another checksum.
func TestMember(t *testing.T) {
	for _, text := range [][]byte{nil, []byte("a"), make([]byte, 300_000), []byte(strings.Repeat("<path d='M0 0h24v24H0z'/>", 100))} {
		for _, level := range []int{gzip.HuffmanOnly, gzip.NoCompression, gzip.BestSpeed, gzip.BestCompression} {
			z := memberOf(t, text, level)
			got := make([]byte, len(text))
			if err := Member(got, z); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%d bytes at level %d: %v", len(text), level, err)
			}
			changed := bytes.Clone(z)
			changed[len(z)-8] ^= 1
			for what, bad := range map[string][]byte{"a byte more": append(bytes.Clone(z), 0),
				"a byte less": z[:len(z)-1], "two members": append(bytes.Clone(z), z...), "another checksum": changed} {
				if err := Member(got, bad); !errors.Is(err, ErrCorrupt) {
					t.Errorf("%d bytes at level %d, %s: %v", len(text), level, what, err)
				}
			}
			if Member(make([]byte, len(text)+1), z) == nil || len(text) > 0 && Member(make([]byte, len(text)-1), z) == nil {
				t.Errorf("%d bytes at level %d: no error for another length", len(text), level)
			}
		}
	}
}

// Member accepts exactly the members of compress/gzip, and never panics.
func FuzzMember(f *testing.F) {
	for _, level := range []int{gzip.HuffmanOnly, gzip.NoCompression, gzip.BestSpeed, gzip.BestCompression} {
		f.Add(memberOf(f, bytes.Repeat([]byte("abc"), 300), level))
	}
	f.Fuzz(func(t *testing.T, z []byte) {
		from := bytes.NewReader(z)
		r, err := gzip.NewReader(from)
		var want []byte
		if err == nil {
			r.Multistream(false)
			want, err = io.ReadAll(io.LimitReader(r, 1<<20))
		}
		if len(want) == 1<<20 {
			return
		}
		ok := err == nil && from.Len() == 0
		got := make([]byte, len(want))
		if err := Member(got, z); (err == nil) != ok || ok && !bytes.Equal(got, want) {
			t.Fatalf("%x: %v, want ok: %v; %d bytes", z, err, ok, len(want))
		}
	})
}
