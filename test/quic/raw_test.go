package quic

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/iconedge/iconedge/test/harness"
)

// A raw client speaks QUIC version 1 as far as the cases need it, with packets that it makes
// itself. It completes a handshake, acknowledges what it receives, and sends the frames of a case.
// One goroutine uses it.
type raw struct {
	socket   *net.UDPConn
	first    []byte // the connection ID that the client chose for the edge
	to, from []byte // connection IDs
	token    []byte
	spaces   [levels]space
	tls      *tls.QUICConn
	phase    byte // of our keys
	former   *keys

	opening []byte                // frames of the latest Initial packet
	remake  func(c *raw) [][]byte // makes the datagrams of a case again, for a Retry; nil: opening
	pending []byte                // frames that are sent again while no answer comes

	retried   int // Retry packets
	offered   []uint32
	finished  bool // the edge has confirmed the handshake
	closed    *closure
	sent, got int // bytes
	stray     int // bytes of packets for other connection IDs
	streams   map[uint64][]byte
	ended     map[uint64]bool
	seen      map[uint64]int // frames of each type
}

// A space is a packet number space.
type space struct {
	send, receive *keys
	next          uint64
	largest       uint64
	unsaid        bool // an acknowledgement is due
	numbers       []uint64
	pieces        map[uint64][]byte
	given         int
	outgoing      []byte // of TLS, for when it must be sent again
}

// A closure is the CONNECTION_CLOSE of the edge.
type closure struct {
	application bool
	code        uint64
	reason      string
}

func (c *closure) Error() string {
	kind := "transport"
	if c.application {
		kind = "application"
	}
	return fmt.Sprintf("closed with %s error %#x %q", kind, c.code, c.reason)
}

// The transport parameters that cases change (RFC 9000, section 18.2).
const (
	paramMaxUDP        = 0x03
	paramMaxData       = 0x04
	paramStreamLocal   = 0x05
	paramStreamRemote  = 0x06
	paramStreamUni     = 0x07
	paramStreams       = 0x08
	paramUniStreams    = 0x09
	paramAckExponent   = 0x0a
	paramConnectionIDs = 0x0e
	paramSourceID      = 0x0f
	paramFirstID       = 0x00
)

// usual returns the transport parameters of a client without the one of its connection ID.
func usual() []byte {
	var b []byte
	for _, p := range [][2]uint64{{paramMaxData, 1 << 20}, {paramStreamLocal, 1 << 18}, {paramStreamRemote, 1 << 18},
		{paramStreamUni, 1 << 18}, {paramStreams, 10}, {paramUniStreams, 10}, {paramConnectionIDs, 4}} {
		b = append(b, param(p[0], ints(p[1]))...)
	}
	return b
}

func param(id uint64, value []byte) []byte {
	return append(ints(id, uint64(len(value))), value...)
}

// parameters returns the transport parameters of a client that has a connection ID.
func parameters(id []byte) []byte { return append(usual(), param(paramSourceID, id)...) }

func clientTLS(protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, ServerName: "edge.test", NextProtos: protocols,
		MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.X25519}}
}

// newRaw returns a client that has sent nothing yet.
func newRaw(address string, from net.IP) (*raw, error) {
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	socket, err := net.DialUDP("udp", &net.UDPAddr{IP: from}, to)
	if err != nil {
		return nil, err
	}
	return newRawOver(socket), nil
}

// newRawOver is newRaw for a socket that another client has used.
func newRawOver(socket *net.UDPConn) *raw {
	c := &raw{socket: socket, first: make([]byte, 8), from: make([]byte, 8), streams: map[uint64][]byte{},
		ended: map[uint64]bool{}, seen: map[uint64]int{}}
	rand.Read(c.first)
	rand.Read(c.from)
	c.to = c.first
	for i := range c.spaces {
		c.spaces[i].pieces = map[uint64][]byte{}
	}
	c.spaces[initial].send, c.spaces[initial].receive = initialKeys(c.first)
	return c
}

func (c *raw) Close() { c.socket.Close() }

// begin starts TLS, so that the ClientHello waits to be sent.
func (c *raw) begin(config *tls.Config, params []byte) error {
	c.tls = tls.QUICClient(&tls.QUICConfig{TLSConfig: config})
	c.tls.SetTransportParameters(params)
	if err := c.tls.Start(context.Background()); err != nil {
		return err
	}
	return c.events()
}

// events passes what TLS has done.
func (c *raw) events() error {
	for {
		switch e := c.tls.NextEvent(); e.Kind {
		case tls.QUICNoEvent:
			return nil
		case tls.QUICWriteData:
			s := &c.spaces[levelOf(e.Level)]
			s.outgoing = append(s.outgoing, e.Data...)
		case tls.QUICSetReadSecret:
			c.spaces[levelOf(e.Level)].receive = newKeys(suite(e.Suite), slices.Clone(e.Data))
		case tls.QUICSetWriteSecret:
			c.spaces[levelOf(e.Level)].send = newKeys(suite(e.Suite), slices.Clone(e.Data))
		}
	}
}

