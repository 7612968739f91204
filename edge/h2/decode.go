package h2

import (
	"errors"
	"sync"

	"github.com/iconedge/iconedge/edge/h2/huffman"
	"github.com/iconedge/iconedge/edge/request"
)

// errCompression is a connection error, because the tables of both sides differ from then on (RFC
// 9113, section 4.3).
var errCompression = errors.New("a header block can't be decoded")

// A decoder decodes header blocks (RFC 7541). It allocates nothing for fields that are in a table.
// Its results are valid until the next block.
type decoder struct {
	table     table
	fields    []Field
	text      []byte   // decoded Huffman strings
	borrowed  *scratch // holds fields and text; nil: neither is in use
	size      int      // bytes that fields take
	truncated bool     // the list is longer than allowed, and fields holds only its beginning
}

const (
	maxFields = 128
	fieldCost = 64 // bytes that a Field takes besides its text
)

func (d *decoder) init() { d.table.most = tableSize }

// A scratch is a buffer to decode into. A connection has one only while it decodes.
type scratch struct {
	fields []Field
	text   []byte
}

const maxScratch = 32 << 10 // bytes of text that go back to the pool

var scratches = sync.Pool{New: func() any { return &scratch{fields: make([]Field, 0, 32)} }}

// begin takes a scratch.
func (d *decoder) begin() {
	if d.borrowed == nil {
		d.borrowed = scratches.Get().(*scratch)
		d.fields, d.text = d.borrowed.fields, d.borrowed.text
	}
	d.fields, d.text, d.size, d.truncated = d.fields[:0], d.text[:0], 0, false
}

// release frees memory that is not needed until the next block. Earlier results become invalid.
func (d *decoder) release() {
	d.table.compact()
	if d.borrowed == nil {
		return
	}
	clear(d.fields[:cap(d.fields)])
	if d.borrowed.fields = d.fields[:0]; cap(d.text) <= maxScratch {
		d.borrowed.text = d.text[:0]
	}
	scratches.Put(d.borrowed)
	d.fields, d.text, d.borrowed = nil, nil, nil
}

// decode decodes one block into d.fields. If the list has more than most bytes, or too many fields,
// it drops the rest and sets d.truncated; the table gets all entries nevertheless.
func (d *decoder) decode(b []byte, most int) error {
	d.begin()
	if len(b) > 0 && b[0] == 0x3f || len(b) > 0 && b[0]&0xe0 == 0x20 {
		var err error
		if b, err = d.tableSizes(b); err != nil {
			return err
		}
	}
	total := 0
	for len(b) > 0 {
		var f Field
		var err error
		switch c := b[0]; {
		case c&0x80 != 0: // section 6.1
			f, b, err = d.indexed(b)
		case c&0xc0 == 0x40: // section 6.2.1
			if f, b, err = d.literal(b, 6); err == nil {
				d.table.add(&f)
			}
		case c&0xe0 == 0x20: // a table size is only allowed at the beginning (section 4.2)
			return errCompression
		default: // sections 6.2.2 and 6.2.3
			f, b, err = d.literal(b, 4)
		}
		if err != nil {
			return err
		}
		if d.truncated {
			continue
		}
		if total += f.size(); total > most || len(d.fields) == maxFields {
			d.truncated = true
			continue
		}
		d.fields, d.size = append(d.fields, f), d.size+len(f.Name)+len(f.Value)+fieldCost
	}
	return nil
}

// Line implements request.Fields for the last block.
func (d *decoder) Line(name string, nth int) []byte {
	for i := range d.fields {
		if !request.SameName(d.fields[i].Name, name) {
			continue
		}
		if nth == 0 {
			return d.fields[i].Value
		}
		nth--
	}
	return nil
}

// tableSizes reads the table sizes at the beginning of a block, of which two at most are useful
// (section 4.2).
func (d *decoder) tableSizes(b []byte) ([]byte, error) {
	for i := 0; len(b) > 0 && b[0]&0xe0 == 0x20; i++ {
		n, rest, ok := ReadInt(b, 5)
		if !ok || n > tableSize || i == 2 {
			return nil, errCompression
		}
		d.table.resize(n)
		b = rest
	}
	return b, nil
}

func (d *decoder) indexed(b []byte) (Field, []byte, error) {
	n, rest, ok := ReadInt(b, 7)
	if !ok || n == 0 || n > len(static)-1+d.table.count {
		return Field{}, nil, errCompression
	}
	if n < len(static) {
		return static[n], rest, nil
	}
	return d.table.at(n - len(static) + 1), rest, nil
}

// literal reads a field with a literal value. The index of its name has so many bits.
func (d *decoder) literal(b []byte, bits uint) (f Field, rest []byte, err error) {
	n, b, ok := ReadInt(b, bits)
	if !ok || n > len(static)-1+d.table.count {
		return f, nil, errCompression
	}
	switch {
	case n == 0:
		if f.Name, b, err = d.string(b); err != nil {
			return f, nil, err
		}
		f.invalid = !IsName(f.Name)
	case n < len(static):
		f.Name = static[n].Name
	default:
		known := d.table.at(n - len(static) + 1)
		f.Name, f.invalid = known.Name, known.invalid && !IsName(known.Name)
	}
	if f.Value, b, err = d.string(b); err != nil {
		return f, nil, err
	}
	f.invalid = f.invalid || !IsValue(f.Value)
	return f, b, nil
}

// string reads a string literal (section 5.2).
func (d *decoder) string(b []byte) (s, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, errCompression
	}
	coded := b[0]&0x80 != 0
	n, b, ok := ReadInt(b, 7)
	if !ok || n > len(b) {
		return nil, nil, errCompression
	}
	s, rest = b[:n:n], b[n:]
	if !coded {
		return s, rest, nil
	}
	at := len(d.text)
	if d.text, err = huffman.Append(d.text, s); err != nil {
		return nil, nil, errCompression
	}
	return d.text[at:len(d.text):len(d.text)], rest, nil
}

// ReadInt reads an integer with a prefix of so many bits (section 5.1). It accepts at most four
// more bytes, which is enough for every valid value.
func ReadInt(b []byte, bits uint) (n int, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	most := 1<<bits - 1
	n = int(b[0]) & most
	b = b[1:]
	if n < most {
		return n, b, true
	}
	for i := 0; i < len(b) && i < 4; i++ {
		n += int(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}

// IsName reports whether a name is valid in HTTP/2: a token in lower case, with or without a colon
// before it (RFC 9113, section 8.2.1).
func IsName(name []byte) bool {
	if len(name) > 0 && name[0] == ':' {
		name = name[1:]
	}
	for _, c := range name {
		if !isLowerToken[c] {
			return false
		}
	}
	return len(name) > 0
}

// IsValue reports whether a value is valid in HTTP/2: no control characters except tabs, no space
// at an end.
func IsValue(value []byte) bool {
	n := len(value)
	return !request.Controls(value) && (n == 0 || value[0] > ' ' && value[n-1] > ' ')
}

var isLowerToken = func() (t [256]bool) {
	for c := range t {
		t[c] = request.Token[c] && !('A' <= c && c <= 'Z')
	}
	return t
}()
