package listen

import (
	"runtime"
	"strconv"
	"testing"
)

// Memory goes back only where little is allocated: a busy edge needs what it has.
func TestSpareMemory(t *testing.T) {
	const before = 1 << 30 // bytes allocated
	for _, row := range []struct {
		name string
		now  heapSample
		last heapSample
		want bool
	}{
		{"nothing is unused", heapSample{1000, 50 << 20, 50 << 20, 1 << 20}, heapSample{}, false},
		{"much is unused", heapSample{1000, 50 << 20, 50 << 20, spareBytes + 1}, heapSample{}, true},
		{"much is unused, as after the last return", heapSample{1000, 50 << 20, 50 << 20, spareBytes + 1},
			heapSample{0, 40 << 20, 40 << 20, 1}, false},
		{"much is garbage", heapSample{1000, 30 << 20, 20 << 20, 0}, heapSample{}, true},
		{"garbage and unused together", heapSample{1000, 25 << 20, 20 << 20, spareBytes/2 + 1}, heapSample{}, true},
		{"little of what is reachable", heapSample{1000, 1 << 30, 1 << 30, 100 << 20}, heapSample{}, false},
		{"more lives than there is: a collection is going on", heapSample{1000, 20 << 20, 60 << 20, 0}, heapSample{}, false},
		{"much may be garbage since the last collection", heapSample{1000 + 2*spareBytes, 50 << 20, 50 << 20, 0}, heapSample{}, true},
		{"much is unused, and much happens", heapSample{quietBytes, 60 << 20, 20 << 20, spareBytes}, heapSample{}, false},
	} {
		row.now.allocated += before
		row.last.allocated += before
		was := heapSample{allocated: before}
		if row.now.allocated > before+2*spareBytes {
			was.allocated = row.now.allocated // it was allocated earlier
		}
		if got := row.now.spare(was, row.last); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	var h heapSample
	h.look()
	if h.allocated == 0 || h.objects == 0 {
		t.Errorf("the runtime says nothing: %+v", h)
	}
}

// TestSpareProcessor checks that a function for which a processor stands still has two, and that
// there are as many as before afterwards.
func TestSpareProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, before := range []int{1, 3} {
		t.Setenv("GOMAXPROCS", strconv.Itoa(before))
		runtime.GOMAXPROCS(before)
		withSpareProcessor(func() {
			if n := runtime.GOMAXPROCS(0); n != max(2, before) {
				t.Errorf("%d processors instead of %d", n, max(2, before))
			}
		})
		if n := runtime.GOMAXPROCS(0); n != before {
			t.Errorf("%d processors afterwards, want %d", n, before)
		}
	}
	t.Setenv("GOMAXPROCS", "")
	runtime.SetDefaultGOMAXPROCS()
	usual := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(1)
	withSpareProcessor(func() {})
	if n := runtime.GOMAXPROCS(0); n != usual {
		t.Errorf("%d processors afterwards, want the default of %d", n, usual)
	}
}
