package access

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/guesses"
)

// wordToken returns a well-formed token that contains word.
func wordToken(word string) string {
	return icon.AssembleToken(word + strings.Repeat("0", icon.TokenSecretLen-len(word)))
}

var errAway = errors.New("the origin is unreachable")

// An oracle stands in for the origin: it accepts or rejects every token, or fails with errAway.
type oracle struct {
	valid, away bool
	hold        time.Duration
	asked       atomic.Int32
}

func (o *oracle) ask(string) (string, bool, error) {
	o.asked.Add(1)
	time.Sleep(o.hold) // takes no real time: hold is set only in a synctest bubble
	if o.away {
		return "", false, errAway
	}
	return "lifetime", o.valid, nil
}

// patient returns the guess of a client that waits so long.
func patient(patience time.Duration) guesses.Guess { return guesses.Guess{Patience: patience} }

// verify uses a cached verdict for a limited time. Each step is a moment, with the origin's verdict
// at that moment and the verdict that verify returns.
func TestVerdictsExpire(t *testing.T) {
	type step struct {
		at          time.Duration
		origin      string // yes, no, away
		want        string // yes, no, error
		asked       int32  // questions to the origin so far
		countsGuess bool   // verify calls guess
	}
	for name, steps := range map[string][]step{
		"positive verdict": {{0, "yes", "yes", 1, true},
			{29 * time.Second, "no", "yes", 1, false}, {30 * time.Second, "no", "no", 2, false}, {31 * time.Second, "yes", "no", 2, false}},
		"positive verdict, confirmed": {{0, "yes", "yes", 1, true},
			{59 * time.Second, "yes", "yes", 2, false}, {88 * time.Second, "no", "yes", 2, false}},
		"positive verdict, origin unreachable": {{0, "yes", "yes", 1, true},
			{30 * time.Second, "away", "yes", 2, false}, {59 * time.Second, "away", "yes", 3, false},
			{60 * time.Second, "away", "error", 4, false}},
		"expired positive verdict": {{0, "yes", "yes", 1, true}, {time.Hour, "yes", "yes", 2, false}},
		"negative verdict": {{0, "no", "no", 1, true}, {59 * time.Second, "yes", "no", 1, false},
			{60 * time.Second, "yes", "yes", 2, true}},
		"negative verdict, origin unreachable": {{0, "no", "no", 1, true}, {60 * time.Second, "away", "error", 2, true}},
		"no verdict": {{0, "away", "error", 1, true},
			{time.Second, "away", "error", 2, true}, {2 * time.Second, "yes", "yes", 3, true}},
		"expired revocation, a guess again": {{0, "yes", "yes", 1, true}, {30 * time.Second, "no", "no", 2, false},
			{90 * time.Second, "no", "no", 3, true}},
		"clock set back, verdict used": {{time.Minute, "yes", "yes", 1, true}, {0, "no", "yes", 1, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var o oracle
			v, now := newTokens(o.ask), time.Now()
			for i, s := range steps {
				o.valid, o.away = s.origin == "yes", s.origin == "away"
				guessed := false
				l, err := v.verify(wordToken("a"), now.Add(s.at), patient(time.Minute), func() error { guessed = true; return nil })
				got := "error"
				if err == nil {
					got = map[bool]string{true: "yes", false: "no"}[l.valid]
				}
				if got != s.want || o.asked.Load() != s.asked || guessed != s.countsGuess {
					t.Errorf("step %d: got %s after %d questions to the origin, guess called: %v; want %s, %d, %v",
						i+1, got, o.asked.Load(), guessed, s.want, s.asked, s.countsGuess)
				}
			}
		})
	}
}

// Requests with the same token share one question to the origin. If an older verdict is usable,
// they wait at most tokenWait for an origin that hangs.
func TestTokenChecksAreCollapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := oracle{valid: true, hold: 5 * time.Second}
		v, guesses := newTokens(o.ask), atomic.Int32{}
		verify := func(patience time.Duration) (bool, error) {
			l, err := v.verify(wordToken("a"), time.Now(), patient(patience), func() error { guesses.Add(1); return nil })
			return err == nil && l.valid, err
		}
		all := func(patience time.Duration) (good int, took time.Duration) {
			var n atomic.Int32
			began := time.Now()
			done := make(chan bool)
			for range 100 {
				go func() {
					if ok, _ := verify(patience); ok {
						n.Add(1)
					}
					done <- true
				}()
			}
			for range 100 {
				<-done
			}
			return int(n.Load()), time.Since(began)
		}
		if good, took := all(time.Minute); good != 100 || took != 5*time.Second || o.asked.Load() != 1 || guesses.Load() != 1 {
			t.Errorf("%d of 100 requests accepted after %v, with %d questions and %d guesses; want 100 after 5s, with 1 and 1", good, took,
				o.asked.Load(), guesses.Load())
		}
		time.Sleep(licenseFresh)
		if good, took := all(time.Minute); good != 100 || took > tokenWait || o.asked.Load() != 2 {
			t.Errorf("with a verdict that is not fresh: %d of 100 requests accepted after %v, with %d questions; want "+
				"100 within tokenWait, with 2", good, took, o.asked.Load())
		}
		if good, took := all(time.Minute); good != 100 || took != 0 || o.asked.Load() != 2 {
			t.Errorf("while the question is open: %d of 100 requests accepted after %v, with %d questions; want 100 at once, with 2", good,
				took, o.asked.Load())
		}
		time.Sleep(2 * licenseUsable)
		if good, took := all(time.Second); good != 0 || took != time.Second {
			t.Errorf("with an origin that hangs: %d of 100 requests accepted after %v; want 0 after 1s", good, took)
		}
		if _, err := verify(time.Millisecond); err == nil || !strings.Contains(err.Error(), "in time") {
			t.Errorf("error %v, want a timeout", err)
		}
		time.Sleep(o.hold)
		synctest.Wait()
	})
}

