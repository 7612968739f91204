package collapse

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	r.Read(b)
	return b
}

// A source counts the bytes that were read from it, and records whether it was closed.
type source struct {
	io.Reader
	read   atomic.Int64
	closed atomic.Bool
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.read.Add(int64(n))
	return n, err
}

func (s *source) Close() error { s.closed.Store(true); return nil }

func TestSpool(t *testing.T) {
	broken := errors.New("broken")
	body := random(100_000)
	cut := func() io.Reader { return io.MultiReader(bytes.NewReader(body), iotest.ErrReader(broken)) }
	whole := func() io.Reader { return bytes.NewReader(body) }
	tests := []struct {
		name         string
		source       func() io.Reader
		length, keep int64
		want         error // of readers and Run
		kept         bool
	}{
		{"stored", whole, 100_000, 1 << 20, nil, true},
		{"stored, exactly at the limit", whole, 100_000, 100_000, nil, true},
		{"of unknown length", whole, -1, 1 << 20, nil, true},
		{"above the limit", whole, 100_000, 99_999, nil, false},
		{"above the limit, of unknown length", whole, -1, 99_999, nil, false},
		{"not to be stored", whole, 100_000, 0, nil, false},
		{"byte by byte", func() io.Reader { return iotest.OneByteReader(whole()) }, 100_000, 1 << 20, nil, true},
		{"the end with the last bytes", func() io.Reader { return iotest.DataErrReader(whole()) }, 100_000, 1 << 20, nil, true},
		{"broken off", cut, -1, 1 << 20, broken, false},
		{"broken off after its length", cut, 100_000, 1 << 20, broken, false},
		{"shorter than declared", whole, 100_001, 1 << 20, io.ErrUnexpectedEOF, false},
		{"shorter than declared, not to be stored", whole, 100_001, 0, io.ErrUnexpectedEOF, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := &source{Reader: tt.source()}
			s := NewSpool(src, nil, tt.length, tt.keep)
			var wg sync.WaitGroup
			for range 3 {
				r, err := s.Reader()
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					defer r.Close()
					got, err := io.ReadAll(iotest.HalfReader(r))
					if !bytes.Equal(got, body) || !errors.Is(err, tt.want) {
						t.Errorf("a reader got %d bytes, equal to the body: %v, and the error %v, want %v", len(got),
							bytes.Equal(got, body), err, tt.want)
					}
				})
			}
			got, err := s.Run()
			wg.Wait()
			if !errors.Is(err, tt.want) && !errors.Is(err, ErrAbandoned) ||
				(err == nil) != (tt.want == nil) && !errors.Is(err, ErrAbandoned) {
				t.Errorf("Run: %v, want %v", err, tt.want)
			}
			if tt.kept != bytes.Equal(got, body) || !tt.kept && got != nil {
				t.Errorf("Run returns %d bytes, want the body: %v", len(got), tt.kept)
			}
			if !src.closed.Load() {
				t.Error("the source is not closed")
			}
		})
	}
}

func TestSpoolLongerThanDeclared(t *testing.T) {
	for _, first := range []int{0, 50, 101} {
		body := random(200)
		s := NewSpool(&source{Reader: bytes.NewReader(body[first:])}, bytes.Clone(body[:first]), 100, 1<<20)
		if got, err := s.Run(); err == nil || got != nil {
			t.Errorf("with %d bytes read before: Run returns %d bytes and the error %v", first, len(got), err)
		}
		if _, err := s.Reader(); err == nil {
			t.Errorf("with %d bytes read before: a reader can begin", first)
		}
	}
}

func TestSpoolOfEmptyBody(t *testing.T) {
	s := NewSpool(&source{Reader: bytes.NewReader(nil)}, nil, 0, 10)
	if got, err := s.Run(); got == nil || len(got) > 0 || err != nil {
		t.Errorf("Run returns %v and the error %v, want an empty body", got, err)
	}
}

// A late reader reads the same body as an early one, as long as its beginning is held.
func TestLateReaders(t *testing.T) {
	body := random(2 * spoolWindow)
	for _, keep := range []int64{0, 3 * spoolWindow} {
		synctest.Test(t, func(t *testing.T) {
			pipe, origin := io.Pipe()
			s := NewSpool(pipe, bytes.Clone(body[:100]), -1, keep)
			go s.Run()
			early, err := s.Reader()
			if err != nil {
				t.Fatal(err)
			}
			go func() { origin.Write(body[100:]); origin.Close() }()
			if got := make([]byte, spoolWindow); true {
				io.ReadFull(early, got)
			}
			synctest.Wait()
			late, err := s.Reader()
			switch {
			case keep == 0 && !errors.Is(err, ErrGone):
				t.Errorf("Reader for a late reader: error %v, want ErrGone", err)
			case keep > 0 && err != nil:
				t.Errorf("Reader for a late reader of a body that is held: %v", err)
			case keep > 0:
				if got, err := io.ReadAll(late); !bytes.Equal(got, body) || err != nil {
					t.Errorf("a late reader got %d bytes and the error %v", len(got), err)
				}
			}
			early.Close()
		})
	}
}

