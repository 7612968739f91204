package coding

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/iconedge/iconedge/cachepolicy"
)

// Another decoder reads what each encoder writes, of bodies of any length; br also on both sides of
// its small window.
func TestEncoders(t *testing.T) {
	readers := map[Coding]func(io.Reader) (io.Reader, error){
		Identity: func(r io.Reader) (io.Reader, error) { return r, nil },
		Gzip:     func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		Brotli:   func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		Zstd: func(r io.Reader) (io.Reader, error) {
			d, err := zstd.NewReader(r)
			if err != nil {
				return nil, err
			}
			t.Cleanup(d.Close)
			return d, nil
		},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for c := range InUse() {
		for _, n := range []int{0, 1, 200, 1000, fitsWindow - 1, fitsWindow, fitsWindow + 1, 1 << 17} {
			b := make([]byte, n)
			for i := range b {
				b[i] = "0123456789 .-MmLlHhVvCcZz"[random.IntN(25)]
			}
			r, err := readers[c](bytes.NewReader(Encode(c, b)))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, b) {
				t.Errorf("%v: %d bytes become %d other ones, %v", c, n, len(got), err)
			}
		}
	}
}

// br is preferred to zstd, and zstd to gzip; bodies above a MiB have no br.
func TestOf(t *testing.T) {
	for _, row := range []struct {
		length int
		want   []Coding
	}{
		{0, []Coding{Brotli, Zstd, Gzip}},
		{maxBrotli, []Coding{Brotli, Zstd, Gzip}},
		{maxBrotli + 1, []Coding{Zstd, Gzip}},
	} {
		if got := Of(row.length); !slices.Equal(got, row.want) {
			t.Errorf("%d bytes: %v, want %v", row.length, got, row.want)
		}
	}
	if !slices.Equal(All(), []Coding{Brotli, Zstd, Gzip}) {
		t.Errorf("all: %v", All())
	}
}

// Each row has a name of its own, with its help, and cachepolicy.Encoding can choose among all that
// entries have room for.
func TestTable(t *testing.T) {
	for c := range InUse() {
		if found, ok := Find(c.String()); !ok || found != c || rows[c].Help == "" {
			t.Errorf("%v: found %v, help %q", c, found, rows[c].Help)
		}
	}
	if c, ok := Find("deflate"); ok || c != Identity {
		t.Errorf("a coding that no row has: %v, %v", c, ok)
	}
	if Room-1 > cachepolicy.MaxCodings {
		t.Errorf("room for %d codings besides identity, of which Encoding reads %d", Room-1, cachepolicy.MaxCodings)
	}
	defer func() {
		if recover() == nil {
			t.Error("two codings have one name")
		}
	}()
	Add(Row{Name: cachepolicy.Gzip})
}

// Another decoder reads what each stream writes, flushed or not, also after the stream of an
// earlier body was left half done. A flush sends all bytes so far.
func TestStreams(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, c := range Sent(false) {
		for range 20 {
			half := NewStream(c, io.Discard)
			half.Write([]byte("a body that breaks off"))
			half.Free()
			var coded, body bytes.Buffer
			s := NewStream(c, &coded)
			for range random.IntN(8) {
				part := bytes.Repeat([]byte{byte('a' + random.IntN(26)), ' ', byte('0' + random.IntN(10))}, random.IntN(20_000))
				body.Write(part)
				s.Write(part)
				if random.IntN(2) == 0 {
					before := coded.Len()
					if s.Flush(); len(part) > 0 && coded.Len() == before {
						t.Errorf("%v: a flush of %d bytes writes none", c, len(part))
					}
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s.Free()
			var r io.Reader
			switch c {
			case Gzip:
				z, err := gzip.NewReader(&coded)
				if err != nil {
					t.Fatal(err)
				}
				r = z
			case Brotli:
				r = brotli.NewReader(&coded)
			case Zstd:
				z, err := zstd.NewReader(&coded)
				if err != nil {
					t.Fatal(err)
				}
				defer z.Close()
				r = z
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body.Bytes()) {
				t.Errorf("%v: %d bytes become %d other ones, %v", c, body.Len(), len(got), err)
			}
		}
	}
}

// Only gzip holds little memory between two parts.
func TestSent(t *testing.T) {
	if all, light := Sent(false), Sent(true); !slices.Equal(all, []Coding{Brotli, Zstd, Gzip}) || !slices.Equal(light, []Coding{Gzip}) {
		t.Errorf("all %v, light %v", all, light)
	}
}
