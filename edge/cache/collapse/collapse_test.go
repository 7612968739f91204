package collapse

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

func newTestFetches() *Fetches {
	seeds := hashes.NewSeeds()
	return New(&seeds, &invalidation.Table{}, nil)
}

// anyone may have a result with this Sharing.
var anyone = cachepolicy.Sharing{Storable: true}

func TestManyCallersOneFetch(t *testing.T) {
	c := newTestFetches()
	var sent atomic.Int64
	var stored atomic.Pointer[entry.Entry]
	open := make(chan struct{})
	fetch := func() Result {
		sent.Add(1)
		<-open
		e := entrytest.New("/a", "body")
		stored.Store(e)
		return Result{Entry: e, Sharing: anyone, Stored: true}
	}
	var began atomic.Int64
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			if i == 500 {
				close(open)
			}
			f, first := c.Join(time.Now(), Call{Key: "/a", Find: stored.Load, Fetch: fetch})
			if first {
				began.Add(1)
			}
			if n := c.Callers(); n > 1000 {
				t.Errorf("%d callers", n)
			}
			if l := f.Wait(time.Minute, nil); l.Err != nil || string(l.Entry.Identity().Body) != "body" {
				t.Errorf("result %+v", l)
			}
		})
	}
	wg.Wait()
	if n := c.Callers(); n != 0 {
		t.Errorf("Callers() = %d after the fetch", n)
	}
	if sent.Load() != 1 || began.Load() != 1 {
		t.Errorf("%d fetches, which %d callers began; want one", sent.Load(), began.Load())
	}
}

// A caller that looked before the entry was stored, and joins when the fetch has ended, does not
// begin another one.
func TestJoinAfterStore(t *testing.T) {
	c := newTestFetches()
	stale, newer := entrytest.New("/a", "old"), entrytest.New("/a", "new")
	f, began := c.Join(time.Now(), Call{Key: "/a", Stale: stale, Find: func() *entry.Entry { return newer },
		Fetch: func() Result { t.Error("sent"); return Result{} }})
	if l := f.Wait(0, nil); began || !l.Found || !l.Entry.SameStored(newer) {
		t.Errorf("result %+v, began %v; want the newer entry, found", l, began)
	}
}

func TestFailureIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestFetches()
		broken := errors.New("broken")
		sent := 0
		fetch := func() Result {
			f, _ := c.Join(time.Now(), Call{Key: "/a", Find: nothing, Fetch: func() Result { sent++; return Result{Err: broken} }})
			return f.Wait(time.Minute, nil)
		}
		steps := []struct {
			after time.Duration
			sent  int
		}{{0, 1}, {0, 1}, {999 * time.Millisecond, 1}, {time.Millisecond, 2}, {500 * time.Millisecond, 2}, {500 * time.Millisecond, 3}}
		for i, s := range steps {
			time.Sleep(s.after) // in the bubble, no real time passes
			if l := fetch(); !errors.Is(l.Err, broken) || sent != s.sent {
				t.Errorf("step %d: result %+v after %d fetches, want %d", i, l, sent, s.sent)
			}
			synctest.Wait()
		}
		if err := c.Failed("/a", time.Now()); !errors.Is(err, broken) {
			t.Errorf("Failed = %v right after a failure", err)
		}
		if err := c.Failed("/b", time.Now()); err != nil {
			t.Errorf("Failed of another key = %v", err)
		}
	})
}

func TestWaitIsBoundedAndFetchGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestFetches()
		e := entrytest.New("/a", "late")
		f, _ := c.Join(time.Now(), Call{Key: "/a", Find: nothing,
			Fetch: func() Result { time.Sleep(time.Minute); return Result{Entry: e} }})
		if l := f.Wait(time.Second, nil); !errors.Is(l.Err, ErrWaitTimeout) {
			t.Errorf("result %+v after a second, want ErrLate", l)
		}
		if l := f.Wait(time.Hour, nil); l.Entry != e {
			t.Errorf("result %+v in the end, want the entry", l)
		}
	})
}

func TestPanicIsAnError(t *testing.T) {
	c := newTestFetches()
	f, _ := c.Join(time.Now(), Call{Key: "/a", Find: nothing, Fetch: func() Result { panic("boom") }})
	if l := f.Wait(time.Minute, nil); l.Err == nil {
		t.Errorf("result %+v of a fetch that panicked, want an error", l)
	}
}

// nothing is the result of Find if no usable entry was stored.
func nothing() *entry.Entry { return nil }

// Join begins a fetch if Find returns nil, although an entry is stored.
func TestJoinMustRevalidate(t *testing.T) {
	c := newTestFetches()
	f, began := c.Join(time.Now(), Call{Key: "/a", Stale: entrytest.New("/a", "no-cache"), Find: nothing,
		Fetch: func() Result { return Result{Entry: entrytest.New("/a", "sent")} }})
	if l := f.Wait(time.Minute, nil); !began || l.Found || string(l.Entry.Identity().Body) != "sent" {
		t.Errorf("result %+v, began %v; want the result of the fetch", l, began)
	}
}

func TestHitForPass(t *testing.T) {
	c := newTestFetches()
	t0 := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	c.MarkHitForPass("/private", true, t0)
	for _, row := range []struct {
		key   string
		after time.Duration
		want  bool
	}{{"/private", 0, true}, {"/other", 0, false}, {"/private", HitForPass - 1, true},
		{"/private", HitForPass, false}, {"/private", 0, false}} {
		if got := c.IsHitForPass(row.key, t0.Add(row.after)); got != row.want {
			t.Errorf("IsHitForPass(%s) after %v = %v, want %v", row.key, row.after, got, row.want)
		}
	}
}

