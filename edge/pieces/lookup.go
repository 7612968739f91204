package pieces

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/icondata"
	"github.com/iconedge/iconedge/icon"
)

// maxLookup is the number of pieces of a response that Lookup finds.
const maxLookup = 128

// Responses holds responses for reuse.
var Responses = sync.Pool{New: func() any { return new(Response) }}

// A lookup is the search for the pieces of a response.
type lookup struct {
	target []byte
	names  []name // in memory
	memory [maxLookup]name
	read   uint64 // of the memory of pieces, so that the compiler does not leave out the reads
}

// A name is a part of a target, with the place of its piece.
type name struct {
	from, to int32
	sum      uint64
	order    uint64 // the first bytes: names with another order are in this order
	slot     uint64 // of the index, which probably has the place
	segment  *segment
	record   int
}

// of returns the bytes of a name.
func (l *lookup) of(n *name) []byte { return l.target[n.from:n.to] }

func (l *lookup) compare(a, b name) int {
	if a.order != b.order {
		return cmp.Compare(a.order, b.order)
	}
	return bytes.Compare(l.of(&a), l.of(&b))
}

// Lookup finds the pieces of a response to a request for a target, such as
// /mdi.json?icons=account,home or, unless the host is the mount of Iconify's API, the same below
// that mount. It reports false for any other target, and if a piece is not in the table, or not
// valid at a generation.
func (t *Table) Lookup(r *Response, target []byte, mounted bool, at cache.Generation, now time.Time) bool {
	pack, start, ok := cut(target, mounted)
	e := t.current.Load()
	if !ok || e.asked != at {
		return false
	}
	moment := now.UnixNano()
	r.Head, r.Absent = (*e.heads.Load())[string(pack)], nil
	if r.Head == nil || r.Head.expires <= moment || r.Head.Lines == nil {
		return false
	}
	l := &r.look
	l.target = target
	if !l.scan(start, r.Head.sum, e.index.Load()) || !l.find(e) {
		return false
	}
	r.begin()
	return r.fill(moment) && r.addParents(e, moment)
}

// scan finds the names of a list, which begins at an index of the target and ends with it, and
// their hashes. It sorts them, and removes those that are there twice. It reports false for an
// empty name, for too many and for too long ones. It does not check the bytes of names, because the
// table has no malformed ones.
func (l *lookup) scan(start int, seed uint64, x *index) bool {
	l.names = l.memory[:0]
	sorted := true
	for at := start; ; {
		n := len(l.names)
		if n == maxLookup {
			return false
		}
		l.names = l.names[:n+1]
		one := &l.names[n]
		next := l.name(one, at, seed)
		if one.to == one.from || one.to-one.from > icon.MaxKey {
			return false
		}
		if sorted && n > 0 {
			before := &l.names[n-1]
			sorted = before.order < one.order || before.order == one.order && bytes.Compare(l.of(before), l.of(one)) < 0
		}
		bucket, first := x.bucket(one.sum)
		one.slot = bucket[first].Load() // find needs it
		if next == len(l.target) && int(one.to) == next {
			break
		} else if at = next; at < 0 {
			return false
		}
	}
	if !sorted {
		slices.SortFunc(l.names, l.compare)
		l.names = slices.CompactFunc(l.names, func(a, b name) bool { return l.compare(a, b) == 0 })
	}
	return true
}

// name reads the name at an index of the target, and returns the index after it and its comma; -1:
// it does not end at a comma or at the end of the target.
func (l *lookup) name(one *name, at int, seed uint64) int {
	one.from = int32(at)
	target, sum, begun := l.target, seed, false
	for n := 8; n == 8; {
		w := uint64(0)
		if rest := len(target) - at; rest >= 8 {
			w = binary.LittleEndian.Uint64(target[at:])
		} else if n = rest; rest > 0 { // the target has more than the list
			w = binary.LittleEndian.Uint64(target[len(target)-8:]) >> (64 - 8*rest)
		}
		if end := zero(w^(ones*',')) | zero(w^(ones*'%')); end != 0 {
			n = bits.TrailingZeros64(end) / 8
			w &= 1<<(8*n) - 1
		}
		if !begun {
			one.order, begun = bits.ReverseBytes64(w), true
		}
		sum = mix(sum, w)
		at += n
	}
	one.sum, one.to = sum, int32(at)
	switch rest := target[at:]; {
	case len(rest) == 0:
		return at
	case rest[0] == ',':
		return at + 1
	case len(rest) >= 3 && rest[1] == '2' && rest[2]|0x20 == 'c':
		return at + 3
	}
	return -1
}

