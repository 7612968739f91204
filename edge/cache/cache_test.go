package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/cache/memory"
	"github.com/iconedge/iconedge/test/sequential"
)

func newTest(t *testing.T, maxBytes int64) *Cache {
	t.Helper()
	c, err := New(Options{MaxBytes: maxBytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestPutIsVisibleAtOnce(t *testing.T) {
	c := newTest(t, 64<<20)
	for i := range 5000 {
		key := fmt.Sprint("/mdi/icon-", i, ".svg")
		e := entrytest.New(key, strings.Repeat("x", i%3000))
		if !c.Put(e, c.Generation()) {
			t.Fatalf("Put(%s) = false", key)
		}
		if got := c.Get(key); !got.SameStored(e) {
			t.Fatalf("Get(%s) right after Put = %v, want the entry", key, got)
		}
	}
	e := entrytest.New("/large", strings.Repeat("y", 8<<20)) // larger than the whole recency window
	c.Put(e, c.Generation())
	if !c.Get("/large").SameStored(e) {
		t.Error("an entry larger than the recency window is not stored right after Put")
	}
	if c.Get("/mdi/none.svg") != nil {
		t.Error("Get found a key that was never stored")
	}
}

func TestNewerReplacesOlder(t *testing.T) {
	c := newTest(t, 8<<20)
	for i := range 100 {
		e := entrytest.New("/a", fmt.Sprint(i))
		c.Put(e, c.Generation())
		if got := c.Get("/a"); !got.SameStored(e) {
			t.Fatalf("after %d stores Get returns %s", i+1, got.Identity().Body)
		}
	}
}

func TestCeilingHolds(t *testing.T) {
	sequential.Test(t)
	const ceiling = 4 << 20
	c := newTest(t, ceiling)
	body := strings.Repeat("<path d='M0 0h24v24z'/>", 200)
	for i := range 3000 {
		e := entrytest.New(fmt.Sprint("/", i), body[:len(body)-i])
		entrytest.WithCodings(e)
		c.Put(e, c.Generation())
		if s := c.Stats(); s.Bytes > ceiling {
			t.Fatalf("after %d stores the cache has %d bytes, above its ceiling of %d", i+1, s.Bytes, ceiling)
		}
	}
	consistent(t, c)
	if s := c.Stats(); s.Bytes < ceiling/2 || s.Entries == 0 || s.Evicted != 3000-uint64(s.Entries) {
		t.Errorf("Stats() = %+v, want a cache at least half full, and every other entry evicted", s)
	}
}

// consistent checks that the counts are correct, and that shards, recency window and ristretto
// refer to the same entries.
func consistent(t *testing.T, c *Cache) {
	t.Helper()
	c.janitor.end()
	defer c.janitor.start(c)
	c.tidy()
	c.waitForLRU()
	var entries, bytes, window, slots int64
	items := map[lruItem]uint64{}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for hash, at := range s.index {
			l := s.at(hash)
			entries++
			bytes += l.Bytes()
			if at != onHeap {
				slots += int64(c.arena.Size(at))
			}
			if l.Is(memory.Admitted) {
				items[lruItemOf(l.ID, l.Cost)] = hash
			}
			if l.Is(memory.Recent) {
				window += l.Bytes()
			}
			if other, _ := s.find(c, l.Key(), l.Label, l.Secondary()); !l.Is(memory.Live) ||
				l.State&(memory.Recent|memory.Admitted) == 0 || other != l {
				t.Errorf("%s %q has the state %+v in its shard", l.Key(), l.Secondary(), l.State)
			}
		}
		s.consistent(t)
		s.mu.Unlock()
	}
	c.lru.IterValues(func(is lruItem) bool {
		if _, ok := items[is]; !ok {
			t.Errorf("ristretto has the item %x, which is in no shard", is)
		}
		delete(items, is)
		return false
	})
	for is, hash := range items {
		t.Errorf("ristretto lacks the item %x with the hash %x", is, hash)
	}
	if used := c.arena.Used(); used != slots {
		t.Errorf("%d bytes of the arena are in use, but the slots of all entries have %d", used, slots)
	}
	if c.disk != nil {
		onDiskConsistent(t, c)
	}
	if s := c.Stats(); s.Entries != entries || s.Bytes != bytes+c.arena.Wasted()+c.interned.Bytes() ||
		c.window.used.Load() != window || c.pendingBytes.Load() != 0 {
		t.Errorf("%d entries with %d bytes are stored, %d bytes in the recency window, none pending; the counts are %+v, %d, %d",
			entries, bytes, window, s, c.window.used.Load(), c.pendingBytes.Load())
	}
}

// consistent checks that the fields of a shard agree with its index.
func (s *shard) consistent(t *testing.T) {
	t.Helper()
	for label, v := range s.variants {
		if len(v.members) > entry.MaxVariants {
			t.Errorf("%s has %d variants", v.key, len(v.members))
		}
		var hashes []uint64
		for _, m := range v.members {
			hashes = append(hashes, m.hash)
			if l := s.at(m.hash); l == nil || l.Label != label || l.Secondary() == "" {
				t.Errorf("%s has a variant that is not stored", v.key)
			}
		}
		for a, hash := range v.aliases {
			if !slices.Contains(hashes, hash) {
				t.Errorf("the alias %q of %s has no entry", a, v.key)
			}
		}
	}
	if len(s.variants) > len(s.index) || len(s.origins) > len(s.index) || len(s.large) > len(s.index) {
		t.Errorf("%d entries have %d variant sets, %d locations on disk, %d heap slots", len(s.index),
			len(s.variants), len(s.origins), len(s.large))
	}
}

// Under concurrent use counts stay correct, and no lookup returns an entry of another key.
func TestConcurrentUse(t *testing.T) {
	t.Run("memory", func(t *testing.T) { concurrentUse(t, newTest(t, 1<<20)) })
	t.Run("disk", func(t *testing.T) {
		c := openTest(t, t.TempDir(), Options{DiskBytes: 4 << 20})
		concurrentUse(t, c)
		c = reopened(t, c)
		for i := range 300 {
			lookUp(t, c, fmt.Sprint("/", i), "0", "1", "2")
		}
		consistent(t, c)
	})
}

func concurrentUse(t *testing.T, c *Cache) {
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for i := range 2000 {
				key := fmt.Sprint("/", random.IntN(300))
				e := entrytest.Variant(key, fmt.Sprint(random.IntN(3)), strings.Repeat("x", random.IntN(4000)),
					fmt.Sprint("tag ", random.IntN(20)))
				switch random.IntN(40) {
				case 0:
					c.Purge(invalidation.Purge{Tags: e.Tags, Soft: i%2 == 0}, time.Now())
				case 1:
					c.Purge(invalidation.Purge{Keys: []string{key}}, time.Now())
				case 2:
					c.Invalidate(e.Tags...)
				case 3:
					c.Purge(invalidation.Purge{Prefixes: []string{key[:2]}}, time.Now())
				case 4, 5, 6, 7, 8, 9, 10, 11:
					c.Put(e, c.Generation())
					c.Alias(e, "alias")
				case 12, 13, 14, 15, 16, 17, 18, 19:
					c.Put(entrytest.New(key, "plain"), c.Generation())
				case 20:
					if old := c.Get(key); old != nil {
						c.Replace(old, old.CopyConfirmed(), c.Generation())
					}
				default:
					lookUp(t, c, key, e.Secondary, "alias")
				}
			}
		})
	}
	wg.Wait()
	consistent(t, c)
}

