package token

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/internal/guesses"
	"github.com/iconedge/iconedge/objectstore"
)

// counted is a store that counts reads and can be made unavailable.
type counted struct {
	objectstore.Bucket
	reads atomic.Int64
	away  atomic.Bool
}

func (c *counted) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	c.reads.Add(1)
	if c.away.Load() {
		return nil, fmt.Errorf("opening: %w", objectstore.ErrUnreachable)
	}
	return c.Bucket.Open(ctx, key)
}

func counting(t *testing.T) *counted {
	return &counted{Bucket: objectstore.Dir(t.TempDir())}
}

// expect checks one answer: a plan, or "" for an invalid token.
func expect(t *testing.T, v *Verifier, token string, now time.Duration, plan string) {
	t.Helper()
	l, ok, err := v.Verify(t.Context(), token, t0.Add(now))
	if err != nil || ok != (plan != "") || l.Plan != plan {
		t.Fatalf("Verify at %v = %+v, %v, %v, want plan %q", now, l, ok, err, plan)
	}
}

func TestVerify(t *testing.T) {
	b := counting(t)
	v := NewVerifier(b)
	for _, token := range []string{"", "iel_", "hello", strings.Repeat("x", 1<<20), generate()[:43] + "-",
		"iel_" + strings.Repeat("0", 40)} {
		expect(t, v, token, 0, "")
	}
	if b.reads.Load() != 0 {
		t.Errorf("%d reads for malformed tokens, want none", b.reads.Load())
	}
	expect(t, v, generate(), 0, "") // well-formed, but never issued
	token := issue(t, b, "lifetime", nil)
	expect(t, v, token, 0, "lifetime")
	l, _, _ := v.Verify(t.Context(), token, t0)
	if !l.Since.Equal(t0) || l.Until != nil {
		t.Errorf("Verify = %+v", l)
	}
}

// TestVerifyCachesNoRefusal checks that a token is valid as soon as it is issued, even if Verify
// refused it just before.
func TestVerifyCachesNoRefusal(t *testing.T) {
	b := counting(t)
	v, token := NewVerifier(b), generate()
	expect(t, v, token, 0, "")
	put(t, b, token, `{"plan":"lifetime","since":"2026-11-21T00:00:00Z"}`)
	expect(t, v, token, 0, "lifetime")
	if err := Revoke(t.Context(), b, token, t0); err != nil {
		t.Fatal(err)
	}
	expect(t, v, token, 30*time.Second, "")
	put(t, b, token, `{"plan":"again","since":"2026-11-21T00:00:00Z"}`)
	expect(t, v, token, 30*time.Second, "again")
}

func TestVerifyCaches(t *testing.T) {
	b := counting(t)
	v, token := NewVerifier(b), issue(t, b, "lifetime", nil)
	for _, step := range []struct {
		now   time.Duration
		reads int64
	}{
		{0, 1},
		{time.Second, 1},
		{30*time.Second - 1, 1},
		{30 * time.Second, 2}, // the store is read again
		{59 * time.Second, 2},
		{60 * time.Second, 3},
		{10 * time.Second, 4}, // the clock was set back, so the cached answer is from the future
	} {
		expect(t, v, token, step.now, "lifetime")
		if got := b.reads.Load(); got != step.reads {
			t.Errorf("at %v: %d reads, want %d", step.now, got, step.reads)
		}
	}
}

func TestVerifyExpires(t *testing.T) {
	b := counting(t)
	v, token := NewVerifier(b), issue(t, b, "trial", at(10*time.Second))
	expect(t, v, token, 0, "trial")
	expect(t, v, token, 10*time.Second-1, "trial")
	expect(t, v, token, 10*time.Second, "") // although an answer from 10 s before is cached
	expect(t, v, token, time.Hour, "")
	b.away.Store(true)
	if l, ok, err := v.Verify(t.Context(), token, t0); ok || !errors.Is(err, ErrUnavailable) || l != (License{}) {
		t.Errorf("Verify = %+v, %v, %v, want ErrUnavailable, because an expired licence must not stay cached", l, ok, err)
	}
}

// TestVerifyWithoutStore checks that, while the store is unavailable, cached answers are valid for
// up to a minute. After that, and for tokens without one, the error is ErrUnavailable.
func TestVerifyWithoutStore(t *testing.T) {
	b := counting(t)
	v, token := NewVerifier(b), issue(t, b, "lifetime", nil)
	expect(t, v, token, 0, "lifetime")
	if err := Revoke(t.Context(), b, token, t0); err != nil { // the verifier can't read this yet
		t.Fatal(err)
	}
	b.away.Store(true)
	expect(t, v, token, 29*time.Second, "lifetime")
	expect(t, v, token, 31*time.Second, "lifetime")
	expect(t, v, token, 59*time.Second, "lifetime")
	for name, token := range map[string]string{"after a minute": token, "of an unknown token": generate()} {
		_, ok, err := v.Verify(t.Context(), token, t0.Add(time.Minute))
		if ok || !errors.Is(err, ErrUnavailable) || !errors.Is(err, objectstore.ErrUnreachable) {
			t.Errorf("Verify %s = %v, %v, want ErrUnavailable and its cause", name, ok, err)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%v: repeats the token", err)
		}
	}
	expect(t, v, "nonsense", time.Minute, "") // this needs no store
	b.away.Store(false)
	expect(t, v, token, time.Minute, "") // the revocation is visible as soon as the store is back
	b.away.Store(true)
	if _, ok, err := v.Verify(t.Context(), token, t0.Add(time.Minute)); ok || err == nil {
		t.Errorf("Verify = %v, %v: the old answer is in use again", ok, err)
	}
}

