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

// A client sends requests to the edges of its region as through a load balancer. The balancer takes
// turns among the edges that its health checks found ready. It sends a request once more, to the
// other edge, if the first one cannot be reached, breaks off before its response, or does not
// answer within firstTry. It passes every response on, whatever its status.
type client struct {
	region *region
	from   netip.Addr // its own address, because limits count by address
	keep   bool       // keep connections open between requests
	blind  *atomic.Bool
	turn   int
	first  time.Duration // time for an edge that is not the last one to try
	wires  map[*edge]*wire
}

// A wire is a connection to an edge.
type wire struct {
	*net.TCPConn
	in *bufio.Reader
}

// Time limits of one edge, and of the last edge to try.
const (
	firstTry = 3 * time.Second
	lastTry  = 12 * time.Second // longer than the edges' own time limit for their origin
)

// An answer is the response that a client got, or the reason why there is none.
type answer struct {
	edge         *edge // the edge that answered, or the last one that was tried
	status       int
	header       http.Header
	body         []byte // as received, with its content coding
	began, ended time.Time
	again        bool  // it came from the second edge
	err          error // why there is no response
}

func (a *answer) took() time.Duration { return a.ended.Sub(a.began) }

// ask sends a request. While the balancer is blind, it ignores health checks and sends nothing
// twice.
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

// choose returns the edges in the order in which to try them.
func (c *client) choose() []*edge {
	c.turn++
	first, second := c.region.edges[c.turn%edgesEach], c.region.edges[(c.turn+1)%edgesEach]
	if !c.blind.Load() && !first.up.Load() && second.up.Load() {
		return []*edge{second, first}
	}
	return []*edge{first, second}
}

// try sends a request to one edge.
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

// wire returns an open connection to an edge if the edge has not closed it, or a new one.
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

// open reports whether a kept connection is usable: the edge has not closed it, and has sent
// nothing unexpected. Every client library checks that before it reuses a connection.
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

// close closes all connections.
func (c *client) close() {
	for _, w := range c.wires {
		w.Close()
	}
}
