package edge

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/h1"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

const (
	// idleFor is how long a connection must have rested to be closed for another's sake. A client whose connection is closed
	// between two requests makes another (RFC 9112, section 9.3.1); one that is refused may not come back.
	idleFor = 100 * time.Millisecond
	// slowFor is how long a request may have been coming, or an answer going, before its connection is, where its client has none
	// that rests.
	slowFor = 5 * time.Second
	// roomPart is what part of all connections is closed together: choosing costs a look at each.
	roomPart = 64
	// roomPause is for how long nobody looks again who would find no more than the last one that found nothing.
	roomPause = 10 * time.Millisecond
	// acceptPause is between two tries to accept, when there are no descriptors left and nothing can be closed.
	acceptPause = 10 * time.Millisecond
	// maxBodies is how many bytes of long bodies are read at a time.
	maxBodies = 256 << 20
	// maxEach is how many bytes one client may hold by default. With the garbage that comes of them they are two to three times as many.
	maxEach = 48 << 20
	// What a connection takes of its client's share, whatever it does: buffers, stacks, what crypto/tls and quic-go keep.
	plainCosts  = 20 << 10
	secureCosts = 28 << 10
)

// A refusal is why a connection was closed at once.
type refusal uint8

const (
	refusedTotal       refusal = iota // there are as many as may be, all in use
	refusedClient                     // its client has as many as it may have
	refusedDescriptors                // the system has none left
	refusals                          // how many there are
)

var refusalNames = [refusals]string{"total", "client", "descriptors"}

// conns are the connections of the public listener: so many in all, so many of one client. When there is no room the client that
// holds most loses a connection on which it asks for nothing, so that a client that only holds connections shuts nobody out.
type conns struct {
	limits         h1.Limits
	max, perClient int
	clients        clients
	refused        [refusals]atomic.Int64
	madeRoom       atomic.Int64
	overdue        atomic.Int64
	overQUIC       atomic.Int64 // open now, besides the others
	now            func() time.Time

	mu     sync.Mutex
	open   map[*lingeringConn]struct{}
	of     perClient
	sought search
}

// A search is the last one for room that found none.
type search struct {
	at   time.Time
	held int // connections that its newcomer's client held
}

// vain reports whether another search for a newcomer whose client holds so many would find nothing either: each costs a look at all
// connections.
func (s search) vain(now time.Time, held int) bool {
	return held >= s.held && now.Sub(s.at) >= 0 && now.Sub(s.at) < roomPause
}

func newConns(cfg Config) *conns {
	s := &conns{
		now: time.Now, max: cfg.MaxConnections, perClient: cfg.MaxConnectionsPerClient, clients: clients{cfg.TrustedProxies},
		open: map[*lingeringConn]struct{}{}, of: perClient{},
	}
	s.limits = h1.Limits{Idle: cfg.IdleTimeout, Request: cfg.RequestTimeout, Answer: cfg.AnswerTimeout, MaxBody: int64(maxRequestBody(cfg.ProxyAll)), Bodies: &bodies.Room{Max: maxBodies, Each: cfg.clientBytes}, Overdue: &s.overdue}
	return s
}

// admit makes c one of the connections, or closes it at once and returns nil. A proxy that is trusted may have as many as all: it
// speaks for many clients. With a config it is one of TLS, whose handshake is to come; without, it may begin with HTTP/2's preface.
func (s *conns) admit(raw net.Conn, h *handler, config *tls.Config) *lingeringConn {
	client := s.owner(addressOf(raw.RemoteAddr()))
	if why, hopeless := s.hopeless(client); hopeless { // it is to cost as little as it can
		s.refused[why].Add(1)
		cut(raw)
		return nil
	}
	c := &lingeringConn{client: client}
	c.share.Client = client
	conn, limits := s.clients.proxied(raw), s.limits
	limits.Client = client
	if config != nil {
		c.shaking.Store(true)
		c.link = h2.NewLink(below(conn), true, nil)
		c.Conn = h1.NewConn(tls.Server(c.link, config), h, limits)
	} else {
		plainly := h1.NewConn(conn, h, limits)
		plainly.TakeOver(h2.Preface, func(already []byte) {
			c.taken.Store(true)
			go func() { // the server of HTTP/1.1 is done with it: its buffers would stay for as long as the connection
				link := h2.NewLink(below(conn), false, already)
				c.serveStreams(h, link, link)
				c.end()
			}()
		})
		c.Conn = plainly
	}
	c.ended = func() { s.leave(c) }
	if why, ok := s.enter(c); !ok {
		s.refused[why].Add(1)
		c.plainly().Cut()
		return nil
	}
	return c
}

