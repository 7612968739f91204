package h3

import (
	"bytes"

	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/h2/huffman"
	"github.com/iconedge/iconedge/edge/request"
)

// A field is a field line. Its parts are views of the head, of the static table, or of text.
type field struct{ name, value []byte }

// A decoder decodes field sections (RFC 9204, section 4.5) without allocating. Its results are
// valid until the next one.
type decoder struct {
	fields []field
	text   []byte // decoded Huffman strings
}

const (
	maxFields = 128
	fieldCost = 32 // bytes that a field counts besides its text (RFC 9114, section 4.2.2)
)

// decode decodes a field section. It is not ok if the section can't be decoded, refers to a dynamic
// table, or has more than most bytes or too many fields.
func (d *decoder) decode(b []byte, most int) (ok bool) {
	d.fields, d.text = d.fields[:0], d.text[:0]
	if len(b) < 2 || b[0] != 0 || b[1]&0x7f != 0 { // the count of inserts, and the base
		return false
	}
	for b = b[2:]; len(b) > 0; {
		var f field
		if f, b, ok = d.line(b); !ok {
			return false
		}
		if most -= len(f.name) + len(f.value) + fieldCost; most < 0 || len(d.fields) == maxFields {
			return false
		}
		d.fields = append(d.fields, f)
	}
	return true
}

// line cuts the first field line off b.
func (d *decoder) line(b []byte) (f field, rest []byte, ok bool) {
	var n int
	switch c := b[0]; {
	case c&0xc0 == 0xc0: // indexed, static (section 4.5.2)
		if n, b, ok = h2.ReadInt(b, 6); !ok || n >= len(static) {
			return f, nil, false
		}
		return static[n], b, true
	case c&0xd0 == 0x50: // a name of the static table (section 4.5.4)
		if n, b, ok = h2.ReadInt(b, 4); !ok || n >= len(static) {
			return f, nil, false
		}
		f.name = static[n].name
	case c&0xe0 == 0x20: // literal (section 4.5.6)
		if f.name, b, ok = d.string(b, 3); !ok || !h2.IsName(f.name) {
			return f, nil, false
		}
	default: // of the dynamic table, which has no entries
		return f, nil, false
	}
	f.value, rest, ok = d.string(b, 7)
	return f, rest, ok && h2.IsValue(f.value)
}

// string cuts a string off b. Its length has so many bits, after the one that says whether it is in
// the Huffman code.
func (d *decoder) string(b []byte, bits uint) (s, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	coded := b[0]>>bits&1 != 0
	n, b, ok := h2.ReadInt(b, bits)
	if !ok || n > len(b) {
		return nil, nil, false
	}
	s, rest = b[:n:n], b[n:]
	if !coded {
		return s, rest, true
	}
	at := len(d.text)
	var err error
	d.text, err = huffman.Append(d.text, s)
	return d.text[at:len(d.text):len(d.text)], rest, err == nil
}

// Line implements request.Fields for the last field section.
func (d *decoder) Line(name string, nth int) []byte {
	for i := range d.fields {
		if !request.SameName(d.fields[i].name, name) {
			continue
		}
		if nth == 0 {
			return d.fields[i].value
		}
		nth--
	}
	return nil
}

// parse reads an eligible request, which is a HEADERS frame and nothing else. It reports false for
// any other request, a malformed one (RFC 9114, section 4.3) among them.
func (s *scratch) parse(stream []byte, most int) bool {
	start, length, ok := cutHead(stream)
	if !ok || start+length != len(stream) || !s.decode(stream[start:], most) {
		return false
	}
	q := &s.request
	q.Reset()
	var method, scheme, path, authority []byte
	for i := range s.fields {
		f := &s.fields[i]
		if f.name[0] != ':' {
			if !isPlain(f) || q.Field(f.name, f.value) != request.Eligible {
				return false
			}
			continue
		}
		var at *[]byte
		switch string(f.name) {
		case ":method":
			at = &method
		case ":scheme":
			at = &scheme
		case ":path":
			at = &path
		case ":authority":
			at = &authority
		}
		if at == nil || *at != nil || len(f.value) == 0 || i > 0 && s.fields[i-1].name[0] != ':' {
			return false
		}
		*at = f.value
	}
	q.Head = string(method) == "HEAD"
	if !q.Head && string(method) != "GET" || string(scheme) != "https" || authority == nil || q.SetTarget(path) != request.Eligible {
		return false
	}
	q.Host = authority
	return true
}

// isPlain reports whether a field is allowed in HTTP/3 (RFC 9114, section 4.2), and says nothing
// about the connection or the authority.
func isPlain(f *field) bool {
	switch string(f.name) {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "te", "host":
		return false
	}
	return true
}

// priority parses a Priority field (RFC 9218, section 4).
func priority(value []byte) (urgency int8, incremental bool) {
	for part := range bytes.SplitSeq(value, []byte(",")) {
		switch string(bytes.TrimSpace(part)) {
		case "i", "i=?1":
			incremental = true
		}
	}
	return int8(h2.Urgency(value)), incremental
}
