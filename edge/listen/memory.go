package listen

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	rt "runtime/metrics"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
)

const (
	// memoryEvery is the interval between two checks of returnMemory, and so between two returns.
	memoryEvery = 2 * time.Second
	// fallenBytes is the decrease of the bytes that clients hold after which memory is returned.
	fallenBytes = 16 << 20
	// quietBytes is the most that a quiet edge allocates between two checks.
	quietBytes = 2 << 20
	// spareBytes is the most unused memory that a quiet edge may keep, or one part in sparePart of
	// the reachable memory if that is more, because the cost of a collection grows with it. Of
	// twice as many allocated bytes so many may be garbage: the last collection can't tell, if it
	// ran in the middle of a crowd.
	spareBytes = 8 << 20
	sparePart  = 8
)

// returnMemory returns memory to the system after clients have held much of it, and when a quiet
// edge has much of it unused. The runtime alone would keep it: hits make no garbage, so that the
// next collection may come two minutes after an attack.
func returnMemory(ctx context.Context, rooms ...*bodies.Budget) {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	var h heapSample
	h.look()
	last := h // after the last return
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			before := h
			h.look()
			fallen := false
			for _, room := range rooms {
				fallen = room.Fallen(fallenBytes) || fallen
			}
			if fallen || h.spare(before, last) {
				runtime.GC() // one of two, because sync.Pools keep objects for one
				withSpareProcessor(debug.FreeOSMemory)
				last.look()
			}
		}
	}
}

// withSpareProcessor calls f with a second processor of the runtime, if there is only one.
// FreeOSMemory keeps a processor until it has returned every piece of unused memory, which takes
// seconds after a million small entries: 3.4 s of 1.2 GB on one core, in which an edge would answer
// nothing.
func withSpareProcessor(f func()) {
	if runtime.GOMAXPROCS(0) > 1 {
		f()
		return
	}
	runtime.GOMAXPROCS(2)
	f()
	if os.Getenv("GOMAXPROCS") != "" {
		runtime.GOMAXPROCS(1)
	} else {
		runtime.SetDefaultGOMAXPROCS() // which may have changed, as the limit of a container can
	}
}

// A heapSample holds the runtime's figures about the heap, in bytes.
type heapSample struct {
	allocated uint64 // since the process began
	objects   uint64 // reachable and garbage
	live      uint64 // reachable at the last collection
	unused    uint64 // mapped, without objects
}

func (h *heapSample) look() {
	samples := [...]rt.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
	}
	rt.Read(samples[:])
	at := func(i int) uint64 { return samples[i].Value.Uint64() }
	*h = heapSample{allocated: at(0), objects: at(1), live: at(2), unused: at(3) + at(4)}
}

// unneeded returns the bytes of garbage and of mapped memory without objects.
func (h *heapSample) unneeded() uint64 { return h.objects - min(h.objects, h.live) + h.unused }

// spare reports whether the edge has been quiet since the sample before, and has much memory
// unused. It compares with the sample after the last return, because memory between objects that
// are in use can't be returned.
func (h *heapSample) spare(before, last heapSample) bool {
	if h.allocated-before.allocated >= quietBytes {
		return false
	}
	most := max(spareBytes, h.live/sparePart)
	return h.unneeded() > last.unneeded()+most || h.allocated-last.allocated > 2*most
}
