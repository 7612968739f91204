package listen

import "testing"

// Memory goes back only where little is allocated: a busy edge needs what it has.
func TestSpareMemory(t *testing.T) {
	for _, row := range []struct {
		name string
		now  heapSample
		want bool
	}{
		{"nothing is unused", heapSample{1000, 50 << 20, 50 << 20, 1 << 20}, false},
		{"much is unused", heapSample{1000, 50 << 20, 50 << 20, spareBytes + 1}, true},
		{"much is garbage", heapSample{1000, 60 << 20, 20 << 20, 0}, true},
		{"garbage and unused together", heapSample{1000, 40 << 20, 20 << 20, spareBytes/2 + 1}, true},
		{"more lives than there is: a collection is going on", heapSample{1000, 20 << 20, 60 << 20, 0}, false},
		{"much is unused, and much happens", heapSample{quietBytes, 60 << 20, 20 << 20, spareBytes}, false},
	} {
		if got := row.now.spare(heapSample{}); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	var h heapSample
	h.look()
	if h.allocated == 0 || h.objects == 0 {
		t.Errorf("the runtime says nothing: %+v", h)
	}
}
