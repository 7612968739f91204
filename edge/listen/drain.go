package listen

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/iconedge/iconedge/edge/h1"
)

// An edge stops without losing a request. First it accepts no more connections: clients in the
// queue of a socket that outlives the process are answered by the next process. Then each
// connection gets its last response, which announces the end by Connection: close (RFC 9112,
// section 9.6) or GOAWAY (RFC 9113, section 6.8). A client may have sent a request before it could
// know. Therefore an idle connection stays open for a moment longer than most round trips, and
// while unread bytes lie in it.

const (
	IdleGrace = time.Second
	drainPoll = 50 * time.Millisecond // between two searches for connections that have become idle
)

type ending = func(context.Context) error

// Drain makes every server accept no new connections and wait for the requests in flight, atMost
// for that long. The HTTP/1.1 server stops last, because it closes connections at once when it
// considers them idle.
func (s *Server) Drain(atMost time.Duration) {
	log := s.options.Log
	log.Info("draining", "at_most", atMost)
	ctx, cancel := context.WithTimeout(context.Background(), atMost)
	defer cancel()
	s.socks.Public.Close()
	if s.tls != nil {
		s.tls.Close()
	}
	s.accepting.Wait()
	together(ctx, log, s.conns.shutdown, s.streams.Shutdown, s.reference.shutdown, s.shutdownQUIC)
	together(ctx, log, s.http1.ShutdownWithContext)
}

// shutdownQUIC drains HTTP/3.
func (s *Server) shutdownQUIC(ctx context.Context) error {
	if s.quic == nil {
		return nil
	}
	return s.quic.Shutdown(ctx)
}

// together calls all endings at once and waits for them.
func together(ctx context.Context, log *slog.Logger, endings ...ending) {
	var all sync.WaitGroup
	for _, f := range endings {
		all.Go(func() {
			if err := f(ctx); err != nil {
				log.Warn("drain timed out; closing connections", "err", err)
			}
		})
	}
	all.Wait()
}

// shutdown closes idle connections repeatedly until none is open or ctx ends. The HTTP/2 server
// closes its own connections.
func (s *conns) shutdown(ctx context.Context) error {
	began := s.now()
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for s.endIdle(began) > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// endIdle closes the connections that have been idle for IdleGrace since draining began, and
// returns the number that were open.
func (s *conns) endIdle(began time.Time) int {
	s.mu.Lock()
	open, now := slices.Collect(maps.Keys(s.open)), s.now()
	s.mu.Unlock()
	for _, c := range open {
		if c.closable(began, now) && c.closeIdle() {
			c.closing.Store(true)
			c.end()
		}
	}
	return len(open)
}

// closable reports whether c can be closed without losing a request of its client.
func (c *lingeringConn) closable(began, now time.Time) bool {
	if c.handshaking.Load() || c.closing.Load() || c.streams.Load() != nil {
		return false
	}
	phase, since := c.phase()
	if since.Before(began) {
		since = began
	}
	return phase == h1.Idle && now.Sub(since) >= IdleGrace && !c.http1().Waiting()
}
