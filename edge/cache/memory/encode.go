package memory

import (
	"bytes"
	"sync"
	"unsafe"

	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

// An Encoder encodes an entry as the content of a slot.
type Encoder struct {
	slot     Slot
	labels   []uint64
	text     codec.Encoder
	interned codec.Encoder
	spans    codec.Encoder
	line     []byte // buffer for a header line
	bodies   [3][]byte
	shared   bool // the header text is that of other entries too
}

// NewEncoder returns an encoder, perhaps one that was released.
func NewEncoder() *Encoder { return encoders.Get().(*Encoder) }

// Release makes the encoder available again.
func (p *Encoder) Release() { encoders.Put(p) }

var encoders = sync.Pool{New: func() any { return new(Encoder) }}

// A span is a part of the text.
type span struct{ off, n int }

// Encode encodes an entry whose hashes are set. ok is false if it does not fit into a slot of most
// bytes, or its body is stored in slices. Text that occurs already is not repeated: a surrogate key
// is in the field of that name, the date in the entry's own lines.
func (p *Encoder) Encode(e *entry.Entry, most int) (ok bool) {
	p.text.Out, p.interned.Out, p.spans.Out = p.text.Out[:0], p.interned.Out[:0], p.spans.Out[:0]
	p.slot, p.bodies, p.labels = Slot{}, [3][]byte{}, e.Labels[1:]
	stored, fits := nanos(e.Policy.Stored)
	if id := e.Identity(); !fits || id == nil || e.IsObject() || len(p.labels) > 0xff || e.Cost() > int64(4*most) {
		return false
	}
	p.slot.stored, p.slot.age, p.slot.lifetime = stored, e.Policy.Age, e.Policy.Lifetime
	p.head(e)
	p.rest(e)
	return p.codings(e) && p.measure(most)
}

// head encodes the parts that are read without the spans.
func (p *Encoder) head(e *entry.Entry) {
	own, ownBody := []byte(nil), []byte(nil)
	if p.shared = e.Head != nil; p.shared {
		own, ownBody = e.Head.Own, e.Head.OwnBody
		p.slot.shape |= withHead
		p.slot.paint = e.Head.Paint
	}
	p.text.Out = append(append(append(append(p.text.Out, e.Key...), e.Secondary...), own...), ownBody...)
	l := &p.slot
	l.key, l.secondary, l.own, l.ownBody = uint16(len(e.Key)), uint16(len(e.Secondary)), uint16(len(own)), uint16(len(ownBody))
	tag := p.find([]byte(e.Identity().ETag))
	l.tag, l.tagLen = uint16(tag.off), uint16(tag.n)
}

// find returns the position of b in the text. It appends b if the text does not contain it.
func (p *Encoder) find(b []byte) span {
	off := bytes.Index(p.text.Out, b)
	if off < 0 {
		off = len(p.text.Out)
		p.text.Out = append(p.text.Out, b...)
	}
	return span{off, len(b)}
}

func (p *Encoder) addSpan(b []byte) {
	s := p.find(b)
	p.spans.Uint(uint64(s.off))
	p.spans.Uint(uint64(s.n))
}

func (p *Encoder) addStringSpan(s string) { p.addSpan(unsafe.Slice(unsafe.StringData(s), len(s))) }

// rest encodes everything else. Parts that entries share go to the header text, parts of this entry
// alone to the spans, in the same order.
func (p *Encoder) rest(e *entry.Entry) {
	w := &p.interned
	writeInterned(w, e)
	w.Uint(uint64(e.Status))
	w.Bool(e.Plain)
	w.Bytes(e.ContentType)
	w.String(e.Monochrome)
	w.String(e.Release)
	w.Strings(e.Vary)
	for _, list := range [...][]entry.Field{e.Fields, e.FieldsWithBody} {
		w.Uint(uint64(len(list)))
		for _, f := range list {
			p.field(f)
		}
	}
	p.addSpan(e.Date)
	p.spans.Time(e.LastModified)
	p.addStringSpan(e.Validator)
	p.spans.Uint(uint64(len(e.Tags)))
	for _, t := range e.Tags {
		p.addStringSpan(t)
	}
}

// field encodes a field. A value that is specific to the entry goes to the spans.
func (p *Encoder) field(f entry.Field) {
	p.interned.Bytes(f.Name)
	own := p.isOwn(f)
	p.interned.Bool(own)
	if own {
		p.addSpan(f.Value)
	} else {
		p.interned.Bytes(f.Value)
	}
}

// isOwn reports whether a value is probably in no other entry: it is among the entry's own lines,
// or, if the entry has no Head, its name suggests so.
func (p *Encoder) isOwn(f entry.Field) bool {
	if p.shared {
		p.line = append(append(append(append(p.line[:0], f.Name...), ": "...), f.Value...), "\r\n"...)
		return bytes.Contains(p.text.Out[p.slot.key+p.slot.secondary:], p.line)
	}
	switch string(f.Name) {
	case "Content-Disposition", "Content-Location", "Content-Range", "Expires", "Last-Modified", "Link", "Location",
		"Set-Cookie", "Surrogate-Key":
		return true
	}
	return false
}

// codings adds all bodies. ok is false if an entity tag does not derive from that of the identity
// body, or for a coding that few clients need: a slot has no room for its length.
func (p *Encoder) codings(e *entry.Entry) (ok bool) {
	ok = true
	for c, v := range e.Variants {
		if v == nil {
			continue
		}
		if c >= len(p.bodies) {
			return false
		}
		p.bodies[c] = v.Body
		if coding := entry.Coding(c); coding != entry.Identity {
			p.slot.shape |= withCoding(coding)
			ok = ok && v.ETag == entry.Suffixed(e.Identity().ETag, coding.String())
		}
	}
	return ok
}

// measure sets the lengths, and reports whether the slot has at most most bytes.
func (p *Encoder) measure(most int) bool {
	size := slotStart + 8*len(p.labels) + len(p.text.Out) + len(p.spans.Out) + len(p.interned.Out)
	for _, b := range p.bodies {
		size += len(b)
	}
	if size > most {
		return false
	}
	l := &p.slot
	l.tags, l.text, l.spans, l.ownHeader = uint8(len(p.labels)), uint16(len(p.text.Out)), uint16(len(p.spans.Out)),
		uint16(len(p.interned.Out))
	for c, b := range p.bodies {
		l.body[c] = uint16(len(b))
	}
	return true
}

// Intern moves the header text to the table of interned headers, if it has room.
func (p *Encoder) Intern(k *Interned) {
	if p.slot.Interned = k.use(p.interned.Out, p.shared); p.slot.Interned != 0 {
		p.slot.ownHeader, p.interned.Out = 0, p.interned.Out[:0]
	}
}

// Size returns the size of the slot.
func (p *Encoder) Size() int { return p.slot.Size() }

// Number returns the number of the interned header; 0: none.
func (p *Encoder) Number() uint32 { return p.slot.Interned }

// WriteTo writes the slot of an entry that is stored now.
func (p *Encoder) WriteTo(at *Slot, e *entry.Entry) {
	p.slot.setStored(e)
	to := unsafe.Slice((*byte)(unsafe.Pointer(at)), p.slot.Size())
	n := copy(to, unsafe.Slice((*byte)(unsafe.Pointer(&p.slot)), slotStart))
	n += copy(to[n:], unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p.labels))), 8*len(p.labels)))
	for _, part := range [...][]byte{p.text.Out, p.spans.Out, p.interned.Out, p.bodies[entry.Identity],
		p.bodies[entry.Gzip], p.bodies[entry.Brotli]} {
		n += copy(to[n:], part)
	}
}
