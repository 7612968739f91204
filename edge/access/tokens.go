package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/recent"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/guesses"
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

// checksAtOnce is how many tokens the origin is asked about at a time.
const checksAtOnce = 16

// tokens cache the origin's verdicts on licence tokens. The key of a verdict is the SHA-256 of its
// token; the tokens themselves are not stored. Positive verdicts have their own table, so that a
// client cannot evict them with invented tokens.
type tokens struct {
	ask       func(token string) (plan string, valid bool, err error)
	good, bad [1 << 12]atomic.Pointer[license]
	queue     *guesses.Queue[verdict] // of questions to the origin
}

// A verdict is the origin's, or the error of asking for it.
type verdict struct {
	license *license
	err     error
}

func newTokens(ask func(token string) (plan string, valid bool, err error)) *tokens {
	return &tokens{ask: ask, queue: guesses.New[verdict](checksAtOnce)}
}

// verify returns the verdict on a well-formed token. It calls guess before it asks the origin about
// a token without a positive verdict, and returns the error of guess, if any. It does not call
// guess if the question is asked already. Its other errors say that the origin failed or did not
// answer in time, or that too many questions wait. Requests with a positive verdict that may still
// be used wait for tokenWait together.
func (t *tokens) verify(token string, now time.Time, g guesses.Guess, guess func() error) (*license, error) {
	g.Key = sha256.Sum256([]byte(token))
	known := t.known(g.Key)
	if known.fresh(now) {
		return known, nil
	}
	since, asked := t.queue.Pending(g.Key)
	if g.First = known != nil && known.valid; !g.First && !asked {
		if err := guess(); err != nil { // may wait for Redis
			return nil, err
		}
	}
	usable := known.usable(now)
	if usable {
		if g.Patience = tokenWait; asked {
			g.Patience -= now.Sub(since)
		}
	}
	v, err := t.queue.Do(g, func() verdict { return t.check(g.Key, token, now) })
	switch {
	case usable && (err != nil || v.err != nil):
		return known, nil
	case errors.Is(err, guesses.ErrLate):
		return nil, upstream.TimedOut()
	case err != nil:
		return nil, refusedGuess(err, "tokens")
	}
	return v.license, v.err
}

// check asks the origin and stores the verdict, unless another request has just done so. The age of
// a verdict counts from the request, so that time in the queue makes it no younger.
func (t *tokens) check(sum guesses.Key, token string, now time.Time) verdict {
	if known := t.known(sum); known.fresh(now) {
		return verdict{license: known}
	}
	plan, valid, err := t.askOrigin(token)
	if err != nil {
		return verdict{err: err}
	}
	l := &license{sum, plan, valid, now}
	t.store(l)
	return verdict{license: l}
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
