// Package units reads sizes as people write them: 512MB, 64MiB, 1g.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Size is a number of bytes. It is a flag.Value.
type Size int64

// suffixes are the units, the longest first. The letters alone are powers of 2, as in the
// configuration of nginx.
var suffixes = []struct {
	name  string
	bytes float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40}, {"b", 1}, {"", 1},
}

// ParseSize reads a size: a number, by itself in bytes, or with the unit kB, MB, GB or TB (powers
// of 1,000), KiB, MiB, GiB or TiB (powers of 1,024), or k, m, g or t (of 1,024 too). Capitals do
// not matter. The error names the form.
func ParseSize(s string) (Size, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	for _, u := range suffixes {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n >= 0) || n*u.bytes >= math.MaxInt64 {
			break
		}
		return Size(n * u.bytes), nil
	}
	return 0, fmt.Errorf("%.80q is no size; must be a number with B, kB, MB, GB, KiB, MiB or GiB, such as 512MB", s)
}

// Set reads the value of a flag.
func (b *Size) Set(s string) (err error) {
	*b, err = ParseSize(s)
	return err
}

// Get returns the number of bytes.
func (b *Size) Get() any { return int64(*b) }

// String returns the size in the largest unit of which it is a whole number.
func (b *Size) String() string {
	if b == nil || *b == 0 {
		return "0"
	}
	n, unit := int64(*b), ""
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n%1024 != 0 {
			break
		}
		n, unit = n/1024, larger
	}
	return strconv.FormatInt(n, 10) + unit
}
