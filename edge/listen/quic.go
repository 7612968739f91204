package listen

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h3"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/internal/certs"
)

// A quicDoor admits or refuses QUIC connections before the edge spends memory on them, and bounds
// their number in all and for each client. It counts them apart from TCP connections, because they
// use no file descriptors of their own. When the limit in all is reached, choose decides which
// connections make room, as for TCP.
type quicDoor struct {
	conns          *conns        // knows the clients, and counts the refused connections
	max, perClient int           // connections at a time
	idle           time.Duration // how long a connection may stay open without a request
	charge         *quicCharge
	handshakes     ratelimit.PerSecond
	now            func() time.Time

	mu     sync.Mutex
	open   map[*quicConn]struct{}
	of     perClient
	shakes perClient // connections whose handshake is not complete
	shaken int       // their number
	sought search
	// spares is for how many handshakes beyond the limit of all there was room at the time counted.
	spares  int
	counted time.Time
	// full says that little room is left for all, near for which clients. isStrained reads them
	// without mu.
	full atomic.Bool
	near nearClients
	// retried are the last addresses that were asked for validation, by port. A ClientHello has
	// several packets. Without this memory a later one of them could begin a handshake that nobody
	// completes, which takes a place meanwhile.
	retried [rememberedRetries]netip.AddrPort
}

func newQUICDoor(c *conns, limits Capacity) *quicDoor {
	charge := &quicCharge{room: limits.quicMemory(), windows: limits.quicWindows()}
	c.charge.Store(charge)
	return &quicDoor{
		conns: c, max: limits.MaxQUIC, perClient: limits.MaxQUICPerClient, idle: limits.IdleTimeout,
		charge: charge, now: time.Now,
		open: map[*quicConn]struct{}{}, of: perClient{}, shakes: perClient{}, near: nearClients{known: map[netip.Prefix]struct{}{}},
	}
}

// A quicConn is a QUIC connection and the state of its requests. Only requests count as use:
// keep-alive packets do not, nor do streams on which no request has arrived.
type quicConn struct {
	*quic.Conn // nil until the handshake is complete
	client     netip.Prefix
	share      quicShare
	expires    *time.Timer
	hits       *h3.Conn // reads its streams
	left       bool     // it has ended

	mu      sync.Mutex
	running int // requests in flight
	// waits counts the requests in flight that wait for the client: for more of a request body, or
	// until the client reads more of the response.
	waits int
	used  time.Time // when a request last began, made progress, or ended
}

// A quicKey is the context key of the quicConn of a connection and of its requests.
type quicKey struct{}

// quicConnOf returns the QUIC connection of a context; nil: it has none, because it belongs to
// another protocol.
func quicConnOf(ctx context.Context) *quicConn {
	q, _ := ctx.Value(quicKey{}).(*quicConn)
	return q
}

const (
	// quicIdleFor is the time for which a connection must have been idle before the edge may close
	// it to make room. It is longer than IdleFor: a browser loses the requests that it begins at
	// the moment in which its connection ends, while a connection that is refused costs it nothing.
	// So no connection should end between two requests of one page.
	quicIdleFor = time.Second
	// unvalidatedEach is how many handshakes a second may come from addresses that are not
	// validated. Beyond that rate the edge validates the address first (RFC 9000, section 8.1).
	unvalidatedEach = 200
	// unvalidatedPart sets when a client's address is validated first: once the client holds more
	// than one part in unvalidatedPart of the connections that it may have. So an attacker that
	// spoofs the address of another client cannot use them up.
	unvalidatedPart = 2
	// rememberedRetries is the number of addresses that the edge remembers because it has asked for
	// their validation.
	rememberedRetries = 1024
	// unfinishedPart sets how many handshakes may be incomplete at a time: one part in
	// unfinishedPart of all connections, but as many as one client may have connections by default.
	unfinishedPart = 4
)

// verify reports whether an address must be validated before a handshake.
func (d *quicDoor) verify(a net.Addr) bool {
	client, from := d.conns.owner(exchange.Address(a)), addrPort(a)
	d.mu.Lock()
	last := &d.retried[from.Port()%rememberedRetries]
	verify := *last == from || d.of[client]+d.shakes[client] > d.perClient/unvalidatedPart || !d.handshakes.Allow(d.now(), unvalidatedEach)
	if verify {
		*last = from
	}
	d.mu.Unlock()
	if verify {
		pace()
	}
	return verify
}

// addrPort returns the address of a UDP packet with its port.
func addrPort(a net.Addr) (from netip.AddrPort) {
	if udp, ok := a.(*net.UDPAddr); ok {
		from = udp.AddrPort()
	}
	return from
}

