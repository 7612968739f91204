package guesses

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// took is how long a check takes, in the time of a synctest bubble.
const took = 60 * time.Millisecond

// A bench is a queue whose checks are counted.
type bench struct {
	*Queue[string]
	t   *testing.T
	ran atomic.Int32
	all sync.WaitGroup
}

func newBench(t *testing.T, slots int) *bench { return &bench{Queue: New[string](slots), t: t} }

func network(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
}

func key(secret string) (k Key) {
	copy(k[:], secret)
	return k
}

// ask asks for a check, and returns its result or the text of its error.
func (b *bench) ask(g Guess, secret string) string {
	g.Key = key(secret)
	if g.Patience == 0 {
		g.Patience = time.Hour
	}
	got, err := b.Do(g, func() string { b.ran.Add(1); time.Sleep(took); return secret })
	if err != nil {
		return err.Error()
	}
	return got
}

// flood asks for a check whose result does not matter, on another goroutine.
func (b *bench) flood(g Guess, secret string) {
	b.all.Go(func() { b.ask(g, secret) })
	synctest.Wait() // so that the order is that of the calls
}

// login fails the test unless a check ends after at most so many checks of others.
func (b *bench) login(what string, g Guess, others int) {
	b.t.Helper()
	began := time.Now()
	if got := b.ask(g, "right"); got != "right" {
		b.t.Errorf("%s: %s", what, got)
	}
	if waited := time.Since(began) - took; waited > time.Duration(others)*took {
		b.t.Errorf("%s: waited %v, want at most %d checks of %v", what, waited, others, took)
	}
}

// TestAbandoned: guesses of clients that have gone cost nothing, whichever client comes next.
func TestAbandoned(t *testing.T) {
	for name, next := range map[string]int{"another client": 2, "the same client": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, gone := newBench(t, 1), atomic.Bool{}
				for i := range 200 {
					b.flood(Guess{Client: network(1), Gone: gone.Load}, fmt.Sprint(i))
				}
				gone.Store(true)
				b.login("the next login", Guess{Client: network(next)}, 1)
				b.all.Wait()
				if s := b.Stats(); b.ran.Load() != 2 || s.Waiting != 0 || s.Refused+s.Dropped != 199 {
					t.Errorf("%d checks ran, want 2; %+v", b.ran.Load(), s)
				}
			})
		})
	}
}

// TestFairness: clients that stay, with many wrong guesses, delay a login by one check.
func TestFairness(t *testing.T) {
	for _, row := range []struct {
		name            string
		clients, each   int
		again           bool // each client has had a guess checked before
		next            Guess
		others, waiting int
	}{
		{"one client with 200 guesses", 1, 200, false, Guess{Client: network(9999)}, 1, MaxOfClient},
		{"200 guesses from the same address", 1, 200, false, Guess{Client: network(0)}, 1, MaxOfClient},
		{"1,000 clients with one guess", 1000, 1, false, Guess{Client: network(9999)}, 1, MaxWaiting},
		{"1,000 clients that have guessed before", 1000, 1, true, Guess{Client: network(9999)}, 1, MaxWaiting},
		{"10 clients with 100 guesses", 10, 100, false, Guess{Client: network(9999)}, 1, MaxWaiting},
		{"a secret that was right before, from an address that guesses", 1000, 1, true,
			Guess{Client: network(999), First: true}, 1, MaxWaiting},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, 1)
				if row.again {
					for i := range row.clients {
						b.ask(Guess{Client: network(i)}, fmt.Sprint("before", i))
					}
				}
				for i := range row.each {
					for c := range row.clients {
						b.flood(Guess{Client: network(c)}, fmt.Sprint(c, " ", i))
					}
				}
				if s := b.Stats(); s.Waiting != row.waiting {
					t.Errorf("%d checks wait, want %d", s.Waiting, row.waiting)
				}
				b.login(row.name, row.next, row.others)
				b.all.Wait()
			})
		})
	}
}

// TestTurns: the client whose last check is the longest ago goes first. A client that sends a guess
// whenever its last one has ended keeps nobody waiting.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := newBench(t, 1), make(chan struct{})
		for c := range 5 {
			for w := range 20 {
				b.all.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
							b.ask(Guess{Client: network(c)}, fmt.Sprint(c, w, i))
						}
					}
				})
			}
		}
		time.Sleep(time.Minute)
		for i := range 20 {
			b.login(fmt.Sprint("new client ", i), Guess{Client: network(100 + i)}, 1)
		}
		for range 20 { // it has guessed too, as the five
			b.login("known client", Guess{Client: network(100)}, 6)
		}
		close(stop)
		b.all.Wait()
	})
}

