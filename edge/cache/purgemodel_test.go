package cache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/test/sequential"
)

// text returns a short string of few letters, so that many strings have a common prefix.
func text(r *rand.Rand, most int) string {
	var b strings.Builder
	b.WriteByte('/')
	for range r.IntN(most) {
		b.WriteByte("ab/"[r.IntN(3)])
	}
	return b.String()
}

// A shadow is the model's state of a stored entry.
type shadow struct {
	tags  []string
	stale bool
}

// applies reports whether a purge applies to an entry, by comparing everything that the purge
// specifies.
func applies(p *invalidation.Purge, key string, tags []string) bool {
	return p.All || slices.Contains(p.Keys, key) ||
		slices.ContainsFunc(p.Prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) ||
		slices.ContainsFunc(p.Tags, func(tag string) bool { return slices.Contains(tags, tag) })
}

// In any sequence of stores, purges, drops, sweeps and discarded invalidations, in memory or on
// disk, the cache finds the same entries as a simple model, with the same freshness, and purges
// count the same number of entries.
func TestPurgeModel(t *testing.T) {
	sequential.Test(t)
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("memory ", seed), func(t *testing.T) { purgeModel(t, newTest(t, 16<<20), seed, false) })
		if seed > 1 { // a disk is slow
			continue
		}
		t.Run(fmt.Sprint("disk ", seed), func(t *testing.T) {
			c := openTest(t, t.TempDir(), Options{DiskBytes: 64 << 20})
			purgeModel(t, c, seed, true)
			c.Close()
		})
	}
}

func purgeModel(t *testing.T, c *Cache, seed uint64, onDisk bool) {
	r := rand.New(rand.NewPCG(seed, 3))
	model := map[string]*shadow{}
	tag := func() string { return fmt.Sprint("tag ", r.IntN(40)) }
	words := func(most int, of func() string) (list []string) {
		for range r.IntN(most) {
			list = append(list, of())
		}
		return list
	}
	key := func() string { return text(r, 7) }
	for i := range 1500 {
		now := t0.Add(time.Duration(i) * time.Second)
		switch r.IntN(10) {
		case 0: // a purge
			p := invalidation.Purge{Soft: r.IntN(2) == 0}
			switch r.IntN(4) {
			case 0:
				p.Keys = words(5, key)
			case 1:
				p.Tags = words(4, tag)
			case 2:
				p.Prefixes = words(4, func() string { return text(r, 6) + "/" })
			default:
				p.Keys, p.Tags, p.Prefixes = words(200, key), words(2, tag), words(200, func() string { return text(r, 9) + "b" })
			}
			want := 0
			for k, s := range maps.Clone(model) {
				switch {
				case !applies(&p, k, s.tags) || p.Soft && s.stale:
				case p.Soft:
					s.stale = true
					want++
				default:
					delete(model, k)
					want++
				}
			}
			if got := c.Purge(p, now); got != want {
				t.Fatalf("%d: Purge(%+v) = %d, want %d", i, p, got, want)
			}
		case 1:
			tag := tag()
			if r.IntN(3) > 0 {
				continue
			}
			c.Invalidate(tag)
			c.tidy() // a purge of keys counts dropped entries until they are swept
			maps.DeleteFunc(model, func(_ string, s *shadow) bool { return slices.Contains(s.tags, tag) })
		case 2:
			if r.IntN(10) == 0 {
				c.tidy()
				c.janitor.mu.Lock() // as tidy does if there are too many invalidations
				c.janitor.swept = 0
				c.sweep()
				c.invalidations.Discard(c.janitor.swept)
				c.janitor.mu.Unlock()
			}
		default:
			e := entrytest.New(key(), strings.Repeat("x", r.IntN(300)), words(4, tag)...)
			e.Policy = cachepolicy.Entry{Stored: t0, Lifetime: 100 * time.Hour, StaleWhileRevalidate: 100 * time.Hour}
			if !c.Put(e, c.Generation()) {
				t.Fatalf("%d: %s is not stored", i, e.Key)
			}
			model[e.Key] = &shadow{tags: e.Tags}
			if onDisk && r.IntN(4) == 0 {
				evict(c)
				waitForDisk(c)
			}
		}
		for range 5 {
			k := key()
			e, s := c.Get(k), model[k]
			if (e != nil) != (s != nil) || e != nil && (e.Freshness().TTL(now) <= 0) != s.stale {
				t.Fatalf("%d: %s is %+v, want %+v", i, k, e, s)
			}
		}
	}
	if onDisk { // evict does not call ristretto
		onDiskConsistent(t, c)
	} else {
		consistent(t, c)
	}
}
