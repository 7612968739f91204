package cache

import (
	"bytes"
	"sync"
	"unsafe"
)

// A parcel is an entry made ready to be put into a cell.
type parcel struct {
	cell    cell
	labels  []uint64
	text    encoder
	common  encoder
	notes   encoder
	line    []byte // of a field, while it is looked for
	bodies  [3][]byte
	vouched bool // the common is one that others have too
}

var parcels = sync.Pool{New: func() any { return new(parcel) }}

// A span is a part of the text.
type span struct{ off, n int }

// pack makes a parcel of a labelled entry, if it is one that fits into a cell of so many bytes. What the text has already is not
// written a second time: a surrogate key stands in the field of that name, the date among the entry's own lines.
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

// head writes what is found in a cell without reading the notes.
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

// find returns where something stands in the text, at the end if it did not before.
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

// rest writes everything else: what entries have alike to the common, in the same order as to the notes what is this one's own.
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

// field writes a field: its value to the notes where it is one of the entry alone.
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

// isOwn reports whether a value is probably in no other entry: where it stands among the entry's own lines, or, if these are not
// told apart, by its name.
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

// codings takes in all bodies. It is not ok where an entity tag does not follow from that of the identity body: no such entry is
// made but by hand.
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

// measure fills in the lengths, if all of it has room in a cell of so many bytes.
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

// share takes the common out of the parcel, if it is kept among those of all.
func (p *parcel) share(k *commons) {
	if p.cell.common = k.use(p.common.b, p.vouched); p.cell.common != 0 {
		p.cell.ownCommon, p.common.b = 0, p.common.b[:0]
	}
}

// unload puts the parcel where a cell is to be.
func (p *parcel) unload(at *cell) {
	to := unsafe.Slice((*byte)(unsafe.Pointer(at)), p.cell.end())
	n := copy(to, unsafe.Slice((*byte)(unsafe.Pointer(&p.cell)), cellStart))
	n += copy(to[n:], unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p.labels))), 8*len(p.labels)))
	for _, part := range [...][]byte{p.text.b, p.notes.b, p.common.b, p.bodies[Identity], p.bodies[Gzip], p.bodies[Brotli]} {
		n += copy(to[n:], part)
	}
}
