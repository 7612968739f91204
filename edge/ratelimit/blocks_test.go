package ratelimit

import (
	"math/rand/v2"
	"testing"
)

// No block is handed out twice, and there are no more chunks than the largest number of blocks
// needed, in any order of calls.
func TestBlocks(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 4))
		b := blocks{pool: &pool[chunkBlocks]{}}
		var taken []uint32
		marks := map[uint32]uint32{}
		most := 0
		for i := range 5000 {
			growing := i/300%2 == 0
			if len(taken) == 0 || growing == (r.IntN(10) > 0) {
				n := b.take()
				if _, ok := marks[n]; ok || n == 0 {
					t.Fatalf("seed %d: take returned block %d, in use: %v", seed, n, ok)
				}
				marks[n], taken = uint32(i), append(taken, n)
				b.at(n).at[0] = uint32(i)
			} else {
				j := r.IntN(len(taken))
				n := taken[j]
				taken[j] = taken[len(taken)-1]
				taken = taken[:len(taken)-1]
				if b.at(n).at[0] != marks[n] {
					t.Fatalf("seed %d: block %d was modified while it was in use", seed, n)
				}
				b.free(n)
				delete(marks, n)
			}
			if most = max(most, len(taken)); len(b.chunks) > most/chunkLen+1 {
				t.Fatalf("seed %d: %d chunks for %d blocks", seed, len(b.chunks), most)
			}
		}
	}
}

// Taking a block and freeing it again and again allocates nothing.
func TestBlockIsReused(t *testing.T) {
	b := blocks{pool: &pool[chunkBlocks]{}}
	if n := testing.AllocsPerRun(100, func() { b.free(b.take()) }); n != 0 {
		t.Errorf("take and free allocate %v times", n)
	}
}
