package respond

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h3"
	"github.com/iconedge/iconedge/edge/recent"
)

// Sections caches encoded HTTP/3 fields that many responses have in common, by their lines.
type Sections [1 << 12]atomic.Pointer[section]

type section struct {
	line  string
	field []byte
}

// Append appends the field lines of an HTTP/1.1 head as fields of a field section of HTTP/3.
func (s *Sections) Append(dst, lines []byte) []byte {
	for len(lines) > 0 {
		name, value, rest := exchange.CutField(lines)
		line := lines[:len(lines)-len(rest)]
		lines = rest
		if isOwnLine(name) {
			dst = h3.AppendField(dst, name, value)
			continue
		}
		at := recent.Slot(s[:], line)
		if known := at.Load(); known != nil && known.line == string(line) {
			dst = append(dst, known.field...)
			continue
		}
		start := len(dst)
		dst = h3.AppendShort(dst, name, value)
		if rand.Uint32N(replaceOne) == 0 {
			at.Store(&section{string(line), append([]byte(nil), dst[start:]...)})
		}
	}
	return dst
}

// replaceOne is the number of lines that are not cached of which one enters the cache: lines that
// only one response has shall not replace those of many.
const replaceOne = 8

// isOwnLine reports whether a field has a different value in almost every response.
func isOwnLine(name []byte) bool {
	switch string(name) {
	case "Content-Length", "Content-Range", "ETag", "Date", "Age", "RateLimit":
		return true
	}
	return IsOwn(name)
}
