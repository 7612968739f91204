package listen

import (
	"net/netip"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/bodies"
)

// What a connection over HTTP/3 takes without garbage, in bytes, as `loadtest quic` measures it and
// profiles of its heap and its goroutines show. A client is charged with what each of its
// connections takes at the time: of a handshake the state of TLS, the certificate on its way and
// the stack of crypto/tls, which are gone when it is complete; then the objects and stacks of a
// connection at rest; further for each request in flight, and for each byte by which a receive
// window has grown.
const (
	quicHandshakeBytes = 72 << 10
	// QUICConnBytes are those of a connection at rest.
	QUICConnBytes = 52 << 10
	// QUICStreamBytes are those of a request in flight: its goroutine, its stream and its head. Its
	// body and its response count apart.
	QUICStreamBytes = 16 << 10
)

// A quicUse is a use of the memory for HTTP/3.
type quicUse uint8

const (
	quicHandshakes quicUse = iota
	quicConns              // whose handshake is complete
	quicStreams
	quicWindows
	quicUses // the number of uses
)

var quicUseNames = [quicUses]string{"handshakes", "connections", "requests", "windows"}

// A quicShare is the part of its client's share that a connection holds.
type quicShare struct {
	rest    bodies.Share // what it takes without requests
	window  bodies.Share // by how much its receive window has grown, of those of all clients
	granted bodies.Share // the same, of the client's share
	grown   int64        // bytes of both
	entered bool         // its handshake is complete
}

func (q *quicShare) setClient(client netip.Prefix) {
	q.rest.Client, q.window.Client, q.granted.Client = client, client, client
	q.rest.Connection, q.granted.Connection = true, true
}

// A quicCharge charges clients with the memory that their connections over HTTP/3 take.
type quicCharge struct {
	room    *bodies.Budget         // of all uses
	windows *bodies.Budget         // of windows alone
	held    [quicUses]atomic.Int64 // by all clients
}

// begin charges a connection with a handshake. It reports whether the client's share allows it.
func (c *quicCharge) begin(q *quicShare) bool {
	if c.room.ReserveShare(&q.rest, quicHandshakeBytes) != nil {
		return false
	}
	c.held[quicHandshakes].Add(quicHandshakeBytes)
	return true
}

// enter charges a connection whose handshake is complete with its memory at rest.
func (c *quicCharge) enter(q *quicShare) {
	q.entered = true
	c.room.Shrink(&q.rest, QUICConnBytes)
	c.held[quicHandshakes].Add(-quicHandshakeBytes)
	c.held[quicConns].Add(QUICConnBytes)
}

// leave releases the memory of a connection, which has been entered or not.
func (c *quicCharge) leave(q *quicShare) {
	c.room.Release(&q.rest)
	if q.entered {
		c.held[quicConns].Add(-QUICConnBytes)
	} else {
		c.held[quicHandshakes].Add(-quicHandshakeBytes)
	}
}

// stream charges a client with a request in flight. It reports whether its share allows it.
func (c *quicCharge) stream(s *bodies.Share) bool {
	if c.room.Reserve(s, QUICStreamBytes) != nil {
		return false
	}
	c.held[quicStreams].Add(QUICStreamBytes)
	return true
}

// endStream releases the charge of stream.
func (c *quicCharge) endStream(s *bodies.Share) {
	c.room.Release(s)
	c.held[quicStreams].Add(-QUICStreamBytes)
}

// grow reports whether the receive window of a connection may grow by a number of bytes, and
// charges its client with them until narrow. Only one goroutine at a time may call grow for a
// connection.
func (c *quicCharge) grow(q *quicShare, by int64) bool {
	if c.room.ReserveShare(&q.granted, q.grown+by) != nil {
		return false
	}
	if c.windows.Reserve(&q.window, q.grown+by) != nil {
		c.room.Shrink(&q.granted, q.grown)
		return false
	}
	q.grown += by
	c.held[quicWindows].Add(by)
	return true
}

// narrow releases the bytes by which a window has grown.
func (c *quicCharge) narrow(q *quicShare) {
	c.windows.Release(&q.window)
	c.room.Release(&q.granted)
	c.held[quicWindows].Add(-q.grown)
}

// stats returns the bytes that all clients are charged with, by use.
func (c *quicCharge) stats() map[string]int64 {
	all := map[string]int64{}
	for use, name := range quicUseNames {
		all[name] = 0
		if c != nil {
			all[name] = c.held[use].Load()
		}
	}
	return all
}
