package listen

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The bytes of a few clients are dropped at once, those of many at one rate for all of them.
func TestDropper(t *testing.T) {
	for _, row := range []struct {
		others int64
		sends  int // bytes
		want   time.Duration
		left   int // bytes that are not read
	}{
		{0, 1 << 20, 0, 0},
		{fewDropping - 1, 1 << 20, 0, 0},
		{127, 1 << 20, time.Second / 4, 0}, // 128 × 1 MiB at 512 MiB/s
		{127, 2 << 20, time.Second / 4, 1 << 20},
		{127, 10, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var d dropper
			d.active.Store(row.others)
			from, began := strings.NewReader(strings.Repeat("x", row.sends)), time.Now()
			d.drop(io.MultiReader(from), 1<<20)
			if took := time.Since(began); took != row.want || from.Len() != row.left {
				t.Errorf("%d bytes beside %d others: took %v and left %d, want %v and %d", row.sends, row.others,
					took, from.Len(), row.want, row.left)
			}
			if d.active.Load() != row.others {
				t.Errorf("%d are active at the end, want %d", d.active.Load(), row.others)
			}
		})
	}
}
