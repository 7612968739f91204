package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
)

var (
	ErrPlan    = errors.New("a plan's name must consist of lower-case letters, digits and single hyphens, at most 64 bytes")
	ErrUntil   = errors.New("the licence would end before it begins")
	ErrForm    = errors.New("neither a token nor the SHA-256 of one in hexadecimal")
	ErrUnknown = errors.New("no such token")
	ErrDamaged = errors.New("the licence in the store is damaged")
)

const (
	folder     = "licenses/"
	suffix     = ".json"
	maxLicense = 4 << 10 // bytes
)

// A License is what a token grants. Times are in UTC, to the second. From the time Until on, the
// licence is no longer valid; nil means that it does not expire. Revoked is the time of its
// revocation, nil if it is not revoked.
type License struct {
	Plan    string     `json:"plan"`
	Since   time.Time  `json:"since"`
	Until   *time.Time `json:"until"`
	Revoked *time.Time `json:"revoked"`
}

// Valid reports whether the licence is valid at a time. A revoked licence never is, so that a
// difference between clocks can't keep it valid.
func (l License) Valid(now time.Time) bool {
	return l.Revoked == nil && (l.Until == nil || now.Before(*l.Until))
}

func key(hash string) string { return folder + hash + suffix }

func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// content returns the bytes that the store keeps of l.
func (l License) content() ([]byte, error) {
	body, err := json.Marshal(l)
	return append(body, '\n'), err
}

func load(ctx context.Context, r objectstore.Reader, hash string) (License, error) {
	body, err := objectstore.ReadAll(ctx, r, key(hash), maxLicense)
	if errors.Is(err, objectstore.ErrTooLarge) {
		return License{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return License{}, err
	}
	return parse(body)
}

// parse reads a stored licence. It ignores fields that a later version may add. The error is
// ErrDamaged.
func parse(body []byte) (License, error) {
	var l License
	if err := json.Unmarshal(body, &l); err != nil {
		return License{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !icon.ValidPlan(l.Plan) || l.Since.IsZero() {
		return License{}, fmt.Errorf("%w: it has no valid plan, or no date", ErrDamaged)
	}
	return l, nil
}