// verify does not ask the origin about a token if guess returns an error, and negative verdicts on
// invented tokens do not evict a positive verdict.
func TestGuesses(t *testing.T) {
	var o oracle
	o.valid = true
	v, now := newTokens(o.ask), time.Now()
	never := func() error { return errAway }
	if l, err := v.verify(wordToken("a"), now, patient(time.Minute), never); l != nil || err != errAway || o.asked.Load() != 0 {
		t.Errorf("verdict %v, error %v after %d questions; want no verdict, the error of guess and no question", l, err, o.asked.Load())
	}
	always := func() error { return nil }
	v.verify(wordToken("good"), now, patient(time.Minute), always)
	o.valid = false
	for i := range 3 * len(v.bad) {
		v.verify(wordToken(fmt.Sprint(i)), now, patient(time.Minute), always)
	}
	if l, err := v.verify(wordToken("good"), now, patient(time.Minute), never); err != nil || !l.valid {
		t.Errorf("verdict %v, error %v: the positive verdict was evicted", l, err)
	}
	stored := 0
	for i := range v.bad {
		if v.bad[i].Load() != nil {
			stored++
		}
	}
	if stored == 0 {
		t.Error("no negative verdict is stored")
	}
}

// A guess that blocks, because it waits for Redis, does not delay the verdict on another token.
func TestGuessDelaysNoOthers(t *testing.T) {
	v, asking, may, done := newTokens((&oracle{valid: true}).ask), make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(may)
	go v.verify(wordToken("a"), time.Now(), patient(time.Minute), func() error { close(asking); <-may; return nil })
	<-asking
	go func() {
		defer close(done)
		v.verify(wordToken("b"), time.Now(), patient(time.Minute), func() error { return nil })
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the verdict on another token waited for the guess")
	}
}

// The error of a client's guess is for that client alone. Another client that checks the same token
// at the same time gets the verdict.
func TestGuessIsOfOneClient(t *testing.T) {
	v, asking, may, done := newTokens((&oracle{valid: true}).ask), make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := v.verify(wordToken("a"), time.Now(), patient(time.Minute), func() error { close(asking); <-may; return errAway })
		done <- err
	}()
	<-asking
	if l, err := v.verify(wordToken("a"), time.Now(), patient(time.Minute), func() error { return nil }); err != nil || !l.valid {
		t.Errorf("verdict %v, error %v, want a positive verdict", l, err)
	}
	close(may)
	if err := <-done; err != errAway {
		t.Errorf("error %v, want that of the guess", err)
	}
}

// TestTokenFlood: the origin gets few questions about invented tokens at a time, and none for
// clients that have gone. A right token waits for one of these questions at most.
func TestTokenFlood(t *testing.T) {
	const took = 50 * time.Millisecond
	for _, row := range []struct {
		name     string
		clients  int
		leave    bool
		known    bool // the right token was valid before, and its verdict is no longer fresh
		patience time.Duration
		client   int // of the right token
	}{
		{name: "1,000 clients", clients: 1000, patience: time.Minute, client: 5000},
		{name: "one client", clients: 1, patience: time.Minute, client: 5000},
		{name: "the same client", clients: 1, patience: time.Minute},
		{name: "1,000 clients that leave", clients: 1000, leave: true, patience: time.Minute, client: 5000},
		{name: "a token that was valid before", clients: 1000, known: true, patience: time.Minute, client: 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asking, most, asked atomic.Int32
				v := newTokens(func(token string) (string, bool, error) {
					n := asking.Add(1)
					defer asking.Add(-1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					asked.Add(1)
					time.Sleep(took)
					return "lifetime", token == wordToken("right"), nil
				})
				client := func(i int, gone <-chan struct{}) guesses.Guess {
					return guess(fmt.Sprintf("10.0.%d.%d", i>>8, i&255), gone)
				}
				always := func() error { return nil }
				if row.known {
					v.verify(wordToken("right"), time.Now(), client(row.client, nil), always)
					time.Sleep(licenseFresh)
				}
				gone, done := make(chan struct{}), make(chan bool)
				for i := range 1000 {
					go func() {
						v.verify(wordToken(fmt.Sprint(i)), time.Now(), client(i%row.clients, gone), always)
						done <- true
					}()
					synctest.Wait()
				}
				before := asked.Load()
				if row.leave {
					close(gone)
				}
				began := time.Now()
				l, err := v.verify(wordToken("right"), began, client(row.client, nil), always)
				if err != nil || !l.valid || time.Since(began) > 2*took {
					t.Errorf("the right token: %v, %v after %v, want a verdict within %v", l, err, time.Since(began), 2*took)
				}
				for range 1000 {
					<-done
				}
				if most.Load() != checksAtOnce || asked.Load() > before+1+guesses.MaxWaiting || row.leave && asked.Load() != before+1 {
					t.Errorf("%d questions, %d at a time, %d before the flood ended", asked.Load(), most.Load(), before)
				}
			})
		})
	}
}
