package client

import (
	"net/http"
	"testing"
	"time"
)

func TestFreshness(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		about, control, age string
		fresh               time.Duration
		storable            bool
	}{
		{"max-age counts", "public, max-age=300", "", 300 * time.Second, true},
		{"Age is subtracted", "max-age=300", "100", 200 * time.Second, true},
		{"older than its max-age", "max-age=300", "400", 0, true},
		{"an Age that is no number counts as older than any response", "max-age=300", "soon", 0, true},
		{"a quoted number", `max-age="60"`, "", time.Minute, true},
		{"the shorter of two", "max-age=300, max-age=60", "", time.Minute, true},
		{"no-store wins", "no-store, max-age=300", "", 0, false},
		{"a string without an end may hide a no-store", `max-age=300, x="no-store`, "", 0, false},
		{"no-cache wins", "no-cache, max-age=300", "", 0, true},
		{"no-cache wins in any order and case", "max-age=300, No-Cache", "", 0, true},
		{"no-cache for some fields counts for all", `max-age=300, no-cache="Set-Cookie"`, "", 0, true},
		{"no Cache-Control", "", "", time.Minute, true},
		{"a max-age that is no number means stale (RFC 9111, section 4.2.1)", "max-age=x", "", 0, true},
		{"a private cache stores private responses", "private, max-age=9", "", 9 * time.Second, true},
		{"a private cache ignores s-maxage", "s-maxage=1, max-age=9", "", 9 * time.Second, true},
	} {
		h := http.Header{"Cache-Control": {row.control}}
		if row.age != "" {
			h.Set("Age", row.age)
		}
		until, storable := freshness(h, now)
		if storable != row.storable || storable && until.Sub(now) != row.fresh {
			t.Errorf("%s: fresh for %s, storable %v; want %s, %v", row.about, until.Sub(now), storable, row.fresh, row.storable)
		}
	}
	h := http.Header{"Cdn-Cache-Control": {"max-age=5"}, "Cache-Control": {"max-age=9"}, "Date": {"Sat, 21 Nov 2026 00:00:00 GMT"}}
	if until, _ := freshness(h, now.Add(time.Hour)); until != now.Add(time.Hour+9*time.Second) {
		t.Errorf("a field for CDNs and a Date an hour ago: fresh until %s", until)
	}
}

func FuzzFreshness(f *testing.F) {
	f.Add("public, max-age=300", "5")
	f.Add("no-cache,,max-age=99999999999999999999", "-1")
	f.Fuzz(func(t *testing.T, control, age string) {
		now := time.Unix(1_000_000, 0)
		until, storable := freshness(http.Header{"Cache-Control": {control}, "Age": {age}}, now)
		if storable && (until.Before(now) || until.Sub(now) > (1<<31)*time.Second) {
			t.Errorf("freshness(%q, %q) = %s", control, age, until.Sub(now))
		}
	})
}

// TestCacheBounds: the stored bytes never exceed their limit, and the entry used last is not
// evicted.
func TestCacheBounds(t *testing.T) {
	c := newCache()
	for i := range 100 {
		c.store(entry{target: string(rune('a' + i)), size: maxCached / 10})
		if _, ok := c.find("a"); !ok {
			t.Fatalf("after %d entries: the entry in use was evicted", i+1)
		}
		bytes := 0
		for _, e := range c.lru.Items() {
			bytes += e.Value().size
		}
		if bytes > maxCached || i >= 10 && c.lru.Len() < 9 {
			t.Fatalf("%d entries of %d bytes are stored", c.lru.Len(), bytes)
		}
	}
	c.store(entry{target: "a", size: maxCachedBody + 1})
	if _, ok := c.find("a"); ok || c.lru.Len() < 9 {
		t.Errorf("after a response of more than %d bytes: found %v, %d entries", maxCachedBody, ok, c.lru.Len())
	}
	c.store(entry{target: "a", size: maxCachedBody})
	if e, ok := c.find("a"); !ok || e.size != maxCachedBody {
		t.Errorf("a response of %d bytes was not stored", maxCachedBody)
	}
}
