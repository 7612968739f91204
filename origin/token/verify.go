package token

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/guesses"
	"github.com/iconedge/iconedge/objectstore"
)

// ErrUnavailable means that the store can't be reached and there is no recent answer for the token.
// Servers answer it with 503, because the token may be valid.
var ErrUnavailable = errors.New("licences can't be read at the moment")

const (
	fresh = 30 * time.Second // a positive answer is used this long without another request
	// usable is the same limit while the store fails: the longest delay of a revocation.
	usable    = 60 * time.Second
	patient   = 3 * time.Second // time limit for the store
	maxCached = 10_000          // largest number of cached answers
	atOnce    = 32              // reads of the store for tokens at a time
)

// A Verifier checks tokens. It caches positive answers for 30 seconds, or 60 if the store fails. It
// never caches negative ones, so a token is valid as soon as it is issued. It reads few licences at
// a time, those of tokens that were valid before first, and one for all callers with the same
// token, so that invented tokens delay no other. Its methods may be called concurrently.
//
// The key of the cache is the SHA-256 of the token, so the time of a look-up reveals nothing about
// cached tokens.
type Verifier struct {
	store objectstore.Reader
	reads *guesses.Queue[stored]

	mu sync.Mutex
	// young and old are two generations: when young is full, it replaces old.
	young, old map[[sha256.Size]byte]cachedAnswer
}

// A cachedAnswer is the answer of the store at a time, or shortly after.
type cachedAnswer struct {
	License
	at time.Time
}

// A stored licence is what the store has for a token, or its error.
type stored struct {
	license License
	err     error
}

// NewVerifier makes a Verifier that reads licences from r.
func NewVerifier(r objectstore.Reader) *Verifier {
	return &Verifier{store: r, reads: guesses.New[stored](atOnce), young: map[[sha256.Size]byte]cachedAnswer{}}
}

// Verify reports whether token is valid, and returns its licence. A malformed token is invalid
// without a request to the store. The error is ErrUnavailable, with its cause, or ErrDamaged.
func (v *Verifier) Verify(ctx context.Context, token string, now time.Time) (License, bool, error) {
	if !icon.WellFormedToken(token) {
		return License{}, false, nil
	}
	id := sha256.Sum256([]byte(token))
	known, ok := v.cached(id)
	age := now.Sub(known.at)
	if !ok || age < 0 || age >= fresh {
		began := time.Now()
		l, err := v.read(ctx, id, ok)
		switch {
		case err == nil:
			known = cachedAnswer{l, now}
		case errors.Is(err, objectstore.ErrNotExist):
			v.forget(id)
			return License{}, false, nil
		case errors.Is(err, ErrDamaged):
			v.forget(id)
			return License{}, false, fmt.Errorf("verifying a token: %w", err)
		case !ok || age < 0 || age+time.Since(began) > usable:
			return License{}, false, fmt.Errorf("verifying a token: %w: %w", ErrUnavailable, err)
		}
		// Otherwise the store is unavailable, and the cached answer is recent enough.
	}
	if !known.Valid(now) {
		v.forget(id)
		return License{}, false, nil
	}
	v.cache(id, known)
	return known.License, true, nil
}

// read returns the licence of a token. known means that the token was valid before. The reading
// itself outlasts a caller that leaves, because other callers may wait for it too.
func (v *Verifier) read(ctx context.Context, id [sha256.Size]byte, known bool) (License, error) {
	g := guesses.Guess{Key: id, Exempt: true, First: known, Gone: func() bool { return ctx.Err() != nil }, Patience: patient}
	l, err := v.reads.Do(g, func() stored {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patient)
		defer cancel()
		l, err := load(ctx, v.store, hex.EncodeToString(id[:]))
		return stored{l, err}
	})
	if err != nil {
		return License{}, err
	}
	return l.license, l.err
}

func (v *Verifier) cached(id [sha256.Size]byte) (cachedAnswer, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	k, ok := v.young[id]
	if !ok {
		k, ok = v.old[id]
	}
	return k, ok
}

func (v *Verifier) cache(id [sha256.Size]byte, k cachedAnswer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.young[id]; !known && len(v.young) >= maxCached/2 {
		v.young, v.old = map[[sha256.Size]byte]cachedAnswer{}, v.young
	}
	v.young[id] = k
}

func (v *Verifier) forget(id [sha256.Size]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.young, id)
	delete(v.old, id)
}