// pace lets the goroutine run that sends Retry packets and refusals. quic-go queues 8 Retry packets
// and 4 refusals and drops further ones. The clients of a crowd would then all send again at the
// same moments, each time after twice as long, until most of them give up.
func pace() { runtime.Gosched() }

// admit counts a connection before its handshake, or refuses it. The connection counts until ctx
// ends.
func (d *quicDoor) admit(ctx context.Context, c *quic.ClientInfo) (context.Context, error) {
	q := &quicConn{client: d.conns.owner(exchange.Address(c.RemoteAddr)), used: d.conns.now()}
	q.share.setClient(q.client)
	if why, ok := d.begin(q); !ok {
		d.countRefused(why)
		pace()
		return nil, errRefused
	}
	context.AfterFunc(ctx, func() { d.leave(q) })
	return context.WithValue(ctx, quicKey{}, q), nil
}

var errRefused = errors.New("too many QUIC connections are open")

// countRefused counts a refused connection.
func (d *quicDoor) countRefused(why refusal) {
	d.conns.refused[why].Add(1)
	d.conns.refusedQUIC[why].Add(1)
}

// begin counts a handshake if the limits allow another connection. Otherwise it returns the reason
// for the refusal. A browser that is refused before its handshake uses HTTP/2, and loses no
// request. So begin also refuses a connection for which enter would find no room. Handshakes under
// way take no place there: clients may abandon them, or begin one twice, and would displace others.
func (d *quicDoor) begin(q *quicConn) (refusal, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.of[q.client]+d.shakes[q.client] >= d.perClient:
		return refusedClient, false
	case d.shaken >= max(d.max/unfinishedPart, min(d.max, quicEach)):
		return refusedTotal, false
	case len(d.open) >= d.max && !d.expectRoom(q.client):
		return refusedTotal, false
	case !d.charge.begin(&q.share):
		return refusedClient, false
	}
	d.shaken++
	d.shakes.enter(q.client)
	d.review(q.client)
	return 0, true
}

// enter counts a connection whose handshake is complete as open, and closes others to make room if
// need be. It returns false if there is no room.
func (d *quicDoor) enter(q *quicConn, c *quic.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.Conn = c
	if q.left {
		return false
	}
	if len(d.open) >= d.max && !d.makeRoom(q.client) {
		d.countRefused(refusedTotal)
		return false
	}
	d.shaken--
	d.shakes.leave(q.client)
	d.charge.enter(&q.share)
	q.expires = time.AfterFunc(d.idle, func() { d.expire(q) })
	d.open[q] = struct{}{}
	d.of.enter(q.client)
	d.review(q.client)
	d.conns.overQUIC.Add(1)
	return true
}

// makeRoom closes connections to make room for one more of a client, and reports whether it found
// any. The caller holds mu.
func (d *quicDoor) makeRoom(client netip.Prefix) bool {
	spare := d.spare(client)
	for _, h := range spare {
		d.forget(h.conn)
		d.conns.madeRoom.Add(1)
		go h.conn.refuse() // not here: it waits for the connection's own goroutine
	}
	return len(spare) > 0
}

// expectRoom reports whether makeRoom will probably find room when a handshake is complete. Clients
// may begin any number of handshakes and complete none, and a search reads the state of all
// connections. So a search stands for as many handshakes as it has found connections. The caller
// holds mu.
func (d *quicDoor) expectRoom(client netip.Prefix) bool {
	if now := d.conns.now(); d.spares <= 0 || now.Sub(d.counted) >= quicIdleFor {
		d.spares, d.counted = len(d.spare(client)), now
	}
	d.spares--
	return d.spares >= 0
}

// spare returns the connections that make room for one more of a client. The caller holds mu.
func (d *quicDoor) spare(client netip.Prefix) []holding[*quicConn] {
	now, held := d.conns.now(), d.of[client]
	if d.sought.vain(now, held) || d.of.foremost(client, d.max) {
		return nil
	}
	list := choose(d.holdings(now), d.of, client, d.max)
	if len(list) == 0 {
		d.sought = search{now, held}
	}
	return list
}

// holdings lists the connections that may be closed to make room: those that have been idle, or
// slow, for long enough.
func (d *quicDoor) holdings(now time.Time) (list []holding[*quicConn]) {
	for q := range d.open {
		switch resting, since := q.rests(); {
		case resting && now.Sub(since) >= quicIdleFor, q.slow() && now.Sub(since) >= SlowFor:
			list = append(list, holding[*quicConn]{q, q.client, since, resting})
		}
	}
	return list
}

// isStrained reports whether little room is left for a client, or for all.
func (d *quicDoor) isStrained(client netip.Addr) bool {
	return d.full.Load() || isNearlyUsed(d.charge.room.Used(), d.charge.room.Max) || d.near.any() && d.near.has(d.conns.owner(client))
}

