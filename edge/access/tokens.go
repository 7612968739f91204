package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/recent"
	"github.com/iconedge/iconedge/edge/upstream"
)

const (
	// licenseFresh is how long a positive verdict is used without asking the origin. The origin's
	// own verdict may be as old, so a revocation takes effect within a minute.
	licenseFresh = 30 * time.Second
	// licenseUsable is how long a negative verdict is used, and a positive one while the origin
	// does not answer.
	licenseUsable = 60 * time.Second
	// tokenWait is how long a request waits for the origin if it can use an older verdict, or can
	// go on without one.
	tokenWait = 250 * time.Millisecond
)

// A license is the origin's verdict on a token, with the time of the question.
type license struct {
	sum   [sha256.Size]byte
	plan  string
	valid bool
	at    time.Time
}

func (l *license) fresh(now time.Time) bool {
	return l != nil && now.Sub(l.at) < licenseFresh || l.usable(now) && !l.valid
}

func (l *license) usable(now time.Time) bool { return l != nil && now.Sub(l.at) < licenseUsable }

// tokens cache the origin's verdicts on licence tokens. The key of a verdict is the SHA-256 of its
// token; the tokens themselves are not stored. Positive verdicts have their own table, so that a
// client cannot evict them with invented tokens.
type tokens struct {
	ask       func(token string) (plan string, valid bool, err error)
	good, bad [1 << 12]atomic.Pointer[license]

	mu     sync.Mutex
	checks map[[sha256.Size]byte]*tokenCheck
}

// A tokenCheck is one request to the origin about a token. All requests with that token share it.
type tokenCheck struct {
	began   time.Time
	done    chan struct{}
	license *license
	err     error
}

func newTokens(ask func(token string) (plan string, valid bool, err error)) *tokens {
	return &tokens{ask: ask, checks: map[[sha256.Size]byte]*tokenCheck{}}
}

// verify returns the verdict on a well-formed token. It calls guess before it asks the origin about
// a token without a positive verdict, and returns the error of guess, if any. Its other errors say
// that the origin failed, or did not answer within patience.
func (t *tokens) verify(token string, now time.Time, patience time.Duration, guess func() error) (*license, error) {
	sum := sha256.Sum256([]byte(token))
	known, flight, err := t.begin(sum, token, now, guess)
	if flight == nil {
		return known, err
	}
	usable := known.usable(now)
	if usable {
		patience = tokenWait - now.Sub(flight.began) // one wait for all that join
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-flight.done:
		if flight.err == nil || !usable {
			return flight.license, flight.err
		}
	case <-wait.C:
		if !usable {
			return nil, upstream.TimedOut()
		}
	}
	return known, nil
}

// begin returns a cached verdict that is fresh, or else a fetch of the verdict to wait for, with
// the older verdict if there is one. It calls guess without the lock, because guess may wait for
// Redis. It does not call guess if a fetch is already in progress.
func (t *tokens) begin(sum [sha256.Size]byte, token string, now time.Time, guess func() error) (*license, *tokenCheck, error) {
	if known := t.known(sum); known.fresh(now) {
		return known, nil, nil
	}
	known, f := t.join(sum)
	if f != nil || known.fresh(now) {
		return known, f, nil
	}
	if known == nil || !known.valid {
		if err := guess(); err != nil {
			return nil, nil, err
		}
	}
	known, f = t.start(sum, token, now)
	return known, f, nil
}

// join returns the cached verdict on a token and the fetch in progress; either may be nil.
func (t *tokens) join(sum [sha256.Size]byte) (*license, *tokenCheck) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known(sum), t.checks[sum]
}

// start does what join does, and starts a fetch if there is none. It starts none if the verdict is
// fresh, because a fetch may have ended since join.
func (t *tokens) start(sum [sha256.Size]byte, token string, now time.Time) (*license, *tokenCheck) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, f := t.known(sum), t.checks[sum]
	if f == nil && !known.fresh(now) {
		f = &tokenCheck{began: now, done: make(chan struct{})}
		t.checks[sum] = f
		go t.check(f, sum, token)
	}
	return known, f
}

// check asks the origin, stores the verdict, and wakes the requests that wait for it.
func (t *tokens) check(f *tokenCheck, sum [sha256.Size]byte, token string) {
	plan, valid, err := t.askOrigin(token)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(f.done)
	delete(t.checks, sum)
	if f.err = err; err == nil {
		f.license = &license{sum, plan, valid, f.began}
		t.store(f.license)
	}
}

// askOrigin asks the origin. A panic is an error of this question alone.
func (t *tokens) askOrigin(token string) (plan string, valid bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while checking a token: %v\n%s", p, debug.Stack())
		}
	}()
	return t.ask(token)
}

// store stores a verdict. A negative verdict removes the positive one on the same token.
func (t *tokens) store(l *license) {
	good := recent.Slot(t.good[:], l.sum[:])
	if l.valid {
		good.Store(l)
		return
	}
	if good.Load().of(l.sum) {
		good.Store(nil)
	}
	recent.Slot(t.bad[:], l.sum[:]).Store(l)
}

// known returns the cached verdict on a token, whatever its age; nil if there is none.
func (t *tokens) known(sum [sha256.Size]byte) *license {
	for _, places := range [][]atomic.Pointer[license]{t.good[:], t.bad[:]} {
		if l := recent.Slot(places, sum[:]).Load(); l.of(sum) {
			return l
		}
	}
	return nil
}

// of reports whether l is the verdict on the token with that hash. It compares in constant time, so
// that its duration reveals nothing about the hashes.
func (l *license) of(sum [sha256.Size]byte) bool {
	return l != nil && subtle.ConstantTimeCompare(l.sum[:], sum[:]) == 1
}
