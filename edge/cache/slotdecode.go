package cache

import "unsafe"

// A decodedSlot is an entry decoded from a slot, with the values that it points to.
type decodedSlot struct {
	entry    Entry
	head     Head
	variants [3]Variant
	spans    spanReader
}

// A spanReader reads the spans of a slot.
type spanReader struct {
	decoder
	text string
}

// decode returns the entry of a slot: a copy, except for the interned header, which does not
// change. For a heap slot it returns the entry itself.
func (l *slot) decode(k *internTable) *Entry {
	if l.shape&large != 0 {
		return l.entry()
	}
	buf := append([]byte(nil), l.bytes(l.start(), uint16(l.end()-l.start()))...)
	u := &decodedSlot{}
	c := l.internedOf(k, buf)
	text, rest := buf[:l.text:l.text], buf[l.text:]
	u.spans = spanReader{decoder{b: rest[:l.spans:l.spans]}, unsafe.String(unsafe.SliceData(text), len(text))}
	u.describe(l, c)
	u.bodies(l, rest[l.spans+l.ownHeader:])
	return &u.entry
}

// internedOf returns the interned header of a slot, or the slot's own, which is in buf, a copy of
// the content after the labels.
func (l *slot) internedOf(k *internTable, buf []byte) *interned {
	if l.interned != 0 {
		return k.of(l.interned)
	}
	off := l.text + l.spans
	return parseInterned(buf[off : off+l.ownHeader : off+l.ownHeader])
}

func (u *decodedSlot) describe(l *slot, c *interned) {
	e, n := &u.entry, &u.spans
	e.id, e.generation, e.cost = l.id, l.generation, l.bytesTaken()
	e.labels = append(e.few[:0], l.labels()...)
	e.checked.Store(l.checked.Load())
	e.hits.Store(l.hits.Load())
	e.expiredAt.Store(l.expiredAt.Load())
	e.expiredBy.Store(l.expiredBy.Load())
	e.Key, e.Secondary = n.text[:l.key], n.text[l.key:l.key+l.secondary]
	e.Policy = l.policy(c)
	if l.shape&withHead != 0 {
		u.head = l.headOf(c, asBytes(n.text[l.key+l.secondary:]))
		e.Head = &u.head
	}
	shared := &decoder{b: c.rest}
	e.Status, e.plain, e.ContentType = int(shared.uint()), shared.bool(), shared.part()
	e.Monochrome, e.Release, e.Vary = asString(shared.part()), asString(shared.part()), shared.texts()
	e.Fields, e.FieldsWithBody = n.fields(shared), n.fields(shared)
	e.Date, e.LastModified, e.Validator = asBytes(n.string()), n.time().UTC(), n.string()
	if count := n.count(); count > 0 {
		e.Tags = make([]string, count)
		for i := range e.Tags {
			e.Tags[i] = n.string()
		}
	}
}

// headOf returns the head of an entry; lines begins with its own lines.
func (l *slot) headOf(c *interned, lines []byte) Head {
	h := c.head
	h.Own, h.OwnBody, h.ColourUses = lines[:l.own:l.own], lines[l.own:l.own+l.ownBody:l.own+l.ownBody], int(l.paints)
	return h
}

// string reads a span, and returns its text.
func (n *spanReader) string() string {
	off, size := n.uint(), n.uint()
	return n.text[off : off+size]
}

func (n *spanReader) fields(shared *decoder) []Field {
	count := shared.count()
	if count == 0 {
		return nil
	}
	list := make([]Field, count)
	for i := range list {
		list[i].Name = shared.part()
		if own := shared.bool(); own {
			list[i].Value = asBytes(n.string())
		} else {
			list[i].Value = shared.part()
		}
	}
	return list
}

func (u *decodedSlot) bodies(l *slot, b []byte) {
	e := &u.entry
	for i := range e.variants {
		c, v := Coding(i), &u.variants[i]
		if c != Identity && l.shape&withCoding(c) == 0 {
			continue
		}
		end := l.body[c]
		v.Body, b = b[:end:end], b[end:]
		if v.ETag = u.spans.text[l.tag : l.tag+l.tagLen]; c != Identity {
			v.ETag = Suffixed(v.ETag, c.String())
		}
		e.variants[c] = v
	}
}
