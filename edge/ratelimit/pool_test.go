package ratelimit

import (
	"math/rand/v2"
	"testing"
)

// A pool hands out values that are empty and in no other use, and keeps at most one slab that has
// none in use.
func TestPool(t *testing.T) {
	testPool(t, 1000, func(r *rand.Rand, t *table) {
		t.used, t.windows[r.IntN(tableLen)].counts = 1, 1
	})
	testPool(t, 6000, func(r *rand.Rand, c *chunkBlocks) { c[r.IntN(chunkLen)].next = 1 })
}

func testPool[T comparable](t *testing.T, most int, use func(*rand.Rand, *T)) {
	var p pool[T]
	var zero T
	r := rand.New(rand.NewPCG(1, 4))
	inUse := map[*T]bool{}
	for step := range 4 * most {
		grow := step/most%2 == 0 // then shrink
		if len(inUse) == 0 || r.IntN(10) < 8 == grow {
			v := p.take()
			if inUse[v] || *v != zero {
				t.Fatal("a value was handed out twice, or is not empty")
			}
			use(r, v)
			inUse[v] = true
			continue
		}
		for v := range inUse {
			p.put(v)
			delete(inUse, v)
			break
		}
		empty := 0
		for _, s := range p.slabs {
			if s.used == 0 {
				empty++
			}
		}
		if empty > 1 {
			t.Fatalf("%d slabs without a value in use", empty)
		}
	}
	for v := range inUse {
		p.put(v)
	}
	if len(p.slabs) != 1 {
		t.Errorf("%d slabs are left, want 1", len(p.slabs))
	}
	p.releaseAll()
}
