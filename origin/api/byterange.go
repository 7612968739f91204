package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A part of a body: length bytes from start.
type part struct{ start, length int }

// rangeOf reads the Range of a request for a body of size bytes (RFC 9110, section 14.2). Not asked: the whole body is to be sent, as also
// for several ranges, another unit, or what is no range. The part that was asked for may lie beyond the body: satisfiable is false.
func rangeOf(h http.Header, size int, etag string, modified time.Time) (p part, asked, satisfiable bool) {
	lines := h.Values("Range")
	if len(lines) != 1 || !stillTrue(h, etag, modified) {
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

// position reads digits; more than there can be bytes is as good as the end.
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

// stillTrue reports whether If-Range (section 13.1.5) lets the range count: there is none, or it names what is to be sent.
func stillTrue(h http.Header, etag string, modified time.Time) bool {
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
