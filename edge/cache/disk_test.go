package cache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
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
	next := openTest(t, c.disk.dir, Options{DiskBytes: c.disk.most})
	t.Cleanup(next.Close)
	return next
}

// crashed opens a cache in a copy of the folder of a cache that was not closed.
func crashed(t *testing.T, c *Cache) *Cache {
	t.Helper()
	c.disk.flush()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(c.disk.dir)); err != nil {
		t.Fatal(err)
	}
	next := openTest(t, dir, Options{DiskBytes: c.disk.most})
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
	c.disk.flush()
}

// evictOne evicts an entry. The caller holds the lock of the shard.
func evictOne(c *Cache, s *shard, hash uint64) {
	l := s.at(hash)
	c.window.remove(s, l)
	l.state &^= stateAdmitted
	c.evictUnreferenced(s, hash)
}

// locationsConsistent checks that the counts of the disk tier are correct.
func locationsConsistent(t *testing.T, d *disk) {
	t.Helper()
	d.flush()
	d.mu.Lock()
	defer d.mu.Unlock()
	var there, bytes int64
	locations := map[*location]bool{}
	for _, s := range d.segments {
		bytes += s.size
		for _, p := range s.locations {
			locations[p] = true
			if !p.gone {
				there++
			}
		}
	}
	for hash, s := range d.index.at {
		if !locations[s.location] {
			t.Errorf("the location under %x is in no segment", hash)
		}
	}
	if there != d.index.live || bytes != d.bytes {
		t.Errorf("%d locations with %d bytes are counted, but there are %d with %d", d.index.live, d.bytes, there, bytes)
	}
}

// waitForDisk waits until evicted entries are on disk.
func waitForDisk(c *Cache) {
	c.waitForLRU()
	c.disk.flush()
}

// fullEntry returns an entry with a value in every field.
func fullEntry() *entry.Entry {
	e := newVariant("/page?q=1", "Accept-Language=2:en;", strings.Repeat("<p>text</p>", 100), "tag", "other tag")
	e.Vary = []string{"Accept-Language", "Origin"}
	e.Date, e.Validator, e.Monochrome, e.Release = []byte("Sat, 21 Nov 2026 12:00:00 GMT"), `W/"x"`, "?1", "r1"
	e.Fields = []entry.Field{{Name: []byte("Cache-Control"), Value: []byte("max-age=60")}, {Name: []byte("Set-Cookie"), Value: []byte("b=2\xff")}, {Name: []byte("X"), Value: nil}}
	e.FieldsWithBody = []entry.Field{{Name: []byte("Link"), Value: []byte("<x>")}}
	e.LastModified = t0.Add(time.Nanosecond)
	e.Policy = cachepolicy.Entry{
		Stored: t0, Age: 1, Lifetime: 2 * time.Hour, StaleWhileRevalidate: 3, StaleIfError: 4, StaleWhenLost: 5, MustRevalidate: true, NoCache: true, Heuristic: true, SetsCookie: true,
	}
	e.AddCodings()
	e.Hit()
	return e
}

// same reports whether an entry that was read from disk equals the written one.
func same(a, b *entry.Entry) bool {
	one, other := a.CopyConfirmed(), b.CopyConfirmed()
	for _, e := range []*entry.Entry{one, other} {
		e.Policy.Stored, e.LastModified = e.Policy.Stored.UTC(), e.LastModified.UTC()
		for _, list := range [][]entry.Field{e.Fields, e.FieldsWithBody} {
			for i := range list {
				list[i] = entry.Field{Name: bytes.Clone(list[i].Name), Value: append([]byte{}, list[i].Value...)}
			}
		}
		e.ContentType, e.Date = append([]byte{}, e.ContentType...), append([]byte{}, e.Date...)
	}
	return reflect.DeepEqual(one, other)
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
			all := append(purgeTestEntries(), fullEntry())
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
					if got := there(c, e); got == nil || !same(got, e) {
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

// Every field of an entry is written and read back, except Head, which is made again, and Ended,
// because a soft purge is written separately. The test fails for a new field that is not set here.
func TestEncodingIsComplete(t *testing.T) {
	e := fullEntry()
	for _, v := range []reflect.Value{reflect.ValueOf(e).Elem(), reflect.ValueOf(&e.Policy).Elem()} {
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Head" && f.Name != "SoftPurged" && v.Field(i).IsZero() {
				t.Errorf("%s is not set in the entry that this test writes", f.Name)
			}
		}
	}
	head, body := encodeEntry(e, []string{"alias"})
	got, aliases, err := decodeEntry(head, bytes.Join(body, nil))
	if err != nil || !same(got, e) || !slices.Equal(aliases, []string{"alias"}) {
		t.Errorf("%+v is read as %+v with aliases %q and the error %v", e, got, aliases, err)
	}
	if got != nil && got.Hit() != 2 {
		t.Error("the count of hits is lost")
	}
	e.DisableCodings()
	e.Expire(t0.Add(time.Hour), 1)
	head, body = encodeEntry(e, nil)
	if got, _, _ = decodeEntry(head, bytes.Join(body, nil)); got == nil || !got.Plain || got.Freshness().Lifetime != time.Hour+1 || !got.Freshness().SoftPurged {
		t.Errorf("%+v with a soft purge is read as %+v", e, got)
	}
}

