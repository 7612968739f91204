package h2

import (
	"bytes"
	"strconv"
)

// AppendStatus appends the :status pseudo field, with which a block begins (RFC 9113, section
// 8.3.2).
func AppendStatus(dst []byte, status int) []byte {
	switch status { // in the static table
	case 200:
		return append(dst, 0x88)
	case 204:
		return append(dst, 0x89)
	case 206:
		return append(dst, 0x8a)
	case 304:
		return append(dst, 0x8b)
	case 400:
		return append(dst, 0x8c)
	case 404:
		return append(dst, 0x8d)
	case 500:
		return append(dst, 0x8e)
	}
	dst = append(dst, 0x08, 3)
	return strconv.AppendInt(dst, int64(status), 10)
}

// AppendName appends the name of a field as a literal without indexing (RFC 7541, section 6.2.2),
// in lower case; its value must follow. Such a field changes no table, so it may be encoded in
// advance.
func AppendName[T string | []byte](dst []byte, name T) []byte {
	var buf [40]byte
	low := AppendLower(buf[:0], name)
	if i := staticNames[string(low)]; i > 0 {
		return AppendInt(dst, 0, 4, i)
	}
	return AppendValue(append(dst, 0), low)
}

func AppendLower[T string | []byte](dst []byte, name T) []byte {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// AppendValue appends the value of a field.
func AppendValue[T string | []byte](dst []byte, value T) []byte {
	return append(AppendInt(dst, 0, 7, len(value)), value...)
}

// EndValue completes a value that has been appended to dst from start on, after one byte that has
// room for its length. A value of 127 bytes or more moves, because its length takes more bytes.
func EndValue(dst []byte, start int) []byte {
	n := len(dst) - start
	if n < 0x7f {
		dst[start-1] = byte(n)
		return dst
	}
	value := bytes.Clone(dst[start:])
	return AppendValue(dst[:start-1], value)
}

// AppendField appends a field.
func AppendField[T string | []byte](dst []byte, name, value T) []byte {
	return AppendValue(AppendName(dst, name), value)
}

// AppendInt appends an integer with a prefix of so many bits, after the bits of before (section
// 5.1).
func AppendInt(dst []byte, before byte, bits uint, n int) []byte {
	most := 1<<bits - 1
	if n < most {
		return append(dst, before|byte(n))
	}
	dst = append(dst, before|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// staticNames gives the first index of each name in the static table.
var staticNames = func() map[string]int {
	m := map[string]int{}
	for i := len(static) - 1; i > 0; i-- {
		m[string(static[i].Name)] = i
	}
	return m
}()
