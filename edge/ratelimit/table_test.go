package ratelimit

import (
	"hash/maphash"
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
		there := map[key]bool{}
		bits := lastBits(8*(1+int(seed%4)), int(1+seed%3))
		for range 2000 {
			k := key{bits[r.IntN(len(bits))], kind(1 + r.IntN(int(kinds)-1))}
			w := tab.find(k, k.hash(hashSeed))
			if found := w.counts.kind() != noWindow; found != there[k] || found && w.key() != k {
				t.Fatalf("seed %d: %v found: %v, want %v", seed, k, found, there[k])
			}
			switch {
			case !there[k] && tab.used < full:
				tab.put(&window{bits: k.bits, counts: counts(k.kind) * oneKind}, k.hash(hashSeed))
				there[k] = true
			case there[k] && r.IntN(2) == 0:
				tab.remove(indexOf(&tab, k), hashSeed)
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

var hashSeed = maphash.MakeSeed()

// lastBits returns n keys' bits whose home slots are the last ones of a table.
func lastBits(n, slots int) (found []uint64) {
	for bits := uint64(0); len(found) < n; bits++ {
		if homeSlot(key{bits: bits}.hash(hashSeed)) >= tableLen-slots {
			found = append(found, bits)
		}
	}
	return found
}

// indexOf returns the slot of k.
func indexOf(tab *table, k key) int {
	for i := range tab.windows {
		if tab.windows[i].key() == k {
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
	tab.split(other, hashSeed)
	for i := range tableLen {
		a, b := &tab.windows[i], &other.windows[i]
		if a.counts != 0 && a.key().hash(hashSeed)>>63 != 0 || b.counts != 0 && b.key().hash(hashSeed)>>63 != 1 {
			t.Fatal("a window is in the wrong table")
		}
	}
	if tab.used+other.used != before || tab.depth != 1 || other.depth != 1 {
		t.Fatalf("%d and %d windows of %d, depths %d and %d", tab.used, other.used, before, tab.depth, other.depth)
	}
	tab.take(other, hashSeed)
}
