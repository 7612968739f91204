package memory

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

// An inPlace is an entry whose values are parts of a slot, with the memory of its lists.
type inPlace struct {
	entry    entry.Entry
	own      interned // the header of a slot without an interned one
	variants [3]entry.Variant
	fields   [2][inPlaceFields]entry.Field
	vary     [inPlaceVary]string
	tags     [2][maxTag]byte // entity tags of codings
}

// An entry with more fields or names in Vary is allocated.
const (
	inPlaceFields = 24
	inPlaceVary   = 4
)

var inPlaces = sync.Pool{New: func() any { return new(inPlace) }}

// release ends the use of the entry.
func (u *inPlace) release() {
	u.entry = entry.Entry{}
	inPlaces.Put(u)
}

// decode makes u the entry of a slot: without its surrogate keys, which only purges need.
func (u *inPlace) decode(l *Slot, c *interned) {
	e := &u.entry
	e.Fields, e.FieldsWithBody, e.Vary = u.fields[0][:0], u.fields[1][:0], u.vary[:0]
	n := spanReader{codec.Decoder{Rest: l.bytes(l.start()+int(l.text), l.spans)}, l.string(l.start(), l.text)}
	n.describe(e, l, c)
	for i := range u.variants {
		coding := entry.Coding(i)
		if coding != entry.Identity && l.shape&withCoding(coding) == 0 {
			continue
		}
		v := &u.variants[i]
		v.Body, v.ETag = l.bytes(l.bodyStart(coding), l.body[coding]), n.text[l.tag:l.tag+l.tagLen]
		if coding != entry.Identity && v.ETag != "" {
			b := u.tags[i-1][:0] // as Suffixed
			b = append(append(b, strings.TrimSuffix(v.ETag, `"`)...), '-')
			b = append(append(b, coding.String()...), '"')
			v.ETag = unsafe.String(unsafe.SliceData(b), len(b))
		}
		e.Variants[coding] = v
	}
}
