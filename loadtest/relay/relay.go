//go:build linux

// Package relay simulates a distance between two ends of TCP connections on one machine. A Relay
// forwards data after a delay, pauses as a connection does after a lost segment, and can reset or
// hold back everything. It knows nothing of HTTP.
//
// A program in user space cannot drop a TCP segment, because the kernel has acknowledged it. So the
// relay simulates the effect of a lost segment on the ends: that direction of the connection pauses
// for a retransmission timeout, and later data waits behind it (RFC 6298, with Linux's minimum
// timeout). It does not simulate lost acknowledgements, congestion windows or duplicate
// acknowledgements. The latter have no effect on responses that fit into a few segments, as icons
// do. Where that is not enough, or for other protocols, a Wire carries the packets themselves, and
// needs root.
package relay

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A Relay accepts connections on an address of its own and forwards them over a Path.
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

// Addr returns the address of the relay.
func (r *Relay) Addr() string { return r.listener.Addr().String() }

// Close resets every connection and waits for their ends.
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

// lead forwards one connection until both ends have finished, or until the path is cut.
func (r *Relay) lead(near *net.TCPConn) {
	ctx, done, ok := r.path.enter(r.ended)
	defer done()
	if !ok {
		reset(near)
		return
	}
	accepted := time.Now()
	if r.path.quiet(ctx) != nil { // over a silent path no connection reaches the other end
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

// join forwards both directions. The first data of the near end waits one round trip, for the
// handshake.
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

// reset ends a connection at once, as the kernel of a machine does whose program is gone.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// halfClose passes the end of one direction on.
func halfClose(c *net.TCPConn, err error) error {
	if err == io.EOF {
		return c.CloseWrite()
	}
	return err
}
