package memory

import (
	"slices"
	"unsafe"

	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

// A decodedSlot is an entry decoded from a slot, with the values that it points to.
type decodedSlot struct {
	entry    entry.Entry
	head     entry.Head
	variants [3]entry.Variant
	spans    spanReader
}

// A spanReader reads the spans of a slot.
type spanReader struct {
	codec.Decoder
	text string
}

// Decode returns the entry of a slot: a copy, except for the interned header, which does not
// change. For a heap slot it returns the entry itself.
func (l *Slot) Decode(k *Interned) *entry.Entry {
	if l.IsLarge() {
		return l.Entry()
	}
	buf := append([]byte(nil), l.bytes(l.start(), uint16(l.Size()-l.start()))...)
	u := &decodedSlot{}
	c := l.internedOf(k, buf)
	text, rest := buf[:l.text:l.text], buf[l.text:]
	u.spans = spanReader{codec.Decoder{Rest: rest[:l.spans:l.spans]}, unsafe.String(unsafe.SliceData(text), len(text))}
	u.describe(l, c)
	u.bodies(l, rest[l.spans+l.ownHeader:])
	return &u.entry
}

// internedOf returns the interned header of a slot, or the slot's own, which is in buf, a copy of
// the content after the labels.
func (l *Slot) internedOf(k *Interned, buf []byte) *interned {
	if l.Interned != 0 {
		return k.of(l.Interned)
	}
	off := l.text + l.spans
	return parseInterned(buf[off : off+l.ownHeader : off+l.ownHeader])
}

func (u *decodedSlot) describe(l *Slot, c *interned) {
	e, n := &u.entry, &u.spans
	e.Generation, e.Charged = l.Generation, l.Bytes()
	e.Labels = append(e.Few[:0], l.Labels()...)
	e.Checked.Store(l.checked.Load())
	e.ExpiredBy.Store(l.expiredBy.Load())
	if l.shape&withHead != 0 {
		u.head = l.headOf(c, codec.AsBytes(n.text[l.key+l.secondary:]))
		e.Head = &u.head
	}
	n.describe(e, l, c)
	if count := n.Count(); count > 0 {
		e.Tags = make([]string, count)
		for i := range e.Tags {
			e.Tags[i] = n.string()
		}
	}
}

// describe sets the parts of an entry that decide about its use, and its header fields. Their lists
// are appended to those that the entry has.
func (n *spanReader) describe(e *entry.Entry, l *Slot, c *interned) {
	e.ID, e.Key, e.Secondary, e.Policy = l.ID, n.text[:l.key], n.text[l.key:l.key+l.secondary], l.policy(c)
	e.Hits.Store(uint64(l.hits.Load()))
	e.ExpiredAt.Store(l.ExpiredAt.Load())
	shared := codec.Decoder{Rest: c.rest}
	e.Status, e.Plain, e.ContentType = int(shared.Uint()), shared.Bool(), shared.Part()
	e.Monochrome, e.Release, e.Vary = codec.AsString(shared.Part()), codec.AsString(shared.Part()), shared.AppendTexts(e.Vary)
	e.Fields = n.appendFields(e.Fields, &shared)
	e.FieldsWithBody = n.appendFields(e.FieldsWithBody, &shared)
	e.Date, e.LastModified, e.Validator = codec.AsBytes(n.string()), n.Time().UTC(), n.string()
}

// CopyState copies the values that change while an entry is stored to another entry.
func (l *Slot) CopyState(e *entry.Entry) {
	if l.IsLarge() {
		e.Hits.Store(l.Entry().Hits.Load())
	} else {
		e.Hits.Store(uint64(l.hits.Load()))
	}
	e.Checked.Store(l.checked.Load())
	e.ExpiredAt.Store(l.ExpiredAt.Load())
	e.ExpiredBy.Store(l.expiredBy.Load())
}

// headOf returns the head of an entry; lines begins with its own lines.
func (l *Slot) headOf(c *interned, lines []byte) entry.Head {
	h := c.head
	h.Own, h.OwnBody, h.Paint = lines[:l.own:l.own], lines[l.own:l.own+l.ownBody:l.own+l.ownBody], l.paint
	return h
}

// string reads a span, and returns its text.
func (n *spanReader) string() string {
	off, size := n.Uint(), n.Uint()
	return n.text[off : off+size]
}

func (n *spanReader) appendFields(list []entry.Field, shared *codec.Decoder) []entry.Field {
	count := shared.Count()
	list = slices.Grow(list, count)
	for range count {
		f := entry.Field{Name: shared.Part()}
		if own := shared.Bool(); own {
			f.Value = codec.AsBytes(n.string())
		} else {
			f.Value = shared.Part()
		}
		list = append(list, f)
	}
	return list
}

func (u *decodedSlot) bodies(l *Slot, b []byte) {
	e := &u.entry
	for i := range u.variants {
		c, v := entry.Coding(i), &u.variants[i]
		if c != entry.Identity && l.shape&withCoding(c) == 0 {
			continue
		}
		end := l.body[c]
		v.Body, b = b[:end:end], b[end:]
		if v.ETag = u.spans.text[l.tag : l.tag+l.tagLen]; c != entry.Identity {
			v.ETag = entry.Suffixed(v.ETag, c.String())
		}
		e.Variants[c] = v
	}
}
