package cache

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

var t0 = entrytest.T0

// purgeTestCache returns a cache with entries of several kinds, each fresh for an hour from t0.
func purgeTestCache(t *testing.T) *Cache {
	c := newTest(t, 8<<20)
	for _, e := range purgeTestEntries() {
		c.Put(e, c.Generation())
	}
	return c
}

func purgeTestEntries() []*entry.Entry {
	list := []*entry.Entry{
		entrytest.New("/mdi/home.svg", "a", "icon/mdi/home", "pack/mdi"),
		entrytest.New("/mdi/home.svg?size=32", "b", "icon/mdi/home", "pack/mdi"),
		entrytest.New("/mdi/account.svg", "c", "icon/mdi/account", "pack/mdi"),
		entrytest.New("/tabler/home.svg", "d", "icon/tabler/home", "pack/tabler"),
		entrytest.Variant("/page", "en", "e", "page"), entrytest.Variant("/page", "de", "f", "page"), entrytest.Variant("/page", "fr", "g"),
		entrytest.New("/none", "h"),
	}
	for _, e := range list {
		e.Policy = cachepolicy.Entry{Stored: t0, Lifetime: time.Hour, StaleWhileRevalidate: time.Hour}
	}
	return list
}

var purges = []struct {
	name  string
	purge invalidation.Purge
	want  []string // keys with secondary keys
}{
	{"a key", invalidation.Purge{Keys: []string{"/mdi/home.svg"}}, []string{"/mdi/home.svg"}},
	{"a key that is not stored", invalidation.Purge{Keys: []string{"/mdi"}}, nil},
	{"a key with variants", invalidation.Purge{Keys: []string{"/page"}}, []string{"/page de", "/page en", "/page fr"}},
	{"a key twice", invalidation.Purge{Keys: []string{"/none", "/none"}}, []string{"/none"}},
	{"a prefix", invalidation.Purge{Prefixes: []string{"/mdi/home"}}, []string{"/mdi/home.svg", "/mdi/home.svg?size=32"}},
	{"a prefix of variants", invalidation.Purge{Prefixes: []string{"/pa"}}, []string{"/page de", "/page en", "/page fr"}},
	{"a surrogate key", invalidation.Purge{Tags: []string{"pack/mdi"}},
		[]string{"/mdi/account.svg", "/mdi/home.svg", "/mdi/home.svg?size=32"}},
	{"a surrogate key of some variants", invalidation.Purge{Tags: []string{"page"}}, []string{"/page de", "/page en"}},
	{"a surrogate key that is a key of another entry", invalidation.Purge{Tags: []string{"/none"}}, nil},
	{"a key that is a surrogate key", invalidation.Purge{Keys: []string{"pack/mdi"}}, nil},
	{"entries that match twice", invalidation.Purge{Keys: []string{"/none"}, Prefixes: []string{"/n", "/tabler"},
		Tags: []string{"pack/tabler"}}, []string{"/none", "/tabler/home.svg"}},
	{"nothing", invalidation.Purge{}, nil},
	{"everything", invalidation.Purge{All: true}, []string{"/mdi/account.svg", "/mdi/home.svg",
		"/mdi/home.svg?size=32", "/none", "/page de", "/page en", "/page fr", "/tabler/home.svg"}},
}

func label(e *entry.Entry) string {
	if e.Secondary == "" {
		return e.Key
	}
	return e.Key + " " + e.Secondary
}

// there returns the stored entry with the keys of e.
func there(c *Cache, e *entry.Entry) *entry.Entry {
	got, _ := c.Find(e.Key, func([]string) []string { return []string{e.Secondary} })
	return got
}

func TestPurge(t *testing.T) {
	for _, tt := range purges {
		t.Run(tt.name, func(t *testing.T) {
			c := purgeTestCache(t)
			before := c.Generation()
			if n := c.Purge(tt.purge, t0); n != len(tt.want) {
				t.Errorf("Purge(%+v) = %d, want %d", tt.purge, n, len(tt.want))
			}
			for _, e := range purgeTestEntries() {
				purged := slices.Contains(tt.want, label(e))
				if got := there(c, e); (got == nil) != purged {
					t.Errorf("%s is found: %v, purged: %v", label(e), got != nil, purged)
				}
				if c.Put(e, before) == purged {
					t.Errorf("%s was in flight and is stored: %v, purged: %v", label(e), !purged, purged)
				}
			}
			if n := c.Purge(tt.purge, t0); n != 0 {
				t.Errorf("the second Purge(%+v) = %d, want 0", tt.purge, n)
			}
			for _, e := range purgeTestEntries() {
				if !c.Put(e, c.Generation()) {
					t.Errorf("%s was requested afterwards and is not stored", label(e))
				}
			}
			consistent(t, c)
			if s := c.Stats(); s.Purged != uint64(len(tt.want)) || s.Entries != 8 {
				t.Errorf("Stats() = %+v, want %d purged", s, len(tt.want))
			}
		})
	}
}

