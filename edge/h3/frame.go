package h3

import "github.com/quic-go/quic-go/quicvarint"

// The types of frames (RFC 9114, section 7.2).
const (
	frameData    = 0x00
	frameHeaders = 0x01
)

const (
	// leastHead is the number of bytes that show how long a HEADERS frame is. No request has fewer.
	leastHead = 3
	// lengthRoom is how many bytes of a HEADERS frame are for its length, which is unknown when its
	// fields are written.
	lengthRoom = 2
	maxShort   = 1<<14 - 1 // the greatest length for which lengthRoom is enough
)

// cutHead returns where the field section of the HEADERS frame that b begins with starts, and how
// long it is. It is not ok if b does not begin with such a frame, or one byte or two do not hold
// its length.
func cutHead(b []byte) (start, length int, ok bool) {
	if b[0] != frameHeaders {
		return 0, 0, false
	}
	n, used, err := quicvarint.Parse(b[1:])
	return 1 + used, int(n), err == nil && n <= maxShort
}

// BeginHead appends the beginning of a HEADERS frame with a status. Its fields must follow. start
// is for EndHead.
func BeginHead(dst []byte, status int) (out []byte, start int) {
	dst = append(dst, frameHeaders, 0, 0)
	dst = append(dst, 0, 0) // no dynamic table (RFC 9204, section 4.5.1)
	return appendStatus(dst, status), len(dst) - 2
}

// EndHead completes a HEADERS frame.
func EndHead(dst []byte, start int) []byte {
	n := len(dst) - start
	if n <= maxShort {
		// Any encoding is allowed (RFC 9000, section 16).
		dst[start-2], dst[start-1] = 0x40|byte(n>>8), byte(n)
		return dst
	}
	section := string(dst[start:])
	return append(quicvarint.Append(dst[:start-lengthRoom], uint64(n)), section...)
}

// BeginData appends the beginning of a DATA frame. Its n bytes must follow.
func BeginData(dst []byte, n int) []byte {
	return quicvarint.Append(append(dst, frameData), uint64(n))
}
