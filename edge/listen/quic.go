package listen

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

// A quicListener limits the QUIC connections in all and for each client, with the same limits as
// for TCP. It counts them apart from TCP connections, because they use no file descriptors of their
// own. When the limit in all is reached, choose decides which connections make room, as for TCP.
type quicListener struct {
	*quic.EarlyListener
	conns *conns        // gives the limits, and counts the refused connections
	idle  time.Duration // how long a connection may stay open without a request

	mu   sync.Mutex
	open map[*quic.Conn]*quicConn
	of   perClient
}

// A quicConn is a QUIC connection and the state of its requests. Only requests count as use:
// keep-alive packets do not, nor do streams on which no request has arrived.
type quicConn struct {
	*quic.Conn
	client  netip.Prefix
	expires *time.Timer

	mu      sync.Mutex
	running int // requests in flight
	// waits counts the requests in flight that wait for the client: for more of a request body, or
	// until the client reads more of the response.
	waits int
	used  time.Time // when a request last began, made progress, or ended
}

// Accept returns the next connection within the limits. It closes the connections beyond them.
func (l *quicListener) Accept(ctx context.Context) (*quic.Conn, error) {
	for {
		c, err := l.EarlyListener.Accept(ctx)
		if err != nil {
			return nil, err
		}
		q := &quicConn{Conn: c, used: l.conns.now()}
		if peer := exchange.Address(c.RemoteAddr()); !l.conns.clients.Trusts(peer) {
			q.client = ratelimit.ClientKey(peer)
		}
		if why, ok := l.enter(q); !ok {
			l.conns.refused[why].Add(1)
			c.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeExcessiveLoad), "")
			continue
		}
		q.expires = time.AfterFunc(l.idle, func() { l.expire(q) })
		context.AfterFunc(c.Context(), func() { l.leave(q) })
		return c, nil
	}
}

// enter counts a connection if the limits allow it, closing others to make room if need be.
// Otherwise it returns the reason for the refusal.
func (l *quicListener) enter(q *quicConn) (refusal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[q.client] >= l.conns.perClient {
		return refusedClient, false
	}
	if len(l.open) >= l.conns.max {
		if l.of.foremost(q.client, l.conns.max) {
			return refusedTotal, false
		}
		spare := choose(l.holdings(l.conns.now()), l.of, q.client, l.conns.max)
		if len(spare) == 0 {
			return refusedTotal, false
		}
		for _, h := range spare {
			l.forget(h.conn)
			l.conns.madeRoom.Add(1)
			go h.conn.end() // not here: end waits for the connection's own goroutine
		}
	}
	l.open[q.Conn] = q
	l.of.enter(q.client)
	l.conns.overQUIC.Add(1)
	return 0, true
}

// holdings lists the connections that may be closed to make room: those that have been idle, or
// slow, for long enough.
func (l *quicListener) holdings(now time.Time) (list []holding[*quicConn]) {
	for _, q := range l.open {
		switch resting, since := q.rests(); {
		case resting && now.Sub(since) >= IdleFor, q.slow() && now.Sub(since) >= SlowFor:
			list = append(list, holding[*quicConn]{q, q.client, since, resting})
		}
	}
	return list
}

// leave releases a connection that has ended.
func (l *quicListener) leave(q *quicConn) {
	q.expires.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(q)
}

// forget stops counting q. Further calls have no effect. The caller holds mu.
func (l *quicListener) forget(q *quicConn) {
	if l.open[q.Conn] != q {
		return
	}
	delete(l.open, q.Conn)
	l.of.leave(q.client)
	l.conns.overQUIC.Add(-1)
}

// expire closes a connection that has had no request for the idle time. It checks again later if
// the connection is busy, or has been used since.
func (l *quicListener) expire(q *quicConn) {
	resting, since := q.rests()
	left := l.idle
	if resting {
		left = l.idle - time.Since(since)
	}
	if left <= 0 {
		q.end()
		return
	}
	q.expires.Reset(left)
}

// end closes the connection without an error (H3_NO_ERROR).
func (q *quicConn) end() { q.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "") }

// rests reports whether no request is in flight, and when the connection was last used.
func (q *quicConn) rests() (bool, time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running == 0, q.used
}

// slow reports whether every request in flight waits for the client.
func (q *quicConn) slow() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running > 0 && q.waits == q.running
}

// count adds to the numbers of requests in flight and of those that wait for the client. A nil
// quicConn belongs to a request of another protocol, and count does nothing.
func (q *quicConn) count(running, waits int) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running, q.waits, q.used = q.running+running, q.waits+waits, time.Now()
}

// A quicKey is the context key of a request's quicConn.
type quicKey struct{}

// know adds the quicConn of a connection to the context of its requests.
func (l *quicListener) know(ctx context.Context, c *quic.Conn) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return context.WithValue(ctx, quicKey{}, l.open[c])
}

// quicConnOf returns the QUIC connection of a request; nil if it arrived by another protocol.
func quicConnOf(r *http.Request) *quicConn {
	q, _ := r.Context().Value(quicKey{}).(*quicConn)
	return q
}

// busy is a handler that counts its requests in flight.
type busy struct {
	http.Handler
	now atomic.Int64
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := quicConnOf(r)
	q.count(1, 0)
	defer q.count(-1, 0)
	b.now.Add(1)
	defer b.now.Add(-1)
	b.Handler.ServeHTTP(w, r)
}

const (
	// quietFor allows for a request, or for the end of a response, that is still in the network.
	quietFor  = 500 * time.Millisecond
	quietPoll = 50 * time.Millisecond
)

// quiet waits until no request has been in flight for quietFor, or until ctx ends.
func (b *busy) quiet(ctx context.Context) {
	last := time.Now()
	tick := time.NewTicker(quietPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if b.now.Load() > 0 {
				last = now
			} else if now.Sub(last) >= quietFor {
				return
			}
		}
	}
}

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
	share := &bodies.Share{Client: d.conns.owner(exchange.Address(c.RemoteAddr)), Connection: true}
	room := d.conns.limits.Bodies
	if err := room.ReserveShare(share, QUICConnBytes+QUICStreamBytes*d.streams(c.RemoteAddr)); err != nil {
		d.conns.refused[refusedClient].Add(1)
		return nil, err
	}
	context.AfterFunc(ctx, func() { room.Release(share) })
	return ctx, nil
}
