package cache

import (
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A coding joins the bodies of a stored entry, which keeps its hits, its other keys, and a soft
// purge. It counts against the limit.
func TestAddCoding(t *testing.T) {
	for name, size := range map[string]int{"a small entry": 2000, "a large entry": 100_000} {
		t.Run(name, func(t *testing.T) {
			c := newTest(t, 64<<20)
			c.Put(entrytest.Variant("/a", "en", strings.Repeat("a", size), "tag"), c.Generation())
			c.Alias(get(c, "/a", "en"), "en-GB")
			e := get(c, "/a", "en")
			e.Hit()
			e.Hit()
			before := c.Stats().Bytes
			for n, coding := range []entry.Coding{entry.Brotli, entry.Zstd, entry.Gzip} {
				if !c.AddCoding(get(c, "/a", "en"), coding, []byte(strings.Repeat("c", 500))) {
					t.Fatalf("%s is not stored", coding)
				}
				now := get(c, "/a", "en-GB")
				if now == nil || now.Variant(coding) == nil || len(now.Identity().Body) != size ||
					now.Hits.Load() != 2 || now.Variant(entry.Brotli) == nil {
					t.Fatalf("after %s: %+v", coding, now)
				}
				if now.SameStored(e) || e.Variant(coding) != nil {
					t.Fatal("the entry that a request holds has changed")
				}
				if more := c.Stats().Bytes - before; more < int64(n+1)*500 {
					t.Errorf("%d codings of 500 bytes cost %d", n+1, more)
				}
			}
			c.Purge(invalidation.Purge{Tags: []string{"tag"}, Soft: true}, t0)
			if !c.AddCoding(get(c, "/a", "en"), entry.Brotli, []byte("another")) || !get(c, "/a", "en").Freshness().SoftPurged {
				t.Error("a coding made a stale entry fresh")
			}
			c.sweep()
			c.invalidations.Discard(c.janitor.swept) // now only the entry knows that it is stale
			if !c.AddCoding(get(c, "/a", "en"), entry.Brotli, []byte("a third")) || !get(c, "/a", "en").Freshness().SoftPurged {
				t.Error("a coding made a stale entry fresh, or was not stored, after the purge was discarded")
			}
			held := get(c, "/a", "en")
			c.Purge(invalidation.Purge{Tags: []string{"tag"}}, t0)
			if c.AddCoding(held, entry.Brotli, []byte("late")) || get(c, "/a", "en") != nil {
				t.Error("a coding brought a purged entry back")
			}
			consistent(t, c)
		})
	}
}

// A coding of an entry that was replaced meanwhile is not stored.
func TestAddCodingLate(t *testing.T) {
	c := newTest(t, 64<<20)
	c.Put(entrytest.New("/a", "one"), c.Generation())
	old := c.Get("/a")
	c.Put(entrytest.New("/a", "two"), c.Generation())
	if c.AddCoding(old, entry.Brotli, []byte("of one")) || c.AddCoding(entrytest.New("/b", "never stored"), entry.Brotli, nil) {
		t.Error("a late coding is stored")
	}
	if e := c.Get("/a"); e == nil || e.Variant(entry.Brotli) != nil {
		t.Errorf("the newer entry has the coding of the older one: %+v", e)
	}
}

// Codings go to disk with their entry, also if the entry came from there.
func TestCodingsOnDisk(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
	c.Put(entrytest.New("/a", strings.Repeat("a", 2000)), c.Generation())
	c = reopened(t, c)
	e := c.Get("/a")
	if e == nil || !c.AddCoding(e, entry.Zstd, []byte("in zstd")) {
		t.Fatal("the entry is not restored, or takes no coding")
	}
	evict(c)
	if e := crashed(t, c).Get("/a"); e == nil || e.Variant(entry.Zstd) == nil || string(e.Variant(entry.Zstd).Body) != "in zstd" {
		t.Errorf("after a restart: %+v", e)
	}
}
