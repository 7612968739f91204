package ratelimit

import (
	"math/rand/v2"
	"testing"
)

// A pool hands out tables that are empty and in no other use, and keeps at most one slab that has
// none in use.
func TestPool(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	var p pool
	inUse := map[*table]bool{}
	for step := range 4000 {
		grow := step/1000%2 == 0 // then shrink
		if len(inUse) == 0 || r.IntN(10) < 8 == grow {
			tab := p.take()
			if inUse[tab] || *tab != (table{}) {
				t.Fatal("a table was handed out twice, or is not empty")
			}
			tab.used, tab.windows[r.IntN(tableLen)].kind = 1, 1
			inUse[tab] = true
			continue
		}
		for tab := range inUse {
			p.put(tab)
			delete(inUse, tab)
			break
		}
		empty := 0
		for _, s := range p.slabs {
			if s.free == allFree {
				empty++
			}
		}
		if empty > 1 {
			t.Fatalf("%d slabs without a table in use", empty)
		}
	}
	for tab := range inUse {
		p.put(tab)
	}
	if len(p.slabs) != 1 {
		t.Errorf("%d slabs are left, want 1", len(p.slabs))
	}
	p.releaseAll()
}
