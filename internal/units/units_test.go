package units

import (
	"math"
	"testing"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]Size{
		"0": 0, "1": 1, "268435456": 256 << 20, "256MB": 256e6, "256mb": 256e6, "256MiB": 256 << 20,
		"256m": 256 << 20, "1g": 1 << 30, "1G": 1 << 30, "1.5GiB": 3 << 29, " 2 kB ": 2000, "7B": 7, "1TB": 1e12,
	} {
		if got, err := ParseSize(s); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "MB", "-1", "-1MB", "1XB", "1MBB", "one", "NaN", "Inf", "1e30", "9000000000GiB", "1 2MB"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("%q: %d, want an error", s, got)
		}
	}
}

func TestString(t *testing.T) {
	for size, want := range map[Size]string{0: "0", 1: "1", 1024: "1KiB", 256 << 20: "256MiB", 10 << 30: "10GiB",
		256e6: "250000KiB", 1 << 40: "1TiB", math.MaxInt64: "9223372036854775807"} {
		if got := size.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(size), got, want)
		}
		var again Size
		if err := again.Set(size.String()); size != math.MaxInt64 && (err != nil || again != size) {
			t.Errorf("%s is read as %d, %v", size.String(), int64(again), err)
		}
	}
}
