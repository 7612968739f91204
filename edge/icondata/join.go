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
	for p := range a.parts {
		dst = append(dst, p.plain...)
	}
	return dst
}

// Len returns the length of the response, in bytes.
func (a *Answer) Len() (n int) {
	for p := range a.parts {
		n += len(p.plain)
	}
	return n
}

// JoinGzip appends the same response in the coding gzip (RFC 1952). It concatenates the deflated
// pieces and combines their checksums.
func (a *Answer) JoinGzip(dst []byte) []byte {
	dst = append(dst, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff) // no name, no time, unknown system
	sum, length := uint32(0), 0
	for p := range a.parts {
		length += len(p.plain)
		if p.sum == nil {
			sum = crc32.Update(sum, crc32.IEEETable, p.plain)
		} else {
			sum = p.sum.after(sum)
		}
		if p.deflated == nil {
			dst = appendStored(dst, p.plain)
		} else {
			dst = append(dst, p.deflated...)
		}
	}
	dst = append(dst, 0x03, 0x00) // a last block without content (RFC 1951, section 3.2.3)
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return binary.LittleEndian.AppendUint32(dst, uint32(length))
}

// GzipLen returns the length of the response in gzip, in bytes. It is greater than Len if few
// pieces are deflated.
func (a *Answer) GzipLen() int {
	n := 10 + 2 + 8 // head, last block, trailer
	for p := range a.parts {
		if p.deflated == nil {
			n += len(p.plain) + storedHead*((len(p.plain)+maxStored-1)/maxStored)
		} else {
			n += len(p.deflated)
		}
	}
	return n
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

var (
	partOpen     = newPart(`{`)
	partInfo     = newPart(`,"info":`)
	partAliases  = newPart(`,"aliases":{`)
	partIcons    = newPart(`},"icons":{`)
	partClose    = newPart(`}}`)
	partNotFound = newPart(`},"not_found":`)
	partEnd      = newPart(`}`)

	partScriptEnd = newPart(`);`)
)

// A part is consecutive bytes of a response.
type part struct {
	plain    []byte
	deflated []byte    // blocks of deflate; nil: a join stores plain
	sum      *checksum // of plain; nil: a join computes the CRC
}

// newPart returns a part that many responses have. It is too short to be compressed.
func newPart(text string) part {
	return part{plain: []byte(text), deflated: appendStored(nil, []byte(text))}
}

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
		b.Write(partScriptEnd.plain)
	}
	return b.Bytes()
}

// parts yields the parts of the response in order. It alone decides the form of a response.
func (a *Answer) parts(yield func(part) bool) {
	if a.Callback != "" && !yield(part{plain: []byte(scriptStart + a.Callback + "(")}) {
		return
	}
	if a.object(yield) && a.Callback != "" {
		yield(partScriptEnd)
	}
}

// scriptStart keeps the callback, which is the client's, from being the first bytes of a response.
const scriptStart = "/**/"

// object yields the parts of the JSON, and reports whether the caller wants more.
func (a *Answer) object(yield func(part) bool) bool {
	ok := yield(partOpen) && yield(part{plain: a.Head}) && (a.Info == nil || yield(partInfo) && yield(part{plain: a.Info})) &&
		yield(partAliases) && a.members(yield, true) && yield(partIcons) && a.members(yield, false)
	if !ok {
		return false
	}
	if len(a.NotFound) == 0 {
		return yield(partClose)
	}
	names, err := json.Marshal(a.NotFound)
	if err != nil {
		panic(err) // strings have a JSON form
	}
	return yield(partNotFound) && yield(part{plain: names}) && yield(partEnd)
}

// members yields the members of `aliases`, or those of `icons`.
func (a *Answer) members(yield func(part) bool, aliases bool) bool {
	first := true
	for _, p := range a.Prepared {
		if p.alias != aliases {
			continue
		}
		if !yield(p.part(first)) {
			return false
		}
		first = false
	}
	return true
}