func TestVerifyDamaged(t *testing.T) {
	b := counting(t)
	v := NewVerifier(b)
	for _, body := range []string{"", "{", "null", "[]", `{"plan":"lifetime"}`, `{"since":"2026-11-21T00:00:00Z"}`,
		`{"plan":"a b","since":"2026-11-21T00:00:00Z"}`, `{"plan":"a","since":"yesterday"}`,
		`{"plan":"a","since":"2026-11-21T00:00:00Z"}` + strings.Repeat(" ", 5000)} {
		token := generate()
		put(t, b, token, body)
		if l, ok, err := v.Verify(t.Context(), token, t0); ok || !errors.Is(err, ErrDamaged) || l != (License{}) {
			t.Errorf("Verify with %.60q in the store = %+v, %v, %v, want ErrDamaged", body, l, ok, err)
		}
	}
}

func TestVerifierIsBounded(t *testing.T) {
	v := NewVerifier(nil)
	for i := range 3 * maxCached {
		v.cache([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, cachedAnswer{License{Plan: "a"}, t0})
		if n := len(v.young) + len(v.old); n > maxCached {
			t.Fatalf("%d cached answers, want at most %d", n, maxCached)
		}
		if _, ok := v.cached([32]byte{byte(i), byte(i >> 8), byte(i >> 16)}); !ok {
			t.Fatal("the latest answer is not cached")
		}
	}
}

func TestVerifyAtOnce(t *testing.T) {
	b := counting(t)
	v := NewVerifier(b)
	tokens := []string{issue(t, b, "one", nil), issue(t, b, "two", nil), generate()}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 200 {
				n := (i + j) % 3
				l, ok, err := v.Verify(t.Context(), tokens[n], t0.Add(time.Duration(j)*time.Second))
				if err != nil || l.Plan != []string{"one", "two", ""}[n] || ok != (n < 2) {
					t.Errorf("Verify = %+v, %v, %v", l, ok, err)
				}
			}
		})
	}
	all.Wait()
}

// slow is a store whose reads take a while, and which counts those at a time.
type slow struct {
	objectstore.Bucket
	reading, most, reads atomic.Int64
}

const readTakes = 20 * time.Millisecond // in a synctest bubble

func (s *slow) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	n := s.reading.Add(1)
	defer s.reading.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	s.reads.Add(1)
	time.Sleep(readTakes)
	return s.Bucket.Open(ctx, key)
}

// TestVerifyFlood checks that invented tokens cost few reads at a time and none for callers that
// have left, and that they delay no right token.
func TestVerifyFlood(t *testing.T) {
	dir := objectstore.Dir(t.TempDir())
	right, other := issue(t, dir, "lifetime", nil), issue(t, dir, "lifetime", nil)
	synctest.Test(t, func(t *testing.T) {
		b := &slow{Bucket: dir}
		v := NewVerifier(b)
		expect(t, v, right, 0, "lifetime")
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		flood := func(n int) {
			for range n {
				token := generate()
				all.Go(func() {
					if _, ok, err := v.Verify(ctx, token, t0); ok || err != nil && !errors.Is(err, ErrUnavailable) {
						t.Errorf("an invented token: %v, %v", ok, err)
					}
				})
			}
			synctest.Wait()
		}
		flood(1000)
		for name, token := range map[string]string{"known": right, "first seen": other} {
			began := time.Now()
			expect(t, v, token, 31*time.Second, "lifetime")
			if took := time.Since(began); took > 3*readTakes {
				t.Errorf("a token that is %s waited %v, want at most %v", name, took, 3*readTakes)
			}
		}
		all.Wait()
		if b.most.Load() != atOnce || b.reads.Load() > 3+atOnce+guesses.MaxWaiting {
			t.Errorf("%d reads, %d at a time; want at most %d, %d", b.reads.Load(), b.most.Load(), 3+atOnce+guesses.MaxWaiting, atOnce)
		}
		before := b.reads.Load()
		flood(1000)
		leave()
		all.Wait()
		if n := b.reads.Load() - before; n > atOnce {
			t.Errorf("%d reads for callers that left, want %d", n, atOnce)
		}
		token := generate()
		before, ctx = b.reads.Load(), t.Context()
		for range 1000 {
			all.Go(func() { v.Verify(ctx, token, t0) })
		}
		all.Wait()
		if n := b.reads.Load() - before; n != 1 {
			t.Errorf("%d reads for 1,000 callers with the same token, want 1", n)
		}
	})
}
