package h3

import (
	"strconv"

	"github.com/quic-go/qpack"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/edge/h2"
)

// static is the static table (RFC 9204, appendix A).
var static = func() (t [99]field) {
	for i := range t {
		f, err := qpack.NewDecoder().Decode(h2.AppendInt([]byte{0, 0}, 0xc0, 6, i))()
		if err != nil {
			panic(err)
		}
		t[i] = field{[]byte(f.Name), []byte(f.Value)}
	}
	return t
}()

// A known is a name of the static table.
type known struct {
	first  int            // the index of its first entry
	values map[string]int // the indexes by value
}

var names = func() map[string]known {
	m := map[string]known{}
	for i, f := range static {
		name := string(f.name)
		if m[name].values == nil {
			m[name] = known{i, map[string]int{}}
		}
		m[name].values[string(f.value)] = i
	}
	return m
}()

// appendStatus appends the :status pseudo field.
func appendStatus(dst []byte, status int) []byte {
	var digits [3]byte
	return AppendField(dst, ":status", strconv.AppendInt(digits[:0], int64(status), 10))
}

// AppendField appends a field line, with its name in lower case. It refers to the static table
// where that has the field or its name.
func AppendField[T string | []byte](dst []byte, name T, value []byte) []byte {
	return appendField(dst, name, value, false)
}

// AppendShort is AppendField with strings in the Huffman code, which saves a quarter of the bytes
// and takes several times as long.
func AppendShort[T string | []byte](dst []byte, name T, value []byte) []byte {
	return appendField(dst, name, value, true)
}

func appendField[T string | []byte](dst []byte, name T, value []byte, coded bool) []byte {
	var buf [40]byte
	low := h2.AppendLower(buf[:0], name)
	in, ok := names[string(low)]
	if !ok {
		// Section 4.5.6.
		return appendString(appendString(dst, 0x20, 3, low, coded), 0, 7, value, coded)
	}
	if i, ok := in.values[string(value)]; ok {
		return h2.AppendInt(dst, 0xc0, 6, i)
	}
	return appendString(h2.AppendInt(dst, 0x50, 4, in.first), 0, 7, value, coded) // section 4.5.4
}

// appendString appends a string, in the Huffman code if coded is set and that is shorter. Its
// length has so many bits, after the bits of before and the one that says whether the code is used.
func appendString(dst []byte, before byte, bits uint, s []byte, coded bool) []byte {
	if coded {
		text := string(s)
		if n := int(hpack.HuffmanEncodeLength(text)); n < len(s) {
			return hpack.AppendHuffmanString(h2.AppendInt(dst, before|1<<bits, bits, n), text)
		}
	}
	return append(h2.AppendInt(dst, before, bits, len(s)), s...)
}
