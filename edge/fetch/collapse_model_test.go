package fetch

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/test/sequential"
)

// A chance gives a random field, with one of the values or none.
type chance struct{ *rand.Rand }

func (c chance) fields(odds int, values map[string][]string) http.Header {
	h := http.Header{}
	for name, list := range values {
		if c.IntN(odds) == 0 {
			h[name] = []string{list[c.IntN(len(list))]}
		}
	}
	return h
}

// directives returns random members of a Cache-Control.
func (c chance) directives(list ...string) string {
	var some []string
	for range c.IntN(4) {
		some = append(some, list[c.IntN(len(list))])
	}
	return strings.Join(some, ", ")
}

// modelRequest returns a random request for a key, as the one for a forwarded path is.
func (c chance) modelRequest(policy cachepolicy.Policy, key string) *Request {
	head := c.fields(3, map[string][]string{
		"Authorization": {"Bearer x"}, "Cookie": {"a=b", "a=c"},
		"Accept-Language": {"en", "de", "en-GB, en;q=0.5", "en, de;q=0.9", "fr"}, "X-A": {"1", "2"},
	})
	if c.IntN(4) == 0 {
		head.Set("Cache-Control", c.directives("no-cache", "max-age=0", "max-age=20", "max-stale", "max-stale=5",
			"min-fresh=50", "only-if-cached", "stale-if-error=9"))
	}
	return &Request{Key: key, Header: head, Policy: cachepolicy.Request{
		Method: http.MethodGet, Target: key, Authorized: head["Authorization"] != nil, Cookie: head["Cookie"] != nil,
		Directives: policy.Obeyed(cachepolicy.ParseRequest(head["Cache-Control"], nil)), Policy: policy,
	}}
}

// modelAnswer returns a random response that arrived at the given time.
func (c chance) modelAnswer(at time.Time) *upstream.Response {
	ago := func(d time.Duration) string { return at.Add(-d).UTC().Format(http.TimeFormat) }
	a := &upstream.Response{Status: []int{200, 200, 200, 200, 404, 301, 302, 206, 403, 500, 503, 304}[c.IntN(12)],
		RequestTime: at.Add(-time.Duration(c.IntN(4)) * time.Second), ResponseTime: at, Length: 1}
	a.Header = c.fields(4, map[string][]string{
		"Etag": {`"x"`, `W/"y"`}, "Last-Modified": {ago(0), ago(10 * time.Minute), ago(time.Hour), "junk"},
		"Expires": {"0", ago(time.Minute), ago(-time.Minute)},
		"Age":     {"0", "10", "30", "60", "x"}, "Date": {ago(0), ago(30 * time.Second), ago(time.Hour)},
		"Set-Cookie": {"a=b"}, "Content-Language": {"en", "de"},
		"Vary":              {"X-A", "Accept-Language", "Cookie", "X-A, Accept-Language", "*", "Authorization"},
		"Cdn-Cache-Control": {c.directives("max-age=60", "no-store", "private", "no-cache", "max-age=0")},
	})
	if c.IntN(5) > 0 {
		a.Header.Set("Cache-Control", c.directives("public", "private", "no-store", "no-cache", "max-age=0",
			"max-age=20", "max-age=60", "s-maxage=0", "s-maxage=60",
			"must-revalidate", "proxy-revalidate", "stale-while-revalidate=30", "stale-if-error=30",
			`private="X-Mine"`, `no-cache="X-Mine"`, "must-understand", "immutable"))
	}
	return a
}

// A request that waits may share a response exactly if it would get that response from the cache,
// had it been stored first. The test tries thousands of random pairs. Besides, it may share a
// failure that does not concern one client alone.
func TestModelOfCollapsing(t *testing.T) {
	sequential.Test(t)
	store, err := cache.New(cache.Options{MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	lib := library.New(library.Options{Cache: store, CacheBytes: 64 << 20, State: &library.OriginState{}, ProxyAll: true})
	e := NewFinder(Options{CacheBytes: 64 << 20, Cache: store, Library: lib, Log: slog.New(slog.DiscardHandler)}, NewDoorkeeper())
	const pairs = 20_000
	seed := rand.Uint64()
	c := chance{rand.New(rand.NewPCG(seed, 1))}
	var shared, failures int
	for i := range pairs {
		key, at := fmt.Sprint("/", i), time.Now()
		policy := cachepolicy.Policy{SafeCookies: c.IntN(2) == 0, IgnoreRevalidation: c.IntN(2) == 0}
		sent, waits := c.modelRequest(policy, key), c.modelRequest(policy, key)
		a := c.modelAnswer(at)
		now := at.Add(time.Duration(c.IntN(80)) * time.Second)
		f := e.newForwardedResponse(sent, a, true)
		body := []byte("body")
		result := f.whole(body, f.store(body, store.Generation()))
		if f.sharing.Storable != result.Stored {
			t.Fatalf("seed %d, pair %d: storable %v, stored %v", seed, i, f.sharing.Storable, result.Stored)
		}

		stored := e.Lookup(waits).Entry
		want := stored != nil && cachepolicy.Decide(stored.Freshness(), waits.Policy, now) != cachepolicy.Revalidate
		noOnes := a.Status >= 500 && len(a.Header["Set-Cookie"])+len(sent.Header["Authorization"])+
			len(sent.Header["Cookie"])+len(waits.Header["Authorization"])+len(waits.Header["Cookie"]) == 0 &&
			!strings.Contains(fmt.Sprint(a.Header), "private") && !strings.Contains(fmt.Sprint(a.Header), "no-store")
		got := cachepolicy.MayShare(result.Collapsed(), waits.Policy, waits.secondary(result.ForOthers().Vary), now)
		if got != (want || noOnes) {
			t.Errorf("seed %d, pair %d: %d %v\nto %v\nshared with %v after %v: %v; the cache says %v, a failure of nobody's: %v", seed, i,
				a.Status, a.Header, sent.Header, waits.Header, now.Sub(at), got, want, noOnes)
		}
		if want {
			shared++
		} else if noOnes {
			failures++
		}
	}
	if shared < pairs/50 || failures < pairs/200 {
		t.Errorf("of %d pairs %d share and %d share a failure: too few to tell", pairs, shared, failures)
	}
	t.Logf("%d pairs: %d share, %d share a failure", pairs, shared, failures)
}
