//go:build linux

package report

import (
	"strings"
	"testing"
)

// The growth is that of rounds beside each other, whatever the machine does between them, and leads
// to the predictions.
func TestCores(t *testing.T) {
	var c Cores
	for _, slow := range []float64{1, 3, 2} {
		c.Add(Apart, CoreRound{CPUMicros: 10 * slow})
		c.Add(Together, CoreRound{CPUMicros: 11 * slow, LockNanos: 1000})
	}
	for _, g := range c.growth() {
		if g < 1.0999 || g > 1.1001 {
			t.Errorf("growth %v, want 1.1", g)
		}
	}
	if w := c.waiting(); w != 0.05 { // 1 µs of 20
		t.Errorf("a part of %v waits, want 0.05", w)
	}
	text := c.Section()
	for _, want := range []string{"1.100, median | all as α: α 0.1000, β 0.00000 | 3.1 × | 6.4 × | 8.8 ×",
		"1.100, median | waiting as α, the rest as β: α 0.0500, β 0.02500"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
