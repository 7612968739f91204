package quic

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// A transportCase has the packets that a client sends after the handshake, and the outcome.
type transportCase struct {
	name, section string
	send          func(c *raw) [][]byte // frames, a packet each
	packet        func(c *raw) []byte   // instead: a whole packet
	want          string
}

// goesOn is the outcome of what is unusual but allowed.
const goesOn = "the next request is answered"

// frames are sent in one packet.
func frames(list ...[]byte) func(*raw) [][]byte {
	return func(*raw) [][]byte { return [][]byte{slices.Concat(list...)} }
}

// newID returns a NEW_CONNECTION_ID frame.
func newID(sequence, retire uint64, id []byte) []byte {
	b := append(ints(0x18, sequence, retire), byte(len(id)))
	return append(append(b, id...), make([]byte, 16)...)
}

const (
	streamLimit = 128      // of the edge
	streamRoom  = 64 << 10 // bytes that it takes on a stream
	intMax      = 1<<62 - 1
)

var transportCases = []transportCase{
	{name: "unknown frame", section: "RFC 9000, 12.4", send: frames(ints(0x2a)), want: closes("FRAME_ENCODING_ERROR")},
	{name: "frame type in more bytes than it needs", section: "RFC 9000, 12.4", send: frames([]byte{0x40, 0x01}),
		want: goesOn + ", or closed: PROTOCOL_VIOLATION"},
	{name: "packet without frames", section: "RFC 9000, 12.4", packet: func(c *raw) []byte { return c.empty() },
		want: closes("PROTOCOL_VIOLATION")},
	{name: "reserved bits of a short header", section: "RFC 9000, 17.3.1",
		packet: func(c *raw) []byte { return c.short(0x18, 100, []byte{1, 0, 0, 0}) }, want: closes("PROTOCOL_VIOLATION")},
	{name: "HANDSHAKE_DONE from a client", section: "RFC 9000, 19.20", send: frames(ints(0x1e)), want: closes("PROTOCOL_VIOLATION")},
	{name: "NEW_TOKEN from a client", section: "RFC 9000, 19.7", send: frames(ints(0x07, 1), []byte("a")),
		want: closes("PROTOCOL_VIOLATION")},
	{name: "DATAGRAM that was not negotiated", section: "RFC 9221, 3", send: frames(ints(0x31, 5), []byte("abcde")),
		want: closes("PROTOCOL_VIOLATION", "FRAME_ENCODING_ERROR")},
	{name: "ACK of packets that were not sent", section: "RFC 9000, 13.1", send: frames(ints(0x02, 100_000, 0, 0, 0)),
		want: closes("PROTOCOL_VIOLATION")},
	{name: "ACK of packets below 0", section: "RFC 9000, 19.3.1", send: frames(ints(0x02, 1, 0, 0, 5)),
		want: closes("FRAME_ENCODING_ERROR")},
	{name: "ACK of a million ranges, announced", section: "RFC 9000, 19.3", send: frames(ints(0x02, 1, 0, 1<<20, 0)),
		want: closes("FRAME_ENCODING_ERROR")},

	{name: "stream beyond MAX_STREAMS", section: "RFC 9000, 4.6", send: frames(on(4*streamLimit, 0, get, true)),
		want: closes("STREAM_LIMIT_ERROR")},
	{name: "unidirectional stream beyond MAX_STREAMS", section: "RFC 9000, 4.6",
		send: frames(on(4*1000+2, 0, []byte{0x21}, false)), want: closes("STREAM_LIMIT_ERROR")},
	{name: "RESET_STREAM beyond MAX_STREAMS", section: "RFC 9000, 4.6", send: frames(ints(0x04, 4*1_000_000, 0, 0)),
		want: closes("STREAM_LIMIT_ERROR")},
	{name: "STREAM on a stream of the edge", section: "RFC 9000, 19.8", send: frames(on(3, 0, get, true)),
		want: closes("STREAM_STATE_ERROR")},
	{name: "STREAM on a stream that the edge has not opened", section: "RFC 9000, 19.8",
		send: frames(on(1, 0, get, true)), want: closes("STREAM_STATE_ERROR")},
	{name: "RESET_STREAM of a stream of the edge", section: "RFC 9000, 19.4", send: frames(ints(0x04, 3, 0, 0)),
		want: closes("STREAM_STATE_ERROR")},
	{name: "STOP_SENDING of a stream that only the client sends", section: "RFC 9000, 19.5",
		send: frames(ints(0x05, 2, 0)), want: closes("STREAM_STATE_ERROR")},
	{name: "MAX_STREAM_DATA of a stream that only the client sends", section: "RFC 9000, 19.10",
		send: frames(ints(0x11, 2, 1<<20)), want: closes("STREAM_STATE_ERROR")},
	{name: "MAX_STREAM_DATA of a stream that the edge has not opened", section: "RFC 9000, 19.10",
		send: frames(ints(0x11, 1, 1<<20)), want: closes("STREAM_STATE_ERROR")},
	{name: "STREAM_DATA_BLOCKED of a stream of the edge", section: "RFC 9000, 19.13", send: frames(ints(0x15, 3, 1)),
		want: closes("STREAM_STATE_ERROR")},
	{name: "more on a stream than the edge takes", section: "RFC 9000, 4.1",
		send: frames(on(0, streamRoom, get, true)), want: closes("FLOW_CONTROL_ERROR")},
	{name: "more on all streams than the edge takes", section: "RFC 9000, 4.1",
		send: frames(on(0, streamRoom-1, []byte("a"), false), on(4, streamRoom-1, []byte("a"), false),
			on(8, 0, []byte("a"), false)), want: closes("FLOW_CONTROL_ERROR")},
	{name: "RESET_STREAM with more than the edge takes", section: "RFC 9000, 4.5",
		send: frames(ints(0x04, 0, 0, 1<<40)), want: closes("FLOW_CONTROL_ERROR")},
	{name: "stream that is too long for an offset", section: "RFC 9000, 19.8",
		send: frames(on(0, intMax, []byte("abc"), false)), want: closes("FRAME_ENCODING_ERROR", "FLOW_CONTROL_ERROR")},
	{name: "end of a stream that moves", section: "RFC 9000, 4.5",
		send: frames(on(0, 100, []byte("a"), true), on(0, 200, []byte("a"), true)), want: closes("FINAL_SIZE_ERROR")},
	{name: "bytes beyond the end of a stream", section: "RFC 9000, 4.5",
		send: frames(on(0, 100, []byte("a"), true), on(0, 200, []byte("a"), false)), want: closes("FINAL_SIZE_ERROR")},
	{name: "RESET_STREAM before the last byte", section: "RFC 9000, 4.5",
		send: frames(on(0, 100, []byte("a"), false), ints(0x04, 0, 0, 50)), want: closes("FINAL_SIZE_ERROR")},
	{name: "MAX_STREAMS beyond 2^60", section: "RFC 9000, 19.11", send: frames(ints(0x12, 1<<60+1)), want: closes("FRAME_ENCODING_ERROR")},
	{name: "STREAMS_BLOCKED beyond 2^60", section: "RFC 9000, 19.14", send: frames(ints(0x16, 1<<60+1)),
		want: closes("STREAM_LIMIT_ERROR", "FRAME_ENCODING_ERROR")},
	{name: "MAX_DATA and MAX_STREAMS that shrink", section: "RFC 9000, 4.1", send: frames(ints(0x10, 0), ints(0x12, 0)), want: goesOn},

	{name: "NEW_CONNECTION_ID of no bytes", section: "RFC 9000, 19.15", send: frames(newID(1, 0, nil)),
		want: closes("FRAME_ENCODING_ERROR")},
	{name: "NEW_CONNECTION_ID of 21 bytes", section: "RFC 9000, 19.15", send: frames(newID(1, 0, make([]byte, 21))),
		want: closes("FRAME_ENCODING_ERROR")},
	{name: "NEW_CONNECTION_ID that retires later ones", section: "RFC 9000, 19.15",
		send: frames(newID(1, 2, []byte("12345678"))), want: closes("FRAME_ENCODING_ERROR")},
	{name: "NEW_CONNECTION_ID of a known number", section: "RFC 9000, 19.15",
		send: frames(newID(1, 0, []byte("12345678")), newID(1, 0, []byte("87654321"))), want: goesOn + ", or closed: PROTOCOL_VIOLATION"},
	{name: "more connection IDs than the edge takes", section: "RFC 9000, 5.1.1",
		send: frames(slices.Concat(manyIDs(20)...)), want: closes("CONNECTION_ID_LIMIT_ERROR")},
	{name: "RETIRE_CONNECTION_ID of an unknown one", section: "RFC 9000, 19.16", send: frames(ints(0x19, 1000)),
		want: closes("PROTOCOL_VIOLATION")},
	{name: "RETIRE_CONNECTION_ID of the one in use", section: "RFC 9000, 19.16", send: frames(ints(0x19, 0)),
		want: closes("PROTOCOL_VIOLATION")},
	{name: "PATH_RESPONSE to nothing", section: "RFC 9000, 19.18",
		send: frames(append(ints(0x1b), make([]byte, 8)...)), want: goesOn + ", or closed: PROTOCOL_VIOLATION"},
	{name: "PATH_CHALLENGE", section: "RFC 9000, 8.2.2", send: frames(append(ints(0x1a), make([]byte, 8)...)), want: goesOn},

	{name: "KeyUpdate of TLS", section: "RFC 9001, 6", send: frames(crypto(0, []byte{24, 0, 0, 1, 0})), want: closes(alert)},
	{name: "garbage of TLS after the handshake", section: "RFC 9001, 4.8",
		send: frames(crypto(0, []byte("GET / HTTP/1.1\r\n\r\n"))), want: closes(alert)},
	{name: "CRYPTO beyond the buffer, after the handshake", section: "RFC 9000, 7.5",
		send: frames(crypto(1<<20, []byte("a"))), want: closes("CRYPTO_BUFFER_EXCEEDED")},
	{name: "key update", section: "RFC 9001, 6", send: func(c *raw) [][]byte {
		c.updateKeys()
		return [][]byte{{1}}
	}, want: goesOn},
	{name: "key updates in a row", section: "RFC 9001, 6.2", packet: func(c *raw) []byte {
		c.updateKeys()
		b := c.packet(application, []byte{1, 0, 0, 0})
		c.updateKeys()
		c.write(b)
		return c.packet(application, []byte{1, 0, 0, 0})
	}, want: goesOn + ", or closed: KEY_UPDATE_ERROR"},
	{name: "packets with wrong tags", section: "RFC 9001, 6.6", packet: func(c *raw) []byte {
		for i := range 1000 {
			b := c.short(0, uint64(1000+i), []byte{1, 0, 0, 0})
			b[len(b)-1] ^= 1
			c.write(b)
		}
		return c.packet(application, []byte{1})
	}, want: goesOn},
	{name: "packet again and again", section: "RFC 9000, 12.3", packet: func(c *raw) []byte {
		b := c.packet(application, on(0, 0, get, true))
		for range 100 {
			c.write(b)
		}
		return b
	}, want: goesOn},
}

