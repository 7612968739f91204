package quic

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// A datagramCase has the datagrams that a client sends without a connection, and the outcome that
// must follow.
type datagramCase struct {
	name, section string
	send          func(c *raw) [][]byte // made after begin
	params        func(c *raw) []byte   // transport parameters; nil: the usual ones
	protocols     []string              // of ALPN; nil: h3
	want          string
}

// The outcomes of datagrams.
const (
	silence     = "no answer"
	negotiation = "Version Negotiation"
	// A server should read the IDs of other versions, but need not (RFC 9000, section 17.2).
	negotiationOrNot = "Version Negotiation or no answer"
	connects         = "the handshake completes"
)

// closes names a transport error (RFC 9000, section 20.1). Several are allowed, if the RFC leaves
// the choice.
func closes(codes ...string) string {
	text := "closed: "
	for i, c := range codes {
		if i > 0 {
			text += " or "
		}
		text += c
	}
	return text
}

var transportErrors = map[uint64]string{
	0x0: "NO_ERROR", 0x1: "INTERNAL_ERROR", 0x2: "CONNECTION_REFUSED", 0x3: "FLOW_CONTROL_ERROR",
	0x4: "STREAM_LIMIT_ERROR", 0x5: "STREAM_STATE_ERROR", 0x6: "FINAL_SIZE_ERROR", 0x7: "FRAME_ENCODING_ERROR",
	0x8: "TRANSPORT_PARAMETER_ERROR", 0x9: "CONNECTION_ID_LIMIT_ERROR", 0xa: "PROTOCOL_VIOLATION",
	0xb: "INVALID_TOKEN", 0xc: "APPLICATION_ERROR", 0xd: "CRYPTO_BUFFER_EXCEEDED", 0xe: "KEY_UPDATE_ERROR", 0xf: "AEAD_LIMIT_REACHED",
}

// alert is any alert of TLS.
const alert = "an alert of TLS"

// is reports whether a closure has one of the wanted errors. A generic error may always be used
// instead of a specific one (RFC 9000, section 11).
func (c *closure) is(want []string) bool {
	generic := !c.application && (c.code == 0x1 || c.code == 0xa)
	return generic || slices.Contains(want, c.name()) || !c.application && c.code&^0xff == 0x100 && slices.Contains(want, alert)
}

// name returns the name of the error of a closure.
func (c *closure) name() string {
	if c.application {
		return http3Error(c.code)
	}
	if name := transportErrors[c.code]; name != "" {
		return name
	}
	if c.code&^0xff == 0x100 {
		return tls.AlertError(c.code & 0xff).Error()
	}
	return fmt.Sprintf("%#x", c.code)
}

// only sends these frames in an Initial packet instead of the ClientHello.
func only(frames ...[]byte) func(c *raw) [][]byte {
	return func(c *raw) [][]byte { return [][]byte{c.packet(initial, slices.Concat(frames...))} }
}

// helloAnd sends the ClientHello and frames in one Initial packet.
func helloAnd(frames ...[]byte) func(c *raw) [][]byte {
	return func(c *raw) [][]byte {
		return [][]byte{c.packet(initial, append(c.hello(), slices.Concat(frames...)...))}
	}
}