func TestSoftPurge(t *testing.T) {
	for _, tt := range purges {
		t.Run(tt.name, func(t *testing.T) {
			c := purgeTestCache(t)
			before, later := c.Generation(), t0.Add(time.Minute)
			tt.purge.Soft = true
			if n := c.Purge(tt.purge, later); n != len(tt.want) {
				t.Errorf("Purge(%+v) = %d, want %d", tt.purge, n, len(tt.want))
			}
			if n := c.Purge(tt.purge, later.Add(time.Minute)); n != 0 {
				t.Errorf("the second Purge(%+v) = %d, want 0 because the entries are stale already", tt.purge, n)
			}
			for _, e := range purgeTestEntries() {
				want := e.Policy
				if slices.Contains(tt.want, label(e)) {
					want = want.Expired(later)
				}
				if got := there(c, e); got == nil || got.Freshness() != want {
					t.Errorf("%s is %+v, want freshness %+v", label(e), got, want)
				}
				late := e.CopyConfirmed()
				if !c.Put(late, before) || (late.Freshness().TTL(later.Add(time.Minute)) > 0) == slices.Contains(tt.want, label(e)) {
					t.Errorf("%s was in flight and is stored with %+v", label(e), late.Freshness())
				}
				if !c.Put(e, c.Generation()) || there(c, e).Freshness() != e.Policy {
					t.Errorf("%s was requested afterwards and is not fresh", label(e))
				}
			}
			consistent(t, c)
		})
	}
}

// A purge counts only stored entries: not dropped or evicted ones, and none twice.
func TestPurgeCountsStoredEntries(t *testing.T) {
	c := purgeTestCache(t)
	c.Invalidate("icon/mdi/home")
	if n := c.Purge(invalidation.Purge{Tags: []string{"pack/mdi"}}, t0); n != 1 {
		t.Errorf("Purge after two of three were dropped = %d, want 1", n)
	}
	c.Purge(invalidation.Purge{Tags: []string{"page"}, Soft: true}, t0)
	if n := c.Purge(invalidation.Purge{Tags: []string{"page"}}, t0); n != 2 {
		t.Errorf("Purge of stale entries = %d, want 2", n)
	}
	c.InvalidateAll()
	if n := c.Purge(invalidation.Purge{All: true}, t0); n != 0 {
		t.Errorf("Purge after everything was dropped = %d, want 0", n)
	}
	consistent(t, c)
}

func TestPrefixesAreDiscarded(t *testing.T) {
	c := newTest(t, 8<<20)
	c.Put(entrytest.New("/kept", "a"), c.Generation())
	before := c.Generation()
	for i := range 10 {
		p := invalidation.Purge{}
		for k := range invalidation.MaxPrefixes/10 + 1 {
			p.Prefixes = append(p.Prefixes, fmt.Sprint("/", k, "-", i))
		}
		c.Purge(p, t0)
	}
	c.tidy()
	if _, n := c.invalidations.Count(); n > invalidation.MaxPrefixes || c.Get("/kept") == nil {
		t.Errorf("%d prefixes are left, the entry without a purged prefix is found: %v", n, c.Get("/kept") != nil)
	}
	if c.Put(entrytest.New("/7-3", "b"), before) {
		t.Error("a response requested before a purge of its prefix is stored")
	}
}

// BenchmarkPurge purges 200,000 entries by one surrogate key, and prints the time until Purge
// returns in ms.
func BenchmarkPurge(b *testing.B) {
	const entries = 200_000
	var took time.Duration
	for b.Loop() {
		b.StopTimer()
		c, err := New(Options{MaxBytes: 1 << 30})
		if err != nil {
			b.Fatal(err)
		}
		for i := range entries {
			c.Put(entrytest.New(fmt.Sprint("/mdi/icon-", i, ".svg"), "body", fmt.Sprint("icon/mdi/", i), "pack/mdi",
				"release/1"), c.Generation())
		}
		c.waitForLRU()
		b.StartTimer()
		start := time.Now()
		if n := c.Purge(invalidation.Purge{Tags: []string{"pack/mdi"}}, start); n != entries {
			b.Fatalf("%d entries were purged, want %d", n, entries)
		}
		took += time.Since(start)
		b.StopTimer()
		c.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "ms/purge")
}
