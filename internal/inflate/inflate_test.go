package inflate

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// deflated returns text as a writer of a level compresses it.
func deflated(t testing.TB, text []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(text)
	w.Close()
	return b.Bytes()
}

func svgOf(random *rand.Rand, n int) []byte {
	b := []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="M`)
	for len(b) < n {
		b = append(b, "0123456789 .-MmLlHhVvCcZz"[random.IntN(25)])
	}
	return b[:n]
}

// It decodes what every level of compress/flate writes: stored blocks, fixed and dynamic codes.
func TestRaw(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	texts := [][]byte{nil, []byte("a"), bytes.Repeat([]byte("ab"), 40_000), make([]byte, 300_000)}
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	texts = append(texts, noise, []byte(strings.Repeat("<path d='M0 0h24v24H0z'/>", 100)))
	for n := 1; n < 3000; n += 97 {
		texts = append(texts, svgOf(random, n))
	}
	for _, text := range texts {
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, flate.BestSpeed, flate.DefaultCompression, flate.BestCompression} {
			z := deflated(t, text, level)
			got := make([]byte, len(text))
			if err := Raw(got, z); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%d bytes at level %d: %v", len(text), level, err)
			}
			for what, bad := range map[string][]byte{"a byte more": append(bytes.Clone(z), 0), "a byte less": z[:len(z)-1]} {
				if Raw(got, bad) == nil {
					t.Errorf("%d bytes at level %d, %s: no error", len(text), level, what)
				}
			}
			if Raw(make([]byte, len(text)+1), z) == nil || len(text) > 0 && Raw(make([]byte, len(text)-1), z) == nil {
				t.Errorf("%d bytes at level %d: no error for another length", len(text), level)
			}
		}
	}
}

// reference returns what compress/flate decodes of all of z; ok: all of z is one stream.
func reference(z []byte) (text []byte, ok bool) {
	from := bytes.NewReader(z)
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(from), 1<<20))
	return text, err == nil && from.Len() == 0 && len(text) < 1<<20
}

// It accepts exactly the streams of compress/flate, and never panics.
func FuzzRaw(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, flate.BestSpeed, flate.BestCompression} {
		f.Add(deflated(f, svgOf(random, 700), level))
		f.Add(deflated(f, bytes.Repeat([]byte("abc"), 300), level))
	}
	f.Add([]byte{0x4b, 0x04, 0x00}) // "a", fixed
	f.Fuzz(func(t *testing.T, z []byte) {
		want, ok := reference(z)
		got := make([]byte, len(want))
		if err := Raw(got, z); (err == nil) != ok || ok && !bytes.Equal(got, want) {
			t.Fatalf("%x: %v, want ok: %v; %d bytes", z, err, ok, len(want))
		}
	})
}

// Changed streams of real lengths give the same result as compress/flate.
func TestChanged(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var whole [][]byte
	for i := range 60 {
		whole = append(whole, deflated(t, svgOf(random, 1+random.IntN(900)), []int{flate.HuffmanOnly, flate.BestSpeed, flate.BestCompression}[i%3]))
	}
	for i := range 3000 {
		z := bytes.Clone(whole[i%len(whole)])
		for range 1 + random.IntN(3) {
			z[random.IntN(len(z))] ^= 1 << random.IntN(8)
		}
		want, ok := reference(z)
		got := make([]byte, len(want))
		if err := Raw(got, z); (err == nil) != ok || ok && !bytes.Equal(got, want) {
			t.Fatalf("%x: %v, want ok: %v; %d bytes", z, err, ok, len(want))
		}
	}
}

func BenchmarkRaw(b *testing.B) {
	text := svgOf(rand.New(rand.NewPCG(1, 2)), 700)
	z := deflated(b, text, flate.BestCompression)
	b.Run("this", func(b *testing.B) {
		for b.Loop() {
			Raw(text, z)
		}
	})
	b.Run("compress/flate", func(b *testing.B) {
		r := flate.NewReader(nil)
		for b.Loop() {
			r.(flate.Resetter).Reset(bytes.NewReader(z), nil)
			io.ReadFull(r, text)
		}
	})
}