// If the body is not to be stored, the source is read at most a window ahead of the slowest reader.
func TestBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 40 * spoolWindow
		src := &source{Reader: bytes.NewReader(random(size))}
		s := NewSpool(src, nil, size, 1000)
		go s.Run()
		fast, err := s.Reader()
		if err != nil {
			t.Fatal(err)
		}
		slow, err := s.Reader()
		if err != nil {
			t.Fatal(err)
		}
		go func() { io.Copy(io.Discard, fast); fast.Close() }()
		for pos := 0; pos < size; pos += 100_000 {
			synctest.Wait()
			if n := src.read.Load(); n > int64(pos)+spoolWindow+chunk || n < min(size, int64(pos)+spoolWindow) {
				t.Fatalf("the source was read up to %d, but the slowest reader is at %d", n, pos)
			}
			if held := len(s.held); held > 2*spoolWindow {
				t.Fatalf("%d bytes are held", held)
			}
			io.CopyN(io.Discard, slow, 100_000)
		}
		if n, err := slow.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("at the end the slow reader gets %d bytes and the error %v", n, err)
		}
	})
}

// A slow client is cut, so that others can continue. A client that waits for the source is not
// slow.
func TestSlowReaderIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := random(4 * spoolWindow)
		pipe, origin := io.Pipe()
		s := NewSpool(pipe, nil, -1, 0)
		go s.Run()
		fast, _ := s.Reader()
		slow, _ := s.Reader()
		begun := time.Now()
		go func() {
			time.Sleep(time.Hour) // the readers wait meanwhile, and must not be cut
			origin.Write(body)
			origin.Close()
		}()
		slow.Read(make([]byte, 1))
		got, err := io.ReadAll(fast)
		if !bytes.Equal(got, body) || err != nil {
			t.Errorf("the other reader got %d bytes and the error %v", len(got), err)
		}
		if took := time.Since(begun) - time.Hour; took != patience {
			t.Errorf("the other reader was held up for %v, want %v", took, patience)
		}
		if n, err := slow.Read(make([]byte, 1)); n != 0 || !errors.Is(err, ErrSlow) {
			t.Errorf("the slow reader gets %d bytes and the error %v, want ErrSlow", n, err)
		}
		fast.Close()
		slow.Close()
	})
}

func TestAbandoned(t *testing.T) {
	tests := []struct {
		name string
		keep int64
		read func(s *Spool) // what the readers do
		want error
	}{
		{"no reader is left", 0, func(s *Spool) { r, _ := s.Reader(); r.Close() }, ErrAbandoned},
		{"no reader is left, the body is to be stored", 1 << 20, func(s *Spool) { r, _ := s.Reader(); r.Close() }, nil},
		{"no reader ever began", 0, func(*Spool) {}, ErrAbandoned},
		{"one of two is left", 0, func(s *Spool) {
			one, _ := s.Reader()
			other, _ := s.Reader()
			one.Close()
			one.Close()
			go func() { io.Copy(io.Discard, other); other.Close() }()
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipe, origin := io.Pipe()
				s := NewSpool(pipe, nil, 2*spoolWindow, tt.keep)
				tt.read(s)
				go func() { origin.Write(random(2 * spoolWindow)); origin.Close() }()
				if _, err := s.Run(); !errors.Is(err, tt.want) || err == nil != (tt.want == nil) {
					t.Errorf("Run: %v, want %v", err, tt.want)
				}
				if _, err := origin.Write([]byte("x")); err == nil {
					t.Error("the source is not closed")
				}
			})
		})
	}
}

// A silent source is closed when the last reader closes.
func TestAbandonedWhileTheSourceIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe, _ := io.Pipe()
		s := NewSpool(pipe, nil, -1, 0)
		r, _ := s.Reader()
		ended := make(chan error)
		go func() { _, err := s.Run(); ended <- err }()
		synctest.Wait()
		r.Close()
		if err := <-ended; !errors.Is(err, ErrAbandoned) {
			t.Errorf("Run: %v, want ErrAbandoned", err)
		}
		if _, err := r.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("reading after Close: %v", err)
		}
	})
}

