package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A part is a range of a body: length bytes from start.
type part struct{ start, length int }

// rangeOf reads the Range field of a request for a body of size bytes (RFC 9110, section 14.2).
// asked is false if the whole body must be sent: there is no valid range, there are several, or the
// unit is unknown. satisfiable is false if the range lies beyond the body.
func rangeOf(h http.Header, size int, etag string, modified time.Time) (p part, asked, satisfiable bool) {
	lines := h.Values("Range")
	if len(lines) != 1 || !rangeApplies(h, etag, modified) {
		return part{}, false, true
	}
	unit, spec, ok := strings.Cut(lines[0], "=")
	first, last, dash := strings.Cut(strings.TrimSpace(spec), "-")
	if !ok || !strings.EqualFold(unit, "bytes") || !dash || first == "" && last == "" {
		return part{}, false, true
	}
	if first == "" {
		n, ok := position(last)
		n = min(n, size)
		return part{size - n, n}, ok, n > 0
	}
	start, ok1 := position(first)
	end, ok2 := size-1, true
	if last != "" {
		end, ok2 = position(last)
	}
	if !ok1 || !ok2 || last != "" && end < start {
		return part{}, false, true
	}
	end = min(end, size-1)
	return part{start, end - start + 1}, true, start < size
}

// position reads digits. It returns a position past any body for a number that overflows.
func position(s string) (n int, ok bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1 << 62, true
	}
	return n, true
}

// rangeApplies reports whether If-Range (section 13.1.5) lets the range apply: the field is
// missing, or it matches the current body.
func rangeApplies(h http.Header, etag string, modified time.Time) bool {
	lines := h.Values("If-Range")
	switch {
	case len(lines) == 0:
		return true
	case len(lines) > 1:
		return false
	case strings.HasPrefix(lines[0], `"`):
		return lines[0] == etag
	}
	t, err := http.ParseTime(lines[0])
	return err == nil && !modified.IsZero() && t.Equal(modified)
}
