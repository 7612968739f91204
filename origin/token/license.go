package token

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
)

var (
	ErrPlan    = errors.New("a plan is called by lower-case letters, digits and single hyphens, at most 64 bytes")
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

// A License is what a token stands for. Times are in UTC, to the second. Until is the moment from which it no longer counts,
// nil if it always does; Revoked is when it was taken back, nil if it was not.
type License struct {
	Plan    string     `json:"plan"`
	Since   time.Time  `json:"since"`
	Until   *time.Time `json:"until"`
	Revoked *time.Time `json:"revoked"`
}

// Valid reports whether the licence counts at a moment. A revoked one never does, whichever clock the revocation was made by.
func (l License) Valid(now time.Time) bool {
	return l.Revoked == nil && (l.Until == nil || now.Before(*l.Until))
}

func key(hash string) string { return folder + hash + suffix }

func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// store writes a licence where the object's ETag is tag, "" for a new one.
func store(ctx context.Context, b objectstore.Bucket, hash string, l License, tag string) error {
	body, err := json.Marshal(l)
	if err != nil {
		return err
	}
	body = append(body, '\n')
	return b.PutIf(ctx, key(hash), bytes.NewReader(body), int64(len(body)), tag)
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

// parse reads a stored licence. Fields that a later version adds are ignored. The error is ErrDamaged.
func parse(body []byte) (License, error) {
	var l License
	if err := json.Unmarshal(body, &l); err != nil {
		return License{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if !icon.ValidPlan(l.Plan) || l.Since.IsZero() {
		return License{}, fmt.Errorf("%w: it has no plan, or no date", ErrDamaged)
	}
	return l, nil
}
