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
// descriptors, so that the ones are not counted with the others.
type quicListener struct {
	*quic.EarlyListener
	conns *conns // whose bounds hold, and who counts what is refused

	mu sync.Mutex
	of perClient
}

// Accept takes the next connection that there is room for; the others are closed.
func (l *quicListener) Accept(ctx context.Context) (*quic.Conn, error) {
	for {
		c, err := l.EarlyListener.Accept(ctx)
		if err != nil {
			return nil, err
		}
		client := ratelimit.ClientKey(addressOf(c.RemoteAddr()))
		if why, ok := l.enter(client); !ok {
			l.conns.refused[why].Add(1)
			c.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeExcessiveLoad), "")
			continue
		}
		context.AfterFunc(c.Context(), func() { l.leave(client) })
		return c, nil
	}
}

func (l *quicListener) enter(client netip.Prefix) (refusal, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.of[client] >= l.conns.perClient:
		return refusedClient, false
	case l.conns.overQUIC.Load() >= int64(l.conns.max):
		return refusedTotal, false
	}
	l.conns.overQUIC.Add(1)
	l.of.enter(client)
	return 0, true
}

func (l *quicListener) leave(client netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns.overQUIC.Add(-1)
	l.of.leave(client)
}

// busy counts the requests under way.
type busy struct {
	http.Handler
	now atomic.Int64
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