// Refuse is called only for a fetch that would begin, and its error is not recorded.
func TestRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, none := newTestFetches(), func() *entry.Entry { return nil }
		down, arrived := errors.New("down"), make(chan struct{})
		var refusal error
		call := Call{Key: "/a", Find: none, Refuse: func() error { return refusal },
			Fetch: func() Result { <-arrived; return Result{Entry: &entry.Entry{}} }}
		if _, began := c.Join(time.Now(), call); !began {
			t.Error("the first call does not begin a fetch")
		}
		refusal = down
		joined, _ := c.Join(time.Now(), call)
		other := call
		other.Key = "/b"
		if f, began := c.Join(time.Now(), other); began || !errors.Is(f.Wait(time.Second, nil).Err, down) ||
			c.Failed("/b", time.Now()) != nil {
			t.Error("a fetch that would fail begins, or its refusal is recorded")
		}
		close(arrived)
		if r := joined.Wait(time.Second, nil); r.Err != nil {
			t.Errorf("a fetch in flight is not joined: %v", r.Err)
		}
	})
}

// Failures and markers are freed after they have expired, also if nobody requests their keys again.
func TestExpiredAreFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestFetches()
		failing := func() Result { return Result{Err: errors.New("down")} }
		for i := range 1000 {
			key := fmt.Sprint(i)
			c.Join(time.Now(), Call{Key: key, Find: func() *entry.Entry { return nil }, Fetch: failing})
			if i%2 == 0 {
				c.MarkHitForPass(key, true, time.Now())
			}
		}
		for _, row := range []struct {
			after           time.Duration
			failed, markers int
		}{{0, 1000, 500}, {2 * Failure, 0, 500}, {HitForPass - Failure, 0, 0}} {
			time.Sleep(row.after)
			synctest.Wait()
			failed, markers := 0, 0
			for i := range c.shards {
				s := &c.shards[i]
				s.mu.Lock()
				failed, markers = failed+len(s.failed.values), markers+len(s.hitForPass.values)
				s.mu.Unlock()
			}
			if failed != row.failed || markers != row.markers {
				t.Errorf("after %v more: %d failures, %d markers; want %d, %d", row.after, failed, markers, row.failed, row.markers)
			}
		}
	})
}

func TestExpiringMapIsBounded(t *testing.T) {
	t0 := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	m := newExpiringMap[int](10)
	for i := range 20 {
		m.set(fmt.Sprint(i), i, t0, time.Second)
	}
	if _, ok := m.get("15", t0); len(m.values) != 10 || ok {
		t.Errorf("the map has %d of at most 10 keys, the 16th among them: %v", len(m.values), ok)
	}
	m.set("later", 1, t0.Add(time.Second), time.Second)
	if _, ok := m.get("later", t0.Add(time.Second)); !ok || len(m.values) != 1 {
		t.Errorf("after the others expired, the map has %d keys, the new one among them: %v", len(m.values), ok)
	}
}

// A fetch whose body is still arriving is joined as long as the body can be read from its
// beginning.
func TestFetchWithAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestFetches()
		source, origin := io.Pipe()
		spool := NewSpool(source, nil, -1, 1<<20)
		sent := 0
		join := func() *Fetch {
			f, _ := c.Join(time.Now(), Call{Key: "/a", Find: nothing, Fetch: func() Result {
				sent++
				return Result{Entry: entrytest.New("/a", ""), Stream: spool, Sharing: anyone}
			}})
			return f
		}
		stored := make(chan struct{})
		go spool.RunAndStore(func([]byte) { <-stored })
		for i := range 3 {
			if l := join().Wait(time.Minute, nil); l.Stream != spool || sent != 1 {
				t.Fatalf("caller %d: result %+v after %d fetches", i, l, sent)
			}
			io.WriteString(origin, "some")
			synctest.Wait()
		}
		origin.Close()
		synctest.Wait()
		if join(); sent != 1 {
			t.Error("a second fetch began while the body was being stored")
		}
		close(stored)
		synctest.Wait()
		if join().Wait(time.Minute, nil); sent != 2 {
			t.Errorf("%d fetches, want 2, because the first ended with its body", sent)
		}
		synctest.Wait()
	})
}

// A fetch does not prevent the next one if its body is too long to be joined, or is for its caller
// only.
func TestFetchWithAnUnjoinableStream(t *testing.T) {
	for _, shared := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := newTestFetches()
			sent := 0
			for range 2 {
				source, origin := io.Pipe()
				spool := NewSpool(source, nil, -1, 0)
				f, _ := c.Join(time.Now(), Call{Key: "/a", Find: nothing, Fetch: func() Result {
					sent++
					return Result{Entry: entrytest.New("/a", ""), Stream: spool, Sharing: cachepolicy.Sharing{Storable: shared}}
				}})
				go spool.Run()
				r, err := f.Wait(time.Minute, nil).Stream.Reader()
				if err != nil {
					t.Fatal(err)
				}
				if shared {
					go origin.Write(make([]byte, 2*spoolWindow))
					io.CopyN(io.Discard, r, spoolWindow)
				}
				synctest.Wait()
				defer r.Close()
			}
			if sent != 2 {
				t.Errorf("shared %v: %d fetches, want 2", shared, sent)
			}
		})
	}
}
