package compress

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/iconedge/iconedge/edge/cache/entry"
)

func quietSender() *Sender { return NewSender(slog.New(slog.DiscardHandler)) }

// planned returns the plan for a client that accepts one coding.
func planned(t testing.TB, s *Sender, accept string, f Form) *Plan {
	t.Helper()
	p := s.Plan(accept, f)
	if p == nil {
		t.Fatalf("no plan for Accept-Encoding: %s", accept)
	}
	return p
}

// decoder returns the body of a coded one.
func decoder(t testing.TB, c entry.Coding, r io.Reader) io.Reader {
	t.Helper()
	switch c {
	case entry.Gzip:
		return &lateGzip{from: r}
	case entry.Brotli:
		return brotli.NewReader(r)
	}
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// A lateGzip reads the head with the first bytes.
type lateGzip struct {
	from io.Reader
	*gzip.Reader
}

func (z *lateGzip) Read(p []byte) (n int, err error) {
	if z.Reader == nil {
		if z.Reader, err = gzip.NewReader(z.from); err != nil {
			return 0, err
		}
	}
	return z.Reader.Read(p)
}

// words returns a text that gets smaller.
func words(n int, seed uint64) []byte {
	random, b := rand.New(rand.NewPCG(seed, 2)), make([]byte, 0, n+10)
	for len(b) < n {
		b = append(b, strings.Repeat("abcdefgh"[random.IntN(8):], 1+random.IntN(3))...)
		b = append(b, ' ')
	}
	return b[:n]
}

// A whole body, and one that arrives in any pieces, become the same again.
func TestSentBodies(t *testing.T) {
	s := quietSender()
	for _, accept := range []string{"br", "zstd", "gzip"} {
		for _, n := range []int{0, 1, 1000, part, part + 1, 3*part - 7, 300_000} {
			body := words(n, 1)
			if n >= 1000 {
				p := planned(t, s, accept, Whole)
				coded, ok := p.Whole(body)
				if got, err := io.ReadAll(decoder(t, p.Coding(), bytes.NewReader(coded))); !ok || err != nil || !bytes.Equal(got, body) {
					t.Errorf("%s, %d bytes at once: %d bytes, %v, %v", accept, n, len(got), ok, err)
				}
			}
			for name, source := range map[string]io.Reader{"at once": bytes.NewReader(body),
				"in halves": iotest.HalfReader(bytes.NewReader(body)), "with its end": iotest.DataErrReader(bytes.NewReader(body))} {
				p := planned(t, s, accept, Arriving)
				r := p.Stream(io.NopCloser(source))
				got, err := io.ReadAll(decoder(t, p.Coding(), iotest.HalfReader(r)))
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%s, %d bytes %s: %d other bytes, %v", accept, n, name, len(got), err)
				}
				r.Close()
			}
		}
	}
	if n := s.heavy.Load(); n != 0 {
		t.Errorf("%d streams are still counted", n)
	}
}

// A body that gets no smaller stays as it is.
func TestUselessWhole(t *testing.T) {
	body := make([]byte, 2000)
	rand.NewChaCha8([32]byte{1}).Read(body)
	if coded, ok := planned(t, quietSender(), "gzip", Whole).Whole(body); ok {
		t.Errorf("%d bytes become %d", len(body), len(coded))
	}
}

// A client gets all that has arrived when the body pauses, in every coding, however little that is.
func TestFlushedOnPause(t *testing.T) {
	for _, accept := range []string{"br", "zstd", "gzip"} {
		for _, f := range []Form{Arriving, Lasting} {
			if f == Lasting && accept != "gzip" {
				continue // streams of events have gzip alone
			}
			synctest.Test(t, func(t *testing.T) {
				p := planned(t, quietSender(), accept, f)
				source, origin := io.Pipe()
				coded := p.Stream(source)
				defer coded.Close()
				body := decoder(t, p.Coding(), coded)
				for _, text := range []string{"data: 1\n\n", "x", "data: three\n\n"} {
					begun := time.Now()
					go origin.Write([]byte(text))
					got := make([]byte, len(text))
					// Without a flush this would wait for ever, and the bubble would end the test.
					if _, err := io.ReadFull(body, got); err != nil || string(got) != text {
						t.Fatalf("%s: %q, %v; want %q", accept, got, err, text)
					}
					if took := time.Since(begun); took > pause {
						t.Errorf("%s: an event took %v", accept, took)
					}
				}
				go origin.Close()
				if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
					t.Errorf("%s: then %q, %v", accept, rest, err)
				}
			})
		}
	}
}

// An origin that sends byte by byte gets no flush for each.
func TestByteByByte(t *testing.T) {
	const n = 2000
	for _, accept := range []string{"br", "zstd", "gzip"} {
		synctest.Test(t, func(t *testing.T) {
			p := planned(t, quietSender(), accept, Arriving)
			source, origin := io.Pipe()
			go func() {
				for range n {
					origin.Write([]byte("x"))
					time.Sleep(10 * time.Microsecond)
				}
				origin.Close()
			}()
			r := p.Stream(source)
			defer r.Close()
			coded, err := io.ReadAll(r)
			if got, _ := io.ReadAll(decoder(t, p.Coding(), bytes.NewReader(coded))); err != nil || len(got) != n {
				t.Errorf("%s: %d bytes, %v", accept, len(got), err)
			}
			if len(coded) > n/4 { // ten flushes in 20 ms
				t.Errorf("%s: %d bytes of x in %d bytes", accept, n, len(coded))
			}
		})
	}
}

