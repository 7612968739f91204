package ratelimit

import (
	"math/rand/v2"
	"testing"

	"github.com/iconedge/iconedge/test/sequential"
)

// A table holds exactly the windows that were put into it and not removed, even for the worst
// hashes: equal ones, near the end of the table.
func TestTable(t *testing.T) {
	sequential.Test(t)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		var tab table
		there := map[key]uint64{}
		for range 2000 {
			k := key{uint64(r.IntN(8)), uint64(r.IntN(8)), kind(1 + r.IntN(int(kinds)-1))}
			hash := k.bits<<63 | (0xfe0000+k.rest*0x7fff*(seed%3))<<8
			w := tab.find(k, hash)
			if _, ok := there[k]; ok != (w.kind != 0) || ok && !w.is(k) {
				t.Fatalf("seed %d: %v found: %v, want %v", seed, k, !ok, ok)
			}
			switch {
			case w.kind == 0 && tab.used < full:
				tab.put(&window{hash: hash, bits: k.bits, rest: k.rest, kind: uint8(k.kind)})
				there[k] = hash
			case w.kind != 0 && r.IntN(2) == 0:
				tab.remove(indexOf(&tab, k))
				delete(there, k)
			case r.IntN(50) == 0:
				splitAndMerge(t, &tab)
			}
			if tab.used != len(there) {
				t.Fatalf("seed %d: %d windows, want %d", seed, tab.used, len(there))
			}
		}
	}
}

// indexOf returns the slot of k.
func indexOf(tab *table, k key) int {
	for i := range tab.windows {
		if tab.windows[i].is(k) {
			return i
		}
	}
	return -1
}

// splitAndMerge splits a table and merges it again.
func splitAndMerge(t *testing.T, tab *table) {
	t.Helper()
	before := tab.used
	other := new(table)
	tab.split(other)
	for i := range tableLen {
		if tab.windows[i].hash>>63 != 0 || other.windows[i].kind != 0 && other.windows[i].hash>>63 != 1 {
			t.Fatal("a window is in the wrong table")
		}
	}
	if tab.used+other.used != before || tab.depth != 1 || other.depth != 1 {
		t.Fatalf("%d and %d windows of %d, depths %d and %d", tab.used, other.used, before, tab.depth, other.depth)
	}
	tab.take(other)
}
