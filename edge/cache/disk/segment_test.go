package disk

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/entrytest"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

func openTest(t testing.TB, dir string) *Tier {
	t.Helper()
	seeds := hashes.NewSeeds()
	d, err := Open(Options{
		Dir: dir, MaxBytes: 64 << 20, MaxQueued: 1 << 20, Newer: func(*entry.Entry) bool { return false },
	}, &seeds, &invalidation.Table{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// write appends an entry to the log.
func write(d *Tier, e *entry.Entry) {
	e.SetHashes(d.seeds)
	e.Generation = d.invalidations.Current()
	d.Enqueue(e)
	d.Flush()
}

// closed closes a tier when memory has no entries.
func closed(d *Tier) { d.Close(func(func(*entry.Entry) bool) {}) }

// logOf writes a disk tier with one segment to a folder: /0 to /9, then a purge of /1. It returns
// the bodies that are left.
func logOf(t testing.TB, dir string) map[string]string {
	d := openTest(t, dir)
	bodies := map[string]string{}
	for i := range 10 {
		e := entrytest.New(fmt.Sprint("/", i), strings.Repeat(fmt.Sprint(i), 20*(i+1)))
		bodies[e.Key] = string(e.Identity().Body)
		write(d, e)
	}
	p := invalidation.Purge{Keys: []string{"/1"}}
	s := invalidation.SpecOf(d.seeds, &p, entrytest.T0)
	generation := d.invalidations.Apply(s)
	d.RecordPurge(&p, generation, entrytest.T0, true)
	if n := d.Purge(&p, s, generation, nil); n != 1 {
		t.Fatalf("the purge concerns %d entries, want 1", n)
	}
	closed(d)
	delete(bodies, "/1")
	return bodies
}

func onlySegment(t testing.TB, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.segment"))
	if err != nil || len(files) != 1 {
		t.Fatalf("segments %q, %v; want one", files, err)
	}
	return files[0]
}

// foundIn returns the bodies that a disk tier has for the keys of logOf.
func foundIn(t testing.TB, dir string) map[string]string {
	d := openTest(t, dir)
	defer closed(d)
	bodies := map[string]string{}
	for i := range 10 {
		key := fmt.Sprint("/", i)
		e, _, _ := d.Find(key, d.seeds.LabelOfKey(key))
		if e == nil {
			continue
		}
		if e.SetHashes(d.seeds); e.Check(d.invalidations) {
			bodies[key] = string(e.Identity().Body)
		}
	}
	return bodies
}

func subset(part, whole map[string]string) bool {
	for k, v := range part {
		if got, ok := whole[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// If the last record is torn at any byte, the records before are found.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	want := logOf(t, dir)
	want["/1"] = strings.Repeat("1", 40) // its purge is the torn record
	path := onlySegment(t, dir)
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	marker, err := parseSegmentStart(log)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndex(log, marker[:])
	for end := last; end < len(log); end++ {
		if err := os.WriteFile(path, log[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := foundIn(t, dir); !maps.Equal(got, want) {
			t.Fatalf("with %d of %d bytes of the last record, %q are found", end-last, len(log)-last, slices.Sorted(maps.Keys(got)))
		}
	}
	for end := 0; end < last; end += 7 {
		if err := os.WriteFile(path, log[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := foundIn(t, dir); !subset(got, want) {
			t.Fatalf("with %d of %d bytes, %q are found", end, len(log), got)
		}
	}
}

// After a flip of any bit, only correct entries are found, and no purged ones.
func TestFlippedBit(t *testing.T) {
	dir := t.TempDir()
	want := logOf(t, dir)
	path := onlySegment(t, dir)
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	marker, _ := parseSegmentStart(log)
	purge := bytes.LastIndex(log, marker[:])
	for i := 0; i < len(log); i += 3 {
		bad := bytes.Clone(log)
		bad[i] ^= 1 << (i % 8)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		got := foundIn(t, dir)
		if i >= purge {
			delete(got, "/1") // a torn last record counts as not written
		}
		if !subset(got, want) {
			t.Fatalf("with bit %d of byte %d flipped, %q are found", i%8, i, got)
		}
		if body := bytes.Index(log, []byte(want["/9"])); i > body && i < body+len(want["/9"]) && len(got) != len(want)-1 {
			t.Fatalf("with byte %d in the body of /9 changed, %d entries are found, want all others", i, len(got))
		}
		if segments, _ := filepath.Glob(filepath.Join(dir, "*.segment")); len(segments) == 0 {
			os.WriteFile(path, log, 0o600)
		}
	}
}

// A damaged record in the middle may have been a purge: older records are not used, newer ones are.
func TestLossInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	want := logOf(t, dir)
	path := onlySegment(t, dir)
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	marker, _ := parseSegmentStart(log)
	for i := range 4 {
		delete(want, fmt.Sprint("/", i))
	}
	at := 0
	for range 4 { // the record of /3
		at += 1 + bytes.Index(log[at+1:], marker[:])
		if at < segmentStart {
			at += bytes.Index(log[at+1:], marker[:]) + 1
		}
	}
	log[at+recordStart] ^= 1
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := foundIn(t, dir); !maps.Equal(got, want) {
		t.Errorf("found %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// A body that looks like a record is not read as one.
func TestForgedRecord(t *testing.T) {
	dir := t.TempDir()
	logOf(t, dir)
	log, err := os.ReadFile(onlySegment(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	d := openTest(t, other)
	forged := entrytest.New("/forged", string(log))
	write(d, forged)
	closed(d)
	path := onlySegment(t, other)
	if log, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	// The damaged record makes walk search its body.
	log[segmentStart+recordStart] ^= 1
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := foundIn(t, other); len(got) > 0 {
		t.Errorf("found %q, want nothing", slices.Sorted(maps.Keys(got)))
	}
}

// A segment of arbitrary content opens without a panic, and yields only entries that were written.
func FuzzSegment(f *testing.F) {
	dir := f.TempDir()
	want := logOf(f, dir)
	want["/1"] = strings.Repeat("1", 40)
	log, err := os.ReadFile(onlySegment(f, dir))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(100, []byte("x"), 1)
	f.Add(0, log, len(log))
	f.Add(len(log)/2, log[segmentStart:], 0)
	f.Fuzz(func(t *testing.T, at int, put []byte, instead int) {
		if at < 0 || at > len(log) || instead < 0 || instead > len(log)-at {
			return
		}
		dir := t.TempDir()
		b := slices.Concat(log[:at], put, log[at+instead:])
		if err := os.WriteFile(segmentPath(dir, 1), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := foundIn(t, dir); !subset(got, want) {
			t.Fatalf("found %q", got)
		}
	})
}
