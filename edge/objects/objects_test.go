package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/edge/slicing"
)

// A shelf stores slices in memory. It refuses those for which full returns true, and loses the
// oldest beyond most.
type shelf struct {
	mu     sync.Mutex
	slices map[int64][]byte
	order  []int64
	most   int // 0: any number
	full   func(n int64) bool
}

func (s *shelf) PutSlice(_ uint64, n int64, body []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full != nil && s.full(n) {
		return false
	}
	s.slices[n] = bytes.Clone(body)
	if s.order = append(s.order, n); s.most > 0 && len(s.order) > s.most {
		delete(s.slices, s.order[0])
		s.order = s.order[1:]
	}
	return true
}

func (s *shelf) HasSlice(_ uint64, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.slices[n]
	return ok
}

func (s *shelf) OpenSlice(_ uint64, n, length int64) io.ReaderAt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.slices[n]; ok && int64(len(b)) == length {
		return bytes.NewReader(b)
	}
	return nil
}

const length = 9*slicing.Size + 4321

var body = func() []byte {
	b := make([]byte, length)
	rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}()

func newTest() (*Store, *shelf) {
	s := &shelf{slices: map[int64][]byte{}}
	return New(s), s
}

// An origin answers fetches, and counts them and the bytes that were read from it.
type origin struct {
	mu      sync.Mutex
	fetches []slicing.Span
	fail    error
	most    int64 // bytes of one answer, in slices; 0: any number
	cut     int64 // bytes after which an answer breaks off; 0: it does not
}

func (o *origin) fetch(s slicing.Span) (io.ReadCloser, slicing.Span, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fetches = append(o.fetches, s)
	if o.fail != nil {
		return nil, s, o.fail
	}
	if o.most > 0 {
		s.To = min(s.To, s.From+o.most)
	}
	part := io.Reader(bytes.NewReader(body[s.From:s.To]))
	if o.cut > 0 {
		part = io.MultiReader(io.LimitReader(part, o.cut), iotest.ErrReader(errCut))
	}
	return io.NopCloser(part), s, nil
}

func (o *origin) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.fetches)
}

var errCut = errors.New("cut")

func readSpan(t *testing.T, s *Store, span slicing.Span, f Fetch) error {
	t.Helper()
	r := s.Open(1, length, span, f, true)
	defer r.Close()
	// The bytes are compared as they come: the race detector makes a buffer that grows slow.
	rest, p := body[span.From:span.To], make([]byte, 64<<10)
	for {
		n, err := r.Read(p)
		if !bytes.HasPrefix(rest, p[:n]) {
			t.Errorf("%v: the bytes differ after %d, at the latest", span, span.Len()-int64(len(rest))+int64(n))
			return err
		}
		if rest = rest[n:]; err == io.EOF {
			if len(rest) > 0 {
				t.Errorf("%v: the last %d bytes are missing", span, len(rest))
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Readers get exactly their bytes, for any slices that are stored, lost or not storable, and for
// any division of the origin's answers. With -short each of the eight reads two parts instead of
// five.
func TestReaders(t *testing.T) {
	parts := 5
	if testing.Short() {
		parts = 2
	}
	for name, change := range map[string]func(*shelf, *origin){
		"all is stored":           func(*shelf, *origin) {},
		"nothing can be stored":   func(s *shelf, _ *origin) { s.full = func(int64) bool { return true } },
		"some can't be":           func(s *shelf, _ *origin) { s.full = func(n int64) bool { return n%3 == 1 } },
		"stored slices are lost":  func(s *shelf, _ *origin) { s.most = 2 },
		"the origin sends little": func(_ *shelf, o *origin) { o.most = slicing.Size },
		"the origin breaks off":   func(_ *shelf, o *origin) { o.cut = 2*slicing.Size + 17 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, stored := newTest()
				o := &origin{}
				change(stored, o)
				var readers sync.WaitGroup
				for seed := range uint64(8) {
					readers.Go(func() {
						dice := rand.New(rand.NewPCG(seed, 1))
						for range parts {
							from := dice.Int64N(length)
							span := slicing.Span{From: from, To: from + 1 + dice.Int64N(length-from)}
							if err := readSpan(t, s, span, o.fetch); err != nil {
								t.Errorf("%v: %v", span, err)
							}
						}
					})
				}
				readers.Wait()
				time.Sleep(time.Minute)
				synctest.Wait() // sleeping orders nothing before the look at s.active
				if st := s.Stats(); st.Transfers != 0 || len(s.active) != 0 {
					t.Errorf("in the end: %+v, %d objects in use", st, len(s.active))
				}
			})
		})
	}
}

// Readers of the same missing slices wait for one fetch.
func TestReadersShareAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTest()
		o := &origin{}
		slow := func(span slicing.Span) (io.ReadCloser, slicing.Span, error) {
			time.Sleep(time.Second)
			return o.fetch(span)
		}
		var readers sync.WaitGroup
		for range 50 {
			readers.Go(func() {
				if err := readSpan(t, s, slicing.Span{From: 5, To: 3 * slicing.Size}, slow); err != nil {
					t.Error(err)
				}
			})
		}
		readers.Wait()
		if o.count() != 1 {
			t.Errorf("%d fetches: %v", o.count(), o.fetches)
		}
	})
}

