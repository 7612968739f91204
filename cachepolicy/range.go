package cachepolicy

import (
	"strings"
	"time"
)

// A RangeOutcome says how to answer a request with a Range.
type RangeOutcome uint8

const (
	RangeWhole         RangeOutcome = iota // 200: no range, several ranges, or a malformed one
	RangePart                              // 206, with n bytes from off
	RangeUnsatisfiable                     // 416, with Content-Range: bytes */size
)

// ParseRange parses the Range of a GET for a representation of size bytes (RFC 9110, sections
// 14.1.2 and 14.2). It honours a single range. A server may ignore other requests for ranges, so
// the whole representation is sent for them. So is an empty one, as by nginx and Varnish.
// If the outcome is RangePart, off and n lie inside the representation and n is at least 1.
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
		return suffixRange(position(last), size)
	}
	from, to := position(first), int64(1<<62)
	if last != "" {
		to = position(last)
	}
	switch {
	case to < from, size == 0:
		return 0, size, RangeWhole // an invalid range is ignored (section 14.1.1)
	case from >= size:
		return 0, 0, RangeUnsatisfiable
	}
	return from, min(to, size-1) - from + 1, RangePart
}

// suffixRange returns the last n bytes, or all if there are fewer. An empty representation has no
// part that Content-Range could express.
func suffixRange(n, size int64) (int64, int64, RangeOutcome) {
	switch {
	case size == 0:
		return 0, 0, RangeWhole
	case n == 0:
		return 0, 0, RangeUnsatisfiable
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

// position parses digits. It limits the result to 2^62, which is beyond the end of every
// representation.
func position(s string) int64 {
	var n int64
	for i := 0; i < len(s); i++ {
		if n = n*10 + int64(s[i]-'0'); n >= 1<<58 {
			return 1 << 62
		}
	}
	return n
}

// IfRange reports whether a Range applies under this If-Range (RFC 9110, section 13.1.5). It does
// if the field is absent, if it is the same strong entity tag, or if it equals Last-Modified and
// that is a strong validator: date, the Date of the response, is at least a second later (section
// 8.8.2.2).
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
