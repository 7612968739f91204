package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

const roomOnDisk = 64 << 20

func openTest(t *testing.T, dir string, o Options) *Cache {
	t.Helper()
	o.Dir, o.MaxBytes, o.DiskBytes = dir, max(o.MaxBytes, 1<<20), max(o.DiskBytes, 1<<12)
	if o.Log == nil {
		o.Log = func(msg string, args ...any) { t.Errorf("logged: %s %v", msg, args) }
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reopened closes a cache and opens another one in its folder.
func reopened(t *testing.T, c *Cache) *Cache {
	t.Helper()
	c.Close()
	next := openTest(t, c.disk.Dir, Options{DiskBytes: c.disk.MaxBytes})
	t.Cleanup(next.Close)
	return next
}

// crashed opens a cache in a copy of the folder of a cache that was not closed.
func crashed(t *testing.T, c *Cache) *Cache {
	t.Helper()
	c.disk.Flush()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(c.disk.Dir)); err != nil {
		t.Fatal(err)
	}
	next := openTest(t, dir, Options{DiskBytes: c.disk.MaxBytes})
	t.Cleanup(next.Close)
	return next
}

// evict evicts all entries from memory to disk.
func evict(c *Cache) {
	c.waitForLRU()
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for hash := range s.index {
			evictOne(c, s, hash)
		}
		s.mu.Unlock()
	}
	c.disk.Flush()
}

// evictOne evicts an entry. The caller holds the lock of the shard.
func evictOne(c *Cache, s *shard, hash uint64) {
	l := s.at(hash)
	c.window.remove(s, l)
	l.State &^= memory.Admitted
	c.evictUnreferenced(s, hash)
}

// onDiskConsistent checks the disk tier.
func onDiskConsistent(t *testing.T, c *Cache) {
	t.Helper()
	if err := c.disk.Check(); err != nil {
		t.Error(err)
	}
}

// waitForDisk waits until evicted entries are on disk.
func waitForDisk(c *Cache) {
	c.waitForLRU()
	c.disk.Flush()
}

func TestWarmAfterRestart(t *testing.T) {
	for name, restart := range map[string]func(*testing.T, *Cache) *Cache{
		"closed": reopened,
		"killed": func(t *testing.T, c *Cache) *Cache {
			t.Cleanup(c.Close)
			evict(c)
			return crashed(t, c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
			all := append(purgeTestEntries(), entrytest.Full())
			for _, e := range all {
				c.Put(e, c.Generation())
			}
			c.Alias(all[4], "english")
			c.SetLabel("release 7")
			c = restart(t, c)
			if got := c.Label(); got != "release 7" {
				t.Errorf("Label() = %q", got)
			}
			if s := c.Stats(); s.DiskEntries != int64(len(all)) || s.Entries != 0 || s.DiskBytes == 0 {
				t.Errorf("Stats() = %+v, want %d entries on disk", s, len(all))
			}
			for range 2 { // from disk, then from memory
				for _, e := range all {
					if got := there(c, e); got == nil || !entrytest.Same(got, e) {
						t.Errorf("%s differs after a restart: %v", label(e), got)
					}
				}
			}
			if got, _ := c.Find("/page", func([]string) []string { return []string{"english"} }); got == nil || got.Secondary != "en" {
				t.Errorf("after a restart the alias leads to %v", got)
			}
			if s := c.Stats(); s.DiskHits != uint64(len(all)) || s.Entries != int64(len(all)) {
				t.Errorf("Stats() = %+v, want %d entries read from disk once", s, len(all))
			}
			if e := c.Get("/not stored"); e != nil {
				t.Errorf("an entry was found that was never stored: %+v", e)
			}
			consistent(t, c)
		})
	}
}

// Restored may set fields again that are not on disk.
func TestRestored(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk,
		Restored: func(e *entry.Entry) { e.Head = &entry.Head{Own: []byte(e.Key)} }})
	t.Cleanup(c.Close)
	c.Put(entrytest.New("/a", "body"), c.Generation())
	if e := c.Get("/a"); e.Head != nil {
		t.Error("Restored was called with an entry that was not read from disk")
	}
	evict(c)
	if e := c.Get("/a"); e == nil || e.Head == nil || string(e.Head.Own) != "/a" || !c.Get("/a").SameStored(e) {
		t.Errorf("Get returns %+v, not the restored entry", e)
	}
}

