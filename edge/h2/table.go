package h2

import (
	"sync"

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

// maxShared limits the number of shared fields. Few fields are common to many responses, and each
// takes space in every ClientTable.
const maxShared = 64

// A SharedField is a field common to many responses, encoded in advance. The first ones get a
// number; any others are always sent as text.
type SharedField struct {
	number  uint8  // 0: none
	size    int    // in a table
	literal []byte // without indexing (RFC 7541, section 6.2.2)
	indexed []byte // with indexing (section 6.2.1)
}

// numbered holds the shared fields with a number, by their literal.
var numbered = struct {
	sync.Mutex
	by map[string]*SharedField
}{by: map[string]*SharedField{}}

// NewSharedField encodes a field. It returns the same SharedField for the same field, as long as
// there are numbers.
func NewSharedField(name, value []byte) *SharedField {
	literal := AppendField(nil, name, value)
	numbered.Lock()
	defer numbered.Unlock()
	if s := numbered.by[string(literal)]; s != nil {
		return s
	}
	s := &SharedField{size: len(name) + len(value) + perEntry, literal: literal}
	if n := len(numbered.by) + 1; n < maxShared {
		s.number, s.indexed = uint8(n), AppendValue(AppendValue([]byte{0x40}, AppendLower(nil, name)), value)
		numbered.by[string(literal)] = s
	}
	return s
}

// A ClientTable records which fields a client's decoder has in its dynamic table (RFC 7541, section
// 2.3.2). A shared field is entered with the first response that contains it, while there is room,
// so that no entry is ever evicted and its position stays known. The zero value has no room.
type ClientTable struct {
	positions [maxShared]uint8 // by number: place in the order of entry, from 1; 0: not entered
	count     uint8
	free      int
}

// open gives the ClientTable the initial size of a decoder's table.
func (m *ClientTable) open() { m.free = tableSize }

// close empties the ClientTable, after the client has shrunk its table. The table is not used any
// more.
func (m *ClientTable) close() { *m = ClientTable{} }

// An encoder is the state of the header blocks that this side sends.
type encoder struct {
	table  ClientTable
	shrunk bool // the client made its table smaller; the next block must say so
}

// shrink empties the table, after the client has made it smaller. From now on blocks use no table.
func (e *encoder) shrink() {
	e.shrunk = true
	e.table.close()
}

// begin appends the beginning of a block, before its fields. begun must be called when the block is
// sent.
func (e *encoder) begin(dst []byte) []byte {
	if e.shrunk {
		dst = append(dst, 0x20) // table size 0 (RFC 7541, section 4.2)
	}
	return dst
}

func (e *encoder) begun() { e.shrunk = false }

// Append appends a field to a header block. The block must be sent, and before any other block made
// with m.
func (m *ClientTable) Append(dst []byte, s *SharedField) []byte {
	if position := m.positions[s.number]; position > 0 {
		// Index 1 after the static table is the newest entry (section 2.3.3).
		return append(dst, 0x80|byte(len(static))+m.count-position)
	}
	if s.number == 0 || s.size > m.free {
		return append(dst, s.literal...)
	}
	m.free -= s.size
	m.count++
	m.positions[s.number] = m.count
	return append(dst, s.indexed...)
}