// owner is the client that a connection from an address counts for; zero: nobody in particular, since a proxy that is trusted speaks for
// many clients.
func (s *conns) owner(peer netip.Addr) netip.Prefix {
	if s.clients.trusts(peer) {
		return netip.Prefix{}
	}
	return ratelimit.ClientKey(peer)
}

// hopeless reports whether there is no room for another connection of a client, as far as can be said at once.
func (s *conns) hopeless(client netip.Prefix) (refusal, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[client] >= s.perClient {
		return refusedClient, true
	}
	return refusedTotal, len(s.open) >= s.max && (s.sought.vain(s.now(), s.of[client]) || s.of.foremost(client, s.max))
}

// cut ends a connection at once.
func cut(raw net.Conn) {
	if tcp, ok := raw.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	raw.Close()
}

// below is a connection to read from straight, if nothing has to be read from it in another way first.
func below(c net.Conn) net.Conn {
	if p, ok := c.(*proxiedConn); ok {
		return struct{ net.Conn }{p}
	}
	return c
}

// enter counts c, where there is room for it or room can be made.
func (s *conns) enter(c *lingeringConn) (refusal, bool) {
	s.mu.Lock()
	now, held := s.now(), s.of[c.client]
	costs := int64(plainCosts)
	if c.link != nil {
		costs = secureCosts
	}
	if held >= s.perClient || s.limits.Bodies.Keep(&c.share, costs) != nil {
		s.mu.Unlock()
		return refusedClient, false
	}
	var spare []holding[*lingeringConn]
	if len(s.open) >= s.max {
		if spare = choose(s.holdings(now), s.of, c.client, s.max); len(spare) == 0 {
			s.sought = search{s.now(), held}
			s.limits.Bodies.Give(&c.share)
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

// leave forgets c.
func (s *conns) leave(c *lingeringConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[c]; !ok {
		return
	}
	delete(s.open, c)
	s.of.leave(c.client)
	s.limits.Bodies.Give(&c.share)
}

// exempt has c count for no client any more: it is an edge's behind this one, which asks for many clients.
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

// perClient counts connections by client; those of nobody in particular, the zero Prefix, are not counted.
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

// relieve closes connections because there are no descriptors left, and reports whether it found any.
func (s *conns) relieve() bool {
	s.refused[refusedDescriptors].Add(1)
	s.mu.Lock()
	now := s.now()
	spare := choose(s.holdings(now), s.of, netip.Prefix{}, s.max)
	s.mu.Unlock()
	s.close(spare, now)
	return len(spare) > 0
}

// holdings are the connections that may be closed to make room: those that rest, and those that are slow.
func (s *conns) holdings(now time.Time) []holding[*lingeringConn] {
	list := make([]holding[*lingeringConn], 0, len(s.open))
	for c := range s.open {
		phase, since := c.phase()
		age := now.Sub(since)
		resting := phase == h1.Idle && age >= idleFor
		if resting || (phase != h1.Busy || c.closing.Load()) && age >= slowFor {
			list = append(list, holding[*lingeringConn]{c, c.client, since, resting})
		}
	}
	return list
}

// close closes connections, but for those that have just begun to be used. It waits for none of their clients.
func (s *conns) close(list []holding[*lingeringConn], now time.Time) {
	for _, h := range list {
		if !h.conn.closeIdle() {
			if _, since := h.conn.phase(); now.Sub(since) < slowFor {
				continue
			}
			h.conn.plainly().Cut()
		}
		h.conn.closing.Store(true)
		h.conn.ended()
		s.madeRoom.Add(1)
		if h.conn.link != nil {
			go h.conn.Conn.Close()
		} else {
			h.conn.Conn.Close()
		}
	}
}

var phaseNames = [h1.Writing + 1]string{"idle", "reading", "busy", "writing"}

// phases counts the connections by what they do.
func (s *conns) phases() (n [h1.Writing + 1]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		phase, _ := c.phase()
		n[phase]++
	}
	return n
}

// scarce reports whether accepting failed for lack of something that comes back: for fasthttp that would be the end of serving.
func scarce(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM)
}
