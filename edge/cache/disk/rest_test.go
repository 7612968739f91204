package disk

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

const restEntries = 40

// openRest opens a tier with small segments, of which only the newest one is indexed if atOnce is
// 1. The test then has the rest indexed.
func openRest(t *testing.T, dir string, atOnce int64) *Tier {
	t.Helper()
	seeds := hashes.NewSeeds()
	d, err := open(Options{
		Dir: dir, MaxBytes: 160 << 10, MaxQueued: 1 << 20, AtOnce: atOnce, Newer: func(*entry.Entry) bool { return false },
	}, &seeds, &invalidation.Table{})
	if err != nil {
		t.Fatal(err)
	}
	go d.write()
	if len(d.rest.segments) == 0 {
		d.rest.indexAll()
	}
	return d
}

func restKey(i int) string { return fmt.Sprintf("/%d/x", i) }

// restLog writes a log of several segments to a folder: restEntries entries with a purge of the
// first one after half of them. It returns the generation of the purge.
func restLog(t *testing.T, dir string) invalidation.Generation {
	d := openRest(t, dir, 0)
	var generation invalidation.Generation
	for i := range restEntries {
		write(d, restEntry(i))
		if i == restEntries/2 {
			generation = purge(d, &invalidation.Purge{Keys: []string{restKey(0)}})
		}
	}
	closed(d)
	return generation
}

func restEntry(i int) *entry.Entry {
	return entrytest.New(restKey(i), strings.Repeat("x", 2000), fmt.Sprint("tag", i%10))
}

func purge(d *Tier, p *invalidation.Purge) invalidation.Generation {
	s := invalidation.SpecOf(d.seeds, p, entrytest.T0)
	generation := d.invalidations.Apply(s)
	d.RecordPurge(p, generation, entrytest.T0, true)
	d.Purge(p, s, generation, nil)
	return generation
}

// softPurged returns for each entry that is found whether it is stale by a purge.
func softPurged(d *Tier) map[string]bool {
	found := map[string]bool{}
	for i := range restEntries {
		if e, _, _ := d.Find(restKey(i), d.seeds.LabelOfKey(restKey(i))); e != nil {
			found[e.Key] = e.Freshness().SoftPurged
		}
	}
	return found
}

// Purges and newer entries have the same effect before a tier has indexed the rest as afterwards,
// also after another restart.
func TestRestIsIndexedLater(t *testing.T) {
	first := func(d *Tier, i int) bool { return d.HasKey(d.seeds.LabelOfKey(restKey(i))) }
	var results []map[string]bool
	for _, atOnce := range []int64{1, 1 << 40} {
		dir := t.TempDir()
		generation := restLog(t, dir)
		d := openRest(t, dir, atOnce)
		if now := d.invalidations.Current(); now != generation {
			t.Errorf("generations begin at %d, want %d", now, generation)
		}
		late := atOnce == 1
		if d.Indexing() != late || first(d, 1) == late || !first(d, restEntries-1) {
			t.Fatalf("at most %d bytes at once: indexing is %v, the oldest entry is found: %v", atOnce, d.Indexing(), first(d, 1))
		}
		newer := restEntry(1)
		newer.SetHashes(d.seeds)
		d.Hide(newer)
		written := restEntry(2)
		write(d, written)
		purge(d, &invalidation.Purge{Keys: []string{restKey(3)}})
		purge(d, &invalidation.Purge{Tags: []string{"tag4"}})
		purge(d, &invalidation.Purge{Prefixes: []string{"/5/"}})
		purge(d, &invalidation.Purge{Tags: []string{"tag6"}, Soft: true})
		if late {
			d.rest.indexAll()
		}
		if d.Indexing() {
			t.Error("the tier says that it indexes when all is indexed")
		}
		results = append(results, softPurged(d))
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		closed(d)
		d = openRest(t, dir, 1<<40)
		delete(results[len(results)-1], restKey(1))
		again := softPurged(d)
		if delete(again, restKey(1)); !maps.Equal(again, results[len(results)-1]) {
			t.Errorf("after another restart %v are found, before it %v", again, results[len(results)-1])
		}
		closed(d)
	}
	late, once := results[0], results[1]
	for i, want := range map[int]bool{0: false, 1: false, 2: true, 3: false, 4: false, 5: false, 6: true, 7: true, 14: false} {
		if _, found := once[restKey(i)]; found != want {
			t.Errorf("%s is found: %v, want %v", restKey(i), found, want)
		}
	}
	if !once[restKey(6)] || once[restKey(7)] {
		t.Errorf("found, and stale: %v; want %s stale, and %s fresh", once, restKey(6), restKey(7))
	}
	if !maps.Equal(late, once) {
		t.Errorf("found with a rest: %v, all at once: %v", late, once)
	}
}

