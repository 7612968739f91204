package cache

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestClasses(t *testing.T) {
	last := 0
	for n := 1; n <= maxCell; n++ {
		class, size := classOf(n)
		if size < n || class < last || class >= classes || classSize(class) != size || n > 512 && size-n > n/finer || size%costUnit != 0 {
			t.Fatalf("%d bytes are given cells of %d, of class %d: %d", n, size, class, classSize(class))
		}
		last = class
	}
}

// A model of an arena is what was written to the cells that are in use.
type model map[ref][]byte

func (m model) bytes(a *arena, r ref) []byte { return unsafe.Slice((*byte)(a.at(r)), len(m[r])) }

// check fails where a cell holds something else than was written to it, so that cells overlap, or counts are wrong.
func (m model) check(t *testing.T, a *arena) {
	t.Helper()
	used := 0
	for r, want := range m {
		if got := m.bytes(a, r); string(got) != string(want) {
			t.Fatalf("the cell %x holds something else than was written to it", r)
		}
		used += a.size(r)
	}
	slabs, live := 0, 0
	for _, s := range a.slabs {
		if s != nil {
			slabs++
			live += s.live * s.size
		}
	}
	if got := int(a.taken.Load() - a.waste.Load()); got != used || live != used || slabs*a.slabSize < used {
		t.Fatalf("%d bytes count as used and %d in %d slabs, %d are", got, live, slabs, used)
	}
	if n := a.emptiable.Load(); n < 0 || n > a.waste.Load() {
		t.Fatalf("%d bytes could be won from %d that are wasted", n, a.waste.Load())
	}
}

// Whatever is allocated, freed and moved, cells do not overlap, and what is not used is given back.
func TestArena(t *testing.T) {
	var a arena
	a.init(1 << 20)
	random := rand.New(rand.NewPCG(1, 2))
	cells := model{}
	for i := range 20_000 {
		size := 16 + random.IntN(a.largest()-15)
		if random.IntN(3) > 0 {
			size = 120 + random.IntN(400)
		}
		if shrinks := i/4000%2 == 1; random.IntN(10) < 4 || shrinks && random.IntN(10) < 5 {
			for r := range cells {
				a.free(r)
				delete(cells, r)
				break
			}
			continue
		}
		r, ok := a.alloc(size)
		if !ok || cells[r] != nil {
			t.Fatalf("alloc(%d) = %x, %v: it is in use", size, r, ok)
		}
		cells[r] = make([]byte, size)
		for i := range cells[r] {
			cells[r][i] = byte(random.Uint32())
		}
		copy(cells.bytes(&a, r), cells[r])
		if i%1000 == 0 {
			cells.check(t, &a)
			cells = moved(t, &a, cells)
			cells.check(t, &a)
		}
	}
	for r := range cells {
		a.free(r)
	}
	if n := a.taken.Load(); n != 0 || a.waste.Load() != 0 || a.emptiable.Load() != 0 || len(a.spare) != len(a.slabs)-1 {
		t.Errorf("after everything was freed %d bytes are taken, and %d of %d slabs were given back", n, len(a.spare), len(a.slabs)-1)
	}
}

// moved compacts the arena.
func moved(t *testing.T, a *arena, cells model) model {
	t.Helper()
	leaving := a.vacate()
	after := model{}
	for r, b := range cells {
		if leaving != nil && leaving[r.slab()] {
			r = a.move(r)
		}
		after[r] = b
	}
	a.settle()
	if n := a.emptiable.Load(); n != 0 {
		t.Errorf("after everything was moved together %d bytes could be won still", n)
	}
	return after
}
