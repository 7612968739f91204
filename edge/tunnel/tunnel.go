// Package tunnel copies bytes between a client and an origin that have switched to another protocol
// than HTTP, such as WebSocket. It bounds the number of tunnels, of all clients together and of
// each client, and the time for which a tunnel is silent, and it counts them.
//
// The package knows nothing of HTTP: both ends of a tunnel are streams of bytes, each direction of
// which ends by itself.
package tunnel

import (
	"context"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// An End is one of the two ends of a tunnel.
type End interface {
	io.ReadWriteCloser
	// CloseWrite ends the direction to this end, and leaves the other one open.
	CloseWrite() error
}

// A Set is all tunnels of an edge. It is safe for concurrent use.
type Set struct {
	limits Limits

	mu     sync.Mutex
	open   map[*Tunnel]struct{}
	of     map[netip.Prefix]int // tunnels of each client
	closed bool                 // Close was called: no more tunnels are opened
	ended  sync.WaitGroup

	opened, refused, idle  atomic.Int64
	fromClient, fromOrigin atomic.Int64 // bytes
}

// Stats holds counts for metrics.
type Stats struct {
	Open                   int   // now
	Opened                 int64 // since the start
	Refused                int64 // because there were too many
	Idle                   int64 // closed because both directions were silent for too long
	FromClient, FromOrigin int64 // bytes
}

// NewSet returns a Set without tunnels.
func NewSet(l Limits) *Set {
	return &Set{limits: l, open: map[*Tunnel]struct{}{}, of: map[netip.Prefix]int{}}
}

// Stats returns the counts since NewSet, and the number of open tunnels.
func (s *Set) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{len(s.open), s.opened.Load(), s.refused.Load(), s.idle.Load(), s.fromClient.Load(), s.fromOrigin.Load()}
}

// A Tunnel is a place in a Set, and later the two ends whose bytes are copied.
type Tunnel struct {
	set    *Set
	client netip.Prefix

	began      time.Time
	last       atomic.Int64 // when bytes last moved, as a time.Duration since began
	once       sync.Once
	mu         sync.Mutex
	ends       []End       // guarded by mu
	cut        bool        // Cut was called; guarded by mu
	timer      *time.Timer // until the tunnel has been silent for too long; guarded by mu
	fromClient atomic.Int64
	fromOrigin atomic.Int64
}

// Reserve takes a place for a tunnel of a client, before the origin is asked. It returns nil if
// there are too many tunnels of all clients, or of this one. The zero Prefix stands for clients
// whose tunnels are not counted together. Each Tunnel must be ended by Run or Release.
func (s *Set) Reserve(client netip.Prefix) *Tunnel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.open) >= s.limits.MaxTunnels || client.IsValid() && s.of[client] >= s.limits.PerClient() {
		s.refused.Add(1)
		return nil
	}
	t := &Tunnel{set: s, client: client}
	s.open[t] = struct{}{}
	if client.IsValid() {
		s.of[client]++
	}
	s.ended.Add(1)
	return t
}

// Release gives the place back. Only the first call has an effect.
func (t *Tunnel) Release() {
	t.once.Do(func() {
		s := t.set
		s.mu.Lock()
		delete(s.open, t)
		if t.client.IsValid() {
			if s.of[t.client]--; s.of[t.client] <= 0 {
				delete(s.of, t.client)
			}
		}
		s.mu.Unlock()
		s.ended.Done()
	})
}

// Run copies bytes in both directions until both have ended, one of them fails, both were silent
// for too long, or the Set is closed. It closes both ends. The end of one direction ends the same
// direction at the other end, and leaves the opposite one open. Run calls done before it gives the
// place back.
func (t *Tunnel) Run(client, origin End, done func(Result)) {
	defer t.Release()
	t.set.opened.Add(1)
	t.began = time.Now()
	t.mu.Lock()
	t.ends = []End{client, origin}
	cut := t.cut
	t.mu.Unlock()
	if cut {
		t.Cut()
	}
	t.watch()
	var both sync.WaitGroup
	both.Go(func() { t.copy(origin, client, &t.fromClient, &t.set.fromClient) })
	t.copy(client, origin, &t.fromOrigin, &t.set.fromOrigin)
	both.Wait()
	t.Cut()
	done(Result{FromClient: t.fromClient.Load(), FromOrigin: t.fromOrigin.Load()})
}

// A Result is what a tunnel has carried.
type Result struct{ FromClient, FromOrigin int64 } // bytes

// Cut closes both ends, which ends Run.
func (t *Tunnel) Cut() {
	t.mu.Lock()
	ends := t.ends
	t.ends, t.cut = nil, true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	for _, e := range ends {
		e.Close()
	}
}

// Close cuts all tunnels and waits until they have ended, or ctx has.
func (s *Set) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	for t := range s.open {
		go t.Cut()
	}
	s.mu.Unlock()
	all := make(chan struct{})
	go func() { s.ended.Wait(); close(all) }()
	select {
	case <-all:
	case <-ctx.Done():
	}
}
