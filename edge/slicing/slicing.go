// Package slicing decides about ranges of large objects: in which slices an object is stored, which
// slices a range needs, which of them are missing, and which responses may be combined. Its
// functions are pure.
package slicing

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/cachepolicy"
)

// Size is the length of every slice in bytes, except the last one of an object.
const Size = 1 << 20

// unknown is the length that stands for an unknown one. It is beyond every object.
const unknown = 1 << 62

// A Span is a part of an object: the bytes from From up to To, without To.
type Span struct{ From, To int64 }

// Len returns the number of bytes.
func (s Span) Len() int64 { return s.To - s.From }

// Number returns the number of the slice that holds a byte.
func Number(at int64) int64 { return at / Size }

// Slice returns the span of a slice of an object.
func Slice(n, length int64) Span { return Span{n * Size, min((n+1)*Size, length)} }

// Aligned returns the span of the slices that a span needs.
func (s Span) Aligned(length int64) Span {
	return Span{s.From / Size * Size, min((s.To+Size-1)/Size*Size, length)}
}

// Missing returns the span of the first consecutive slices that a span needs and that are not
// stored, at most limit of them. It is empty if none is missing.
func (s Span) Missing(length int64, limit int, stored func(n int64) bool) Span {
	all := s.Aligned(length)
	n, end := Number(all.From), Number(all.To+Size-1)
	for n < end && stored(n) {
		n++
	}
	first := n
	for n < end && n-first < int64(limit) && !stored(n) {
		n++
	}
	if n == first {
		return Span{}
	}
	return Span{first * Size, min(n*Size, length)}
}

// Field returns the value of a Range that requests a span of an object. The end is never left open:
// a server may then send as much as it likes.
func (s Span) Field() string {
	return "bytes=" + strconv.FormatInt(s.From, 10) + "-" + strconv.FormatInt(s.To-1, 10)
}

// A Request says what the Range of a client means for an object of unknown length.
type Request uint8

const (
	Whole  Request = iota // all of the object: the client wants it from its first byte to its end
	Part                  // one part of it
	Opaque                // anything else, which only an origin can answer
)

// maxFirst is the number of slices that are requested for an object of unknown length.
const maxFirst = 8

// ParseRange parses the Range of a client for an object of unknown length. If it is a Part, first
// is the span of slices to ask for: the first that it needs, or, for the last bytes of the object,
// the one with which its length comes.
func ParseRange(field string) (first Span, r Request) {
	off, n, outcome := cachepolicy.ParseRange(field, unknown)
	switch {
	case outcome != cachepolicy.RangePart:
		return Span{}, Opaque
	case off > unknown/2: // the end of the object: the first slice comes with its length
		return Span{To: Size}, Part
	case off == 0 && n == unknown:
		return Span{}, Whole
	}
	s := Span{off, off + n}.Aligned(unknown)
	s.To = min(s.To, s.From+maxFirst*Size)
	return s, Part
}

// ParseContentRange parses the Content-Range of a 206 with one part. ok is false if it is malformed
// or does not name the length of the object.
func ParseContentRange(lines []string) (s Span, length int64, ok bool) {
	if len(lines) != 1 {
		return Span{}, 0, false
	}
	unit, rest, _ := strings.Cut(lines[0], " ")
	part, size, found := strings.Cut(rest, "/")
	first, last, dash := strings.Cut(part, "-")
	from, ok1 := number(first)
	to, ok2 := number(last)
	length, ok3 := number(size)
	switch {
	case !strings.EqualFold(unit, "bytes"), !found, !dash, !ok1, !ok2, !ok3, from > to, to >= length:
		return Span{}, 0, false
	}
	return Span{from, to + 1}, length, true
}

func number(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil && s[0] != '+' && n < unknown
}

// Answers reports whether a 206 with this head carries the beginning of the span that was
// requested, or all of it, and returns what it carries. bodyLength is the announced length of its
// body; negative: unknown.
func (s Span) Answers(h http.Header, bodyLength int64) (got Span, length int64, ok bool) {
	got, length, ok = ParseContentRange(h["Content-Range"])
	// A body that ends inside a slice, but not with the object, would leave the slice incomplete.
	whole := got.To == length || got.To%Size == 0
	announced := bodyLength < 0 || bodyLength == got.Len()
	return got, length, ok && got.From == s.From && got.To <= s.To && announced && whole
}