// Restored may set fields again that are not on disk.
func TestRestored(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk, Restored: func(e *entry.Entry) { e.Head = &entry.Head{Own: []byte(e.Key)} }})
	t.Cleanup(c.Close)
	c.Put(newEntry("/a", "body"), c.Generation())
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
			c.Put(newEntry(fmt.Sprint("/", i), fmt.Sprint(version, strings.Repeat("x", 1000)), fmt.Sprint("tag ", i%10)), c.Generation())
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
		{"the same key", newEntry("/a", "old"), newEntry("/a", "new"), false},
		{"a variant in place of an entry without Vary", newEntry("/a", "old"), newVariant("/a", "en", "new"), false},
		{"the same variant", newVariant("/a", "en", "old"), newVariant("/a", "en", "new"), false},
		{"another key", newEntry("/b", "old"), newEntry("/a", "new"), true},
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
	older, newer := newEntry("/a", "old"), newEntry("/a", "new")
	c.Put(older, c.Generation())
	c.waitForLRU()
	c.disk.writing.Lock() // the writer is slow
	s := c.shard(older.Labels[0])
	s.mu.Lock()
	evictOne(c, s, older.Hash)
	s.mu.Unlock()
	c.Put(newer, c.Generation())
	c.disk.writing.Unlock()
	c.disk.flush()
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
	first, last := newVariant("/a", "en", "first"), newVariant("/a", "de", "last", "tag")
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
	c.Put(newEntry("/a", "body"), c.Generation())
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
	var tags []string
	for i := range 3 * tagsInRecord {
		tags = append(tags, fmt.Sprint("tag ", i))
	}
	c.Put(newEntry("/first", "a", tags[0]), c.Generation())
	c.Put(newEntry("/last", "b", tags[len(tags)-1]), c.Generation())
	c.Put(newEntry("/kept", "c", "other"), c.Generation())
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
	c.Put(newEntry("/dropped", "a", "tag 1"), c.Generation())
	c.Put(newEntry("/kept", "b", "tag"), c.Generation())
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
		files, _ := filepath.Glob(filepath.Join(c.disk.dir, "*.segment"))
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				n += info.Size()
			}
		}
		return n
	}
	for i := range 1000 {
		c.Put(newEntry(fmt.Sprint("/", i), strings.Repeat("x", 2000)), c.Generation())
		evict(c)
		if n := size(); n > most || n != c.Stats().DiskBytes {
			t.Fatalf("after %d entries the tier has %d bytes on disk, counts %d, and has a limit of %d", i+1, n, c.Stats().DiskBytes, most)
		}
	}
	c.Put(newEntry("/huge", strings.Repeat("x", most/minSegments)), c.Generation())
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
	if other, err := New(Options{MaxBytes: 1 << 20, Dir: c.disk.dir, DiskBytes: 1 << 20}); err == nil {
		other.Close()
		t.Error("a second cache uses the same folder")
	}
}

// After a failed write memory continues to work, and one message is logged. The disk tier is
// removed when a purge cannot be recorded.
func TestDiskFails(t *testing.T) {
	logged := 0
	c := openTest(t, t.TempDir(), Options{DiskBytes: roomOnDisk, Log: func(string, ...any) { logged++ }})
	t.Cleanup(c.Close)
	c.Put(newEntry("/written", "a", "tag"), c.Generation())
	evict(c)
	readOnly, err := os.Open(c.disk.segments[0].file.Name())
	if err != nil {
		t.Fatal(err)
	}
	c.disk.segments[0].file.Close()
	c.disk.segments[0].file = readOnly
	for i := range 3 {
		c.Put(newEntry(fmt.Sprint("/", i), "b"), c.Generation())
	}
	evict(c)
	c.SetLabel("label")
	if s := c.Stats(); logged != 1 || s.DiskErrors == 0 || c.Label() != "" {
		t.Errorf("%d messages logged, want 1; Stats() = %+v, label %q", logged, s, c.Label())
	}
	if c.Get("/written") == nil || !c.Put(newEntry("/memory", "c"), c.Generation()) || c.Get("/memory") == nil {
		t.Error("an entry on disk, or one in memory, is not found")
	}
	if n := c.Purge(invalidation.Purge{Tags: []string{"tag"}}, t0); n != 1 {
		t.Errorf("Purge = %d, want 1", n)
	}
	if next := crashed(t, c); next.Stats().DiskEntries != 0 || c.Get("/written") != nil {
		t.Error("the purged entry is found")
	}
}

func TestReusable(t *testing.T) {
	policy := cachepolicy.Entry{Stored: t0, Lifetime: time.Minute}
	stale := policy
	stale.StaleWhenLost = time.Hour
	for _, row := range []struct {
		name string
		e    *entry.Entry
		at   time.Duration
		want bool
	}{
		{"fresh", &entry.Entry{Policy: policy}, 59 * time.Second, true},
		{"stale", &entry.Entry{Policy: policy}, time.Minute, false},
		{"stale, origin lost", &entry.Entry{Policy: stale}, time.Hour, true},
		{"too stale", &entry.Entry{Policy: stale}, 2 * time.Hour, false},
		{"stale, with an entity tag", &entry.Entry{Policy: policy, Validator: `"x"`}, time.Hour, true},
		{"stale, with a date", &entry.Entry{Policy: policy, LastModified: t0}, time.Hour, true},
	} {
		if got := reusable(row.e, t0.Add(row.at)); got != row.want {
			t.Errorf("%s: reusable %v, want %v", row.name, got, row.want)
		}
	}
}

func TestReplaceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "label")
	for _, content := range []string{"first", "second", ""} {
		if err := replaceFile(path, content); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != content {
			t.Errorf("the file contains %q, error %v; want %q", b, err, content)
		}
	}
	if err := replaceFile(filepath.Join(path, "below a file"), "x"); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("writing below a file: error %v", err)
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
		c.Put(newEntry(fmt.Sprint("/mdi/icon-", i, ".svg"), body, fmt.Sprint("icon/mdi/", i), "pack/mdi", "release/1"), c.Generation())
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