// manyIDs returns so many NEW_CONNECTION_ID frames.
func manyIDs(n int) (list [][]byte) {
	for i := range n {
		list = append(list, newID(uint64(i+1), 0, binary.BigEndian.AppendUint64(nil, uint64(i))))
	}
	return list
}

// empty makes a packet without frames. It is long enough for the header protection by its number.
func (c *raw) empty() []byte {
	s := &c.spaces[application]
	h := append([]byte{0x40 | c.phase<<2 | (numberSize - 1)}, c.to...)
	h = binary.BigEndian.AppendUint32(h, uint32(s.next))
	b := s.send.aead.Seal(h, s.send.nonce(s.next), nil, h)
	s.next++
	mask := s.send.mask(b[len(h)+4-numberSize:][:16])
	b[0] ^= mask[0] & 0x1f
	for i := range numberSize {
		b[len(h)-numberSize+i] ^= mask[1+i]
	}
	return b
}

// do completes a handshake and sends the frames of a case.
func (d transportCase) do(_ context.Context, e *edge) error {
	c, err := connected(e)
	if err != nil {
		return err
	}
	defer c.Close()
	if d.packet != nil {
		err = c.write(d.packet(c))
	} else {
		for _, frames := range d.send(c) {
			c.pending = frames
			if err = c.send(application, frames); err != nil {
				return err
			}
		}
	}
	if err != nil {
		return err
	}
	if text, ok := strings.CutPrefix(d.want, goesOn); ok {
		const next = 4 * 8
		c.pending = on(next, 0, get, true)
		c.send(application, c.pending)
		err := c.until(func() bool { return c.ended[next] })
		if err == nil || text != "" {
			c.send(application, ints(0x1d, 0x100, 0))
		}
		if err != nil && text != "" {
			return closed(err, text)
		}
		return err
	}
	return closed(c.until(func() bool { return false }), d.want)
}

// What a client must not send after the handshake closes its connection, with the right error.
func TestTransport(t *testing.T) {
	var list []abuse
	for _, d := range transportCases {
		list = append(list, abuse{d.name, d.section, d.want, d.do})
	}
	carryOut(t, startEdge(t), list)
}
