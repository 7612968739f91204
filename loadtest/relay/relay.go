//go:build linux

// Package relay puts a distance between two ends of TCP connections on one machine: it forwards what it gets after a delay, stands
// still at times as a connection does that has lost a segment, and can be cut or go silent as a whole. It knows nothing of HTTP.
//
// A user's program can't drop a segment of TCP: what it was given has been acknowledged. So a lost segment is played as what the ends see
// of it: that direction of that connection stands still for a retransmission timeout, and all that comes behind waits (RFC 6298; the
// least timeout is Linux's). Segments lost on the way back, congestion windows and duplicate acknowledgements are not played; of answers
// that fit into a few segments, as icons do, nothing would be seen of the latter.
package relay

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A Relay takes connections on an address of its own and leads them over a Path to another one.
type Relay struct {
	to       string
	path     *Path
	listener net.Listener
	open     sync.WaitGroup
	ended    context.Context
	end      context.CancelFunc
}

// Listen opens a relay on a free loopback port.
func Listen(to string, path *Path) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening a relay to %s: %w", to, err)
	}
	r := &Relay{to: to, path: path, listener: l}
	r.ended, r.end = context.WithCancel(context.Background())
	r.open.Go(r.accept)
	return r, nil
}

// Addr is where the relay takes connections.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Close cuts every connection and waits until all is over.
func (r *Relay) Close() {
	r.end()
	r.listener.Close()
	r.open.Wait()
}

func (r *Relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.open.Go(func() { r.lead(near.(*net.TCPConn)) })
	}
}

// lead forwards one connection until both ends have said all, or it is cut.
func (r *Relay) lead(near *net.TCPConn) {
	ctx, done, ok := r.path.enter(r.ended)
	defer done()
	if !ok {
		reset(near)
		return
	}
	accepted := time.Now()
	if r.path.quiet(ctx) != nil { // a silent path lets nobody through to the other end
		reset(near)
		return
	}
	far, err := net.Dial("tcp", r.to)
	if err != nil {
		reset(near)
		return
	}
	r.join(ctx, near, far.(*net.TCPConn), accepted)
}

// join forwards both directions. What the near end says first waits for the handshake, which takes a round trip.
func (r *Relay) join(ctx context.Context, near, far *net.TCPConn, accepted time.Time) {
	ctx, cut := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() {
		reset(near)
		reset(far)
	})
	var both sync.WaitGroup
	forth := newLane(r.path, accepted.Add(2*r.path.delay))
	back := newLane(r.path, accepted)
	for _, way := range []struct {
		*lane
		to, from *net.TCPConn
	}{{forth, far, near}, {back, near, far}} {
		both.Go(func() {
			if way.carry(ctx, way.to, way.from) != nil {
				cut()
			}
		})
	}
	both.Wait()
	if stop() {
		near.Close()
		far.Close()
	}
	cut()
}

// reset ends a connection at once, as one does whose other end is gone.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// halfClose passes on that one end has said all.
func halfClose(c *net.TCPConn, err error) error {
	if err == io.EOF {
		return c.CloseWrite()
	}
	return err
}
