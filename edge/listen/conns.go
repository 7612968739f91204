package listen

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h1"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/netloop"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

const (
	// IdleFor is the time for which a connection must have been idle before the edge may close it
	// to make room. A client whose connection is closed between two requests opens another (RFC
	// 9112, section 9.3.1); a client that is refused may not come back.
	IdleFor = 100 * time.Millisecond
	// SlowFor is the time that a request may take to arrive, or a response to leave, before the
	// edge may close its connection to make room, if the client has no idle one.
	SlowFor = 5 * time.Second
	// roomPart sets the part of all connections that are closed together, because choosing them
	// reads the state of each.
	roomPart = 64
	// roomPause is the time for which a failed search for room stands for later searches that would
	// find no more.
	roomPause = 10 * time.Millisecond
	// acceptPause is the time between two calls of Accept when there are no descriptors left and no
	// connection can be closed.
	acceptPause = 10 * time.Millisecond
	// maxBodies bounds the bytes of long request bodies in memory at a time.
	maxBodies = 256 << 20
	// maxEach bounds the bytes that one client may hold by default. With the garbage from them they
	// take two to three times as much memory.
	maxEach = 40 << 20
	// ConnBytes and secureCosts are the bytes that an open connection takes of its client's share:
	// buffers, the stack of its goroutine, and the state of crypto/tls.
	ConnBytes   = 20 << 10
	secureCosts = 28 << 10
	// RestingBytes and secureRestingCosts are those of a connection that rests on an event loop,
	// before it speaks HTTP/2. One of HTTP/2 takes streamsCosts more.
	RestingBytes       = 2 << 10
	secureRestingCosts = 12 << 10
	streamsCosts       = 10 << 10
)

// A refusal is the reason for which a connection was closed at once.
type refusal uint8

const (
	refusedTotal       refusal = iota // as many connections as allowed are open, all in use
	refusedClient                     // its client has as many as it may have
	refusedDescriptors                // the system has none left
	refusals                          // the number of reasons
)

var refusalNames = [refusals]string{"total", "client", "descriptors"}

// conns is the set of connections of the public listener. It bounds their number in total and for
// each client. When there is no room, it closes an idle or slow connection of the client that holds
// most, so that a client that only holds connections locks no other client out.
type conns struct {
	limits         h1.Limits
	max, perClient int
	clients        access.Clients
	refused        [refusals]atomic.Int64
	refusedQUIC    [refusals]atomic.Int64 // of them those over QUIC
	madeRoom       atomic.Int64
	overdue        atomic.Int64
	overQUIC       atomic.Int64               // open now, in addition to the connections in open
	rejected       atomic.Int64               // requests of HTTP/3, beyond the client's share
	charge         atomic.Pointer[quicCharge] // nil: there is no HTTP/3
	now            func() time.Time

	mu     sync.Mutex
	open   map[*lingeringConn]struct{}
	of     perClient
	sought search
}

// A search is the last search for room that found none.
type search struct {
	at   time.Time
	held int // connections that the new connection's client held
}

// vain reports whether another search for a client that holds so many connections would also find
// nothing. Each search reads the state of all connections.
func (s search) vain(now time.Time, held int) bool {
	return held >= s.held && now.Sub(s.at) >= 0 && now.Sub(s.at) < roomPause
}

func newConns(o Options) *conns {
	cfg := o.Capacity
	s := &conns{
		now: cfg.Now, max: cfg.MaxConnections, perClient: cfg.MaxConnectionsPerClient, clients: o.Clients,
		open: map[*lingeringConn]struct{}{}, of: perClient{},
	}
	s.limits = h1.Limits{Idle: cfg.IdleTimeout, Request: cfg.RequestTimeout, Answer: cfg.AnswerTimeout,
		MaxBody: int64(o.MaxBody), Uploads: o.Uploads, Bodies: o.Memory, Overdue: &s.overdue}
	return s
}

