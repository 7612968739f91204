package icondata

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
)

// Join appends the response that consists of the prepared pieces of a: aliases and icons in their
// order.
func (a *Answer) Join(dst []byte) []byte {
	dst = a.appendMembers(a.appendStart(dst), true)
	dst = a.appendMembers(append(dst, between...), false)
	return a.appendEnd(dst)
}

// Len returns the length of the response, in bytes.
func (a *Answer) Len() int {
	plain, _ := a.lengths()
	return plain
}

// JoinGzip appends the same response in the coding gzip (RFC 1952). It concatenates the deflated
// pieces and combines their checksums. All pieces must be deflated.
func (a *Answer) JoinGzip(dst []byte) []byte {
	var memory [textRoom]byte
	// No name, no time, unknown system.
	j := gzipJoin{dst: append(dst, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff)}
	j.text(a.appendStart(memory[:0]))
	j.members(a, true)
	j.text(append(memory[:0], between...))
	j.members(a, false)
	j.text(a.appendEnd(memory[:0]))
	dst = append(j.dst, 0x03, 0x00) // a last block without content (RFC 1951, section 3.2.3)
	dst = binary.LittleEndian.AppendUint32(dst, j.sum)
	return binary.LittleEndian.AppendUint32(dst, j.length)
}

// IsDeflated reports whether all pieces are deflated. Otherwise a later response of them has other
// bytes in gzip, and needs another entity tag.
func (a *Answer) IsDeflated() bool { return a.pending == 0 }

// GzipLen returns the length of the response in gzip, in bytes. All pieces must be deflated.
func (a *Answer) GzipLen() int {
	_, coded := a.lengths()
	return coded
}

// textRoom is the length of the texts between members that need no allocation, in bytes.
const textRoom = 512

// lengths returns the lengths of the response and of its form in gzip.
func (a *Answer) lengths() (plain, coded int) {
	var memory [textRoom]byte
	coded = 10 + 2 + 8 // head, last block, trailer
	for _, n := range [...]int{len(a.appendStart(memory[:0])), len(between), len(a.appendEnd(memory[:0]))} {
		plain, coded = plain+n, coded+storedLen(n)
	}
	return plain + a.plain, coded + a.coded
}

// Add adds a piece to those that are joined, with the bytes that Append has appended to memory. The
// pieces must be added in the order of their names.
func (a *Answer) Add(f *Form, memory []byte) {
	a.prepared = append(a.prepared, Prepared{*f, memory[:f.size:f.size]})
	p := &a.prepared[len(a.prepared)-1]
	n := p.object()
	plain, coded := int(p.plain), int(p.size-p.plain)
	if !a.begun[n] {
		a.begun[n] = true
		plain, coded = plain-1, coded-len(storedComma)
	}
	if !p.IsDeflated() {
		a.pending++
	}
	a.plain, a.coded = a.plain+plain, a.coded+coded
}

// Reset makes a an answer without pieces, which keeps its memory for them.
func (a *Answer) Reset() { *a = Answer{prepared: a.prepared[:0]} }

// Prepared returns the pieces that are joined.
func (a *Answer) Prepared() []Prepared { return a.prepared }

// A gzipJoin is a response in gzip that is being joined.
type gzipJoin struct {
	dst    []byte
	sum    uint32 // of the content
	length uint32
}

// text appends content without compression, as blocks of deflate (RFC 1951, section 3.2.4).
func (j *gzipJoin) text(content []byte) {
	j.length += uint32(len(content))
	for len(content) > 0 {
		n := min(len(content), maxStored)
		j.dst = appendStored(j.dst, content[:n])
		j.sum = crc32.Update(j.sum, crc32.IEEETable, j.dst[len(j.dst)-n:])
		content = content[n:]
	}
}

// members appends the members of `aliases`, or those of `icons`.
func (j *gzipJoin) members(a *Answer, aliases bool) {
	first := true
	for i := range a.prepared {
		p := &a.prepared[i]
		if p.alias != aliases {
			continue
		}
		plain, deflated := p.data[:p.plain], p.data[p.plain:]
		if first {
			plain, deflated, first = plain[1:], deflated[len(storedComma):], false
			j.sum = crc32.Update(j.sum, crc32.IEEETable, plain)
		} else {
			j.sum = p.sum.after(j.sum)
		}
		j.length += uint32(len(plain))
		j.dst = append(j.dst, deflated...)
	}
}

const (
	storedHead = 5         // bytes before a stored block
	maxStored  = 1<<16 - 1 // bytes in a stored block
)

// appendStored appends blocks of deflate without compression (RFC 1951, section 3.2.4).
func appendStored(dst, content []byte) []byte {
	for len(content) > 0 {
		n := min(len(content), maxStored)
		dst = append(dst, 0, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		dst, content = append(dst, content[:n]...), content[n:]
	}
	return dst
}

// storedLen returns the length of content in such blocks.
func storedLen(n int) int { return n + storedHead*((n+maxStored-1)/maxStored) }

// Indented returns the response with one member or element a line.
func (a *Answer) Indented() []byte {
	object := *a
	object.Callback = ""
	var b bytes.Buffer
	if a.Callback != "" {
		b.WriteString(scriptStart + a.Callback + "(")
	}
	if err := json.Indent(&b, object.Join(nil), "", "    "); err != nil { // our own JSON
		panic(err)
	}
	if a.Callback != "" {
		b.WriteString(scriptEnd)
	}
	return b.Bytes()
}

const (
	// scriptStart keeps the callback, which is the client's, from being the first bytes of a
	// response.
	scriptStart = "/**/"
	scriptEnd   = ");"
	// between is the text between the aliases and the icons.
	between = `},"icons":{`
)

// appendStart appends the text before the aliases.
func (a *Answer) appendStart(dst []byte) []byte {
	if a.Callback != "" {
		dst = append(append(append(dst, scriptStart...), a.Callback...), '(')
	}
	dst = append(append(dst, '{'), a.Head...)
	if a.Info != nil {
		dst = append(append(dst, `,"info":`...), a.Info...)
	}
	return append(dst, `,"aliases":{`...)
}

// appendEnd appends the text after the icons.
func (a *Answer) appendEnd(dst []byte) []byte {
	dst = append(dst, '}')
	if len(a.NotFound) > 0 {
		names, err := json.Marshal(a.NotFound)
		if err != nil {
			panic(err) // strings have a JSON form
		}
		dst = append(append(dst, `,"not_found":`...), names...)
	}
	if dst = append(dst, '}'); a.Callback != "" {
		dst = append(dst, scriptEnd...)
	}
	return dst
}

// appendMembers appends the members of `aliases`, or those of `icons`.
func (a *Answer) appendMembers(dst []byte, aliases bool) []byte {
	comma := 1 // the first member has none
	for i := range a.prepared {
		if p := &a.prepared[i]; p.alias == aliases {
			dst = append(dst, p.data[comma:p.plain]...)
			comma = 0
		}
	}
	return dst
}
