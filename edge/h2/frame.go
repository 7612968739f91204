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

// frames handles the whole frames that are buffered. more means that it stopped early, so that
// responses can be written first.
func (c *Conn) frames() (more bool, err error) {
	for c.in.buffer != nil {
		if c.out.size() > 2*maxBatch || c.loop != nil && (c.answered >= turnAnswers || c.loop.frames >= turnFrames) {
			return true, nil
		}
		f, size, whole, err := cutFrame(c.in.rest())
		if err != nil || !whole {
			return false, err
		}
		if c.in.r += size; c.loop != nil {
			c.loop.frames++
		}
		err = c.frame(f)
		if se, ok := errors.AsType[*streamError](err); ok {
			err = c.resetStream(se.stream, se.code)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// frame handles one frame. It checks the connection's state first.
func (c *Conn) frame(f frame) error {
	if !c.phase.gotSettings && f.kind != http2.FrameSettings {
		return connectionError(http2.ErrCodeProtocol, "the first frame must be SETTINGS")
	}
	if c.block.open() && (f.kind != http2.FrameContinuation || f.stream != c.block.stream) {
		return connectionError(http2.ErrCodeProtocol, "a header block is interrupted")
	}
	n := cost(f)
	if err := c.flood.spend(n, c.now); err != nil {
		return err
	}
	if f.kind != http2.FrameWindowUpdate {
		c.flood.waste(n)
	}
	switch f.kind {
	case http2.FrameHeaders:
		return c.headers(f)
	case http2.FrameContinuation:
		return c.continuation(f)
	case http2.FrameData:
		return c.data(f)
	case http2.FrameSettings:
		return c.settings(f)
	case http2.FrameWindowUpdate:
		return c.windowUpdate(f)
	case http2.FrameRSTStream:
		return c.rstStream(f)
	case http2.FramePriority:
		return c.priority(f)
	case http2.FramePing:
		return c.ping(f)
	case http2.FrameGoAway:
		if f.stream != 0 {
			return connectionError(http2.ErrCodeProtocol, "GOAWAY on a stream")
		}
		return nil // the client opens no more streams, and closes when it has its responses
	case http2.FramePushPromise:
		return connectionError(http2.ErrCodeProtocol, "a client must not send PUSH_PROMISE")
	}
	return nil // unknown kinds are ignored (RFC 9113, section 5.5)
}

func (c *Conn) ping(f frame) error {
	switch {
	case f.stream != 0:
		return connectionError(http2.ErrCodeProtocol, "PING on a stream")
	case len(f.payload) != 8:
		return connectionError(http2.ErrCodeFrameSize, "PING must have 8 bytes")
	case f.flags.Has(http2.FlagPingAck):
		return nil
	}
	c.out.append(appendFrame(nil, http2.FramePing, http2.FlagPingAck, 0, f.payload...))
	return nil
}

// priority checks a PRIORITY frame, which has no effect (RFC 9113, section 5.3).
func (c *Conn) priority(f frame) error {
	code, why := http2.ErrCodeNo, ""
	switch {
	case f.stream == 0:
		return connectionError(http2.ErrCodeProtocol, "PRIORITY without a stream")
	case len(f.payload) != 5:
		code, why = http2.ErrCodeFrameSize, "PRIORITY must have 5 bytes"
	case binary.BigEndian.Uint32(f.payload)&maxWindow == f.stream:
		code, why = http2.ErrCodeProtocol, "a stream depends on itself"
	default:
		return nil
	}
	if c.streams.idle(f.stream) {
		return connectionError(code, why) // an idle stream can't be reset (section 6.4)
	}
	return reset(f.stream, code)
}

func (c *Conn) rstStream(f frame) error {
	switch {
	case c.streams.idle(f.stream):
		return connectionError(http2.ErrCodeProtocol, "RST_STREAM of an idle stream")
	case len(f.payload) != 4:
		return connectionError(http2.ErrCodeFrameSize, "RST_STREAM must have 4 bytes")
	}
	if s := c.streams.open[f.stream]; s != nil {
		c.remove(s)
		c.flood.waste(abandonedCost)
	}
	c.streams.resets.remove(f.stream)
	return nil
}

// resetStream resets a stream after a stream error of the client.
func (c *Conn) resetStream(stream uint32, code http2.ErrCode) error {
	if s := c.streams.open[stream]; s != nil {
		c.remove(s)
	}
	c.sendReset(stream, code)
	c.flood.waste(resetCost)
	return c.flood.spend(resetCost, c.now)
}

// resetCost is the cost of a stream error, of which an honest client makes none.
const resetCost = 10
