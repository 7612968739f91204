package edge

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/ratelimit"
)

// A quicListener takes so many connections in all, and so many of one client: as many of each as there may be over TCP. They cost no
// descriptors, so that the ones are not counted with the others. When there is no room it is made by the same rule as there.
type quicListener struct {
	*quic.EarlyListener
	conns *conns        // whose bounds hold, and who counts what is refused
	idle  time.Duration // a connection without requests is closed after so long

	mu   sync.Mutex
	open map[*quic.Conn]*quicConn
	of   perClient
}

// A quicConn is a connection of QUIC and what is asked on it. Requests alone count as use: packets that only keep a connection alive do not,
// nor do streams on which no request has come.
type quicConn struct {
	*quic.Conn
	client  netip.Prefix
	expires *time.Timer

	mu      sync.Mutex
	running int       // requests
	waits   int       // of them, for the client: for more of their bodies, or to take what is written
	used    time.Time // when a request last began, went on, or ended
}

// Accept takes the next connection that there is room for; the others are closed.
func (l *quicListener) Accept(ctx context.Context) (*quic.Conn, error) {
	for {
		c, err := l.EarlyListener.Accept(ctx)
		if err != nil {
			return nil, err
		}
		q := &quicConn{Conn: c, used: l.conns.now()}
		if peer := addressOf(c.RemoteAddr()); !l.conns.clients.trusts(peer) {
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
			go h.conn.end() // it waits for the connection's own goroutine
		}
	}
	l.open[q.Conn] = q
	l.of.enter(q.client)
	l.conns.overQUIC.Add(1)
	return 0, true
}

// holdings are the connections that may be closed to make room.
func (l *quicListener) holdings(now time.Time) (list []holding[*quicConn]) {
	for _, q := range l.open {
		switch resting, since := q.rests(); {
		case resting && now.Sub(since) >= idleFor, q.slow() && now.Sub(since) >= slowFor:
			list = append(list, holding[*quicConn]{q, q.client, since, resting})
		}
	}
	return list
}

func (l *quicListener) leave(q *quicConn) {
	q.expires.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(q)
}

// forget counts q no more. It may be called again.
func (l *quicListener) forget(q *quicConn) {
	if l.open[q.Conn] != q {
		return
	}
	delete(l.open, q.Conn)
	l.of.leave(q.client)
	l.conns.overQUIC.Add(-1)
}

// expire closes a connection on which nothing has been asked for as long as one may be idle.
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

// end closes the connection without a reproach.
func (q *quicConn) end() { q.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "") }

// rests reports whether no request is under way, and since when the connection is as it is.
func (q *quicConn) rests() (bool, time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running == 0, q.used
}

// slow reports whether all that is under way waits for the client.
func (q *quicConn) slow() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running > 0 && q.waits == q.running
}

// count changes how many requests are under way, and how many of them wait for the client. Nobody counts those of another protocol.
func (q *quicConn) count(running, waits int) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running, q.waits, q.used = q.running+running, q.waits+waits, time.Now()
}

// A quicKey is what the quicConn of a request is known by in its context.
type quicKey struct{}

// know gives the requests of a connection what counts them.
func (l *quicListener) know(ctx context.Context, c *quic.Conn) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return context.WithValue(ctx, quicKey{}, l.open[c])
}

// quicConnOf is the connection of QUIC that a request came by; nil: none.
func quicConnOf(r *http.Request) *quicConn {
	q, _ := r.Context().Value(quicKey{}).(*quicConn)
	return q
}

// busy counts the requests under way.
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
	quietFor  = 500 * time.Millisecond // a request may be on its way for so long, and the end of an answer
	quietPoll = 50 * time.Millisecond
)

// quiet waits until no request has been under way for a while, or ctx ends.
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
