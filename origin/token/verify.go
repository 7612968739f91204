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
	"github.com/iconedge/iconedge/objectstore"
)

// ErrUnavailable says that the store could not be asked, and that nothing recent enough is known of the token: an answer for
// later (503), not a no.
var ErrUnavailable = errors.New("licences can't be read at the moment")

const (
	fresh   = 30 * time.Second // a good answer is used for so long without asking again
	usable  = 60 * time.Second // and for so long where asking fails: within this time a revocation counts
	patient = 3 * time.Second  // the store has so long to answer
	maxKept = 10_000           // good answers kept
)

// A Verifier tells whether tokens are valid. It keeps good answers for 30 seconds, 60 where the store fails, and never a bad
// one, so that a token counts as soon as it is issued. Its methods may be called at once.
//
// Answers are kept by the SHA-256 of the token: how long it takes to find one tells nothing of tokens that are kept.
type Verifier struct {
	store objectstore.Reader

	mu         sync.Mutex
	young, old map[[sha256.Size]byte]kept // two generations: the old one is dropped whole when the new one is full
}

// A kept answer is what the store said at a moment, or shortly after.
type kept struct {
	License
	at time.Time
}

// NewVerifier makes a Verifier that reads licences from r.
func NewVerifier(r objectstore.Reader) *Verifier {
	return &Verifier{store: r, young: map[[sha256.Size]byte]kept{}}
}

// Verify reports whether token is valid, and what for. What is not shaped like a token is not valid, and the store is not
// asked. The error is ErrUnavailable, with its cause, or ErrDamaged.
func (v *Verifier) Verify(ctx context.Context, token string, now time.Time) (License, bool, error) {
	if !icon.WellFormedToken(token) {
		return License{}, false, nil
	}
	id := sha256.Sum256([]byte(token))
	known, ok := v.known(id)
	age := now.Sub(known.at)
	if !ok || age < 0 || age >= fresh {
		began := time.Now()
		l, err := v.ask(ctx, id)
		switch {
		case err == nil:
			known = kept{l, now}
		case errors.Is(err, objectstore.ErrNotExist):
			v.forget(id)
			return License{}, false, nil
		case errors.Is(err, ErrDamaged):
			v.forget(id)
			return License{}, false, fmt.Errorf("verifying a token: %w", err)
		case !ok || age < 0 || age+time.Since(began) > usable:
			return License{}, false, fmt.Errorf("verifying a token: %w: %w", ErrUnavailable, err)
		}
		// Else the store is away, and the answer in hand is recent enough.
	}
	if !known.Valid(now) {
		v.forget(id)
		return License{}, false, nil
	}
	v.keep(id, known)
	return known.License, true, nil
}

func (v *Verifier) ask(ctx context.Context, id [sha256.Size]byte) (License, error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	return load(ctx, v.store, hex.EncodeToString(id[:]))
}

func (v *Verifier) known(id [sha256.Size]byte) (kept, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	k, ok := v.young[id]
	if !ok {
		k, ok = v.old[id]
	}
	return k, ok
}

func (v *Verifier) keep(id [sha256.Size]byte, k kept) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.young[id]; !known && len(v.young) >= maxKept/2 {
		v.young, v.old = map[[sha256.Size]byte]kept{}, v.young
	}
	v.young[id] = k
}

func (v *Verifier) forget(id [sha256.Size]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.young, id)
	delete(v.old, id)
}
