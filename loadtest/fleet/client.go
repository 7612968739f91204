//go:build linux

package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A client asks the edges of its region, through what a load balancer does for it: it sends a request to an edge that its checks found
// ready, by turns, and once more to the other one where the first can't be reached, breaks off before its answer, or lets it wait for
// firstTry. An answer, whatever its status, is passed on.
type client struct {
	region *region
	from   netip.Addr // its own address, for limits
	keep   bool       // connections, between requests
	blind  *atomic.Bool
	turn   int
	first  time.Duration // that an edge is waited for which is not the last one
	wires  map[*edge]*wire
}

// A wire is one connection.
type wire struct {
	*net.TCPConn
	in *bufio.Reader
}

// How long one edge is waited for, and the last one.
const (
	firstTry = 3 * time.Second
	lastTry  = 12 * time.Second // longer than edges wait for their origin
)

// An answer is what a client got.
type answer struct {
	edge         *edge // that it is from; or the last that was asked
	status       int
	header       http.Header
	body         []byte // as it came, in its coding
	began, ended time.Time
	again        bool  // it is the second edge's
	err          error // there is none
}

func (a *answer) took() time.Duration { return a.ended.Sub(a.began) }

// ask sends a request. While the load balancer is blind it looks at no checks and tries nothing twice.
func (c *client) ask(request []byte) (a answer) {
	began := time.Now()
	edges := c.choose()
	if c.blind.Load() {
		edges = edges[:1]
	}
	for i, e := range edges {
		wait := c.first
		if i == len(edges)-1 {
			wait = lastTry
		}
		a = c.try(e, request, wait)
		a.again = i > 0
		if a.err == nil {
			break
		}
	}
	a.began, a.ended = began, time.Now()
	return a
}

// choose is the edges in the order in which they are tried.
func (c *client) choose() []*edge {
	c.turn++
	first, second := c.region.edges[c.turn%edgesEach], c.region.edges[(c.turn+1)%edgesEach]
	if !c.blind.Load() && !first.up.Load() && second.up.Load() {
		return []*edge{second, first}
	}
	return []*edge{first, second}
}

// try asks one edge.
func (c *client) try(e *edge, request []byte, wait time.Duration) (a answer) {
	a.edge = e
	end := time.Now().Add(wait)
	w, err := c.wire(e, end)
	if err != nil {
		a.err = err
		return a
	}
	w.SetDeadline(end)
	if a.err = w.exchange(request, &a); a.err != nil || !c.keep || a.header.Get("Connection") == "close" {
		w.Close()
		delete(c.wires, e)
	}
	return a
}

func (w *wire) exchange(request []byte, a *answer) error {
	if _, err := w.Write(request); err != nil {
		return err
	}
	r, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	a.status, a.header = r.StatusCode, r.Header
	if r.Close {
		a.header.Set("Connection", "close")
	}
	if a.body, err = io.ReadAll(r.Body); err != nil {
		return fmt.Errorf("status %d, and then %w", r.StatusCode, err)
	}
	return nil
}

// wire is a kept connection, where there is one that the edge has not closed meanwhile, or a new one.
func (c *client) wire(e *edge, end time.Time) (*wire, error) {
	if w := c.wires[e]; w != nil {
		if w.open() {
			return w, nil
		}
		w.Close()
	}
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.from, 0)), Deadline: end}
	conn, err := d.DialContext(context.Background(), "tcp", e.addr)
	if err != nil {
		return nil, err
	}
	w := &wire{conn.(*net.TCPConn), bufio.NewReader(conn)}
	c.wires[e] = w
	return w, nil
}

// open reports whether the other end has said nothing more: neither its end, nor what nobody asked for. Every client library looks before
// it uses a connection again.
func (w *wire) open() (open bool) {
	raw, err := w.SyscallConn()
	if err != nil {
		return false
	}
	var b [1]byte
	err = raw.Control(func(fd uintptr) {
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		open = errors.Is(err, syscall.EAGAIN)
	})
	return err == nil && open
}

// close gives all connections up.
func (c *client) close() {
	for _, w := range c.wires {
		w.Close()
	}
}