// An evicted entry is found on disk unless it was replaced or dropped.
func TestEvictedToDisk(t *testing.T) {
	const entries = 2000
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
	for version := range 2 {
		for i := range entries {
			c.Put(entrytest.New(fmt.Sprint("/", i), fmt.Sprint(version, strings.Repeat("x", 1000)),
				fmt.Sprint("tag ", i%10)), c.Generation())
			if i%10 == 0 {
				waitForDisk(c)
			}
		}
	}
	c.Invalidate("tag 3")
	found := 0
	for i := range entries {
		waitForDisk(c)
		e := c.Get(fmt.Sprint("/", i))
		switch {
		case e != nil && i%10 == 3:
			t.Errorf("/%d was dropped, and is found", i)
		case e != nil && e.Identity().Body[0] != '1':
			t.Errorf("/%d was replaced, and the older entry is found", i)
		case e != nil:
			found++
		}
	}
	if s := c.Stats(); found != entries*9/10 || s.DiskHits == 0 || s.DiskDropped > 0 || s.DiskErrors > 0 {
		t.Errorf("%d of %d entries are found: %+v", found, entries*9/10, s)
	}
	consistent(t, c)
	if c = reopened(t, c); c.Get("/3") != nil || c.Get("/13") != nil {
		t.Error("dropped entries are found after a restart")
	}
}

func TestNewerInMemoryHidesOlderOnDisk(t *testing.T) {
	tests := []struct {
		name         string
		older, newer *entry.Entry
		want         bool // the older one is found when the newer is gone
	}{
		{"the same key", entrytest.New("/a", "old"), entrytest.New("/a", "new"), false},
		{"a variant in place of an entry without Vary", entrytest.New("/a", "old"), entrytest.Variant("/a", "en", "new"), false},
		{"the same variant", entrytest.Variant("/a", "en", "old"), entrytest.Variant("/a", "en", "new"), false},
		{"another key", entrytest.New("/b", "old"), entrytest.New("/a", "new"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
			t.Cleanup(c.Close)
			c.Put(tt.older, c.Generation())
			evict(c)
			c.Put(tt.newer, c.Generation())
			if got := there(c, tt.newer); !got.SameStored(tt.newer) {
				t.Errorf("Get returns %+v, not the newer entry", got)
			}
			s := c.shard(tt.newer.Labels[0])
			s.mu.Lock()
			c.remove(s, tt.newer.Hash) // the newer entry is lost, as if the queue were full
			s.mu.Unlock()
			if got := there(c, tt.older); (got != nil) != tt.want {
				t.Errorf("after the newer entry was lost, Get returns %+v", got)
			}
		})
	}
}

// An entry that is written to disk after a newer one replaced it is not found when the newer one is
// gone.
func TestLateEviction(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
	t.Cleanup(c.Close)
	older, newer := entrytest.New("/a", "old"), entrytest.New("/a", "new")
	c.Put(older, c.Generation())
	s, other := c.shard(older.Labels[0]), entrytest.New("/other", "body")
	for i := 0; c.shard(c.seeds.LabelOfKey(other.Key)) == s; i++ {
		other = entrytest.New(fmt.Sprint("/other/", i), "body")
	}
	c.Put(other, c.Generation())
	c.waitForLRU()
	slow := c.shard(other.Labels[0])
	slow.mu.Lock() // the writer waits for this shard after it has written other
	evictOne(c, slow, other.Hash)
	s.mu.Lock()
	evictOne(c, s, older.Hash)
	s.mu.Unlock()
	c.Put(newer, c.Generation())
	slow.mu.Unlock()
	c.disk.Flush()
	s.mu.Lock()
	c.remove(s, newer.Hash)
	s.mu.Unlock()
	if got := c.Get("/a"); got != nil {
		t.Errorf("%s is found", got.Identity().Body)
	}
}

// After a purge of the variant that was written last, others on disk are found; after a purge of
// the key, none is.
func TestVariantsOnDisk(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
	t.Cleanup(c.Close)
	first, last := entrytest.Variant("/a", "en", "first"), entrytest.Variant("/a", "de", "last", "tag")
	for _, e := range []*entry.Entry{first, last} {
		c.Put(e, c.Generation())
		evict(c)
	}
	if n := c.Purge(invalidation.Purge{Tags: []string{"tag"}}, t0); n != 1 || there(c, last) != nil {
		t.Errorf("Purge = %d, want 1", n)
	}
	for _, c := range []*Cache{c, crashed(t, c)} {
		if got := there(c, first); got == nil || string(got.Identity().Body) != "first" {
			t.Errorf("%v is found, want the first variant", got)
		}
		evict(c)
		if n := c.Purge(invalidation.Purge{Keys: []string{"/a"}}, t0); n != 1 {
			t.Errorf("Purge of the address = %d, want 1", n)
		}
		if _, varies := c.Find("/a", func([]string) []string { return nil }); varies {
			t.Error("the key still has variants")
		}
	}
}

