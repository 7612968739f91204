package search

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestTable compares a table with a map, also for keys that begin with the same bytes.
func TestTable(t *testing.T) {
	random, h := rand.New(rand.NewPCG(1, 2)), newHasher()
	tab := newTable(10)
	want := map[[keySize]byte]uint32{}
	for range 20_000 {
		key := h.key(strconv.Itoa(random.IntN(10_000)))
		if random.IntN(8) == 0 {
			key = [keySize]byte{15: byte(random.IntN(200))}
		}
		n, known := want[key]
		if !known {
			n = uint32(len(want))
			want[key] = n
		}
		if got, was := tab.number(key); got != n || was != known {
			t.Fatalf("%x is %d, known %v; want %d, %v", key, got, was, n, known)
		}
	}
	if tab.len() != len(want) {
		t.Errorf("%d keys, want %d", tab.len(), len(want))
	}
}
