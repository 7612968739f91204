package h2

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/net/http2"
)

const (
	frameHead = 9
	maxFrame  = 16384 // bytes of a frame's payload, the default (RFC 9113, section 4.2)
	maxWindow = 1<<31 - 1
	ourWindow = 65535 // initial window of the connection and of each stream with a request's body
)

// A frame is a received frame. Its payload is valid until more is read.
type frame struct {
	kind    http2.FrameType
	flags   http2.Flags
	stream  uint32
	payload []byte
}

// cutFrame cuts the first frame off b. whole reports whether b contains all of it.
func cutFrame(b []byte) (f frame, size int, whole bool, err error) {
	if len(b) < frameHead {
		return f, 0, false, nil
	}
	length := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	if length > maxFrame {
		return f, 0, false, connectionError(http2.ErrCodeFrameSize, "a frame is too long")
	}
	size = frameHead + length
	if len(b) < size {
		return f, size, false, nil
	}
	f = frame{http2.FrameType(b[3]), http2.Flags(b[4]), binary.BigEndian.Uint32(b[5:]) & maxWindow, b[frameHead:size]}
	return f, size, true, nil
}

// putHead writes a frame header.
func putHead(b []byte, length int, kind http2.FrameType, flags http2.Flags, stream uint32) {
	b[0], b[1], b[2], b[3], b[4] = byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags)
	binary.BigEndian.PutUint32(b[5:], stream)
}

func appendFrame(dst []byte, kind http2.FrameType, flags http2.Flags, stream uint32, payload ...byte) []byte {
	var head [frameHead]byte
	putHead(head[:], len(payload), kind, flags, stream)
	return append(append(dst, head[:]...), payload...)
}

func appendCode(dst []byte, kind http2.FrameType, stream, code uint32) []byte {
	return appendFrame(dst, kind, 0, stream, byte(code>>24), byte(code>>16), byte(code>>8), byte(code))
}

// padding returns how many bytes of a payload are padding, including the length byte. For a
// malformed frame it is the announced number.
func (f *frame) padding() int {
	if !f.flags.Has(http2.FlagDataPadded) || len(f.payload) == 0 {
		return 0
	}
	return 1 + int(f.payload[0])
}

// unpad removes the padding from a payload (RFC 9113, section 6.1).
func (f *frame) unpad() error {
	if !f.flags.Has(http2.FlagDataPadded) {
		return nil
	}
	if len(f.payload) == 0 || int(f.payload[0]) >= len(f.payload) {
		return connectionError(http2.ErrCodeProtocol, "padding is longer than its frame")
	}
	f.payload = f.payload[1 : len(f.payload)-int(f.payload[0])]
	return nil
}

// A connError ends a connection; a streamError ends a stream (RFC 9113, section 5.4).
type connError struct {
	code http2.ErrCode
	why  string
}

type streamError struct {
	stream uint32
	code   http2.ErrCode
}

func (e *connError) Error() string   { return fmt.Sprintf("%v: %s", e.code, e.why) }
func (e *streamError) Error() string { return fmt.Sprintf("stream %d: %v", e.stream, e.code) }

func connectionError(code http2.ErrCode, why string) error { return &connError{code, why} }

func reset(stream uint32, code http2.ErrCode) error { return &streamError{stream, code} }

// errClosed means that the connection or the stream has ended.
var errClosed = errors.New("the stream has ended")