// An entry that was read from disk, and is still there, is not written again.
func TestWrittenOnce(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
	c.Put(entrytest.New("/a", "body"), c.Generation())
	evict(c)
	want := c.Stats().DiskBytes
	for range 3 {
		if c.Get("/a") == nil {
			t.Error("the entry is not found")
		}
		evict(c)
	}
	c = reopened(t, c)
	if got := c.Stats().DiskBytes; got != want {
		t.Errorf("%d bytes are on disk, want %d as after the first eviction", got, want)
	}
}

func TestPurgeOnDisk(t *testing.T) {
	for _, soft := range []bool{false, true} {
		for _, tt := range purges {
			for _, promoted := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, soft %v, promoted %v", tt.name, soft, promoted), func(t *testing.T) {
					c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
					t.Cleanup(c.Close)
					for _, e := range purgeTestEntries() {
						c.Put(e, c.Generation())
					}
					evict(c)
					if promoted {
						for _, e := range purgeTestEntries() {
							there(c, e)
						}
					}
					purge := tt.purge
					purge.Soft = soft
					later := t0.Add(time.Minute)
					for i, want := range []int{len(tt.want), 0} {
						if n := c.Purge(purge, later); n != want {
							t.Errorf("Purge %d of %+v = %d, want %d", i, purge, n, want)
						}
					}
					for _, c := range []*Cache{c, crashed(t, c)} {
						for _, e := range purgeTestEntries() {
							purged := slices.Contains(tt.want, label(e))
							want := e.Policy
							if purged {
								want = want.Expired(later)
							}
							switch got := there(c, e); {
							case !soft && (got == nil) != purged:
								t.Errorf("%s is found: %v, purged: %v", label(e), got != nil, purged)
							case soft && (got == nil || got.Freshness().Lifetime != want.Lifetime):
								t.Errorf("%s is %+v, want freshness %+v", label(e), got, want)
							}
						}
						if n := c.Purge(purge, later); n != 0 {
							t.Errorf("the same Purge again = %d, want 0", n)
						}
					}
				})
			}
		}
	}
}

// A drop applies after a restart, also one of many surrogate keys, and applies to entries on their
// way to disk.
func TestDropOnDisk(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
	t.Cleanup(c.Close)
	var tags []string // the log has a record for each 4,096 of them
	for i := range 12 << 10 {
		tags = append(tags, fmt.Sprint("tag ", i))
	}
	c.Put(entrytest.New("/first", "a", tags[0]), c.Generation())
	c.Put(entrytest.New("/last", "b", tags[len(tags)-1]), c.Generation())
	c.Put(entrytest.New("/kept", "c", "other"), c.Generation())
	evict(c)
	c.Invalidate(tags...)
	for _, c := range []*Cache{c, crashed(t, c)} {
		if c.Get("/first") != nil || c.Get("/last") != nil || c.Get("/kept") == nil {
			t.Error("a dropped entry is found, or another one is not")
		}
	}
	c.InvalidateAll()
	if next := crashed(t, c); next.Get("/kept") != nil || next.Stats().DiskEntries != 0 {
		t.Error("entries are found after all were dropped")
	}
}

// Dropped entries on disk are not found after their invalidations were discarded.
func TestDiscardedInvalidationsOnDisk(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk})
	t.Cleanup(c.Close)
	c.Put(entrytest.New("/dropped", "a", "tag 1"), c.Generation())
	c.Put(entrytest.New("/kept", "b", "tag"), c.Generation())
	evict(c)
	tags := make([]string, invalidation.MaxLabels+1)
	for i := range tags {
		tags[i] = fmt.Sprint("tag ", i)
	}
	c.Invalidate(tags...)
	c.tidy()
	if labels, _ := c.invalidations.Count(); labels > 0 || c.Stats().DiskEntries != 1 {
		t.Errorf("%d invalidations are left, Stats() = %+v", labels, c.Stats())
	}
	if c.Get("/dropped") != nil || c.Get("/kept") == nil {
		t.Error("a dropped entry is found, or another one is not")
	}
}

