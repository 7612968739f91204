package fleet

import "testing"

// The log is bounded in bytes as well, so it holds fewer events when a large one is written.
func TestMaxEvents(t *testing.T) {
	for size, want := range map[int]int64{0: maxLogEvents, 100: maxLogEvents,
		maxLogBytes / maxLogEvents: maxLogEvents, 64 << 10: 1024, 1 << 20: 64, 6 << 20: 10} {
		if got := maxEvents(size); got != want {
			t.Errorf("maxEvents(%d) = %d, want %d", size, got, want)
		}
	}
}
