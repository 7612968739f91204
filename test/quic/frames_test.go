package quic

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/quic-go/qpack"
)

// The types of unidirectional streams (RFC 9114, section 6.2; RFC 9204, section 4.2).
const (
	streamControl = 0x00
	streamPush    = 0x01
	streamEncoder = 0x02
	streamDecoder = 0x03
)

// The types of frames (RFC 9114, section 7.2; RFC 9218, section 7.2).
const (
	frameData           = 0x00
	frameHeaders        = 0x01
	frameCancelPush     = 0x03
	frameSettings       = 0x04
	framePushPromise    = 0x05
	frameGoAway         = 0x07
	frameMaxPushID      = 0x0d
	framePriority       = 0xf0700
	framePriorityOfPush = 0xf0701
	frameGrease         = 0x1f*7 + 0x21
)

// frame makes a frame.
func frame(kind uint64, payload ...byte) []byte {
	return append(ints(kind, uint64(len(payload))), payload...)
}

// begun makes the beginning of a frame that announces more than comes.
func begun(kind, length uint64, payload ...byte) []byte {
	return append(ints(kind, length), payload...)
}

// settings makes a SETTINGS frame of identifiers and values.
func settings(pairs ...uint64) []byte { return frame(frameSettings, ints(pairs...)...) }

// data makes a DATA frame.
func data(s string) []byte { return frame(frameData, []byte(s)...) }

// section encodes a field section without a dynamic table: each line is a literal, and nothing is
// coded or checked. A line is "name: value"; names of pseudo fields begin with a colon.
func section(lines ...string) []byte {
	b := []byte{0, 0}
	for _, line := range lines {
		at := strings.Index(line[1:], ": ") + 1
		name, value := line[:at], line[at+2:]
		b = append(prefixed(b, 0x20, 3, uint64(len(name))), name...)
		b = append(prefixed(b, 0, 7, uint64(len(value))), value...)
	}
	return b
}

// prefixed appends an integer whose first byte has a number of bits for it (RFC 9204, section
// 4.1.1).
func prefixed(b []byte, first byte, bits int, v uint64) []byte {
	most := uint64(1)<<bits - 1
	if v < most {
		return append(b, first|byte(v))
	}
	b = append(b, first|byte(most))
	for v -= most; v >= 128; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// headers makes a HEADERS frame.
func headers(lines ...string) []byte { return frame(frameHeaders, section(lines...)...) }

// request makes the HEADERS frame of a request for a path, with more lines.
func request(method, path string, more ...string) []byte {
	return headers(append([]string{":method: " + method, ":scheme: https", ":authority: edge.test", ":path: " + path}, more...)...)
}

// get is a request for a hit, post one whose body comes back.
var (
	get  = request("GET", "/hot")
	post = request("POST", "/echo")
)

// join joins frames.
func join(list ...[]byte) []byte { return bytes.Join(list, nil) }

// statuses returns the statuses of the HEADERS frames that a response consists of, and the length
// of its body. Interim responses come first.
func statuses(response []byte) (list []string, body int, err error) {
	for r := (reader{rest: response}); len(r.rest) > 0; {
		kind, length := r.int(), r.int()
		payload := r.bytes(length)
		if r.err != nil {
			return list, body, r.err
		}
		switch kind {
		case frameData:
			body += len(payload)
		case frameHeaders:
			next := qpack.NewDecoder().Decode(payload)
			f, err := next()
			if err != nil {
				return list, body, err
			}
			if f.Name == ":status" {
				list = append(list, f.Value)
			}
		default:
			return list, body, fmt.Errorf("a response has a frame of type %#x", kind)
		}
	}
	return list, body, nil
}
