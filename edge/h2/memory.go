package h2

import "sync"

// maxShared is how many fields can be shared: there are few that many answers have, and each of them is asked for in every memory.
const maxShared = 64

// A Shared is a field that many answers have, encoded ahead. The first that there are have a number; the others are always written out.
type Shared struct {
	number   uint8  // 0: none
	size     int    // in a table
	literal  []byte // without indexing (RFC 7541, section 6.2.2)
	entering []byte // with it (section 6.2.1)
}

// numbered are those that have one, by their literal.
var numbered = struct {
	sync.Mutex
	by map[string]*Shared
}{by: map[string]*Shared{}}

// Share encodes a field. It is the same Shared each time, for as long as there are numbers.
func Share(name, value []byte) *Shared {
	literal := AppendField(nil, name, value)
	numbered.Lock()
	defer numbered.Unlock()
	if s := numbered.by[string(literal)]; s != nil {
		return s
	}
	s := &Shared{size: len(name) + len(value) + perEntry, literal: literal}
	if n := len(numbered.by) + 1; n < maxShared {
		s.number, s.entering = uint8(n), AppendValue(AppendValue([]byte{0x40}, appendLower(nil, name)), value)
		numbered.by[string(literal)] = s
	}
	return s
}

// A Memory is what a client's decoder holds because we had it entered (RFC 7541, section 2.3.2): shared fields, each for the first answer that has it. They are
// entered while there is room and nothing ever has to leave, so that a place, once given, stays. Its zero value has no room.
type Memory struct {
	places [maxShared]uint8 // by number, how manieth the field was; 0: it is not there
	count  uint8
	room   int
}

// open gives it as much room as a decoder has at its beginning.
func (m *Memory) open() { m.room = tableSize }

// close forgets all: the client's table is gone, and is used no more.
func (m *Memory) close() { *m = Memory{} }

// Append appends a field to a header block that is certain to be sent, and before any that Append is called for later.
func (m *Memory) Append(dst []byte, s *Shared) []byte {
	if place := m.places[s.number]; place > 0 {
		return append(dst, 0x80|byte(len(static))+m.count-place) // the newest comes first, behind the static table (section 2.3.3)
	}
	if s.number == 0 || s.size > m.room {
		return append(dst, s.literal...)
	}
	m.room -= s.size
	m.count++
	m.places[s.number] = m.count
	return append(dst, s.entering...)
}