// The disk tier never exceeds its limit, and keeps the newest entries.
func TestFullDisk(t *testing.T) {
	const most = 400 << 10
	c := openTest(t, t.TempDir(), Options{DiskBytes: most})
	t.Cleanup(c.Close)
	size := func() (n int64) {
		files, _ := filepath.Glob(filepath.Join(c.disk.Dir, "*.segment"))
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	for i := range 1000 {
		c.Put(entrytest.New(fmt.Sprint("/", i), strings.Repeat("x", 2000)), c.Generation())
		evict(c)
		if n := size(); n > most || n != c.Stats().DiskBytes {
			t.Fatalf("after %d entries the tier has %d bytes on disk, counts %d, and has a limit of %d", i+1, n, c.Stats().DiskBytes, most)
		}
	}
	c.Put(entrytest.New("/huge", strings.Repeat("x", most/8)), c.Generation())
	evict(c)
	if c.Get("/huge") != nil || c.Get("/0") != nil || c.Get("/999") == nil || c.Get("/900") == nil {
		t.Error("an entry that is too large or old is found, or a new one is not")
	}
	c = crashed(t, c)
	if s := c.Stats(); c.Get("/999") == nil || s.DiskEntries < 100 || s.DiskEntries > most/2000 {
		t.Errorf("after a restart Stats() = %+v", s)
	}
}

func TestOneProcessPerFolder(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{})
	t.Cleanup(c.Close)
	if other, err := New(Options{MaxBytes: 1 << 20, Dir: c.disk.Dir, DiskBytes: 1 << 20}); err == nil {
		other.Close()
		t.Error("a second cache uses the same folder")
	}
}

// After a failed write memory continues to work, and one message is logged. The disk tier is
// removed when a purge cannot be recorded.
func TestDiskFails(t *testing.T) {
	logged := 0
	c := openTest(t, t.TempDir(), Options{DiskBytes: 1 << 16, Log: func(string, ...any) { logged++ }})
	t.Cleanup(c.Close)
	c.Put(entrytest.New("/written", "a", "tag"), c.Generation())
	evict(c)
	if err := os.Rename(c.disk.Dir, c.disk.Dir+".away"); err != nil { // no segment can be created
		t.Fatal(err)
	}
	for i := range 3 {
		c.Put(entrytest.New(fmt.Sprint("/", i), strings.Repeat("b", 7<<10)), c.Generation())
	}
	evict(c)
	if err := os.Rename(c.disk.Dir+".away", c.disk.Dir); err != nil {
		t.Fatal(err)
	}
	c.SetLabel("label")
	if s := c.Stats(); logged != 1 || s.DiskErrors == 0 || c.Label() != "" {
		t.Errorf("%d messages logged, want 1; Stats() = %+v, label %q", logged, s, c.Label())
	}
	if c.Get("/written") == nil || !c.Put(entrytest.New("/memory", "c"), c.Generation()) || c.Get("/memory") == nil {
		t.Error("an entry on disk, or one in memory, is not found")
	}
	if n := c.Purge(invalidation.Purge{Tags: []string{"tag"}}, t0); n != 1 {
		t.Errorf("Purge = %d, want 1", n)
	}
	if next := crashed(t, c); next.Stats().DiskEntries != 0 || c.Get("/written") != nil {
		t.Error("the purged entry is found")
	}
}

// BenchmarkOpen opens a disk tier with 200,000 entries of about 400 MB.
func BenchmarkOpen(b *testing.B) {
	o := Options{MaxBytes: 1 << 30, Dir: b.TempDir(), DiskBytes: 1 << 30}
	c, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	const entries = 200_000
	body := strings.Repeat("x", 2000)
	for i := range entries {
		c.Put(entrytest.New(fmt.Sprint("/mdi/icon-", i, ".svg"), body, fmt.Sprint("icon/mdi/", i), "pack/mdi", "release/1"), c.Generation())
	}
	c.Close()
	for b.Loop() {
		c, err := New(o)
		if err != nil {
			b.Fatal(err)
		}
		if n := c.Stats().DiskEntries; n != entries {
			b.Fatalf("%d entries on disk, want %d", n, entries)
		}
		b.StopTimer()
		c.Close()
		b.StartTimer()
	}
}
