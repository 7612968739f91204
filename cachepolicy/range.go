package cachepolicy

import (
	"strings"
	"time"
)

// A RangeOutcome says how a request with a Range is answered.
type RangeOutcome uint8

const (
	RangeWhole         RangeOutcome = iota // 200: no range, several, or one that can't be read
	RangePart                              // 206, with the n bytes from off
	RangeUnsatisfiable                     // 416, with Content-Range: bytes */size
)

// ParseRange reads the Range of a GET for a representation of size bytes (RFC 9110, sections 14.1.2 and 14.2). One range is
// honoured; a server may ignore any other, and so the whole is sent. Where the outcome is RangePart, off and n lie inside
// of the representation and n is at least 1.
func ParseRange(header string, size int64) (off, n int64, outcome RangeOutcome) {
	unit, spec, ok := strings.Cut(header, "=")
	if !ok || lower(unit) != "bytes" {
		return 0, size, RangeWhole
	}
	first, last, ok := strings.Cut(trim(spec), "-")
	switch {
	case !ok, first == "" && last == "", !digits(first), !digits(last):
		return 0, size, RangeWhole
	case first == "":
		return suffix(position(last), size)
	}
	from, to := position(first), int64(1<<62)
	if last != "" {
		to = position(last)
	}
	switch {
	case to < from:
		return 0, size, RangeWhole // an invalid range is ignored (section 14.1.1)
	case from >= size:
		return 0, 0, RangeUnsatisfiable
	}
	return from, min(to, size-1) - from + 1, RangePart
}

// suffix is the last n bytes, or all where there are fewer. Of nothing there is no part that Content-Range could name.
func suffix(n, size int64) (int64, int64, RangeOutcome) {
	switch {
	case n == 0:
		return 0, 0, RangeUnsatisfiable
	case size == 0:
		return 0, 0, RangeWhole
	}
	n = min(n, size)
	return size - n, n, RangePart
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// position reads digits; what is too large for any representation stays at 2^62.
func position(s string) int64 {
	var n int64
	for i := 0; i < len(s); i++ {
		if n = n*10 + int64(s[i]-'0'); n >= 1<<58 {
			return 1 << 62
		}
	}
	return n
}

// IfRange reports whether a Range counts under this If-Range (RFC 9110, section 13.1.5): none was sent, the strong entity tag
// is the same, or the date is exactly that of Last-Modified and a strong validator: date, the answer's Date, is at least
// a second later (section 8.8.2.2).
func IfRange(ifRange, etag string, lastModified, date time.Time) bool {
	if ifRange == "" {
		return true
	}
	if tag, rest := scanETag(ifRange); tag != "" {
		return rest == "" && strong(tag, etag)
	}
	t, ok := ParseDate(ifRange, date)
	modified := lastModified.Truncate(time.Second)
	return ok && !lastModified.IsZero() && t.Equal(modified) && date.Sub(modified) >= time.Second
}