// A body that breaks off gives all that has arrived, and has no end.
func TestTruncatedSource(t *testing.T) {
	broken := errors.New("broken off")
	for _, accept := range []string{"br", "zstd", "gzip"} {
		body := words(50_000, 3)
		p := planned(t, quietSender(), accept, Arriving)
		r := p.Stream(io.NopCloser(io.MultiReader(bytes.NewReader(body), iotest.ErrReader(broken))))
		coded, err := io.ReadAll(r)
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v, want the error of the body", accept, err)
		}
		got, err := io.ReadAll(decoder(t, p.Coding(), bytes.NewReader(coded)))
		if !bytes.Equal(got, body) || err == nil {
			t.Errorf("%s: %d of %d bytes, and the decoder reports %v", accept, len(got), len(body), err)
		}
		r.Close()
	}
}

// A client that leaves ends the read of a silent body, and frees the stream.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quietSender()
		source, origin := io.Pipe()
		r := planned(t, s, "br", Arriving).Stream(source)
		read := make(chan error)
		go func() {
			_, err := r.Read(make([]byte, 10))
			read <- err
		}()
		synctest.Wait()
		r.Close()
		r.Close()
		if err := <-read; !errors.Is(err, os.ErrClosed) {
			t.Errorf("the read ends with %v", err)
		}
		if _, err := origin.Write([]byte("x")); err == nil {
			t.Error("the body is not closed")
		}
		if _, err := r.Read(make([]byte, 10)); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a read after Close: %v", err)
		}
		if n := s.heavy.Load(); n != 0 {
			t.Errorf("%d streams are still counted", n)
		}
	})
}

// Streams with much memory are bounded: the ones beyond get gzip, whose streams hold little. Whole
// bodies hold none.
func TestManyStreams(t *testing.T) {
	s := quietSender()
	var open []*Plan
	for range maxHeavy {
		open = append(open, planned(t, s, "br, gzip", Arriving))
	}
	for _, row := range []struct {
		accept string
		form   Form
		want   entry.Coding
	}{
		{"br, gzip", Arriving, entry.Gzip}, {"br", Arriving, entry.Identity}, {"br", Whole, entry.Brotli},
		{"br, zstd, gzip", Lasting, entry.Gzip}, {"br, zstd", Lasting, entry.Identity}, {"gzip", Arriving, entry.Gzip},
	} {
		got := entry.Identity
		if p := s.Plan(row.accept, row.form); p != nil {
			got = p.Coding()
			p.Drop()
		}
		if got != row.want {
			t.Errorf("%s, form %d: %v, want %v", row.accept, row.form, got, row.want)
		}
	}
	if got := s.Stats().Busy; got != 1 {
		t.Errorf("%d responses are counted as sent as they are, want 1", got)
	}
	open[0].Drop()
	if p := planned(t, s, "br, gzip", Arriving); p.Coding() != entry.Brotli {
		t.Errorf("after one has ended: %v", p.Coding())
	}
}

// While half of the processors are busy, parts wait, and responses begin as they are when too many
// do.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quietSender()
		body, ended := words(5000, 4), make(chan bool)
		for range cap(s.workers) {
			s.workers <- struct{}{}
		}
		begun, most := 0, queue*cap(s.workers)
		for p := s.Plan("gzip", Whole); p != nil && begun <= most; p = s.Plan("gzip", Whole) {
			begun++
			go func() {
				_, ok := p.Whole(body)
				ended <- ok
			}()
			synctest.Wait()
		}
		if begun != most || s.Stats().Busy != 1 || s.Stats().Sent["gzip"] != 0 {
			t.Errorf("%d responses wait, %d are sent as they are, %d are coded; want %d, 1, 0", begun, s.Stats().Busy,
				s.Stats().Sent["gzip"], most)
		}
		for range cap(s.workers) {
			<-s.workers
		}
		for range begun {
			if !<-ended {
				t.Error("a response that waited is not coded")
			}
		}
		if s.Plan("gzip", Whole) == nil {
			t.Error("no response gets a coding any more")
		}
	})
}

// A panic of an encoder ends its response alone.
func TestPanickingEncoder(t *testing.T) {
	s := quietSender()
	if err := s.work(func() error { panic("of an encoder") }); !errors.Is(err, errEncoder) {
		t.Errorf("%v", err)
	}
	if len(s.workers) != 0 || s.waiting.Load() != 0 {
		t.Errorf("%d workers are still busy", len(s.workers))
	}
}

// BenchmarkSent measures a page of 63 kB in each coding, with its bytes.
func BenchmarkSent(b *testing.B) {
	body, s := words(63_000, 6), quietSender()
	for _, accept := range []string{"br", "zstd", "gzip"} {
		b.Run(accept, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			n := 0
			for b.Loop() {
				coded, _ := planned(b, s, accept, Whole).Whole(body)
				n = len(coded)
			}
			b.ReportMetric(float64(n), "coded-bytes")
		})
	}
}
