package h2

import "sync"

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

// NewSharedField encodes a field. It returns the same Shared for the same field, as long as there
// are numbers.
func NewSharedField(name, value []byte) *SharedField {
	literal := AppendField(nil, name, value)
	numbered.Lock()
	defer numbered.Unlock()
	if s := numbered.by[string(literal)]; s != nil {
		return s
	}
	s := &SharedField{size: len(name) + len(value) + perEntry, literal: literal}
	if n := len(numbered.by) + 1; n < maxShared {
		s.number, s.indexed = uint8(n), AppendValue(AppendValue([]byte{0x40}, appendLower(nil, name)), value)
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
