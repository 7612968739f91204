package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// get finds a variant as a request does.
func get(c *Cache, key, secondary string) *entry.Entry {
	e, _ := c.Find(key, func([]string) []string { return []string{secondary} })
	return e
}

// A key has at most entry.MaxVariants variants, those that were used last, in any sequence of
// stores, lookups and purges.
func TestVariantsModel(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := newTest(t, 64<<20)
		var used []string // the least recently used first
		touch := func(name string) {
			used = append(slices.DeleteFunc(used, func(o string) bool { return o == name }), name)
		}
		for i := range 4000 {
			name := fmt.Sprint("v", r.IntN(2*entry.MaxVariants))
			switch r.IntN(3) {
			case 0:
				if !c.Put(entrytest.Variant("/a", name, "body"), c.Generation()) {
					t.Fatalf("seed %d, %d: Put = false", seed, i)
				}
				touch(name)
				used = used[max(0, len(used)-entry.MaxVariants):]
			case 1:
				known := slices.Contains(used, name)
				if got := get(c, "/a", name) != nil; got != known {
					t.Fatalf("seed %d, %d: %s is found: %v, want %v", seed, i, name, got, known)
				}
				if known {
					touch(name)
				}
			default:
				if r.IntN(1000) == 0 {
					c.Purge(invalidation.Purge{Keys: []string{"/a"}}, t0)
					used = nil
				}
			}
		}
		c.waitForLRU()
		if n := c.Stats().Entries; n != int64(len(used)) {
			t.Errorf("seed %d: %d entries, want %d", seed, n, len(used))
		}
		consistent(t, c)
	}
}

// The limit of one key does not affect other keys.
func TestVariantLimitPerKey(t *testing.T) {
	c := newTest(t, 64<<20)
	c.Put(entrytest.New("/plain", "a"), c.Generation())
	c.Put(entrytest.Variant("/b", "en", "b"), c.Generation())
	for i := range 2 * entry.MaxVariants {
		c.Put(entrytest.Variant("/a", fmt.Sprint(i), "body"), c.Generation())
	}
	if c.Get("/plain") == nil || get(c, "/b", "en") == nil {
		t.Error("an entry of another key was evicted")
	}
	if s := c.Stats(); s.Entries != entry.MaxVariants+2 || s.Evicted != entry.MaxVariants {
		t.Errorf("Stats() = %+v, want %d entries and %d evicted", s, entry.MaxVariants+2, entry.MaxVariants)
	}
}

// The same limit holds on disk, also after a restart.
func TestVariantsBoundOnDisk(t *testing.T) {
	c := openTest(t, t.TempDir(), Options{MaxBytes: 64 << 20, DiskBytes: 64 << 20})
	const n = 3 * entry.MaxVariants
	for i := range n {
		e := entrytest.Variant("/a", fmt.Sprint(i), "body")
		c.Put(e, c.Generation())
		waitForDisk(c)
	}
	onDisk := func(c *Cache) (list []int) {
		onDiskConsistent(t, c)
		for i := range n {
			if label := c.seeds.LabelOfKey("/a"); c.disk.HasVariant(c.seeds.HashOf(label, fmt.Sprint(i))) {
				list = append(list, i)
			}
		}
		return list
	}
	between := func(from, to int) (list []int) {
		for i := from; i < to; i++ {
			list = append(list, i)
		}
		return list
	}
	if got, want := onDisk(c), between(entry.MaxVariants, 2*entry.MaxVariants); !slices.Equal(got, want) {
		t.Fatalf("variants on disk: %d, want them from %d", got, want[0])
	}
	// A variant that was used stays.
	if get(c, "/a", fmt.Sprint(entry.MaxVariants)) == nil {
		t.Fatal("the oldest variant on disk is not found")
	}
	c.Put(entrytest.Variant("/a", "new", "body"), c.Generation())
	waitForDisk(c)
	if got := onDisk(c); len(got) > entry.MaxVariants || !slices.Contains(got, entry.MaxVariants) {
		t.Errorf("%d variants are on disk, the used one among them: %v", len(got), slices.Contains(got, entry.MaxVariants))
	}
	consistent(t, c)
	c = reopened(t, c) // writes the entries in memory
	if got := onDisk(c); len(got) < entry.MaxVariants-2 || len(got) > entry.MaxVariants || got[len(got)-1] != n-1 {
		t.Errorf("after a restart %d variants are on disk: %v", len(got), got)
	}
}
