package cache

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestManyCallersOneFlight(t *testing.T) {
	c := newTest(t, 8<<20)
	var asked atomic.Int64
	open := make(chan struct{})
	ask := func() Landing {
		asked.Add(1)
		<-open
		e := entry("/a", "body")
		return Landing{Entry: e, Shared: true, Stored: c.Put(e, c.Now())}
	}
	var began atomic.Int64
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			if i == 500 {
				close(open)
			}
			f, first := c.Fly("/a", nil, time.Now(), func() *Entry { return c.Get("/a") }, ask)
			if first {
				began.Add(1)
			}
			if l := f.Wait(time.Minute, nil); l.Err != nil || string(l.Entry.Identity().Body) != "body" {
				t.Errorf("landing %+v", l)
			}
		})
	}
	wg.Wait()
	if asked.Load() != 1 || began.Load() != 1 {
		t.Errorf("asked %d times, %d callers began a flight; want one", asked.Load(), began.Load())
	}
}

// A caller that looked before the entry was stored, and comes to fly when the flight is over, must not ask again.
func TestFlightAfterTheFact(t *testing.T) {
	c := newTest(t, 8<<20)
	stale := entry("/a", "old")
	c.Put(stale, c.Now())
	newer := entry("/a", "new")
	c.Put(newer, c.Now())
	f, began := c.Fly("/a", stale, time.Now(), func() *Entry { return c.Get("/a") }, func() Landing { t.Error("asked"); return Landing{} })
	if l := f.Wait(0, nil); began || !l.Found || !l.Entry.Same(newer) {
		t.Errorf("landing %+v, began %v; want the newer entry, found", l, began)
	}
}

func TestFailureIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Cache{} // no goroutines of ristretto's in the bubble
		c.flights.init()
		broken := errors.New("broken")
		asked := 0
		fly := func() Landing {
			f, _ := c.Fly("/a", nil, time.Now(), nothing, func() Landing { asked++; return Landing{Err: broken} })
			return f.Wait(time.Minute, nil)
		}
		steps := []struct {
			after time.Duration
			asked int
		}{{0, 1}, {0, 1}, {999 * time.Millisecond, 1}, {time.Millisecond, 2}, {500 * time.Millisecond, 2}, {500 * time.Millisecond, 3}}
		for i, s := range steps {
			time.Sleep(s.after) // the bubble's clock: no time passes
			if l := fly(); !errors.Is(l.Err, broken) || asked != s.asked {
				t.Errorf("step %d: landing %+v after asking %d times, want %d", i, l, asked, s.asked)
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

func TestWaitIsBoundedAndFlightGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Cache{}
		c.flights.init()
		e := entry("/a", "late")
		f, _ := c.Fly("/a", nil, time.Now(), nothing, func() Landing { time.Sleep(time.Minute); return Landing{Entry: e} })
		if l := f.Wait(time.Second, nil); !errors.Is(l.Err, ErrLate) {
			t.Errorf("landing %+v after a second, want ErrLate", l)
		}
		if l := f.Wait(time.Hour, nil); l.Entry != e {
			t.Errorf("landing %+v in the end, want the entry", l)
		}
	})
}

func TestPanicLandsAsAnError(t *testing.T) {
	c := newTest(t, 8<<20)
	f, _ := c.Fly("/a", nil, time.Now(), nothing, func() Landing { panic("boom") })
	if l := f.Wait(time.Minute, nil); l.Err == nil {
		t.Errorf("landing %+v of a flight that panicked, want an error", l)
	}
}

// nothing is what a flight finds where nothing was stored meanwhile.
func nothing() *Entry { return nil }

// What find returns is of use; where it says that nothing is, the key is asked for although something is stored.
func TestFlightForWhatMustBeRevalidated(t *testing.T) {
	c := newTest(t, 8<<20)
	c.Put(entry("/a", "no-cache"), c.Now())
	f, began := c.Fly("/a", nil, time.Now(), nothing, func() Landing { return Landing{Entry: entry("/a", "asked")} })
	if l := f.Wait(time.Minute, nil); !began || l.Found || string(l.Entry.Identity().Body) != "asked" {
		t.Errorf("landing %+v, began %v; want what was asked for", l, began)
	}
}

func TestApart(t *testing.T) {
	c := &Cache{}
	c.flights.init()
	t0 := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	c.Leave("/private", t0)
	for _, row := range []struct {
		key   string
		after time.Duration
		want  bool
	}{{"/private", 0, true}, {"/other", 0, false}, {"/private", Apart - 1, true}, {"/private", Apart, false}, {"/private", 0, false}} {
		if got := c.Alone(row.key, t0.Add(row.after)); got != row.want {
			t.Errorf("Alone(%s) after %v = %v, want %v", row.key, row.after, got, row.want)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t0 := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	m := newMemory[int](10)
	for i := range 20 {
		m.keep(fmt.Sprint(i), i, t0, time.Second)
	}
	if _, ok := m.recall("15", t0); len(m.known) != 10 || ok {
		t.Errorf("%d of at most 10 keys are known, the 16th among them: %v", len(m.known), ok)
	}
	m.keep("later", 1, t0.Add(time.Second), time.Second)
	if _, ok := m.recall("later", t0.Add(time.Second)); !ok || len(m.known) != 1 {
		t.Errorf("after those that are over went, %d keys are known, the new one among them: %v", len(m.known), ok)
	}
}

// A flight that has landed with a body that still comes is joined as long as the body can be read from its beginning.
func TestFlightWithAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Cache{}
		c.flights.init()
		source, origin := io.Pipe()
		spool := NewSpool(source, nil, -1, 1<<20)
		asked := 0
		fly := func() *Flight {
			f, _ := c.Fly("/a", nil, time.Now(), nothing, func() Landing {
				asked++
				return Landing{Entry: entry("/a", ""), Stream: spool, Shared: true}
			})
			return f
		}
		stored := make(chan struct{})
		go spool.Keep(func([]byte) { <-stored })
		for i := range 3 {
			if l := fly().Wait(time.Minute, nil); l.Stream != spool || asked != 1 {
				t.Fatalf("caller %d: landing %+v after asking %d times", i, l, asked)
			}
			io.WriteString(origin, "some")
			synctest.Wait()
		}
		origin.Close()
		synctest.Wait()
		if fly(); asked != 1 {
			t.Error("asked again while the body is being stored")
		}
		close(stored)
		synctest.Wait()
		if fly().Wait(time.Minute, nil); asked != 2 {
			t.Errorf("asked %d times; the flight has ended with its body", asked)
		}
		synctest.Wait()
	})
}

// One whose body is too long to be joined, or is for its caller alone, does not keep the next from asking.
func TestFlightWithAStreamThatCanNotBeJoined(t *testing.T) {
	for _, shared := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := &Cache{}
			c.flights.init()
			asked := 0
			for range 2 {
				source, origin := io.Pipe()
				spool := NewSpool(source, nil, -1, 0)
				f, _ := c.Fly("/a", nil, time.Now(), nothing, func() Landing {
					asked++
					return Landing{Entry: entry("/a", ""), Stream: spool, Shared: shared}
				})
				go spool.Run()
				r, err := f.Wait(time.Minute, nil).Stream.Reader()
				if err != nil {
					t.Fatal(err)
				}
				if shared {
					go origin.Write(make([]byte, 2*window))
					io.CopyN(io.Discard, r, window)
				}
				synctest.Wait()
				defer r.Close()
			}
			if asked != 2 {
				t.Errorf("shared %v: asked %d times, want 2", shared, asked)
			}
		})
	}
}
