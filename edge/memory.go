package edge

import (
	"context"
	"runtime"
	"runtime/debug"
	rt "runtime/metrics"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
)

const (
	// memoryEvery is how often returnMemory looks, and so how often memory goes back to the system at most.
	memoryEvery = 4 * time.Second
	// fallenBytes is how much less than before clients must hold for their memory to go back.
	fallenBytes = 16 << 20
	// quietBytes is how much an edge allocates at most between two looks while little happens.
	quietBytes = 4 << 20
	// spareBytes is how much memory an edge may keep unused while little happens.
	spareBytes = 32 << 20
)

// returnMemory gives memory back to the system after clients have held much of it, or when much of it is unused while little happens.
// The runtime alone would keep it: hits make no garbage, so that nothing is collected for two minutes after an attack.
func returnMemory(ctx context.Context, room *bodies.Room) {
	tick := time.NewTicker(memoryEvery)
	defer tick.Stop()
	var h heapSample
	h.look()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			before := h
			h.look()
			if room.Fallen(fallenBytes) || h.spare(before) {
				runtime.GC() // what sync.Pool holds survives one collection
				debug.FreeOSMemory()
			}
		}
	}
}

// A heapSample is what the runtime reports of the heap, in bytes.
type heapSample struct {
	allocated uint64 // since the process began
	objects   uint64 // living ones and garbage
	live      uint64 // what the last collection left
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

// spare reports whether little has happened since before, and much is unused.
func (h *heapSample) spare(before heapSample) bool {
	garbage := h.objects - min(h.objects, h.live)
	return h.allocated-before.allocated < quietBytes && garbage+h.unused > spareBytes
}
