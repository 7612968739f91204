package cache

import (
	"bytes"
	"sync"
	"unsafe"
)

// A slotEncoder encodes an entry as the content of a slot.
type parcel struct {
	cell    cell
	labels  []uint64
	text    encoder
	common  encoder
	notes   encoder
	line    []byte // buffer for a header line
	bodies  [3][]byte
	vouched bool // the header text is that of other entries too
}

var parcels = sync.Pool{New: func() any { return new(parcel) }}

// A span is a part of the text.
type span struct{ off, n int }

// encode encodes a labelled entry. ok is false if it does not fit into a slot of most bytes. Text
// that occurs already is not repeated: a surrogate key is in the field of that name, the date in
// the entry's own lines.
func (p *parcel) pack(e *Entry, most int) (ok bool) {
	p.text.b, p.common.b, p.notes.b = p.text.b[:0], p.common.b[:0], p.notes.b[:0]
	p.cell, p.bodies, p.labels = cell{}, [3][]byte{}, e.labels[1:]
	stored, fits := nanos(e.Policy.Stored)
	if id := e.Identity(); !fits || id == nil || len(p.labels) > 0xff || e.Cost() > int64(4*most) {
		return false
	}
	p.cell.stored, p.cell.age, p.cell.lifetime = stored, e.Policy.Age, e.Policy.Lifetime
	p.head(e)
	p.rest(e)
	return p.codings(e) && p.measure(most)
}

// head encodes the parts that are read without the spans.
func (p *parcel) head(e *Entry) {
	own, ownBody := []byte(nil), []byte(nil)
	if p.vouched = e.Head != nil; p.vouched {
		own, ownBody = e.Head.Own, e.Head.OwnBody
		p.cell.shape |= withHead
		p.cell.paints = int32(e.Head.Paints)
	}
	p.text.b = append(append(append(append(p.text.b, e.Key...), e.Secondary...), own...), ownBody...)
	l := &p.cell
	l.key, l.secondary, l.own, l.ownBody = uint16(len(e.Key)), uint16(len(e.Secondary)), uint16(len(own)), uint16(len(ownBody))
	tag := p.find([]byte(e.Identity().ETag))
	l.tag, l.tagLen = uint16(tag.off), uint16(tag.n)
}

// find returns the position of b in the text. It appends b if the text does not contain it.
func (p *parcel) find(b []byte) span {
	off := bytes.Index(p.text.b, b)
	if off < 0 {
		off = len(p.text.b)
		p.text.b = append(p.text.b, b...)
	}
	return span{off, len(b)}
}

func (p *parcel) note(b []byte) {
	s := p.find(b)
	p.notes.uint(uint64(s.off))
	p.notes.uint(uint64(s.n))
}

func (p *parcel) noteString(s string) { p.note(unsafe.Slice(unsafe.StringData(s), len(s))) }

// rest encodes everything else. Parts that entries share go to the header text, parts of this entry
// alone to the spans, in the same order.
func (p *parcel) rest(e *Entry) {
	w := &p.common
	w.common(e)
	w.uint(uint64(e.Status))
	w.bool(e.plain)
	w.bytes(e.ContentType)
	w.string(e.Monochrome)
	w.string(e.Release)
	w.strings(e.Vary)
	for _, list := range [...][]Field{e.Fields, e.Missing} {
		w.uint(uint64(len(list)))
		for _, f := range list {
			p.field(f)
		}
	}
	p.note(e.Date)
	p.notes.time(e.LastModified)
	p.noteString(e.Validator)
	p.notes.uint(uint64(len(e.Tags)))
	for _, t := range e.Tags {
		p.noteString(t)
	}
}

// field encodes a field. A value that is specific to the entry goes to the spans.
func (p *parcel) field(f Field) {
	p.common.bytes(f.Name)
	own := p.isOwn(f)
	p.common.bool(own)
	if own {
		p.note(f.Value)
	} else {
		p.common.bytes(f.Value)
	}
}

// isOwn reports whether a value is probably in no other entry: it is among the entry's own lines,
// or, if the entry has no Head, its name suggests so.
func (p *parcel) isOwn(f Field) bool {
	if p.vouched {
		p.line = append(append(append(append(p.line[:0], f.Name...), ": "...), f.Value...), "\r\n"...)
		return bytes.Contains(p.text.b[p.cell.key+p.cell.secondary:], p.line)
	}
	switch string(f.Name) {
	case "Content-Disposition", "Content-Location", "Content-Range", "Expires", "Last-Modified", "Link", "Location", "Set-Cookie", "Surrogate-Key":
		return true
	}
	return false
}

// codings adds all bodies. ok is false if an entity tag does not derive from that of the identity
// body.
func (p *parcel) codings(e *Entry) (ok bool) {
	ok = true
	for c, v := range e.variants {
		if v == nil {
			continue
		}
		p.bodies[c] = v.Body
		if coding := Coding(c); coding != Identity {
			p.cell.shape |= has(coding)
			ok = ok && v.ETag == Suffixed(e.Identity().ETag, coding.String())
		}
	}
	return ok
}

// measure sets the lengths, and reports whether the slot has at most most bytes.
func (p *parcel) measure(most int) bool {
	size := cellStart + 8*len(p.labels) + len(p.text.b) + len(p.notes.b) + len(p.common.b)
	for _, b := range p.bodies {
		size += len(b)
	}
	if size > most {
		return false
	}
	l := &p.cell
	l.tags, l.text, l.notes, l.ownCommon = uint8(len(p.labels)), uint16(len(p.text.b)), uint16(len(p.notes.b)), uint16(len(p.common.b))
	for c, b := range p.bodies {
		l.body[c] = uint16(len(b))
	}
	return true
}

// intern moves the header text to the table of interned headers, if it has room.
func (p *parcel) share(k *commons) {
	if p.cell.common = k.use(p.common.b, p.vouched); p.cell.common != 0 {
		p.cell.ownCommon, p.common.b = 0, p.common.b[:0]
	}
}

// writeTo writes the content to the memory of a slot.
func (p *parcel) unload(at *cell) {
	to := unsafe.Slice((*byte)(unsafe.Pointer(at)), p.cell.end())
	n := copy(to, unsafe.Slice((*byte)(unsafe.Pointer(&p.cell)), cellStart))
	n += copy(to[n:], unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p.labels))), 8*len(p.labels)))
	for _, part := range [...][]byte{p.text.b, p.notes.b, p.common.b, p.bodies[Identity], p.bodies[Gzip], p.bodies[Brotli]} {
		n += copy(to[n:], part)
	}
}