// review finds out again whether little room is left for a client and for all. The caller holds mu,
// and calls it after each change of the numbers of connections.
func (d *quicDoor) review(client netip.Prefix) {
	d.full.Store(isNearlyUsed(len(d.open)+d.shaken, d.max))
	if client.IsValid() && d.near.set(client, d.isNear(client)) {
		// A stream may have ended since, when releaseStream did not know yet that it matters.
		d.near.set(client, d.isNear(client))
	}
}

// isNear reports whether little room is left for a client. The caller holds mu.
func (d *quicDoor) isNear(client netip.Prefix) bool {
	room := d.charge.room
	return isNearlyUsed(d.of[client]+d.shakes[client], d.perClient) || isNearlyUsed(room.HeldByRequests(client), room.EachRequests)
}

// reviewStreams is review after a change of the streams of a client.
func (d *quicDoor) reviewStreams(client netip.Prefix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.review(client)
}

// releaseStream releases the share of a stream.
func (d *quicDoor) releaseStream(s *bodies.Share) {
	d.charge.endStream(s)
	if d.near.any() {
		d.reviewStreams(s.Client)
	}
}

// leave releases a connection that has ended.
func (d *quicDoor) leave(q *quicConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q.left = true
	d.charge.leave(&q.share)
	if !q.share.entered {
		d.shaken--
		d.shakes.leave(q.client)
		d.review(q.client)
		return
	}
	q.expires.Stop()
	d.forget(q)
}

// forget stops counting q. Further calls have no effect. The caller holds mu.
func (d *quicDoor) forget(q *quicConn) {
	if _, ok := d.open[q]; !ok {
		return
	}
	delete(d.open, q)
	d.of.leave(q.client)
	d.review(q.client)
	d.conns.overQUIC.Add(-1)
}

// expire closes a connection that has had no request for the idle time. It checks again later if
// the connection is busy, or has been used since.
func (d *quicDoor) expire(q *quicConn) {
	resting, since := q.rests()
	left := d.idle
	if resting {
		left = d.idle - time.Since(since)
	}
	if left <= 0 {
		q.end()
		return
	}
	q.expires.Reset(left)
}

// end closes the connection without an error (H3_NO_ERROR).
func (q *quicConn) end() { q.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "") }

// refuse closes the connection because its client has too many connections or requests, or all
// have (H3_EXCESSIVE_LOAD).
func (q *quicConn) refuse() {
	q.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeExcessiveLoad), "")
}

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

// use records that a request was answered.
func (q *quicConn) use(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used = now
}

// hitsOf returns what answers the requests of a connection whose responses are ready.
func (s *quicServer) hitsOf(q *quicConn) *h3.Conn {
	state := q.ConnectionState().TLS
	return &h3.Conn{
		Answerer: s.server.Handler, Account: quicAccount{q, s.server.conns.limits.Bodies, &s.busy.now}, Tier: certs.Shown(&state),
		Send: s.server.options.Capacity.AnswerTimeout, MaxList: int(s.server.options.Capacity.MaxHeader),
		Client: func() netip.Addr { return exchange.Address(q.RemoteAddr()) },
		Close:  func(code http3.ErrCode) { q.CloseWithError(quic.ApplicationErrorCode(code), "") },
	}
}

// readBody has the content of a request over QUIC be read by package h3, which accepts less than
// http3.
func (q *quicConn) readBody(r *http.Request) {
	numbered, ok := r.Body.(interface{ StreamID() quic.StreamID })
	if q == nil || !ok || r.Method == http.MethodConnect {
		return
	}
	if stream := q.hits.Request(numbered.StreamID()); stream != nil {
		r.Body = q.hits.NewBody(stream, r.ContentLength, func(trailer http.Header) { r.Trailer = trailer })
	}
}

// A quicAccount is the h3.Account of a connection.
type quicAccount struct {
	conn *quicConn
	room *bodies.Budget
	busy *atomic.Int64
}

// Used implements h3.Account.
func (a quicAccount) Used(now time.Time) { a.conn.use(now) }

// Take implements h3.Account.
func (a quicAccount) Take(size int, write func() error) error {
	share := bodies.Share{Client: a.conn.client}
	if a.room.ReserveShare(&share, int64(size)) != nil {
		return h3.ErrExcessive
	}
	defer a.room.Release(&share)
	a.busy.Add(1)
	defer a.busy.Add(-1)
	a.conn.count(1, 1)
	defer a.conn.count(-1, -1)
	return write()
}

// busy is a handler that counts its requests in flight.
type busy struct {
	http.Handler
	now atomic.Int64
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := quicConnOf(r.Context())
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