// TestShared: requests with the same secret share one check, whichever their clients and whatever
// their number.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, right := newBench(t, 1), atomic.Int32{}
		for i := range 1000 {
			b.all.Go(func() {
				if b.ask(Guess{Client: network(i)}, "shared") == "shared" {
					right.Add(1)
				}
			})
		}
		b.all.Wait()
		if b.ran.Load() != 1 || right.Load() != 1000 {
			t.Errorf("%d checks for %d of 1,000 clients with the same secret, want 1 for all", b.ran.Load(), right.Load())
		}
		// A request that leaves does not end the check of the others.
		b.flood(Guess{Client: network(1)}, "other")
		b.flood(Guess{Client: network(1), Gone: func() bool { return true }}, "shared")
		b.flood(Guess{Client: network(2), Patience: time.Millisecond}, "shared")
		if got := b.ask(Guess{Client: network(3)}, "shared"); got != "shared" || b.ran.Load() != 3 {
			t.Errorf("got %q after %d checks, want the result after 3", got, b.ran.Load())
		}
		b.all.Wait()
	})
}

// TestRefusals: which requests have no result, and why.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		var mu sync.Mutex
		got := map[string]int{}
		ask := func(g Guess, secret string) {
			b.all.Go(func() {
				result := b.ask(g, secret)
				mu.Lock()
				defer mu.Unlock()
				if result == secret {
					result = "result"
				}
				got[result]++
			})
			synctest.Wait()
		}
		expect := func(what string, want map[string]int) {
			t.Helper()
			b.all.Wait()
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
			clear(got)
		}
		for i := range 100 {
			ask(Guess{Client: network(1)}, fmt.Sprint(i))
		}
		expect("100 of a client", map[string]int{"result": 2 + MaxOfClient, ErrClient.Error(): 98 - MaxOfClient})
		for i := range 300 {
			ask(Guess{Client: network(1), Exempt: true}, fmt.Sprint(i))
		}
		expect("300 of an exempt client", map[string]int{"result": 2 + MaxWaiting, ErrFull.Error(): 298 - MaxWaiting})
		for i := range 10 {
			ask(Guess{Client: network(1), Patience: 3*took + time.Millisecond}, fmt.Sprint(i))
		}
		expect("10 in three rounds of two", map[string]int{"result": 6, ErrLate.Error(): 4})
		time.Sleep(took) // until the checks of the fourth round have ended
		synctest.Wait()
		if s := b.Stats(); s.Waiting != 0 || len(b.checks) != 0 {
			t.Errorf("%+v and %d checks are left", s, len(b.checks))
		}
	})
}

// TestHalfClosed: a client that has closed its sending direction gets the result if it need not
// wait for a slot.
func TestHalfClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := func() bool { return true }
		right, err := New[bool](1).Do(Guess{Patience: time.Hour, Gone: gone}, func() bool { time.Sleep(time.Minute); return true })
		if !right || err != nil {
			t.Errorf("%v, %v", right, err)
		}
	})
}

// TestPending: the time counts from the first request.
func TestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := newBench(t, 1), time.Now()
		b.flood(Guess{Client: network(1)}, "a")
		time.Sleep(took / 2)
		if since, ok := b.Pending(key("a")); !ok || !since.Equal(began) {
			t.Errorf("%v, %v", since, ok)
		}
		b.all.Wait()
		if _, ok := b.Pending(key("a")); ok {
			t.Error("a check that has ended is pending")
		}
	})
}

// TestMemory: a key in use stays, whatever the number of new ones; the size is bounded.
func TestMemory(t *testing.T) {
	m := NewMemory[int, string](100)
	m.Put(-1, "used")
	m.Put(-2, "unused")
	for i := range 10_000 {
		m.Put(i, "new")
		if v, ok := m.Get(-1); !ok || v != "used" {
			t.Fatalf("the used key is forgotten after %d new ones", i)
		}
		if n := len(m.young) + len(m.old); n > 200 {
			t.Fatalf("%d keys", n)
		}
	}
	if _, ok := m.Get(-2); ok {
		t.Error("an unused key stays")
	}
}

// TestRace has clients come and go at random times; the race detector and the counts are the test.
func TestRace(t *testing.T) {
	b := New[int](3)
	var all sync.WaitGroup
	for i := range 2000 {
		all.Go(func() {
			var gone atomic.Bool
			if i%3 == 0 {
				time.AfterFunc(time.Duration(i)*time.Microsecond, func() { gone.Store(true) })
			}
			got, err := b.Do(Guess{Key: key(fmt.Sprint(i % 500)), Client: network(i % 7), Gone: gone.Load,
				Patience: time.Minute}, func() int { return i % 500 })
			if err == nil && got != i%500 || err != nil && !errors.Is(err, ErrClient) && !errors.Is(err, ErrFull) &&
				!errors.Is(err, ErrGone) {
				t.Errorf("%d: %d, %v", i%500, got, err)
			}
		})
	}
	all.Wait()
	if s := b.Stats(); s.Waiting != 0 || b.running != 0 || len(b.checks) != 0 {
		t.Errorf("%+v, %d running, %d checks", s, b.running, len(b.checks))
	}
}