const ones = 0x0101010101010101

// zero has the highest bit of the first byte that is 0 set, and no lower bit.
func zero(w uint64) uint64 { return (w - ones) &^ w & (0x80 * ones) }

// find finds the records of all names. Their slots were read before, and fill reads the records
// after it, because the processor waits for independent addresses at once.
func (l *lookup) find(e *epoch) bool {
	segments, read := e.segments.Load(), uint64(0)
	for i := range l.names {
		one := &l.names[i]
		if one.slot>>32 == one.sum>>32 {
			one.segment, one.record = segments.of(uint32(one.slot))
		} else {
			one.segment, one.record = e.find(one.sum)
		}
		if one.segment == nil {
			return false
		}
		read ^= one.segment.records[one.record].sum
	}
	l.read = read
	return true
}

// fill adds the pieces that were found to the response. It does not compare their names with those
// of the target, because the hash of the latter depends on a secret number, and is long.
func (r *Response) fill(now int64) bool {
	l, pack := &r.look, r.Head.number
	oldest, newest := -1, -1
	expires, changed := r.oldest.expires, r.newest.changed
	for i := range l.names {
		one := &l.names[i]
		found := &one.segment.records[one.record]
		if found.sum != one.sum || found.pack != pack || found.expires <= now {
			return false
		}
		r.answer.Add(&found.form, one.segment.data[found.data:])
		r.tags = binary.LittleEndian.AppendUint64(r.tags, found.tag)
		r.names = append(r.names, l.of(one))
		if found.expires < expires {
			oldest, expires = i, found.expires
		}
		if found.changed > changed {
			newest, changed = i, found.changed
		}
	}
	if oldest >= 0 {
		r.oldest = l.names[oldest].piece()
	}
	if newest >= 0 {
		r.newest = l.names[newest].piece()
	}
	return true
}

func (n *name) piece() *Piece { return n.segment.pieces[n.record] }

// addParents adds the parents of aliases, and theirs, unless the response has them already.
func (r *Response) addParents(e *epoch, now int64) bool {
	l, all := &r.look, r.answer.Prepared()
	if !slices.ContainsFunc(all, func(p icondata.Prepared) bool { return p.IsAlias() }) {
		return true
	}
	r.Pieces = r.Pieces[:0]
	for i := range l.names {
		r.Pieces = append(r.Pieces, l.names[i].piece())
	}
	for i := 0; i < len(r.Pieces); i++ {
		name := r.Pieces[i].Parent
		if name == "" || slices.ContainsFunc(r.Pieces, func(other *Piece) bool { return other.Name == name }) {
			continue
		}
		s, n := e.find(hash(r.Head.sum, name))
		if s == nil || s.pieces[n].Name != name || s.pieces[n].pack != r.Head.pack || s.pieces[n].expires <= now ||
			len(r.Pieces) == maxLookup {
			return false
		}
		r.Pieces = append(r.Pieces, s.pieces[n])
	}
	r.Arrange()
	return true
}

// Read reads the memory of all pieces in the form in which they will be joined, so that the join
// need not wait for each of them.
func (r *Response) Read(deflated bool) {
	for i := range r.answer.Prepared() {
		r.look.read ^= r.answer.Prepared()[i].Read(deflated, 1<<10)
	}
}

var (
	mount = []byte("/iconify/")
	icons = []byte(".json?icons=")
)

// MayBeData reports whether Lookup may find a response for a target.
func MayBeData(target []byte) bool {
	n := bytes.IndexByte(target, '?')
	return n > 5 && target[n-1] == 'n' && bytes.HasPrefix(target[n-5:], icons)
}

// cut returns the pack of a target, and where the names begin after which it has nothing else.
func cut(target []byte, mounted bool) (pack []byte, names int, ok bool) {
	pack, _, ok = bytes.Cut(target, icons)
	names = len(pack) + len(icons)
	if rest, below := bytes.CutPrefix(pack, mount); below && !mounted {
		pack = rest
	} else if pack, below = bytes.CutPrefix(pack, mount[:1]); !below {
		return nil, 0, false
	}
	return pack, names, ok && names < len(target)
}
