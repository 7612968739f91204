package pieces

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/icon"
)

// maxLookup is the number of pieces of a response that Lookup finds.
const maxLookup = 128

// Responses holds responses for reuse.
var Responses = sync.Pool{New: func() any {
	return &Response{Pieces: make([]*Piece, 0, maxLookup), ref: make([]byte, 0, 2*icon.MaxKey+1)}
}}

// Lookup finds the pieces of a response to a request for a target, such as
// /mdi.json?icons=account,home or, unless the host is the mount of Iconify's API, the same below
// that mount. It reports false for any other target, and if a piece is not in the table, or not
// valid at a generation.
func (t *Table) Lookup(r *Response, target []byte, mounted bool, at cache.Generation, now time.Time) bool {
	pack, names, ok := cut(target, mounted)
	if !ok {
		return false
	}
	r.Pieces, r.sums, r.Absent = r.Pieces[:0], r.sums[:0], nil
	moment := now.UnixNano()
	r.ref = append(append(r.ref[:0], pack...), '/')
	start, sum := len(r.ref), t.hash(r.ref)
	if r.Head = t.find(sum); !r.Head.is(sum, at, moment) || r.Head.pack != string(pack) || r.Head.Lines == nil {
		return false
	}
	for list := names; len(list) > 0; {
		var name []byte
		if name, list, ok = cutName(list); !ok || len(r.sums) == maxLookup {
			return false
		}
		r.sums = append(r.sums, t.hash(append(r.ref[:start], name...)))
	}
	return t.fill(r, names, at, moment) && t.addParents(r, at, moment)
}

// fill finds the pieces with the hashes of r, which are those of names. It reads all places first,
// then all pieces, and then the beginnings of all members, without a decision in between, because
// the processor waits for independent addresses at once.
func (t *Table) fill(r *Response, names []byte, at cache.Generation, now int64) bool {
	read := uint64(0)
	for _, sum := range r.sums {
		bucket := t.bucket(sum)
		read ^= bucket[0].sum.Load() ^ bucket[ways/2].sum.Load()
	}
	for _, sum := range r.sums {
		r.Pieces = append(r.Pieces, t.find(sum))
	}
	for i, sum := range r.sums {
		if p := r.Pieces[i]; !p.is(sum, at, now) || p.pack != r.Head.pack {
			return false
		}
	}
	for _, p := range r.Pieces {
		read ^= p.Read(false, cacheLine)
	}
	r.read = read
	sorted := true
	for i, p := range r.Pieces {
		var name []byte
		if name, names, _ = cutName(names); !bytes.Equal(p.Prepared.Name(), name) {
			return false // another one with the same hash
		}
		sorted = sorted && (i == 0 || byName(r.Pieces[i-1], p) < 0)
	}
	if !sorted {
		r.sort()
	}
	return true
}

// cacheLine is the length of a line of the processor's cache, in bytes.
const cacheLine = 64

// Read reads the memory of all pieces in the form in which they will be joined, so that the join
// need not wait for each of them.
func (r *Response) Read(deflated bool) {
	for _, p := range r.Pieces {
		r.read ^= p.Prepared.Read(deflated, 1<<10)
	}
}

// addParents adds the parents of aliases, and theirs, unless the response has them already.
func (t *Table) addParents(r *Response, at cache.Generation, now int64) bool {
	found := len(r.Pieces)
	for i := 0; i < len(r.Pieces); i++ {
		p := r.Pieces[i]
		if !p.IsAlias() || slices.ContainsFunc(r.Pieces, func(other *Piece) bool { return other.Name == p.Parent }) {
			continue
		}
		sum := t.hash(append(r.ref[:len(r.Head.pack)+1], p.Parent...))
		parent := t.find(sum)
		if !parent.is(sum, at, now) || parent.Name != p.Parent || parent.pack != r.Head.pack || len(r.Pieces) == maxLookup {
			return false
		}
		r.Pieces = append(r.Pieces, parent)
	}
	if len(r.Pieces) > found {
		r.sort()
	}
	return true
}

// sort sorts the pieces by name, and removes those that are there twice.
func (r *Response) sort() {
	r.Sort()
	r.Pieces = slices.Compact(r.Pieces)
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

// cut returns the pack and the names of a target that has nothing else.
func cut(target []byte, mounted bool) (pack, names []byte, ok bool) {
	pack, names, ok = bytes.Cut(target, icons)
	if rest, below := bytes.CutPrefix(pack, mount); below && !mounted {
		pack = rest
	} else if pack, below = bytes.CutPrefix(pack, mount[:1]); !below {
		return nil, nil, false
	}
	return pack, names, ok && len(pack) > 0 && isName(pack) && len(names) > 0
}

// cutName returns the first name of a list, and the rest after a comma. A list that ends in a comma
// is not ok, because an empty name counts as not found.
func cutName(list []byte) (name, rest []byte, ok bool) {
	n := 0
	for n < len(list) && nameBytes[list[n]] {
		n++
	}
	name, rest = list[:n], list[n:]
	switch {
	case n == 0 || n > icon.MaxKey:
		return nil, nil, false
	case len(rest) == 0:
		return name, nil, true
	case rest[0] == ',':
		rest = rest[1:]
	case len(rest) >= 3 && rest[0] == '%' && rest[1] == '2' && rest[2]|0x20 == 'c':
		rest = rest[3:]
	default:
		return nil, nil, false
	}
	return name, rest, len(rest) > 0
}

// nameBytes are the bytes of names. Whether a name is well-formed need not be checked, because the
// table has no other pieces.
var nameBytes = func() (is [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789-") {
		is[c] = true
	}
	return is
}()

func isName(b []byte) bool {
	for _, c := range b {
		if !nameBytes[c] {
			return false
		}
	}
	return len(b) <= icon.MaxKey
}