func levelOf(l tls.QUICEncryptionLevel) level {
	return map[tls.QUICEncryptionLevel]level{tls.QUICEncryptionLevelInitial: initial,
		tls.QUICEncryptionLevelHandshake: handshake, tls.QUICEncryptionLevelApplication: application}[l]
}

// hello returns the CRYPTO frame of the ClientHello.
func (c *raw) hello() []byte { return crypto(0, c.spaces[initial].outgoing) }

func crypto(offset uint64, data []byte) []byte {
	return append(ints(0x06, offset, uint64(len(data))), data...)
}

// minInitial is the least size of a datagram with an Initial packet (RFC 9000, section 14.1).
const minInitial = 1200

// packet makes a packet with frames.
func (c *raw) packet(l level, frames []byte) []byte {
	s := &c.spaces[l]
	number := s.next
	s.next++
	switch l {
	case initial:
		c.opening = frames
		const overhead = 1 + 4 + 2 + 1 + 2 + numberSize + 16
		if short := minInitial - overhead - len(c.to) - len(c.from) - len(c.token) - len(frames); short > 0 {
			frames = append(slices.Clone(frames), make([]byte, short)...)
		}
		return longPacket{typeInitial, c.to, c.from, c.token, number, frames}.seal(s.send)
	case handshake:
		return longPacket{kind: typeHandshake, to: c.to, from: c.from, number: number, payload: frames}.seal(s.send)
	}
	return c.short(0, number, frames)
}

// short makes a packet with a short header, of which more bits may be set.
func (c *raw) short(more byte, number uint64, frames []byte) []byte {
	h := append([]byte{0x40 | c.phase<<2 | more | (numberSize - 1)}, c.to...)
	return c.spaces[application].send.seal(binary.BigEndian.AppendUint32(h, uint32(number)), number, frames)
}

// send sends frames in a packet.
func (c *raw) send(l level, frames []byte) error { return c.write(c.packet(l, frames)) }

func (c *raw) write(datagram []byte) error {
	c.sent += len(datagram)
	_, err := c.socket.Write(datagram)
	return err
}

