package ratelimit

import (
	"testing"
	"time"
)

// PerSecond lets a number of events through in each second, and refuses the others.
func TestPerSecond(t *testing.T) {
	const most = 1000
	var h PerSecond
	for i := range 3 * most {
		second := i / (most + most/2)
		if spare, want := h.Allow(time.Unix(int64(second), 0), most), i%(most+most/2) < most; spare != want {
			t.Fatalf("answer %d: %v, want %v", i, spare, want)
		}
	}
}
