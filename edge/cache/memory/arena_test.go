package memory

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestClasses(t *testing.T) {
	last := 0
	for n := 1; n <= maxSlot; n++ {
		class, size := classOf(n)
		if size < n || class < last || class >= classes || classSize(class) != size ||
			n > 512 && size-n > n/sizesPerDoubling || size%CostUnit != 0 {
			t.Fatalf("%d bytes get a slot of %d bytes, of class %d with size %d", n, size, class, classSize(class))
		}
		last = class
	}
}

// A model of an arena has the expected content of the slots in use.
type model map[Ref][]byte

func (m model) bytes(a *Arena, r Ref) []byte { return unsafe.Slice((*byte)(a.at(r)), len(m[r])) }

// check fails if the content of a slot changed, so that slots overlap, or if counts are wrong.
func (m model) check(t *testing.T, a *Arena) {
	t.Helper()
	used := 0
	for r, want := range m {
		if got := m.bytes(a, r); string(got) != string(want) {
			t.Fatalf("the content of slot %x has changed", r)
		}
		used += a.Size(r)
	}
	slabs, live := 0, 0
	for _, s := range a.slabs {
		if s != nil {
			slabs++
			live += s.live * s.size
		}
	}
	if got := int(a.taken.Load() - a.waste.Load()); got != used || live != used || slabs*a.slabSize < used {
		t.Fatalf("%d bytes are counted as used, and %d in %d slabs; want %d", got, live, slabs, used)
	}
	if n := a.compactable.Load(); n < 0 || n > a.waste.Load() {
		t.Fatalf("%d bytes are reclaimable, but only %d are wasted", n, a.waste.Load())
	}
}

// Slots do not overlap, and free slabs are released, in any order of allocations, releases and
// moves.
func TestArena(t *testing.T) {
	var a Arena
	a.Init(1 << 20)
	random := rand.New(rand.NewPCG(1, 2))
	slots := model{}
	for i := range 20_000 {
		size := 16 + random.IntN(a.Largest()-15)
		if random.IntN(3) > 0 {
			size = 120 + random.IntN(400)
		}
		if shrinks := i/4000%2 == 1; random.IntN(10) < 4 || shrinks && random.IntN(10) < 5 {
			for r := range slots {
				a.Free(r)
				delete(slots, r)
				break
			}
			continue
		}
		r, ok := a.Alloc(size)
		if !ok || slots[r] != nil {
			t.Fatalf("alloc(%d) = %x, %v, which is in use", size, r, ok)
		}
		slots[r] = make([]byte, size)
		for i := range slots[r] {
			slots[r][i] = byte(random.Uint32())
		}
		copy(slots.bytes(&a, r), slots[r])
		if i%1000 == 0 {
			slots.check(t, &a)
			slots = moved(t, &a, slots)
			slots.check(t, &a)
		}
	}
	for r := range slots {
		a.Free(r)
	}
	if n := a.taken.Load(); n != 0 || a.waste.Load() != 0 || a.compactable.Load() != 0 || len(a.spare) != len(a.slabs)-1 {
		t.Errorf("after all slots were freed %d bytes are taken, and %d of %d slabs are released", n, len(a.spare), len(a.slabs)-1)
	}
}

// moved compacts the arena.
func moved(t *testing.T, a *Arena, slots model) model {
	t.Helper()
	evacuating := a.Evacuate()
	after := model{}
	for r, b := range slots {
		if evacuating != nil && evacuating[r.Slab()] {
			r = a.Move(r)
		}
		after[r] = b
	}
	a.EndEvacuation()
	if n := a.compactable.Load(); n != 0 {
		t.Errorf("after compaction %d bytes are reclaimable", n)
	}
	return after
}