// The entry of memory keeps older variants of its key from the index, and no other variant.
func TestRestOfVariants(t *testing.T) {
	dir := t.TempDir()
	d := openRest(t, dir, 0)
	english, german := entrytest.Variant("/page", "en", "old"), entrytest.Variant("/page", "de", "old")
	write(d, english)
	write(d, german)
	for i := range restEntries {
		write(d, restEntry(i))
	}
	closed(d)
	d = openRest(t, dir, 1)
	newer := entrytest.Variant("/page", "en", "new")
	newer.SetHashes(d.seeds)
	german.SetHashes(d.seeds)
	d.Hide(newer)
	written := entrytest.Variant("/page", "fr", "new") // it makes the key known again
	write(d, written)
	d.rest.indexAll()
	if d.HasVariant(newer.Hash) || !d.HasVariant(german.Hash) || !d.HasVariant(written.Hash) {
		t.Errorf("found: en %v, de %v, fr %v; want de and fr",
			d.HasVariant(newer.Hash), d.HasVariant(german.Hash), d.HasVariant(written.Hash))
	}
	closed(d)
}

// Damage that is found later removes the older segments alone, and a segment that the tier removes
// meanwhile is not indexed.
func TestRestDamagedOrRemoved(t *testing.T) {
	dir := t.TempDir()
	restLog(t, dir)
	d := openRest(t, dir, 1)
	rest := slices.Clone(d.rest.segments)
	if len(rest) < 3 {
		t.Fatalf("the rest has %d segments, want 3", len(rest))
	}
	damaged := segmentPath(dir, rest[1].number)
	log, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	records, _ := rest[1].walk()
	log[records[1].off+recordStart] ^= 1
	if err := os.WriteFile(damaged, log, 0o600); err != nil {
		t.Fatal(err)
	}
	d.Log = func(string, ...any) {}
	d.rest.indexAll()
	if _, err := os.Stat(segmentPath(dir, rest[0].number)); err == nil {
		t.Error("the segment before a damaged one is still there")
	}
	if _, err := os.Stat(segmentPath(dir, rest[2].number)); err != nil {
		t.Errorf("the segment after a damaged one: %v", err)
	}
	if err := d.Check(); err != nil {
		t.Error(err)
	}
	closed(d)

	dir = t.TempDir()
	restLog(t, dir)
	d = openRest(t, dir, 1)
	d.writing.Lock()
	err = d.shrink(d.MaxBytes-d.bytes+1, 1) // of the oldest segment
	d.writing.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	errors := d.Stats().Errors
	d.rest.indexAll()
	if s := d.Stats(); s.Errors != errors || s.Entries == 0 || s.Entries >= restEntries-1 {
		t.Errorf("%+v after the oldest segment was removed", s)
	}
	if err := d.Check(); err != nil {
		t.Error(err)
	}
	closed(d)
}

// Entries may be stored, purged and read, and segments removed, while the rest is indexed, and the
// tier may be closed before that has ended.
func TestRestBesideOthers(t *testing.T) {
	for _, wait := range []bool{true, false} {
		dir := t.TempDir()
		restLog(t, dir)
		d := openRest(t, dir, 1)
		go d.rest.indexAll()
		for i := range restEntries {
			write(d, restEntry(i))
			purge(d, &invalidation.Purge{Keys: []string{restKey(i - i%2)}})
			softPurged(d)
		}
		if wait {
			<-d.rest.ended
			if err := d.Check(); err != nil {
				t.Error(err)
			}
			found := softPurged(d)
			for i := 0; i < restEntries; i += 2 {
				if _, there := found[restKey(i)]; there {
					t.Errorf("%s was purged, and is found", restKey(i))
				}
			}
		}
		closed(d)
	}
}
