package token

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

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
	maxPlan    = 64      // bytes
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

// A Record is a licence as it is listed, with the hash of its token.
type Record struct {
	Hash string `json:"hash"`
	License
}

// Issue makes a token and stores its licence. It is valid for every reader of the store when Issue returns. The token is
// nowhere but in what is returned. Errors are ErrPlan, ErrUntil and those of the store.
func Issue(ctx context.Context, b objectstore.Bucket, plan string, until *time.Time, now time.Time) (token string, err error) {
	l := License{Plan: plan, Since: second(now)}
	if !validPlan(plan) {
		return "", ErrPlan
	}
	if until != nil {
		end := second(*until)
		l.Until = &end
		if !l.Valid(now) {
			return "", ErrUntil
		}
	}
	token = generate()
	if err := store(ctx, b, Hash(token), l, ""); err != nil {
		return "", fmt.Errorf("issuing a token: %w", err)
	}
	return token, nil
}

// Revoke takes a licence back, by its token or by the hash that List shows. One that was revoked before keeps the first time.
// Errors are ErrForm, ErrUnknown and those of the store.
func Revoke(ctx context.Context, b objectstore.Bucket, tokenOrHash string, now time.Time) error {
	hash, err := hashOf(strings.TrimSpace(tokenOrHash))
	if err != nil {
		return err
	}
	for range 5 {
		err = revoke(ctx, b, hash, now)
		if !errors.Is(err, objectstore.ErrChanged) { // somebody else wrote it meanwhile, most likely the same
			break
		}
	}
	switch {
	case errors.Is(err, objectstore.ErrNotExist):
		return ErrUnknown
	case err != nil:
		return fmt.Errorf("revoking a token: %w", err)
	}
	return nil
}

func revoke(ctx context.Context, b objectstore.Bucket, hash string, now time.Time) error {
	before, err := b.Stat(ctx, key(hash)) // before reading: what is read is at least as new as the tag
	if err != nil {
		return err
	}
	l, err := load(ctx, b, hash)
	if err != nil || l.Revoked != nil {
		return err
	}
	at := second(now)
	l.Revoked = &at
	return store(ctx, b, hash, l, before.ETag)
}

// hashOf is the hash of what may be a token or the hash itself.
func hashOf(s string) (string, error) {
	if WellFormed(s) {
		return Hash(s), nil
	}
	if hash := strings.ToLower(s); isHash(hash) {
		return hash, nil
	}
	return "", ErrForm
}

func isHash(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && s == strings.ToLower(s)
}

// List yields all licences, revoked and ended ones too, sorted by hash. A damaged one comes with its hash and ErrDamaged,
// and does not end the list; an error of the store does.
func List(ctx context.Context, b objectstore.Bucket) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for info, err := range b.List(ctx, folder) {
			if err != nil {
				yield(Record{}, fmt.Errorf("listing tokens: %w", err))
				return
			}
			hash, ok := strings.CutSuffix(strings.TrimPrefix(info.Key, folder), suffix)
			if !ok || !isHash(hash) {
				continue
			}
			l, err := load(ctx, b, hash)
			if errors.Is(err, objectstore.ErrNotExist) {
				continue // removed by hand meanwhile
			}
			if !yield(Record{hash, l}, err) || err != nil && !errors.Is(err, ErrDamaged) {
				return
			}
		}
	}
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
	if !validPlan(l.Plan) || l.Since.IsZero() {
		return License{}, fmt.Errorf("%w: it has no plan, or no date", ErrDamaged)
	}
	return l, nil
}

// validPlan reports whether a plan's name can be one of a limit ("lifetime:search=600/1m") and of a metric.
func validPlan(s string) bool {
	for part := range strings.SplitSeq(s, "-") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return len(s) <= maxPlan
}
