package origin

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// idleGrace is the time that idle connections stay open when the origin stops, because an edge may
// have sent a request that has not arrived yet. It is longer than most round trips.
const idleGrace = time.Second

// A drainer closes connections gracefully: once the origin stops, it adds Connection: close to each
// response (RFC 9112, section 9.6) before it closes anything.
type drainer struct {
	http.Handler
	stopping *atomic.Bool
	open     atomic.Int64 // connections
}

func (d *drainer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.stopping.Load() {
		w.Header().Set("Connection", "close")
	}
	d.Handler.ServeHTTP(w, r)
}

// state counts the open connections. It is the ConnState function of the public server.
func (d *drainer) state(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		d.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		d.open.Add(-1)
	}
}

// drain closes the listener, and waits up to idleGrace for clients to close their connections or
// send a last request. If the socket outlives this process, the next process answers the
// connections in its queue.
func (d *drainer) drain(ctx context.Context, ln net.Listener) {
	ln.Close()
	ctx, cancel := context.WithTimeout(ctx, idleGrace)
	defer cancel()
	tick := time.NewTicker(idleGrace / 20)
	defer tick.Stop()
	for d.open.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