// admit adds a connection to the set, or closes it at once and returns nil. A trusted proxy may
// have as many as all clients together, because it speaks for many of them. With a config the
// connection is one of TLS, before its handshake; without one it may begin with the preface of
// HTTP/2.
func (s *conns) admit(raw net.Conn, serve *Server, config *tls.Config) *lingeringConn {
	client := s.owner(exchange.Address(raw.RemoteAddr()))
	if why, hopeless := s.certainlyFull(client); hopeless { // refuse it as cheaply as possible
		s.refused[why].Add(1)
		cut(raw)
		return nil
	}
	c := &lingeringConn{client: client}
	c.share.Client, c.share.Connection = client, true
	conn := proxied(s.clients, raw)
	socket, looped := raw.(*netloop.Conn)
	switch {
	case config != nil:
		c.handshaking.Store(true)
		c.link = h2.NewLink(below(conn), true, nil)
		over := tls.Server(c.link, config)
		if !looped {
			c.Conn = h1.NewConn(over, serve.Handler, &s.limits)
			break
		}
		c.socket, c.loops = socket, serve.looped
		c.link.OnLoop(socket)
		c.secure = &secureSocket{linkedSocket{socket, c.link}, over}
		c.Conn = h1.NewLooped(over, c.secure, serve.Handler, &s.limits, netip.Addr{})
	case looped:
		var address netip.Addr // unknown before the header of a proxy
		if conn == raw {
			address = exchange.Address(raw.RemoteAddr())
		}
		c.socket, c.loops = socket, serve.looped
		c.Conn = h1.NewLooped(conn, socket, serve.Handler, &s.limits, address)
	default:
		c.Conn = h1.NewConn(conn, serve.Handler, &s.limits)
		c.takeOver(serve) // nothing has arrived yet
	}
	c.http1().SetClient(client, c)
	c.ended = func() {
		s.leave(c)
		if streams := c.streams.Load(); streams != nil {
			streams.Closed()
		}
	}
	if why, ok := s.enter(c); !ok {
		s.refused[why].Add(1)
		c.http1().Cut()
		return nil
	}
	return c
}

// owner returns the client that a connection from peer counts for; zero: none, because peer is a
// trusted proxy, which speaks for many clients.
func (s *conns) owner(peer netip.Addr) netip.Prefix {
	if s.clients.Trusts(peer) {
		return netip.Prefix{}
	}
	return ratelimit.ClientKey(peer)
}

// certainlyFull reports whether it is already certain that there is no room for another connection
// of a client.
func (s *conns) certainlyFull(client netip.Prefix) (refusal, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[client] >= s.perClient {
		return refusedClient, true
	}
	return refusedTotal, len(s.open) >= s.places(client) && (s.sought.vain(s.now(), s.of[client]) || s.of.foremost(client, s.max))
}

// places returns the number of connections in total beyond which there is no room for another one
// of a client. The last places of all are for clients that hold few connections. Otherwise a client
// that is refused and returns without end would take every place that becomes free, and each
// connection of another client would need a search for room, which reads the state of all
// connections.
func (s *conns) places(client netip.Prefix) int {
	if s.of[client] < manyOf(s.max) {
		return s.max
	}
	return s.max - s.max/roomPart
}

// cut closes a connection at once, with a reset where it is TCP.
func cut(raw net.Conn) {
	if tcp, ok := raw.(tcpConn); ok {
		tcp.SetLinger(0)
	}
	raw.Close()
}

// below returns the connection that a link reads from. It hides the socket of a proxiedConn,
// because the link would read from the socket itself, and not past the PROXY protocol's header.
func below(c net.Conn) net.Conn {
	if p, ok := c.(*proxiedConn); ok {
		return struct{ net.Conn }{p}
	}
	return c
}

// enter adds c to the set if there is room for it or room can be made.
func (s *conns) enter(c *lingeringConn) (refusal, bool) {
	s.mu.Lock()
	now, held := s.now(), s.of[c.client]
	if held >= s.perClient || s.limits.Bodies.ReserveShare(&c.share, c.costs()) != nil {
		s.mu.Unlock()
		return refusedClient, false
	}
	var spare []holding[*lingeringConn]
	if len(s.open) >= s.places(c.client) {
		if spare = choose(s.holdings(now), s.of, c.client, s.max); len(spare) == 0 {
			s.sought = search{s.now(), held}
			s.limits.Bodies.Release(&c.share)
			s.mu.Unlock()
			return refusedTotal, false
		}
	}
	s.open[c] = struct{}{}
	s.of.enter(c.client)
	s.mu.Unlock()
	s.close(spare, now)
	return 0, true
}

// costs returns the bytes of memory that c takes at rest.
func (c *lingeringConn) costs() int64 {
	switch looped, secure := c.socket != nil, c.link != nil; {
	case looped && secure:
		return secureRestingCosts
	case looped:
		return RestingBytes
	case secure:
		return secureCosts
	}
	return ConnBytes
}

