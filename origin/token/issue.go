package token

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
)

// A Record is a licence in a list, with the hash of its token.
type Record struct {
	Hash string `json:"hash"`
	License
}

// Issue makes a token and stores its licence. When Issue returns, the token is valid for every
// reader of the store. No other copy of the token exists. Errors are ErrPlan, ErrUntil and those of
// the store.
func Issue(ctx context.Context, b objectstore.Bucket, plan string, until *time.Time, now time.Time) (token string, err error) {
	l := License{Plan: plan, Since: second(now)}
	if !icon.ValidPlan(plan) {
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
	body, err := l.content()
	if err == nil {
		err = b.PutIf(ctx, key(Hash(token)), bytes.NewReader(body), int64(len(body)), "")
	}
	if err != nil {
		return "", fmt.Errorf("issuing a token: %w", err)
	}
	return token, nil
}

// Revoke revokes a licence, named by its token or by the hash that List returns. A licence that was
// revoked before keeps its first time. Errors are ErrForm, ErrUnknown and those of the store.
func Revoke(ctx context.Context, b objectstore.Bucket, tokenOrHash string, now time.Time) error {
	hash, err := hashOf(strings.TrimSpace(tokenOrHash))
	if err != nil {
		return err
	}
	err = objectstore.Update(ctx, b, key(hash), func() ([]byte, error) {
		l, err := load(ctx, b, hash)
		if err != nil || l.Revoked != nil {
			return nil, err
		}
		at := second(now)
		l.Revoked = &at
		return l.content()
	})
	switch {
	case errors.Is(err, objectstore.ErrNotExist):
		return ErrUnknown
	case err != nil:
		return fmt.Errorf("revoking a token: %w", err)
	}
	return nil
}

// hashOf returns the hash of s, which is a token or the hash itself.
func hashOf(s string) (string, error) {
	if icon.WellFormedToken(s) {
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

// List yields all licences, including revoked and expired ones, sorted by hash. A damaged licence
// comes with its hash and ErrDamaged, and does not end the list; an error of the store does.
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
				continue // removed by hand since the listing
			}
			if !yield(Record{hash, l}, err) || err != nil && !errors.Is(err, ErrDamaged) {
				return
			}
		}
	}
}
