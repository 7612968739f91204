package origin

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// idleGrace is how long a connection is kept, when the origin stops, on which nothing is under way: an edge may have sent a request before it could know.
// It is more than most are away, there and back.
const idleGrace = time.Second

// A parting server tells each client when it has had its last answer (RFC 9112, section 9.6), before it closes anything.
type parting struct {
	http.Handler
	stopping *atomic.Bool
	open     atomic.Int64 // connections
}

func (p *parting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.stopping.Load() {
		w.Header().Set("Connection", "close")
	}
	p.Handler.ServeHTTP(w, r)
}

// state counts the connections.
func (p *parting) state(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		p.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.open.Add(-1)
	}
}

// part takes no more connections, and gives those that there are a moment for a last request. Who waits in the queue of a socket that outlives the
// process is answered by the next one.
func (p *parting) part(ctx context.Context, ln net.Listener) {
	ln.Close()
	ctx, cancel := context.WithTimeout(ctx, idleGrace)
	defer cancel()
	tick := time.NewTicker(idleGrace / 20)
	defer tick.Stop()
	for p.open.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
