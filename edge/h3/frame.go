package h3

import (
	"errors"
	"io"
	"math"

	"github.com/quic-go/quic-go/quicvarint"
)

// The types of frames (RFC 9114, section 7.2; RFC 9218, section 7.2). Clients must not send those
// of HTTP/2 that have no counterpart (RFC 9114, section 7.2.8).
const (
	frameData           = 0x00
	frameHeaders        = 0x01
	frameCancelPush     = 0x03
	frameSettings       = 0x04
	framePushPromise    = 0x05
	framePingOfH2       = 0x06
	frameGoAway         = 0x07
	frameContinuation   = 0x09
	frameMaxPushID      = 0x0d
	framePriority       = 0xf0700 // of a request
	framePriorityOfPush = 0xf0701
)

// isKnown reports whether a frame has a meaning, or is forbidden everywhere. Any other one is
// ignored wherever it comes (RFC 9114, section 9).
func isKnown(kind uint64) bool {
	return kind <= frameContinuation || kind == frameMaxPushID || kind == framePriority || kind == framePriorityOfPush
}

// A frameReader reads the frames of a stream.
type frameReader struct {
	stream io.Reader
	byte   [1]byte
}

// ReadByte implements io.ByteReader.
func (r *frameReader) ReadByte() (byte, error) {
	_, err := io.ReadFull(r.stream, r.byte[:])
	return r.byte[0], err
}

// next reads the type and the length of a frame. The error is io.EOF if the stream ends before it,
// and io.ErrUnexpectedEOF if it ends within.
func (r *frameReader) next() (kind, length uint64, err error) {
	first, err := r.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	if kind, err = r.rest(first); err == nil {
		length, err = quicvarint.Read(r)
	}
	return kind, length, cutOff(err)
}

// rest reads the rest of an integer.
func (r *frameReader) rest(first byte) (uint64, error) {
	b := append(make([]byte, 0, 8), first)
	for range 1<<(first>>6) - 1 {
		next, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		b = append(b, next)
	}
	v, _, err := quicvarint.Parse(b)
	return v, err
}

// skip reads and forgets the payload of a frame.
func (r *frameReader) skip(length uint64) error {
	_, err := io.CopyN(io.Discard, r.stream, int64(min(length, math.MaxInt64)))
	return cutOff(err)
}

// payload reads the payload of a frame.
func (r *frameReader) payload(length uint64) ([]byte, error) {
	b := make([]byte, length)
	_, err := io.ReadFull(r.stream, b)
	return b, cutOff(err)
}

// cutOff replaces the error of a stream that ends within a frame.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

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
