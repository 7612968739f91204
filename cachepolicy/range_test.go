package cachepolicy

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

func TestParseRange(t *testing.T) {
	for _, c := range []struct {
		name   string
		header string
		size   int64
		off, n int64
		want   RangeOutcome
	}{
		{"none", "", 10, 0, 10, RangeWhole},
		{"the first five", "bytes=0-4", 10, 0, 5, RangePart},
		{"from the fifth", "bytes=5-", 10, 5, 5, RangePart},
		{"the last three, RFC 9110 section 14.1.2", "bytes=-3", 10, 7, 3, RangePart},
		{"beyond the end", "bytes=5-99", 10, 5, 5, RangePart},
		{"a suffix longer than the representation", "bytes=-99", 10, 0, 10, RangePart},
		{"all", "bytes=0-", 10, 0, 10, RangePart},
		{"one byte", "bytes=9-9", 10, 9, 1, RangePart},
		{"the unit without case", "Bytes=0-0", 10, 0, 1, RangePart},
		{"past the end", "bytes=10-", 10, 0, 0, RangeUnsatisfiable},
		{"far past the end", "bytes=99999999999999999999-", 10, 0, 0, RangeUnsatisfiable},
		{"far past the end, with a farther end", "bytes=99999999999999999999-999999999999999999999", 10, 0, 0, RangeUnsatisfiable},
		{"to far past the end", "bytes=1-99999999999999999999", 10, 1, 9, RangePart},
		{"an empty suffix", "bytes=-0", 10, 0, 0, RangeUnsatisfiable},
		{"of an empty representation", "bytes=0-", 0, 0, 0, RangeWhole},
		{"an empty suffix of an empty representation", "bytes=-0", 0, 0, 0, RangeWhole},
		{"a suffix of an empty representation", "bytes=-5", 0, 0, 0, RangeWhole},
		{"backwards is ignored, section 14.1.1", "bytes=5-4", 10, 0, 10, RangeWhole},
		{"several", "bytes=0-1,3-4", 10, 0, 10, RangeWhole},
		{"another unit", "items=0-1", 10, 0, 10, RangeWhole},
		{"no unit", "0-1", 10, 0, 10, RangeWhole},
		{"no number", "bytes=-", 10, 0, 10, RangeWhole},
		{"no dash", "bytes=5", 10, 0, 10, RangeWhole},
		{"two dashes", "bytes=1--2", 10, 0, 10, RangeWhole},
		{"a sign", "bytes=+1-2", 10, 0, 10, RangeWhole},
		{"hexadecimal", "bytes=0x1-2", 10, 0, 10, RangeWhole},
		{"a space inside", "bytes=1 -2", 10, 0, 10, RangeWhole},
	} {
		off, n, got := ParseRange(c.header, c.size)
		if off != c.off || n != c.n || got != c.want {
			t.Errorf("%s: ParseRange(%q, %d) = %d, %d, %d; want %d, %d, %d", c.name, c.header, c.size, off, n, got, c.off, c.n, c.want)
		}
	}
}

func TestIfRange(t *testing.T) {
	modified, later := t0, t0.Add(time.Minute)
	for _, c := range []struct {
		name    string
		ifRange string
		etag    string
		date    time.Time
		want    bool
	}{
		{"none", "", `"a"`, later, true},
		{"the tag", `"a"`, `"a"`, later, true},
		{"another tag", `"b"`, `"a"`, later, false},
		{"a weak tag, RFC 9110 section 13.1.5", `W/"a"`, `W/"a"`, later, false},
		{"a list", `"a", "b"`, `"a"`, later, false},
		{"the date", modified.Format(http.TimeFormat), `"a"`, later, true},
		{"a later date is another", later.Format(http.TimeFormat), `"a"`, later, false},
		{"the date is weak, section 8.8.2.2", modified.Format(http.TimeFormat), `"a"`, modified, false},
		{"neither", "x", `"a"`, later, false},
	} {
		if got := IfRange(c.ifRange, c.etag, modified, c.date); got != c.want {
			t.Errorf("%s: IfRange(%q) = %v, want %v", c.name, c.ifRange, got, c.want)
		}
	}
	if IfRange(t0.Format(http.TimeFormat), "", time.Time{}, later) {
		t.Error("IfRange with a date is true without Last-Modified")
	}
}

// A part lies inside the representation, and the range that Content-Range would express is the same
// part again.
func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"bytes=0-4", "bytes=-3", "bytes=5-", "bytes=9223372036854775807-", "bytes=0-0,1-1", "bytes=-"} {
		f.Add(s, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 || size > 1<<50 {
			return
		}
		off, n, outcome := ParseRange(header, size)
		switch outcome {
		case RangeWhole:
			if off != 0 || n != size {
				t.Fatalf("ParseRange(%q, %d): the whole is %d, %d", header, size, off, n)
			}
		case RangePart:
			if off < 0 || n < 1 || off+n > size {
				t.Fatalf("ParseRange(%q, %d): %d, %d is outside", header, size, off, n)
			}
			o, m, again := ParseRange(fmt.Sprintf("bytes=%d-%d", off, off+n-1), size)
			if o != off || m != n || again != RangePart {
				t.Fatalf("ParseRange(%q, %d) = %d, %d, but the range of these bytes gives %d, %d", header, size, off, n, o, m)
			}
		}
	})
}
