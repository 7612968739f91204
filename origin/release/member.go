package release

import (
	"encoding/binary"
	"fmt"

	"github.com/iconedge/iconedge/internal/inflate"
)

// A Member is an SVG as a gzip member (RFC 1952): the compressed data of the archive, with the
// checksum and the size of the SVG from its directory behind it.
type Member []byte

const (
	gzipHead    = 10 // bytes; local headers are longer
	gzipTrailer = 8  // CRC-32 and size, four bytes each
)

// newMember makes a Member in place: compressed data follow the first gzipHead bytes of buf, and
// precede the last gzipTrailer bytes.
func newMember(buf []byte, crc, size uint32) Member {
	copy(buf, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff") // no name, no time, unknown system
	trailer := buf[len(buf)-gzipTrailer:]
	binary.LittleEndian.PutUint32(trailer, crc)
	binary.LittleEndian.PutUint32(trailer[4:], size)
	return buf
}

// Deflated returns the compressed data (RFC 1951).
func (m Member) Deflated() []byte { return m[gzipHead : len(m)-gzipTrailer] }

// Size returns the size of the SVG in bytes.
func (m Member) Size() int { return int(binary.LittleEndian.Uint32(m[len(m)-4:])) }

// Inflate returns the SVG and verifies its checksum. The error is ErrDamaged.
func (m Member) Inflate() ([]byte, error) {
	svg := make([]byte, m.Size())
	if err := inflate.Member(svg, m); err != nil {
		return nil, fmt.Errorf("%w: an SVG does not match its checksum", ErrDamaged)
	}
	return svg, nil
}