// If the origin refuses, all that wait get the error, and a later reader asks again.
func TestRefusedFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTest()
		o := &origin{fail: errors.New("refused")}
		slow := func(span slicing.Span) (io.ReadCloser, slicing.Span, error) {
			time.Sleep(time.Second)
			return o.fetch(span)
		}
		var readers sync.WaitGroup
		for range 10 {
			readers.Go(func() {
				if err := readSpan(t, s, slicing.Span{To: 10}, slow); err != o.fail {
					t.Errorf("error %v", err)
				}
			})
		}
		readers.Wait()
		if o.count() != 1 {
			t.Errorf("%d fetches", o.count())
		}
		r := s.Open(1, length, slicing.Span{To: 10}, o.fetch, true)
		defer r.Close()
		if err := r.Prepare(); err != o.fail || o.count() != 2 {
			t.Errorf("later: error %v, %d fetches", err, o.count())
		}
	})
}

// A transfer of a part waits for its readers, and ends when none is left. That of a whole object
// goes on.
func TestTransfersAndReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stored := newTest()
		o := &origin{}
		r := s.Open(1, length, slicing.Span{To: length}, o.fetch, true)
		if err := r.Prepare(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(stored.slices); n != readAhead+1 {
			t.Errorf("%d slices are stored ahead of a reader that does not read", n)
		}
		r.Close()
		time.Sleep(linger)
		synctest.Wait()
		if n := s.Stats().Transfers; n != 0 || len(stored.slices) > readAhead+2 {
			t.Errorf("%d transfers go on without a reader", n)
		}
		whole, _ := s.Receive(2, length, slicing.Span{To: length})
		var ended error = errCut
		whole.Begin(io.NopCloser(bytes.NewReader(body)), func(err error) { ended = err })
		synctest.Wait()
		if n := len(stored.slices); n != 10 || ended != nil {
			t.Errorf("%d slices of a whole object are stored, error %v", n, ended)
		}
	})
}

// Above the limit of transfers, readers get bytes that are not stored.
func TestTooManyTransfers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stored := newTest()
		var all []Receipt
		for range maxTransfers {
			r, ok := s.Receive(9, length, slicing.Span{To: slicing.Size})
			if !ok {
				t.Fatal("too many")
			}
			all = append(all, r)
		}
		if _, ok := s.Receive(9, length, slicing.Span{To: slicing.Size}); ok {
			t.Error("one more transfer is accepted")
		}
		o := &origin{}
		if err := readSpan(t, s, slicing.Span{From: 100, To: 4*slicing.Size + 1}, o.fetch); err != nil || len(stored.slices) > 0 {
			t.Errorf("error %v, %d slices stored", err, len(stored.slices))
		}
		for _, r := range all {
			r.Cancel()
		}
		if n := s.Stats().Transfers; n != 0 || len(s.active) > 0 {
			t.Errorf("%d transfers, %d objects", n, len(s.active))
		}
	})
}