// connected returns a client of the attackers whose handshake with an edge is complete.
func connected(e *edge) (*raw, error) {
	c, err := newRaw(e.address, attackers)
	if err != nil {
		return nil, err
	}
	if err := c.connect(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// connect completes a handshake.
func (c *raw) connect() error {
	if err := c.begin(clientTLS("h3"), parameters(c.from)); err != nil {
		return err
	}
	return c.shake()
}

// shake sends the ClientHello and what follows it, until the handshake is confirmed.
func (c *raw) shake() error {
	if err := c.send(initial, c.hello()); err != nil {
		return err
	}
	return c.until(func() bool { return c.finished })
}

// patience is how long the client waits for a packet before it sends again, because packets may be
// lost.
const patience = time.Second

// longest is how long the client waits for an outcome. While costs are measured the edge is too
// busy for some, and waiting longer would not help.
var longest = func() time.Duration {
	if os.Getenv(measures) != "" {
		return 5 * time.Second
	}
	return harness.Longest
}()

var errSilence = errors.New("the edge is silent")

// silent reports an error if the edge has answered what this client has sent. It opens a connection
// by the same socket, so that whatever the edge sends comes before its end.
func (c *raw) silent() error {
	if c.closed != nil {
		return c.closed
	}
	probe := newRawOver(c.socket)
	if err := probe.connect(); err != nil {
		return fmt.Errorf("the next connection: %w", err)
	}
	if c.got += probe.stray; c.got > 0 {
		return fmt.Errorf("the edge answers with %d bytes", c.got)
	}
	return probe.send(application, ints(0x1d, 0x100, 0))
}

// until receives packets until a condition holds. It returns the closure if the edge closes the
// connection first.
func (c *raw) until(is func() bool) error {
	for late := time.Now().Add(longest); !is(); {
		switch err := c.receive(patience); {
		case c.closed != nil:
			return c.closed
		case errors.Is(err, os.ErrDeadlineExceeded):
			if time.Now().After(late) {
				return errSilence
			}
			if err := c.again(); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// again sends the packets of the handshake once more, or the frames of the case.
func (c *raw) again() error {
	if c.finished {
		return c.send(application, append(slices.Clone(c.pending), 0x01))
	}
	if err := c.send(initial, c.opening); err != nil {
		return err
	}
	if s := &c.spaces[handshake]; s.send != nil && len(s.outgoing) > 0 {
		return c.send(handshake, crypto(0, s.outgoing))
	}
	return nil
}

// receive handles one datagram and acknowledges its packets.
func (c *raw) receive(within time.Duration) error {
	b := make([]byte, 64<<10)
	c.socket.SetReadDeadline(time.Now().Add(within))
	n, err := c.socket.Read(b)
	if err != nil {
		return err
	}
	c.got += n
	if err := c.datagram(b[:n]); err != nil {
		return err
	}
	return c.acknowledge()
}

// acknowledge sends the acknowledgements that are due, and what TLS wants to send.
func (c *raw) acknowledge() error {
	for l := range levels {
		s := &c.spaces[l]
		if s.send == nil || !s.unsaid || c.closed != nil {
			continue
		}
		s.unsaid = false
		frames, opening := s.ack(), c.opening
		if l == handshake && len(s.outgoing) > 0 && !c.finished {
			frames = append(frames, crypto(0, s.outgoing)...)
		}
		if err := c.send(l, frames); err != nil {
			return err
		}
		c.opening = opening
	}
	return nil
}

// ack returns an ACK frame for the latest packets.
func (s *space) ack() []byte {
	var ranges [][2]uint64 // from, to; the latest first
	for _, n := range slices.Backward(s.numbers) {
		if last := len(ranges) - 1; last >= 0 && ranges[last][0] == n+1 {
			ranges[last][0] = n
		} else if len(ranges) < 32 {
			ranges = append(ranges, [2]uint64{n, n})
		} else {
			break
		}
	}
	b := ints(0x02, ranges[0][1], 0, uint64(len(ranges)-1), ranges[0][1]-ranges[0][0])
	for i := 1; i < len(ranges); i++ {
		b = append(b, ints(ranges[i-1][0]-ranges[i][1]-2, ranges[i][1]-ranges[i][0])...)
	}
	return b
}

// datagram handles the packets of a datagram. It ignores those that it can't read.
func (c *raw) datagram(b []byte) error {
	for len(b) > 0 {
		if b[0]&0x80 == 0 {
			return c.shortPacket(b)
		}
		h, err := parseLong(b)
		if err != nil {
			return err
		}
		if !bytes.Equal(h.to, c.from) {
			// A busy edge answers by Retry before it looks into a packet.
			if h.version != version1 || h.first>>4&3 != typeRetry {
				c.stray += len(b)
			}
			return nil
		}
		if h.version == 0 {
			for r := (reader{rest: h.rest}); len(r.rest) >= 4; {
				c.offered = append(c.offered, binary.BigEndian.Uint32(r.bytes(4)))
			}
			return nil
		}
		l, r := initial, reader{rest: h.rest}
		switch h.first >> 4 & 3 {
		case typeInitial:
			r.bytes(r.int())
		case typeHandshake:
			l = handshake
		case typeRetry:
			return c.retry(b, h)
		default:
			return fmt.Errorf("an edge sends no packet of type %d", h.first>>4&3)
		}
		length := r.int()
		at := len(b) - len(r.rest)
		if r.bytes(length); r.err != nil {
			return r.err
		}
		packet := b[:at+int(length)]
		b = b[len(packet):]
		s := &c.spaces[l]
		if s.receive == nil {
			continue
		}
		_, number, payload, err := s.receive.open(packet, at, s.largest)
		if err != nil {
			continue // damaged, or of another connection
		}
		if len(c.spaces[initial].numbers) == 0 {
			c.to = slices.Clone(h.from)
		}
		if err := c.frames(l, number, payload); err != nil {
			return err
		}
	}
	return nil
}

// retry begins again with the token of a Retry packet (RFC 9000, section 17.2.5).
func (c *raw) retry(b []byte, h longHeader) error {
	if len(h.rest) < 16 {
		return errShort
	}
	if tag := retryTag(c.first, b[:len(b)-16]); string(tag) != string(b[len(b)-16:]) {
		return errors.New("the integrity tag of a Retry packet is wrong")
	}
	if c.retried++; c.retried > 1 {
		return nil
	}
	c.token, c.to = slices.Clone(h.rest[:len(h.rest)-16]), slices.Clone(h.from)
	c.spaces[initial].send, c.spaces[initial].receive = initialKeys(c.to)
	if c.remake != nil {
		for _, b := range c.remake(c) {
			if err := c.write(b); err != nil {
				return err
			}
		}
		return nil
	}
	return c.send(initial, c.opening)
}

func (c *raw) shortPacket(b []byte) error {
	s := &c.spaces[application]
	if s.receive == nil {
		return nil
	}
	_, number, payload, err := s.receive.open(b, 1+len(c.from), s.largest)
	if err != nil && c.former != nil {
		_, number, payload, err = c.former.open(b, 1+len(c.from), s.largest)
	}
	if err != nil {
		// The edge may have updated its keys. It does so after 100 packets, and then after 100,000.
		if _, number, payload, err = s.receive.next().open(b, 1+len(c.from), s.largest); err == nil {
			c.updateKeys()
		}
	}
	if err != nil { // the connection ID may be one of a case
		c.stray += len(b)
		return nil
	}
	return c.frames(application, number, payload)
}

// integers is how many integers a frame of a type consists of besides its type. The other frames
// have cases of their own.
var integers = map[uint64]int{0x00: 0, 0x01: 0, 0x04: 3, 0x05: 2, 0x10: 1, 0x11: 2, 0x12: 1, 0x13: 1, 0x14: 1,
	0x15: 2, 0x16: 1, 0x17: 1, 0x19: 1, 0x1e: 0}

// frames handles the frames of a packet.
func (c *raw) frames(l level, number uint64, payload []byte) error {
	s := &c.spaces[l]
	if slices.Contains(s.numbers, number) {
		return nil
	}
	s.numbers = append(s.numbers, number)
	slices.Sort(s.numbers)
	s.largest = max(s.largest, number)
	for r := (reader{rest: payload}); len(r.rest) > 0; {
		kind := r.int()
		c.seen[kind]++
		if kind != 0 && kind != 2 && kind != 3 && kind != 0x1c && kind != 0x1d {
			s.unsaid = true
		}
		switch {
		case kind == 2 || kind == 3:
			r.int()
			r.int()
			for n := 2*r.int() + 1; n > 0 && r.err == nil; n-- {
				r.int()
			}
			if kind == 3 {
				r.int()
				r.int()
				r.int()
			}
		case kind == 6:
			offset := r.int()
			if err := c.fromTLS(l, offset, r.bytes(r.int())); err != nil {
				return err
			}
		case kind == 7:
			r.bytes(r.int())
		case kind >= 8 && kind <= 0xf:
			c.stream(kind, &r)
		case kind == 0x18:
			r.int()
			r.int()
			r.bytes(uint64(r.byte()))
			r.bytes(16)
		case kind == 0x1a:
			c.send(application, append([]byte{0x1b}, r.bytes(8)...))
		case kind == 0x1b:
			r.bytes(8)
		case kind == 0x1c || kind == 0x1d:
			c.closed = &closure{application: kind == 0x1d, code: r.int()}
			if kind == 0x1c {
				r.int()
			}
			c.closed.reason = string(r.bytes(r.int()))
		case kind == 0x1e:
			c.finished = true
		default:
			n, ok := integers[kind]
			if !ok {
				return fmt.Errorf("the edge sends a frame of type %#x", kind)
			}
			for range n {
				r.int()
			}
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// fromTLS passes CRYPTO frames to TLS, in order.
func (c *raw) fromTLS(l level, offset uint64, data []byte) error {
	s := &c.spaces[l]
	s.pieces[offset] = data
	for again := true; again; {
		again = false
		for at, piece := range s.pieces {
			if end := at + uint64(len(piece)); at <= uint64(s.given) && end > uint64(s.given) {
				new := piece[uint64(s.given)-at:]
				s.given += len(new)
				if c.tls == nil {
					continue
				}
				if err := c.tls.HandleData(tlsLevel(l), new); err != nil {
					return err
				}
				if err := c.events(); err != nil {
					return err
				}
				again = true
			}
		}
	}
	return nil
}

func tlsLevel(l level) tls.QUICEncryptionLevel {
	return []tls.QUICEncryptionLevel{tls.QUICEncryptionLevelInitial, tls.QUICEncryptionLevelHandshake,
		tls.QUICEncryptionLevelApplication}[l]
}

// stream collects the bytes of streams that arrive in order.
func (c *raw) stream(kind uint64, r *reader) {
	id, offset := r.int(), uint64(0)
	if kind&4 != 0 {
		offset = r.int()
	}
	data := r.rest
	if kind&2 != 0 {
		data = r.bytes(r.int())
	} else {
		r.rest = nil
	}
	if uint64(len(c.streams[id])) == offset {
		c.streams[id] = append(c.streams[id], data...)
		if kind&1 != 0 {
			c.ended[id] = true
		}
	}
}

// on returns a STREAM frame.
func on(id, offset uint64, data []byte, last bool) []byte {
	kind := uint64(0x0e)
	if last {
		kind |= 1
	}
	return append(ints(kind, id, offset, uint64(len(data))), data...)
}

// updateKeys begins to use the next keys (RFC 9001, section 6.1).
func (c *raw) updateKeys() {
	s := &c.spaces[application]
	c.former, s.send, s.receive, c.phase = s.receive, s.send.next(), s.receive.next(), c.phase^1
}
