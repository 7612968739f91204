package h2

import (
	"golang.org/x/net/http2/hpack"
)

const (
	tableSize  = 4096 // bytes of the dynamic table, the default (RFC 7541, section 4.1)
	perEntry   = 32   // bytes that an entry counts besides its text
	maxEntries = tableSize / perEntry
)

// A Field is a header field, or pseudo field, of a request.
type Field struct {
	Name, Value []byte
	invalid     bool // not valid in HTTP/2; checked once, when it arrives (RFC 9113, section 8.2.1)
}

// size returns the size of a field in a table, or towards the limit of a list (RFC 7541, section
// 4.1; RFC 9113, section 6.5.2).
func (f *Field) size() int { return len(f.Name) + len(f.Value) + perEntry }

// static is the static table (RFC 7541, appendix A), indexed from 1.
var static = func() (t [62]Field) {
	for i := 1; i < len(t); i++ {
		hpack.NewDecoder(0, func(f hpack.HeaderField) {
			t[i] = Field{Name: []byte(f.Name), Value: []byte(f.Value)}
		}).Write([]byte{0x80 | byte(i)})
	}
	return t
}()

// A table is the dynamic table of a decoder (RFC 7541, section 2.3.2): a ring of entries whose text
// lies in one buffer that only grows at its end. Earlier results stay valid, because a full buffer
// is replaced and not overwritten.
type table struct {
	ring  []entry
	next  int // index of the next entry
	count int
	size  int // by the rules of RFC 7541
	most  int // the maximum size, set by the encoder
	text  []byte
}

// An entry locates the text of a field: its name from start to middle, its value from there to end.
type entry struct {
	start, middle, end uint16
	invalid            bool
}

func (e *entry) size() int { return int(e.end-e.start) + perEntry }

// entry returns entry i, counted from 1, the newest.
func (t *table) entry(i int) *entry {
	return &t.ring[(t.next-i+2*len(t.ring))%len(t.ring)]
}

// at returns the field of entry i.
func (t *table) at(i int) Field {
	e := t.entry(i)
	return Field{Name: t.text[e.start:e.middle:e.middle], Value: t.text[e.middle:e.end:e.end], invalid: e.invalid}
}

// add adds an entry and evicts old ones to make room. An entry larger than the table empties it
// (section 4.4).
func (t *table) add(f *Field) {
	size := f.size()
	t.shrink(t.most - size)
	if size > t.most {
		return
	}
	if t.count == len(t.ring) {
		t.grow()
	}
	if n := len(f.Name) + len(f.Value); cap(t.text)-len(t.text) < n {
		t.move(min(max(512, 2*(t.size+n)), 2*tableSize))
	}
	start := len(t.text)
	t.text = append(append(t.text, f.Name...), f.Value...)
	t.ring[t.next] = entry{uint16(start), uint16(start + len(f.Name)), uint16(len(t.text)), f.invalid}
	t.next = (t.next + 1) % len(t.ring)
	t.count++
	t.size += size
}

// shrink evicts the oldest entries until the others have at most so many bytes.
func (t *table) shrink(most int) {
	for t.count > 0 && t.size > most {
		t.size -= t.entry(t.count).size()
		t.count--
	}
}

// resize sets the size that the encoder has announced.
func (t *table) resize(most int) {
	t.most = most
	t.shrink(most)
}

// grow enlarges the ring, which starts small because most connections have few entries.
func (t *table) grow() {
	ring := make([]entry, min(max(16, 2*len(t.ring)), maxEntries))
	for i := t.count; i > 0; i-- {
		ring[t.count-i] = *t.entry(i)
	}
	t.ring, t.next = ring, t.count%len(ring)
}

// move copies the text into a new buffer of this capacity. Earlier results keep the old one.
func (t *table) move(room int) {
	text := make([]byte, 0, room)
	for i := t.count; i > 0; i-- {
		e, at := t.entry(i), len(text)
		text = append(text, t.text[e.start:e.end]...)
		e.start, e.middle, e.end = uint16(at), uint16(at+int(e.middle-e.start)), uint16(len(text))
	}
	t.text = text
}

// compact frees memory that an idle connection does not need: text that belongs to no entry.
func (t *table) compact() {
	if used := t.size - t.count*perEntry; cap(t.text) > tableSize/4 && cap(t.text) > used+used/4 {
		t.move(used)
	}
}
