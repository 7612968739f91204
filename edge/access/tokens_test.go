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
)

// wordToken returns a well-formed token with a word in it.
func wordToken(word string) string {
	return icon.AssembleToken(word + strings.Repeat("0", icon.TokenSecretLen-len(word)))
}

var errAway = errors.New("the origin is away")

// An oracle is an origin that says yes, no, or nothing.
type oracle struct {
	valid, away bool
	hold        time.Duration
	asked       atomic.Int32
}

func (o *oracle) ask(string) (string, bool, error) {
	o.asked.Add(1)
	time.Sleep(o.hold) // in a bubble: it takes no time
	if o.away {
		return "", false, errAway
	}
	return "lifetime", o.valid, nil
}

// A verdict stands for so long and no longer; each row is a moment, what the origin would say then, and what is said.
func TestVerdictsStand(t *testing.T) {
	type step struct {
		at          time.Duration
		origin      string // yes, no, away
		want        string // yes, no, error
		asked       int32  // in all
		countsGuess bool
	}
	for name, steps := range map[string][]step{
		"a good one":                        {{0, "yes", "yes", 1, true}, {29 * time.Second, "no", "yes", 1, false}, {30 * time.Second, "no", "no", 2, false}, {31 * time.Second, "yes", "no", 2, false}},
		"a good one, confirmed":             {{0, "yes", "yes", 1, true}, {59 * time.Second, "yes", "yes", 2, false}, {88 * time.Second, "no", "yes", 2, false}},
		"a good one, the origin away":       {{0, "yes", "yes", 1, true}, {30 * time.Second, "away", "yes", 2, false}, {59 * time.Second, "away", "yes", 3, false}, {60 * time.Second, "away", "error", 4, false}},
		"a good one of long ago":            {{0, "yes", "yes", 1, true}, {time.Hour, "yes", "yes", 2, false}},
		"a bad one":                         {{0, "no", "no", 1, true}, {59 * time.Second, "yes", "no", 1, false}, {60 * time.Second, "yes", "yes", 2, true}},
		"a bad one, the origin away":        {{0, "no", "no", 1, true}, {60 * time.Second, "away", "error", 2, true}},
		"none":                              {{0, "away", "error", 1, true}, {time.Second, "away", "error", 2, true}, {2 * time.Second, "yes", "yes", 3, true}},
		"a revoked one is a guess again":    {{0, "yes", "yes", 1, true}, {30 * time.Second, "no", "no", 2, false}, {90 * time.Second, "no", "no", 3, true}},
		"time that goes back keeps nothing": {{time.Minute, "yes", "yes", 1, true}, {0, "no", "yes", 1, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var o oracle
			v, now := newTokens(o.ask), time.Now()
			for i, s := range steps {
				o.valid, o.away = s.origin == "yes", s.origin == "away"
				guessed := false
				l, err := v.verify(wordToken("a"), now.Add(s.at), time.Minute, func() error { guessed = true; return nil })
				got := "error"
				if err == nil {
					got = map[bool]string{true: "yes", false: "no"}[l.valid]
				}
				if got != s.want || o.asked.Load() != s.asked || guessed != s.countsGuess {
					t.Errorf("step %d: %s after %d questions, a guess: %v; want %s, %d, %v", i+1, got, o.asked.Load(), guessed, s.want, s.asked, s.countsGuess)
				}
			}
		})
	}
}

// Many who bear one token ask once; and where there is something to go on with nobody waits for an origin that hangs.
func TestTokenFlights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := oracle{valid: true, hold: 5 * time.Second}
		v, guesses := newTokens(o.ask), atomic.Int32{}
		verify := func(patience time.Duration) (bool, error) {
			l, err := v.verify(wordToken("a"), time.Now(), patience, func() error { guesses.Add(1); return nil })
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
			t.Errorf("%d of 100 are let in after %v, %d questions, %d guesses", good, took, o.asked.Load(), guesses.Load())
		}
		time.Sleep(licenseFresh)
		if good, took := all(time.Minute); good != 100 || took > tokenWait || o.asked.Load() != 2 {
			t.Errorf("%d of 100 are let in after %v, %d questions", good, took, o.asked.Load())
		}
		if good, took := all(time.Minute); good != 100 || took != 0 || o.asked.Load() != 2 {
			t.Errorf("while it is asked: %d of 100 are let in after %v, %d questions", good, took, o.asked.Load())
		}
		time.Sleep(2 * licenseUsable)
		if good, took := all(time.Second); good != 0 || took != time.Second {
			t.Errorf("%d of 100 are let in after %v by an origin that hangs", good, took)
		}
		if _, err := verify(time.Millisecond); err == nil || !strings.Contains(err.Error(), "in time") {
			t.Errorf("%v, want a timeout", err)
		}
		time.Sleep(o.hold)
		synctest.Wait()
	})
}

// What is guessed is asked for no more often than is allowed, and pushes no good verdict out.
func TestGuesses(t *testing.T) {
	var o oracle
	o.valid = true
	v, now := newTokens(o.ask), time.Now()
	never := func() error { return errAway }
	if l, err := v.verify(wordToken("a"), now, time.Minute, never); l != nil || err != errAway || o.asked.Load() != 0 {
		t.Errorf("%v %v after %d questions, want the objection and none", l, err, o.asked.Load())
	}
	always := func() error { return nil }
	v.verify(wordToken("good"), now, time.Minute, always)
	o.valid = false
	for i := range 3 * len(v.bad) {
		v.verify(wordToken(fmt.Sprint(i)), now, time.Minute, always)
	}
	if l, err := v.verify(wordToken("good"), now, time.Minute, never); err != nil || !l.valid {
		t.Errorf("%v %v: the good verdict is forgotten", l, err)
	}
	kept := 0
	for i := range v.bad {
		if v.bad[i].Load() != nil {
			kept++
		}
	}
	if kept == 0 || len(v.checks) != 0 {
		t.Errorf("%d bad verdicts are kept; %d flights", kept, len(v.checks))
	}
}

// Who waits to be told whether he may guess holds up nobody else.
func TestGuessHoldsNobodyUp(t *testing.T) {
	v, asking, may, done := newTokens((&oracle{valid: true}).ask), make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(may)
	go v.verify(wordToken("a"), time.Now(), time.Minute, func() error { close(asking); <-may; return nil })
	<-asking
	go func() {
		defer close(done)
		v.verify(wordToken("b"), time.Now(), time.Minute, func() error { return nil })
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("another token's verdict waits")
	}
}
