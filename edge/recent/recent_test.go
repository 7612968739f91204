package recent

import (
	"strconv"
	"sync/atomic"
	"testing"
)

// A key always has the same slot, and keys are spread over all slots.
func TestSlot(t *testing.T) {
	var slots [16]atomic.Pointer[string]
	used := map[*atomic.Pointer[string]]int{}
	for i := range 1600 {
		key := []byte(strconv.Itoa(i))
		slot := Slot(slots[:], key)
		if slot != Slot(slots[:], key) {
			t.Fatalf("key %s has two slots", key)
		}
		used[slot]++
	}
	if len(used) != len(slots) {
		t.Errorf("1600 keys use %d of %d slots", len(used), len(slots))
	}
}
