package fleet

import "testing"

// The log is bounded in bytes as well: behind a large event fewer are kept.
func TestKept(t *testing.T) {
	for size, want := range map[int]int64{0: logKept, 100: logKept, logBytes / logKept: logKept, 64 << 10: 1024, 1 << 20: 64, 6 << 20: 10} {
		if got := kept(size); got != want {
			t.Errorf("kept(%d) = %d, want %d", size, got, want)
		}
	}
}