// withParam replaces a transport parameter.
func withParam(id uint64, value []byte) func(c *raw) []byte {
	return func(c *raw) (b []byte) {
		all := map[uint64][]byte{id: value}
		for r := (reader{rest: parameters(c.from)}); len(r.rest) > 0; {
			p := r.int()
			v := r.bytes(r.int())
			if p != id {
				all[p] = v
			}
		}
		for p, v := range all {
			b = append(b, param(p, v)...)
		}
		return b
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// version returns a long header packet of another version, of a size.
func version(v uint32, size int) func(c *raw) [][]byte {
	return func(c *raw) [][]byte {
		b := appendLong(nil, 0, v, c.first, c.from)
		return [][]byte{append(b, make([]byte, size-len(b))...)}
	}
}

var datagramCases = []datagramCase{
	{name: "version that nobody speaks", section: "RFC 9000, 6.1", send: version(0x1a2a3a4a, 1200), want: negotiation},
	{name: "version that nobody speaks, in a small datagram", section: "RFC 9000, 6.1", send: version(0x1a2a3a4a, 1199), want: silence},
	{name: "Version Negotiation", section: "RFC 9000, 6.1", send: version(0, 1200), want: silence},
	{name: "connection IDs of 255 bytes of another version", section: "RFC 8999, 5.1", send: func(c *raw) [][]byte {
		c.first, c.from = random(255), random(255)
		return version(0x1a2a3a4a, 1400)(c)
	}, want: negotiationOrNot},
	{name: "a single byte", section: "RFC 9000, 5.2", send: func(*raw) [][]byte { return [][]byte{{0x40}, {0xc0}, {}} }, want: silence},
	{name: "random bytes of every size", section: "RFC 9000, 5.2", send: func(*raw) (all [][]byte) {
		for n := 1; n <= 1500; n += 13 {
			b := random(n)
			b[0] &^= 0x80 // a short header: an unknown version may be answered
			all = append(all, b)
		}
		return all
	}, want: silence},
	{name: "Initial packets of random bytes", section: "RFC 9000, 5.2", send: func(c *raw) (all [][]byte) {
		for n := 1200; n <= 1472; n += 16 {
			b := appendLong(nil, typeInitial<<4, version1, random(8), c.from)
			all = append(all, append(append(b, 0), random(n-len(b)-1)...))
		}
		return all
	}, want: silence},
	{name: "Initial packet in a small datagram", section: "RFC 9000, 14.1", send: func(c *raw) [][]byte {
		return [][]byte{longPacket{kind: typeInitial, to: c.to, from: c.from, payload: c.hello()}.seal(c.spaces[initial].send)}
	}, want: silence},
	{name: "Initial packet whose tag is wrong", section: "RFC 9001, 5.2", send: func(c *raw) [][]byte {
		b := c.packet(initial, c.hello())
		b[len(b)-1] ^= 1
		return [][]byte{b}
	}, want: silence},
	{name: "Initial packet whose length is beyond its end", section: "RFC 9000, 12.2", send: func(c *raw) [][]byte {
		b := appendLong(nil, typeInitial<<4|(numberSize-1), version1, c.to, c.from)
		return [][]byte{append(b, make([]byte, 1200-len(b))...), append(append(b, 0, 0x7f, 0xff), make([]byte, 1300)...)}
	}, want: silence},
	{name: "connection ID of less than 8 bytes", section: "RFC 9000, 7.2", send: func(c *raw) [][]byte {
		c.first, c.to = c.first[:4], c.first[:4]
		c.spaces[initial].send, c.spaces[initial].receive = initialKeys(c.first)
		return [][]byte{c.packet(initial, append(c.hello(), make([]byte, 4)...))}
	}, want: silence},
	{name: "0-RTT packet that belongs to nothing", section: "RFC 9000, 17.2.3", send: kindOf(typeZeroRTT), want: silence},
	{name: "Handshake packet that belongs to nothing", section: "RFC 9000, 17.2.4", send: kindOf(typeHandshake), want: silence},
	{name: "Retry from a client", section: "RFC 9000, 17.2.5", send: kindOf(typeRetry), want: silence},
	{name: "short header of an unknown connection", section: "RFC 9000, 10.3",
		send: func(*raw) [][]byte { return [][]byte{append([]byte{0x41}, random(60)...)} }, want: silence},

	{name: "ClientHello in pieces and backwards", section: "RFC 9000, 19.6", send: func(c *raw) [][]byte {
		hello, frames := c.spaces[initial].outgoing, []byte(nil)
		for at := len(hello) / 16 * 16; at >= 0; at -= 16 {
			frames = append(frames, crypto(uint64(at), hello[at:min(at+16, len(hello))])...)
		}
		return [][]byte{c.packet(initial, frames)}
	}, want: connects},
	{name: "ClientHello twice", section: "RFC 9000, 2.2", send: func(c *raw) [][]byte {
		return [][]byte{c.packet(initial, append(c.hello(), c.hello()...)), c.packet(initial, c.hello())}
	}, want: connects},
	{name: "garbage for a ClientHello", section: "RFC 9001, 4.8",
		send: only(crypto(0, []byte("GET / HTTP/1.1\r\n\r\n"))), want: closes(alert)},
	{name: "CRYPTO beyond the buffer", section: "RFC 9000, 7.5", send: helloAnd(crypto(1<<20, []byte("a"))),
		want: closes("CRYPTO_BUFFER_EXCEEDED")},
	{name: "STREAM in an Initial packet", section: "RFC 9000, 17.2.2", send: helloAnd(on(0, 0, get, true)),
		want: closes("PROTOCOL_VIOLATION", "FRAME_ENCODING_ERROR")},
	{name: "HANDSHAKE_DONE in an Initial packet", section: "RFC 9000, 12.4", send: helloAnd([]byte{0x1e}),
		want: closes("PROTOCOL_VIOLATION", "FRAME_ENCODING_ERROR")},
	{name: "unknown frame in an Initial packet", section: "RFC 9000, 12.4", send: helloAnd(ints(0x2a)),
		want: closes("FRAME_ENCODING_ERROR")},
	{name: "frame that is cut off", section: "RFC 9000, 12.4", send: func(c *raw) [][]byte {
		c.send(initial, nil) // only PADDING
		return only(make([]byte, 1155), ints(0x06, 0, 1000))(c)
	}, want: closes("FRAME_ENCODING_ERROR")},
	{name: "ACK of Initial packets that were not sent", section: "RFC 9000, 13.1",
		send: helloAnd(ints(0x02, 1000, 0, 0, 0)), want: closes("PROTOCOL_VIOLATION")},
	{name: "reserved bits of an Initial packet", section: "RFC 9000, 17.2", send: func(c *raw) [][]byte {
		h := appendLong(nil, typeInitial<<4|0x0c|(numberSize-1), version1, c.to, c.from)
		payload := append(c.hello(), make([]byte, 1200)...)[:1160]
		length := numberSize + len(payload) + 16
		h = append(append(appendInt(h, uint64(len(c.token))), c.token...), 0x40|byte(length>>8), byte(length), 0, 0, 0, 0)
		return [][]byte{c.spaces[initial].send.seal(h, 0, payload)}
	}, want: closes("PROTOCOL_VIOLATION")},

	{name: "no common protocol", section: "RFC 9001, 8.1", protocols: []string{"h2"}, want: closes("tls: no application protocol")},
	{name: "no transport parameters but the connection ID", section: "RFC 9000, 7.4",
		params: func(c *raw) []byte { return param(paramSourceID, c.from) }, want: connects},
	{name: "transport parameters without the connection ID", section: "RFC 9000, 7.3",
		params: func(*raw) []byte { return usual() }, want: closes("TRANSPORT_PARAMETER_ERROR")},
	{name: "another connection ID in the transport parameters", section: "RFC 9000, 7.3",
		params: withParam(paramSourceID, []byte("12345678")), want: closes("TRANSPORT_PARAMETER_ERROR")},
	{name: "transport parameter twice", section: "RFC 9000, 7.4",
		params: func(c *raw) []byte { return append(parameters(c.from), param(paramMaxData, ints(1))...) },
		want:   closes("TRANSPORT_PARAMETER_ERROR")},
	{name: "transport parameter of servers", section: "RFC 9000, 18.2", params: withParam(paramFirstID, random(8)),
		want: closes("TRANSPORT_PARAMETER_ERROR")},
	{name: "max_udp_payload_size below 1200", section: "RFC 9000, 18.2", params: withParam(paramMaxUDP, ints(1199)),
		want: closes("TRANSPORT_PARAMETER_ERROR")},
	{name: "ack_delay_exponent above 20", section: "RFC 9000, 18.2", params: withParam(paramAckExponent, ints(21)),
		want: closes("TRANSPORT_PARAMETER_ERROR")},
	{name: "active_connection_id_limit below 2", section: "RFC 9000, 18.2",
		params: withParam(paramConnectionIDs, ints(1)), want: closes("TRANSPORT_PARAMETER_ERROR")},
	{name: "initial_max_streams beyond 2^60", section: "RFC 9000, 4.6",
		params: withParam(paramStreams, ints(1<<60+1)), want: closes("TRANSPORT_PARAMETER_ERROR")},
	{name: "reserved transport parameter", section: "RFC 9000, 18.1", params: withParam(31*5+27, random(100)), want: connects},
	{name: "transport parameter that is cut off", section: "RFC 9000, 7.4",
		params: func(c *raw) []byte { return append(parameters(c.from), 0x20, 0x10) },
		want:   closes("TRANSPORT_PARAMETER_ERROR", "FRAME_ENCODING_ERROR")},
}

// kindOf sends a packet of a type that no connection has keys for.
func kindOf(kind byte) func(c *raw) [][]byte {
	return func(c *raw) [][]byte {
		b := append(appendLong(nil, kind<<4, version1, c.first, c.from), 0x44, 0x96)
		return [][]byte{append(b, random(0x496)...)}
	}
}

// addresses counts the addresses that cases have used.
var addresses atomic.Uint32

// nextAddress returns an address from which nothing was sent so far: the edge may still send
// something to a port that was in use before.
func nextAddress() net.IP {
	if runtime.GOOS != "linux" {
		return neighbour
	}
	n := addresses.Add(1)
	return net.IPv4(127, 2, byte(n>>8), byte(n))
}

// do sends the datagrams of a case from a socket of its own.
func (d datagramCase) do(_ context.Context, e *edge) error {
	c, err := newRaw(e.address, nextAddress())
	if err != nil {
		return err
	}
	defer c.Close()
	if d.protocols == nil {
		d.protocols = []string{"h3"}
	}
	params := parameters(c.from)
	if d.params != nil {
		params = d.params(c)
	}
	if err := c.begin(clientTLS(d.protocols...), params); err != nil {
		return err
	}
	if d.send == nil {
		d.send = helloAnd()
	}
	c.remake = d.send
	for _, b := range d.send(c) {
		if err := c.write(b); err != nil {
			return err
		}
	}
	switch d.want {
	case silence:
		return c.silent()
	case negotiationOrNot:
		if err := c.silent(); err == nil || c.got <= c.sent {
			return nil
		}
		return fmt.Errorf("%d bytes for %d", c.got, c.sent)
	case negotiation:
		if err := c.until(func() bool { return c.offered != nil }); err != nil {
			return err
		}
		if !slices.Contains(c.offered, version1) || c.got > c.sent {
			return fmt.Errorf("versions %x in %d bytes, for %d", c.offered, c.got, c.sent)
		}
		return nil
	case connects:
		err := c.until(func() bool { return c.finished })
		if err == nil {
			err = c.send(application, ints(0x1d, 0x100, 0))
		}
		return err
	}
	return closed(c.until(func() bool { return false }), d.want)
}

// closed returns an error unless a connection is closed with one of the wanted errors.
func closed(err error, want string) error {
	var got *closure
	if !errors.As(err, &got) {
		return fmt.Errorf("it is not closed: %w", err)
	}
	if !got.is(wanted(want)) {
		return fmt.Errorf("it is closed with %s, %q", got.name(), got.reason)
	}
	return nil
}

// Datagrams that belong to no connection, or begin one in a wrong way, are ignored or close what
// they have begun.
func TestDatagrams(t *testing.T) {
	var list []abuse
	for _, d := range datagramCases {
		list = append(list, abuse{d.name, d.section, d.want, d.do})
	}
	carryOut(t, startEdge(t), list)
}
