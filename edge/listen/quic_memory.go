package listen

import (
	"context"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

const (
	// unvalidatedEach is how many handshakes a second may come from addresses that are not
	// validated. Beyond that rate the edge validates the address first (RFC 9000, section 8.1).
	unvalidatedEach = 200
	// unvalidatedPart sets when a client's address is validated first: once the client holds more
	// than one part in unvalidatedPart of its share of memory. So an attacker that spoofs the
	// address of another client cannot use up that client's share.
	unvalidatedPart = 8
	// roomyPart sets how many streams a new connection gets. While the client holds at most one
	// part in roomyPart of its share, it gets as many as over HTTP/2; beyond that, fewStreams.
	roomyPart  = 4
	fewStreams = 16

	// QUICConnBytes and quicStreamCosts estimate the bytes of memory of a connection, and of each
	// stream that the client may open on it. Streams are counted in advance, because quic-go reads
	// the head of a request before it calls the edge's handler.
	QUICConnBytes   = 64 << 10
	QUICStreamBytes = 16 << 10
)

// A quicDoor admits or refuses QUIC connections before the edge spends memory on them.
type quicDoor struct {
	conns      *conns
	handshakes ratelimit.PerSecond
	now        func() time.Time
}

// over reports whether the client at an address holds more than one part in `part` of its share.
func (d *quicDoor) over(a net.Addr, part int64) bool {
	room := d.conns.limits.Bodies
	return room.Held(d.conns.owner(exchange.Address(a))) > room.Each/part
}

// verify reports whether an address must be validated before a handshake.
func (d *quicDoor) verify(a net.Addr) bool {
	return d.over(a, unvalidatedPart) || !d.handshakes.Allow(d.now(), unvalidatedEach)
}

// streams returns how many streams the client at an address may open on its next connection.
func (d *quicDoor) streams(a net.Addr) int64 {
	if d.over(a, roomyPart) {
		return fewStreams
	}
	return h2.MaxStreams
}

// config returns a function that makes the configuration of each connection, with its own limit of
// streams.
func (d *quicDoor) config(base *quic.Config) func(*quic.ClientInfo) (*quic.Config, error) {
	return func(c *quic.ClientInfo) (*quic.Config, error) {
		own := base.Clone()
		own.MaxIncomingStreams = d.streams(c.RemoteAddr)
		return own, nil
	}
}

// admit counts a connection against its client's share until the connection ends, or refuses it.
// quic-go calls it right after config, on the same goroutine, so both count the same streams.
func (d *quicDoor) admit(ctx context.Context, c *quic.ClientInfo) (context.Context, error) {
	share := &bodies.Share{Client: d.conns.owner(exchange.Address(c.RemoteAddr))}
	room := d.conns.limits.Bodies
	if err := room.ReserveShare(share, QUICConnBytes+QUICStreamBytes*d.streams(c.RemoteAddr)); err != nil {
		d.conns.refused[refusedClient].Add(1)
		return nil, err
	}
	context.AfterFunc(ctx, func() { room.Release(share) })
	return ctx, nil
}