// admitStreams reports whether c may speak HTTP/2, which takes more memory.
func (s *conns) admitStreams(c *lingeringConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[c]; !ok { // it was closed meanwhile, and holds nothing
		return false
	}
	if c.socket == nil || s.limits.Bodies.ReserveShare(&c.share, c.costs()+streamsCosts) == nil {
		return true
	}
	s.refused[refusedClient].Add(1)
	return false
}

// leave removes c from the set.
func (s *conns) leave(c *lingeringConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[c]; !ok {
		return
	}
	delete(s.open, c)
	s.of.leave(c.client)
	s.limits.Bodies.Release(&c.share)
}

// exempt stops counting c for its client, because c comes from an edge behind this one, which
// speaks for many clients.
func (s *conns) exempt(c *lingeringConn) {
	if c.exempt.Swap(true) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[c]; ok {
		s.of.leave(c.client)
	}
	c.client = netip.Prefix{}
}

// perClient counts connections by client. It does not count those of the zero Prefix, which belong
// to no client.
type perClient map[netip.Prefix]int

func (n perClient) enter(client netip.Prefix) {
	if client.IsValid() {
		n[client]++
	}
}

func (n perClient) leave(client netip.Prefix) {
	if n[client]--; n[client] <= 0 {
		delete(n, client)
	}
}

// relieve closes connections because no descriptors are left, and reports whether it found any to
// close.
func (s *conns) relieve() bool {
	s.refused[refusedDescriptors].Add(1)
	s.mu.Lock()
	now := s.now()
	spare := choose(s.holdings(now), s.of, netip.Prefix{}, s.max)
	s.mu.Unlock()
	s.close(spare, now)
	return len(spare) > 0
}

// holdings returns the connections that may be closed to make room: the idle ones and the slow
// ones.
func (s *conns) holdings(now time.Time) []holding[*lingeringConn] {
	list := make([]holding[*lingeringConn], 0, len(s.open))
	for c := range s.open {
		phase, since := c.phase()
		age := now.Sub(since)
		resting := phase == h1.Idle && age >= IdleFor
		if resting || (phase != h1.Busy || c.closing.Load()) && age >= SlowFor {
			list = append(list, holding[*lingeringConn]{c, c.client, since, resting})
		}
	}
	return list
}

// close closes connections, except those that a client has just begun to use. It waits for no
// client.
func (s *conns) close(list []holding[*lingeringConn], now time.Time) {
	for _, h := range list {
		if !h.conn.closeIdle() {
			if _, since := h.conn.phase(); now.Sub(since) < SlowFor {
				continue
			}
			h.conn.http1().Cut()
		}
		s.madeRoom.Add(1)
		h.conn.drop()
	}
}

var phaseNames = [h1.Writing + 1]string{"idle", "reading", "busy", "writing"}

// phases counts the connections by phase.
func (s *conns) phases() (n [h1.Writing + 1]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		phase, _ := c.phase()
		n[phase]++
	}
	return n
}

// holders returns the number of clients whose connections count against a limit.
func (s *conns) holders() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of)
}

// stats returns the state of the set, for metrics.
func (s *conns) stats() observe.ConnStats {
	stats := observe.ConnStats{
		States: map[string]int{}, Refused: map[string]int64{}, RefusedQUIC: map[string]int64{}, Max: s.max,
		Reclaimed: s.madeRoom.Load(), Overdue: s.overdue.Load(),
		OverQUIC: s.overQUIC.Load(), Rejected: s.rejected.Load(), BodiesBytes: s.limits.Bodies.Used(), Clients: s.holders(),
	}
	requests, responses := s.limits.Bodies.Stats()
	stats.Memory = map[string]observe.PoolStats{"requests": observe.PoolStats(requests), "responses": observe.PoolStats(responses)}
	stats.MemoryQUIC = s.charge.Load().stats()
	for phase, n := range s.phases() {
		stats.States[phaseNames[phase]] = n
	}
	for why := range s.refused {
		stats.Refused[refusalNames[why]] = s.refused[why].Load()
	}
	for _, why := range []refusal{refusedTotal, refusedClient} { // QUIC needs no descriptors
		stats.RefusedQUIC[refusalNames[why]] = s.refusedQUIC[why].Load()
	}
	return stats
}

// scarce reports whether Accept failed for lack of a resource that becomes available again.
// fasthttp would stop serving on such an error.
func scarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM)
}