func TestReadAll(t *testing.T) {
	broken := errors.New("broken")
	const most = 1000
	tests := []struct {
		name  string
		come  func(origin *io.PipeWriter)
		keep  int64
		whole bool
		err   error
		after time.Duration
	}{
		{"a short body", func(w *io.PipeWriter) { w.Write(random(most - 1)); w.Close() }, 1 << 20, true, nil, 0},
		{"a short body that is not to be stored", func(w *io.PipeWriter) { w.Write(random(most - 1)); w.Close() }, 0, true, nil, 0},
		{"a long body", func(w *io.PipeWriter) { w.Write(random(most)) }, 1 << 20, false, nil, 0},
		{"a slow body", func(w *io.PipeWriter) { w.Write(random(1)) }, 1 << 20, false, nil, time.Second},
		{"a body that breaks off", func(w *io.PipeWriter) { w.Write(random(1)); w.CloseWithError(broken) }, 1 << 20, true, broken, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipe, origin := io.Pipe()
				s := NewSpool(pipe, nil, -1, tt.keep)
				stored := false
				go s.RunAndStore(func([]byte) { stored = true })
				go tt.come(origin)
				begun := time.Now()
				body, whole, err := s.ReadAll(most, time.Second)
				if whole != tt.whole || !errors.Is(err, tt.err) || whole && err == nil && !bytes.Equal(body, random(most-1)) {
					t.Errorf("Hold returns %d bytes, whole %v, and the error %v", len(body), whole, err)
				}
				if whole && stored != (err == nil && tt.keep > 0) {
					t.Errorf("stored when Hold returns: %v", stored)
				}
				if took := time.Since(begun); took != tt.after {
					t.Errorf("Hold took %v, want %v", took, tt.after)
				}
				origin.Close()
			})
		})
	}
}

// Every reader reads exactly the body, for any division of writes and reads into pieces.
func FuzzSpool(f *testing.F) {
	f.Add(uint64(1), 100_000, 1<<20, true)
	f.Add(uint64(2), 700_000, 1000, false)
	f.Add(uint64(3), 0, 0, true)
	f.Fuzz(func(t *testing.T, seed uint64, size, keep int, declared bool) {
		if size < 0 || size > 4*spoolWindow || keep < 0 {
			return
		}
		body, length := random(size), int64(-1)
		if declared {
			length = int64(size)
		}
		dice := rand.New(rand.NewPCG(seed, 0))
		first := dice.IntN(size + 1)
		s := NewSpool(&source{Reader: pieces(bytes.NewReader(body[first:]), seed)}, bytes.Clone(body[:first]), length, int64(keep))
		var readers [4]io.ReadCloser
		for i := range readers {
			r, err := s.Reader()
			if err != nil {
				t.Fatal(err)
			}
			readers[i] = r
		}
		var wg sync.WaitGroup
		for i, r := range readers {
			part, want := io.Reader(r), body
			if i > 0 && dice.IntN(3) == 0 {
				// The reader closes before the end.
				part, want = io.LimitReader(r, int64(size/2)), body[:size/2]
			}
			wg.Go(func() {
				defer r.Close()
				if got, err := io.ReadAll(pieces(part, seed+uint64(i))); err != nil || !bytes.Equal(got, want) {
					t.Errorf("reader %d got %d bytes of %d, equal to the body: %v, and the error %v", i, len(got),
						len(want), bytes.Equal(got, want), err)
				}
			})
		}
		got, err := s.Run()
		wg.Wait()
		if kept := size <= keep && keep > 0; kept != (got != nil) || kept && (err != nil || !bytes.Equal(got, body)) {
			t.Errorf("Run returns %d bytes and the error %v, holding at most %d of %d", len(got), err, keep, size)
		}
	})
}

// pieces reads in pieces of random size.
func pieces(r io.Reader, seed uint64) io.Reader {
	dice := rand.New(rand.NewPCG(seed, 1))
	return readFunc(func(p []byte) (int, error) {
		if len(p) > 0 {
			p = p[:1+dice.IntN(len(p))]
		}
		return r.Read(p)
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// The only reader of a body reads the source itself: the spool holds no more than two reads for a
// client that does not read, and closes the source with the reader.
func TestForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := random(1 << 20)
		src := &source{Reader: bytes.NewReader(body)}
		s := NewSpool(src, nil, -1, 0)
		s.ForOne()
		r, err := s.Reader()
		if err != nil {
			t.Fatal(err)
		}
		go s.Run()
		synctest.Wait()
		if n := src.read.Load(); n > 2*chunk {
			t.Errorf("%d bytes were read for a client that has read nothing", n)
		}
		if _, err := s.Reader(); !errors.Is(err, ErrGone) {
			t.Errorf("a second reader: %v", err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if len(s.held) > 0 || src.closed.Load() {
			t.Errorf("%d bytes are held, the source is closed: %v", len(s.held), src.closed.Load())
		}
		r.Close()
		if !src.closed.Load() {
			t.Error("the source is not closed with its reader")
		}
	})
}

// Of a long body for one client little is held until the client has its head, and no more while it
// reads nothing. The wait for the end of the body does not outlast that.
func TestForOneHoldsLittle(t *testing.T) {
	for _, length := range []int64{-1, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			body := random(1 << 20)
			src := &source{Reader: bytes.NewReader(body)}
			s := NewSpool(src, nil, length, 0)
			s.ForOne()
			go s.Run()
			begun := time.Now()
			if _, whole, err := s.ReadAll(spoolWindow, time.Hour); whole || err != nil || time.Since(begun) > 0 {
				t.Errorf("whole %v, %v, after %v", whole, err, time.Since(begun))
			}
			r, err := s.Reader()
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := src.read.Load(); n > oneWindow+chunk {
				t.Errorf("%d bytes were read for a client that has read nothing", n)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			r.Close()
		})
	}
}
