package quic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// A link is a client's socket with a path to the edge that changes: its address may change as
// behind a NAT, and it may drop datagrams that are too long.
type link struct {
	net.PacketConn
	later    net.PacketConn
	changed  atomic.Bool
	max      int // bytes of a datagram; 0: any
	received chan received
	mu       sync.Mutex
	until    time.Time
	closed   chan struct{}
	once     sync.Once
}

type received struct {
	b    []byte
	from net.Addr
}

func newLink(from net.IP, max int) (*link, error) {
	first, err := net.ListenUDP("udp", &net.UDPAddr{IP: from})
	if err != nil {
		return nil, err
	}
	later, err := net.ListenUDP("udp", &net.UDPAddr{IP: from})
	if err != nil {
		first.Close()
		return nil, err
	}
	p := &link{PacketConn: first, later: later, max: max, received: make(chan received, 1000), closed: make(chan struct{})}
	for _, socket := range []net.PacketConn{first, later} {
		go p.receive(socket)
	}
	return p, nil
}

// receive passes on what arrives at a socket. The former one is deaf once the address has changed.
func (p *link) receive(socket net.PacketConn) {
	for {
		b := make([]byte, 2000)
		n, from, err := socket.ReadFrom(b)
		if err != nil {
			return
		}
		if p.max > 0 && n > p.max || p.changed.Load() && socket == p.PacketConn {
			continue
		}
		select {
		case p.received <- received{b[:n], from}:
		case <-p.closed:
			return
		}
	}
}

func (p *link) ReadFrom(b []byte) (int, net.Addr, error) {
	p.mu.Lock()
	until := p.until
	p.mu.Unlock()
	var late <-chan time.Time
	if !until.IsZero() {
		late = time.After(time.Until(until))
	}
	select {
	case r := <-p.received:
		return copy(b, r.b), r.from, nil
	case <-late:
		return 0, nil, os.ErrDeadlineExceeded
	case <-p.closed:
		return 0, nil, net.ErrClosed
	}
}

// SetReadDeadline ends a ReadFrom that waits only if it comes before it. quic-go sets one to end
// its reads when it closes, and Close does that too.
func (p *link) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = t
	return nil
}

func (p *link) WriteTo(b []byte, to net.Addr) (int, error) {
	if p.max > 0 && len(b) > p.max {
		return len(b), nil
	}
	if p.changed.Load() {
		return p.later.WriteTo(b, to)
	}
	return p.PacketConn.WriteTo(b, to)
}

func (p *link) Close() error {
	p.once.Do(func() { close(p.closed) })
	return errors.Join(p.PacketConn.Close(), p.later.Close())
}

// download requests /large over a path, and calls midway when a quarter has arrived.
func download(ctx context.Context, e *edge, max int, midway func(p *link, c *quic.Conn) error) error {
	p, err := newLink(attackers, max)
	if err != nil {
		return err
	}
	defer p.Close()
	to, err := net.ResolveUDPAddr("udp", e.address)
	if err != nil {
		return err
	}
	c, err := dialOver(ctx, p, to, &quic.Config{DisablePathMTUDiscovery: max > 0, InitialPacketSize: 1200,
		// A client that only receives must send something to show its new address.
		KeepAlivePeriod: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	defer c.CloseWithError(0x100, "")
	s, err := c.OpenStream()
	if err != nil {
		return err
	}
	if _, err := s.Write(request("GET", "/large")); err != nil {
		return err
	}
	s.Close()
	s.SetReadDeadline(time.Now().Add(10 * longest))
	first := make([]byte, large/4)
	if _, err := io.ReadFull(s, first); err != nil {
		return err
	}
	if err := midway(p, c); err != nil {
		return err
	}
	rest, err := io.ReadAll(s)
	if err != nil {
		return err
	}
	list, n, err := statuses(append(first, rest...))
	if err == nil && (len(list) != 1 || list[0] != "200" || n != large) {
		err = fmt.Errorf("status %v, %d bytes", list, n)
	}
	return err
}

func nothing(*link, *quic.Conn) error { return nil }

// migrate moves a connection to another socket, as a client does that changes its network.
func migrate(_ *link, c *quic.Conn) error {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: attackers})
	if err != nil {
		return err
	}
	context.AfterFunc(c.Context(), func() { socket.Close() })
	p, err := c.AddPath(&quic.Transport{Conn: socket})
	if err != nil {
		return err
	}
	ctx, enough := context.WithTimeout(c.Context(), longest)
	defer enough()
	if err := p.Probe(ctx); err != nil {
		return fmt.Errorf("the edge does not validate the new path: %w", err)
	}
	return p.Switch()
}

// spoof sends a packet of a connection from an address at which nobody answers, as an attacker does
// that has the edge flood it.
func spoof(_ context.Context, e *edge) error {
	c, err := connected(e)
	if err != nil {
		return err
	}
	defer c.Close()
	c.send(application, ints(0x10, 1<<30))
	c.send(application, append(ints(0x11, 0, 1<<30), on(0, 0, request("GET", "/large"), true)...))
	if err := c.until(func() bool { return len(c.streams[0]) > 20_000 }); err != nil {
		return err
	}
	victim, err := newRaw(e.address, attackers)
	if err != nil {
		return err
	}
	defer victim.Close()
	b := c.packet(application, []byte{1})
	if err := victim.write(b); err != nil {
		return err
	}
	before := len(c.streams[0])
	c.until(func() bool { return len(c.streams[0]) > before+100_000 || c.ended[0] })
	for victim.receive(patience/2) == nil {
		continue
	}
	if victim.got > 3*victim.sent {
		return fmt.Errorf("%d bytes come to an address from which %d came", victim.got, victim.sent)
	}
	return nil
}

// A download goes on while the address of the client changes, and over paths with short datagrams.
func TestPaths(t *testing.T) {
	over := func(max int, midway func(*link, *quic.Conn) error) func(context.Context, *edge) error {
		return func(ctx context.Context, e *edge) error { return download(ctx, e, max, midway) }
	}
	carryOut(t, startEdge(t), []abuse{
		{"path of which the address changes in mid-download (NAT)", "RFC 9000, 9.3", "the download goes on",
			over(0, func(p *link, _ *quic.Conn) error { p.changed.Store(true); return nil })},
		{"client that migrates in mid-download", "RFC 9000, 9", "the download goes on", over(0, migrate)},
		{"packet from an address at which nobody answers, in mid-download", "RFC 9000, 9.3.1",
			"at most 3 times as many bytes to it", spoof},
		{"path for datagrams of 1452 bytes", "RFC 9000, 14", "the download ends", over(1452, nothing)},
		{"path for datagrams of 1232 bytes (IPv6 with 1280)", "RFC 9000, 14", "the download ends", over(1232, nothing)},
		{"path for datagrams of 1200 bytes", "RFC 9000, 14", "the download ends", over(1200, nothing)},
	})
}
