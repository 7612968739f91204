// Package requestid decides which id a request has, by which its client, the access log, its trace
// and the origin name it.
package requestid

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// A Mode says where ids come from. With the zero Mode requests have none, and the field passes as
// any other.
type Mode uint8

// The modes. A trusted client is a trusted proxy, or an edge behind this one.
const (
	Off  Mode = iota
	Make      // the edge makes ids, and keeps those of trusted clients
	Keep      // the edge keeps those of all clients, and makes missing ones
)

var names = [...]string{"off", "make", "keep"}

// String returns the name of a mode.
func (m *Mode) String() string {
	if m == nil {
		return names[Off]
	}
	return names[*m]
}

// Set parses the name of a mode.
func (m *Mode) Set(s string) error {
	for i, name := range names {
		if s == name {
			*m = Mode(i)
			return nil
		}
	}
	return fmt.Errorf("%q is unknown; must be off, make or keep", s)
}

// On reports whether requests have ids.
func (m Mode) On() bool { return m != Off }

// length is the length of an id that the edge makes: 128 bits in hexadecimal digits, as
// nginx makes it. maxLength is that of the longest one that it keeps.
const length, maxLength = 32, 128

// Append appends the id of a request whose client has sent so many lines of the field, the first of
// which is sent.
func (m Mode) Append(dst, sent []byte, lines int, trusted bool) []byte {
	if lines == 1 && (trusted || m == Keep) && isHarmless(sent) {
		return append(dst, sent...)
	}
	return AppendNew(dst)
}

// AppendNew appends an id that no other request has.
func AppendNew(dst []byte) []byte {
	var id [length / 2]byte
	binary.BigEndian.PutUint64(id[:], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	return hex.AppendEncode(dst, id[:])
}

// isHarmless reports whether an id is harmless in a log, a command line and a field: letters,
// digits and some marks that UUIDs, ULIDs and Base64 for URLs have.
func isHarmless(s []byte) bool {
	for _, c := range s {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '~':
		default:
			return false
		}
	}
	return 0 < len(s) && len(s) <= maxLength
}
