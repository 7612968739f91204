package disk

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A segment is a file of consecutive records. It begins with
//
//	magic (8 bytes) marker (8 bytes, random) checksum of both (4 bytes)
//
// and each record is
//
//	marker (8) kind (1) size of the head (4) size of the body (4) checksum of the body (4)
//	checksum of all of these and the head (4) head, body
//
// Numbers are little-endian, checksums CRC-32C. The marker distinguishes a record from bytes that
// look like one: an origin that controls the content of a body does not know it.
const (
	magic        = "iecache4"
	segmentStart = len(magic) + markerSize + 4
	markerSize   = 8
	recordStart  = markerSize + 1 + 4*4
)

const (
	kindEntry = 1 + iota
	kindPurge
	kindSlice
)

var errDamaged = errors.New("damaged record")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(parts ...[]byte) (sum uint32) {
	for _, p := range parts {
		sum = crc32.Update(sum, castagnoli, p)
	}
	return sum
}

// appendSegmentStart appends the start of a segment.
func appendSegmentStart(b []byte, marker [markerSize]byte) []byte {
	b = append(append(b, magic...), marker[:]...)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// parseSegmentStart returns the marker of a segment.
func parseSegmentStart(b []byte) (marker [markerSize]byte, err error) {
	if len(b) < segmentStart || string(b[:len(magic)]) != magic ||
		binary.LittleEndian.Uint32(b[segmentStart-4:]) != checksum(b[:segmentStart-4]) {
		return marker, errDamaged
	}
	copy(marker[:], b[len(magic):])
	return marker, nil
}

// A record is the parsed start of a record.
type record struct {
	kind       byte
	head, body uint32 // sizes
	bodySum    uint32
	headSum    uint32
}

// appendRecord appends a record without its body.
func appendRecord(b []byte, marker [markerSize]byte, kind byte, head []byte, body [][]byte) []byte {
	size := 0
	for _, part := range body {
		size += len(part)
	}
	from := len(b)
	b = append(append(b, marker[:]...), kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	b = binary.LittleEndian.AppendUint32(b, checksum(body...))
	b = binary.LittleEndian.AppendUint32(b, checksum(b[from:], head))
	return append(b, head...)
}

// parseRecord parses the start of a record. Its sizes are not verified until the head is.
func parseRecord(b []byte, marker [markerSize]byte) (r record, err error) {
	if len(b) < recordStart || string(b[:markerSize]) != string(marker[:]) {
		return r, errDamaged
	}
	r.kind = b[markerSize]
	for i, n := range [...]*uint32{&r.head, &r.body, &r.bodySum, &r.headSum} {
		*n = binary.LittleEndian.Uint32(b[markerSize+1+4*i:])
	}
	return r, nil
}

// size returns the size of the record in its segment.
func (r *record) size() int64 { return recordStart + int64(r.head) + int64(r.body) }

// headIntact reports whether b begins with the intact start and head of the record.
func (r *record) headIntact(b []byte) bool {
	end := recordStart + int64(r.head)
	return int64(len(b)) >= end && checksum(b[:recordStart-4], b[recordStart:end]) == r.headSum
}

// wholeIntact reports whether b is the intact record.
func (r *record) wholeIntact(b []byte) bool {
	return int64(len(b)) == r.size() && r.headIntact(b) && checksum(b[recordStart+int64(r.head):]) == r.bodySum
}
