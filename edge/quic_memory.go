package edge

import (
	"context"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/h2"
)

const (
	// unvalidatedEach is how many handshakes a second may come from addresses that are not validated; beyond, the edge validates the
	// address first (RFC 9000, section 8.1).
	unvalidatedEach = 200
	// unvalidatedPart is the part of a client's share beyond which its address is validated first, so that nobody uses up the share of
	// another client by naming its address.
	unvalidatedPart = 8
	// roomyPart is the part of its share up to which a client's connections have as many streams as they may over HTTP/2. Clients that
	// hold more get connections with fewStreams.
	roomyPart  = 4
	fewStreams = 16

	// What a connection takes, and each stream that the client may open on it. quic-go reads the head of a request before anybody hears of the
	// request, so that the streams count ahead.
	quicCosts       = 64 << 10
	quicStreamCosts = 16 << 10
)

// A quicDoor decides about QUIC connections before anything is spent on them.
type quicDoor struct {
	conns      *conns
	handshakes rate
	now        func() time.Time
}

// over reports whether the client at an address holds more than a part of its share.
func (d *quicDoor) over(a net.Addr, part int64) bool {
	room := d.conns.limits.Bodies
	return room.Held(d.conns.owner(addressOf(a))) > room.Each/part
}

// verify reports whether an address must be validated before a handshake.
func (d *quicDoor) verify(a net.Addr) bool {
	return d.over(a, unvalidatedPart) || !d.handshakes.allow(d.now(), unvalidatedEach)
}

// streams is how many streams the client at an address may open on its next connection.
func (d *quicDoor) streams(a net.Addr) int64 {
	if d.over(a, roomyPart) {
		return fewStreams
	}
	return h2.MaxStreams
}

// config gives each connection its number of streams.
func (d *quicDoor) config(base *quic.Config) func(*quic.ClientInfo) (*quic.Config, error) {
	return func(c *quic.ClientInfo) (*quic.Config, error) {
		own := base.Clone()
		own.MaxIncomingStreams = d.streams(c.RemoteAddr)
		return own, nil
	}
}

// admit counts a connection against its client's share until it ends, or refuses it. quic-go calls it right after config, on the same
// goroutine.
func (d *quicDoor) admit(ctx context.Context, c *quic.ClientInfo) (context.Context, error) {
	share := &bodies.Share{Client: d.conns.owner(addressOf(c.RemoteAddr))}
	room := d.conns.limits.Bodies
	if err := room.Keep(share, quicCosts+quicStreamCosts*d.streams(c.RemoteAddr)); err != nil {
		d.conns.refused[refusedClient].Add(1)
		return nil, err
	}
	context.AfterFunc(ctx, func() { room.Give(share) })
	return ctx, nil
}