func lookUp(t *testing.T, c *Cache, key string, secondary ...string) {
	e, varies := c.Find(key, func([]string) []string { return secondary })
	switch {
	case e == nil:
	case e.Key != key, varies != (e.Secondary != ""):
		t.Errorf("lookup of %s returns %s %q, varies %v", key, e.Key, e.Secondary, varies)
	case len(secondary) == 1 && e.Secondary != "" && e.Secondary != secondary[0]:
		t.Errorf("lookup of %s %q returns %q", key, secondary, e.Secondary)
	}
}

func TestVariants(t *testing.T) {
	c := newTest(t, 8<<20)
	find := func(keys ...string) string {
		e, varies := c.Find("/a", func(vary []string) []string { return append(keys, vary...) })
		switch {
		case e != nil && varies:
			return string(e.Identity().Body)
		case e != nil:
			return "plain " + string(e.Identity().Body)
		case varies:
			return "varies"
		}
		return "nothing"
	}
	put := func(e *entry.Entry) *entry.Entry { c.Put(e, c.Generation()); return e }
	other := func(secondary string) *entry.Entry {
		e := entrytest.Variant("/a", secondary, secondary)
		e.Vary = []string{"Origin"}
		return e
	}
	steps := []struct {
		what string
		do   func()
		keys []string
		want string
	}{
		{"nothing is stored", func() {}, []string{"en"}, "nothing"},
		{"a variant", func() { put(entrytest.Variant("/a", "en", "english")) }, []string{"en"}, "english"},
		{"a request of another kind", func() {}, []string{"de"}, "varies"},
		{"a second variant", func() { put(entrytest.Variant("/a", "de", "german")) }, []string{"de"}, "german"},
		{"the first is still stored", func() {}, []string{"en"}, "english"},
		{"keys are tried in their order", func() {}, []string{"fr", "de", "en"}, "german"},
		{"a newer one with the same keys", func() { put(entrytest.Variant("/a", "en", "british")) }, []string{"en"}, "british"},
		{"an alias", func() { c.Alias(put(entrytest.Variant("/a", "it", "italian")), "it;q=1") }, []string{"it;q=1"}, "italian"},
		{"an alias does not replace an entry's own key",
			func() { c.Alias(put(entrytest.Variant("/a", "fr", "french")), "de") }, []string{"de"}, "german"},
		{"an entry replaces an alias", func() { put(entrytest.Variant("/a", "it;q=1", "own")) }, []string{"it;q=1"}, "own"},
		{"Find passes the names in Vary", func() { put(entrytest.Variant("/a", "Accept-Language", "named")) }, nil, "named"},
		{"a Vary with other names", func() { put(other("example")) }, []string{"en"}, "varies"},
		{"the variant with the new names", func() {}, []string{"example"}, "example"},
		{"an entry without Vary replaces all variants", func() { put(entrytest.New("/a", "answer")) }, []string{"example"}, "plain answer"},
		{"a variant replaces an entry without Vary", func() { put(entrytest.Variant("/a", "en", "english")) },
			[]string{"example"}, "varies"},
	}
	for _, step := range steps {
		step.do()
		if got := find(step.keys...); got != step.want {
			t.Errorf("%s: Find(/a, %q) returns %s, want %s", step.what, step.keys, got, step.want)
		}
	}
	if e := c.Get("/a"); e != nil {
		t.Errorf("Get returns %q, which is a variant", e.Secondary)
	}
	consistent(t, c)
}