// A whole object whose body has the wrong length, breaks off or can't be stored ends with an error,
// and its readers do too.
func TestBadBodies(t *testing.T) {
	for name, c := range map[string]struct {
		body io.Reader
		full bool
		want error
	}{
		"too short":   {bytes.NewReader(body[:length-1]), false, ErrLength},
		"too long":    {io.MultiReader(bytes.NewReader(body), bytes.NewReader([]byte("x"))), false, ErrLength},
		"broken off":  {io.MultiReader(bytes.NewReader(body[:3*slicing.Size]), iotest.ErrReader(errCut)), false, errCut},
		"a full disk": {bytes.NewReader(body), true, ErrNotStored},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, stored := newTest()
			stored.full = func(n int64) bool { return c.full && n > 1 }
			receipt, _ := s.Receive(1, length, slicing.Span{To: length})
			r := s.Open(1, length, slicing.Span{To: length}, nil, true)
			ended := make(chan error, 1)
			got := make(chan error)
			go func() {
				b, err := io.ReadAll(r)
				if !bytes.HasPrefix(body, b) {
					t.Errorf("%s: other bytes", name)
				}
				got <- err
			}()
			synctest.Wait() // the reader waits
			receipt.Begin(io.NopCloser(c.body), func(err error) { ended <- err })
			read := <-got
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("%s: the transfer ended with %v", name, err)
			}
			if c.full != (read == nil) {
				t.Errorf("%s: the reader got %v", name, read)
			}
			r.Close()
			if len(s.active) > 0 || s.Stats().Failed != 1 {
				t.Errorf("%s: %d objects in use, %+v", name, len(s.active), s.Stats())
			}
		})
	}
}

// Without a fetch, a missing slice is an error.
func TestMissing(t *testing.T) {
	s, _ := newTest()
	if err := readSpan(t, s, slicing.Span{To: 10}, nil); err != ErrMissing {
		t.Errorf("error %v", err)
	}
}

// The state of a span says whether the origin has to be asked.
func TestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, stored := newTest()
		stored.slices[1] = body[slicing.Size : 2*slicing.Size]
		receipt, _ := s.Receive(1, length, slicing.Span{From: 2 * slicing.Size, To: 4 * slicing.Size})
		from, to := io.Pipe()
		receipt.Begin(from, func(error) {})
		to.Write(body[2*slicing.Size:][:100])
		synctest.Wait()
		for _, c := range []struct {
			span slicing.Span
			want State
		}{
			{slicing.Span{From: slicing.Size, To: 2 * slicing.Size}, Stored},
			{slicing.Span{From: slicing.Size, To: 2*slicing.Size + 100}, Stored},
			{slicing.Span{From: slicing.Size, To: 2*slicing.Size + 101}, Arriving},
			{slicing.Span{From: 0, To: slicing.Size + 1}, Missing},
			{slicing.Span{From: slicing.Size, To: length}, Missing},
		} {
			if got := s.State(1, length, c.span); got != c.want {
				t.Errorf("State of %v is %d, want %d", c.span, got, c.want)
			}
		}
		to.CloseWithError(fmt.Errorf("end of the test"))
		time.Sleep(time.Minute)
	})
}

// A reader does not wait for a transfer that stalls: neither for the slice that is arriving, nor
// for the next ones. One that has read from the transfer waits for it.
func TestStalledTransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTest()
		receipt, _ := s.Receive(1, length, slicing.Span{To: length})
		from, to := io.Pipe()
		receipt.Begin(from, func(error) {})
		follower := s.Open(1, length, slicing.Span{To: length}, (&origin{}).fetch, true)
		defer follower.Close()
		go to.Write(body[:slicing.Size+100])
		if got := make([]byte, slicing.Size+100); true {
			if _, err := io.ReadFull(follower, got); err != nil || !bytes.Equal(got, body[:slicing.Size+100]) {
				t.Errorf("the beginning: %v", err)
			}
		}
		rest := make(chan error)
		go func() {
			got, err := io.ReadAll(follower)
			if !bytes.Equal(got, body[slicing.Size+100:]) {
				t.Errorf("the rest has %d bytes", len(got))
			}
			rest <- err
		}()
		o := &origin{}
		for _, at := range []int64{slicing.Size + 200, 2 * slicing.Size, 3*slicing.Size + 5, 7 * slicing.Size} {
			begun := time.Now()
			if err := readSpan(t, s, slicing.Span{From: at, To: at + 10}, o.fetch); err != nil {
				t.Errorf("at %d: %v", at, err)
			}
			if took := time.Since(begun); took > stall {
				t.Errorf("at %d: it took %v", at, took)
			}
		}
		to.Write(body[slicing.Size+100:])
		to.Close()
		if err := <-rest; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
	})
}
