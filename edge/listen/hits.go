package listen

import (
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/certs"
	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h3"
)

// hitsOf returns what answers the requests of a connection whose responses are ready.
func (s *quicServer) hitsOf(q *quicConn) *h3.Conn {
	state := q.ConnectionState().TLS
	return &h3.Conn{
		Answerer: s.server.Handler, Account: quicAccount{q, s.server.conns.limits.Bodies, &s.busy.now}, Tier: certs.Shown(&state),
		Send: s.server.options.Capacity.AnswerTimeout, MaxList: exchange.MaxHead,
		Client: func() netip.Addr { return exchange.Address(q.RemoteAddr()) },
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

// Sampled implements h3.Account.
func (a quicAccount) Sampled() { a.conn.sampled.Add(1) }

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