func TestAliasGoesWithItsEntry(t *testing.T) {
	c := newTest(t, 8<<20)
	e := entrytest.Variant("/a", "en", "english")
	c.Put(e, c.Generation())
	for i := range 2 * maxAliases {
		c.Alias(e, fmt.Sprint(i))
	}
	if n := len(c.shard(e.Hash).variants[e.Labels[0]].aliases); n != maxAliases {
		t.Errorf("the entry has %d aliases, more than %d", n, maxAliases)
	}
	c.Put(entrytest.Variant("/a", "en", "newer"), c.Generation())
	c.Alias(e, "late")
	for _, key := range []string{"0", "late"} {
		if got, _ := c.Find("/a", func([]string) []string { return []string{key} }); got != nil {
			t.Errorf("%q still leads to the entry that was replaced", key)
		}
	}
	consistent(t, c)
}

func TestReplace(t *testing.T) {
	c := newTest(t, 8<<20)
	old, newer := entrytest.New("/a", "old"), entrytest.New("/a", "newer")
	c.Put(old, c.Generation())
	if c.Replace(newer, entrytest.New("/a", "wrong"), c.Generation()) || !c.Get("/a").SameStored(old) {
		t.Error("Replace of an entry that is not stored succeeded")
	}
	if !c.Replace(old, newer, c.Generation()) || !c.Get("/a").SameStored(newer) {
		t.Error("Replace of a stored entry failed")
	}
	before := c.Generation()
	c.Purge(invalidation.Purge{Keys: []string{"/a"}}, time.Now())
	if c.Replace(newer, entrytest.New("/a", "late"), before) || c.Get("/a") != nil {
		t.Error("Replace of a purged entry succeeded")
	}
}

func TestClosed(t *testing.T) {
	c, err := New(Options{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	c.Put(entrytest.New("/a", "body"), c.Generation())
	c.Close()
	c.Get("/a")
	c.Invalidate("tag")
	c.Purge(invalidation.Purge{All: true}, time.Now())
	if c.Put(entrytest.New("/b", "body"), c.Generation()) {
		t.Error("Put succeeded after Close")
	}
}

func BenchmarkGet(b *testing.B) {
	c, err := New(Options{MaxBytes: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	c.Put(entrytest.New("/mdi/home.svg", "body", "icon/mdi/home", "pack/mdi"), c.Generation())
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if c.Get("/mdi/home.svg") == nil {
				b.Error("the entry is not found")
			}
		}
	})
}
