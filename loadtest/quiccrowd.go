//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

const (
	quicStreams = 10 // of a connection at a time, and its requests before it rests
	quicClients = 16 // addresses
	// quicOpening is how many connections are opened at once, however many there are.
	quicOpening = 1000
	quicTime    = 2 * time.Minute // in which a crowd must be open
)

// A crowd is clients of HTTP/3 from several addresses, each with a socket of its own, as browsers
// have.
type crowd struct {
	target  netip.AddrPort
	roots   *x509.CertPool
	ctx     context.Context // ends when close is called
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	peers []*quicPeer
	errs  []error
}

func newCrowd(target netip.AddrPort, roots *x509.CertPool) *crowd {
	c := &crowd{target: target, roots: roots}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// warmUp requests the icon once.
func (c *crowd) warmUp(ctx context.Context) error {
	p, err := c.listen(0)
	if err == nil {
		err = p.dialAndAsk(ctx)
	}
	return err
}

// open opens n connections, all at once or one after the other, and calls each for each.
func (c *crowd) open(ctx context.Context, n int, atOnce bool, each func(*quicPeer, context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, quicTime)
	defer stop()
	most := 1
	if atOnce {
		most = quicOpening
	}
	slots := make(chan struct{}, most)
	var opening sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		opening.Go(func() {
			defer func() { <-slots }()
			p, err := c.listen(i)
			if err == nil {
				err = each(p, ctx)
			}
			if err != nil {
				c.fail(fmt.Errorf("connection %d: %w", i+1, err))
				stop()
			}
		})
	}
	opening.Wait()
	return c.err()
}

// all calls f for all connections.
func (c *crowd) all(f func(*quicPeer)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.peers {
		f(p)
	}
}

// fail records the error of a connection, unless the crowd has been closed.
func (c *crowd) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.errs = append(c.errs, err)
	}
}

// err returns the first error.
func (c *crowd) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.errs) == 0 {
		return nil
	}
	return fmt.Errorf("%d connections or streams ended: %w", len(c.errs), c.errs[0])
}

// close closes all connections.
func (c *crowd) close() {
	c.cancel()
	c.all(func(p *quicPeer) {
		c.running.Go(func() {
			if p.conn != nil {
				p.conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
			}
		})
	})
	c.running.Wait()
	c.all(func(p *quicPeer) {
		p.transport.Close()
		p.socket.Close()
	})
}

// A quicPeer is one client with its connection.
type quicPeer struct {
	crowd     *crowd
	socket    *silentConn
	transport *quic.Transport
	conn      *quic.Conn // nil: the handshake is not complete
	client    *http3.ClientConn
}

// listen makes a client with a socket of its own.
func (c *crowd) listen(i int) (*quicPeer, error) {
	from := sources(quicClients)[i%quicClients]
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)))
	if err != nil {
		return nil, err
	}
	p := &quicPeer{crowd: c, socket: &silentConn{PacketConn: socket, answered: make(chan struct{})}}
	p.transport = &quic.Transport{Conn: socket}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers = append(c.peers, p)
	return p, nil
}

// dial opens the connection. Like a browser it begins anew if the server does not answer in time.
func (p *quicPeer) dial(ctx context.Context) (err error) {
	for again := true; again; again = ctx.Err() == nil && isTemporary(err) {
		err = p.handshake(ctx, &quic.Config{MaxIdleTimeout: time.Hour})
	}
	return err
}

func (p *quicPeer) handshake(ctx context.Context, cfg *quic.Config) error {
	config := &tls.Config{RootCAs: p.crowd.roots, ServerName: p.crowd.target.Addr().String(),
		MinVersion: tls.VersionTLS13, NextProtos: []string{http3.NextProtoH3}}
	conn, err := p.transport.Dial(ctx, net.UDPAddrFromAddrPort(p.crowd.target), config, cfg)
	if err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	p.conn = conn
	// Browsers open the streams of QPACK (RFC 9204, section 4.2).
	for _, kind := range []byte{0x02, 0x03} {
		stream, err := conn.OpenUniStream()
		if err == nil {
			_, err = stream.Write([]byte{kind})
		}
		if err != nil {
			return fmt.Errorf("a stream of QPACK: %w", err)
		}
	}
	p.client = (&http3.Transport{DisableCompression: true}).NewClientConn(conn)
	return nil
}

// isTemporary reports whether the server refused a connection for the moment, as quic-go does if 32
// others wait to be accepted, or did not answer.
func isTemporary(err error) bool {
	refused, ok := errors.AsType[*quic.TransportError](err)
	late, isLate := errors.AsType[net.Error](err)
	return ok && refused.ErrorCode == quic.ConnectionRefused || isLate && late.Timeout()
}

// dialSilent begins a handshake, and never learns of the server's part of it. It waits until that
// has arrived.
func (p *quicPeer) dialSilent(ctx context.Context) error {
	p.transport.Conn = p.socket
	p.crowd.running.Go(func() {
		p.crowd.fail(p.handshake(p.crowd.ctx, &quic.Config{HandshakeIdleTimeout: quicTime}))
	})
	select {
	case <-p.socket.answered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dialAndAsk opens a connection and sends ten requests, one after the other. Like a browser it
// begins anew if there is no response in time: the server may have given the handshake up.
func (p *quicPeer) dialAndAsk(ctx context.Context) (err error) {
	for again := true; again; again = ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		if p.conn != nil {
			p.conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		}
		err = p.dial(ctx)
		for i := 0; err == nil && i < quicStreams; i++ {
			err = p.askInTime(ctx)
		}
	}
	return err
}

// askInTime sends a request for the icon, which must not take long.
func (p *quicPeer) askInTime(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, restTime)
	defer stop()
	if err := p.ask(ctx, quicPath); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// run starts ten streams, of which each sends its next request as soon as it has a response.
func (p *quicPeer) run() {
	for range quicStreams {
		p.crowd.running.Go(func() {
			var err error
			for err == nil {
				err = p.ask(p.crowd.ctx, quicPath)
			}
			p.crowd.fail(err)
		})
	}
}

// wait starts ten requests that the origin does not answer.
func (p *quicPeer) wait() {
	for range quicStreams {
		p.crowd.running.Go(func() {
			p.crowd.fail(errors.Join(errWrong, p.ask(p.crowd.ctx, waitPath)))
		})
	}
}

// ask sends a request and reads the response.
func (p *quicPeer) ask(ctx context.Context, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.crowd.target.String()+path, nil)
	if err != nil {
		return err
	}
	resp, err := p.client.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || len(body) != usualBody) {
		err = fmt.Errorf("%s, %.200q: %w", resp.Status, body, errWrong)
	}
	return err
}

// A silentConn is a socket that loses everything that the server sends but Retry packets, so that
// a handshake begins and is never complete.
type silentConn struct {
	net.PacketConn // not a UDPConn, which quic-go would read without ReadFrom
	once           sync.Once
	answered       chan struct{} // closed once the server has sent its part of the handshake
}

// ReadFrom implements net.PacketConn.
func (c *silentConn) ReadFrom(b []byte) (n int, from net.Addr, err error) {
	for {
		n, from, err = c.PacketConn.ReadFrom(b)
		// a long header of type Retry (RFC 9000, section 17.2.5)
		if err != nil || n > 0 && b[0]&0xf0 == 0xf0 {
			return n, from, err
		}
		c.once.Do(func() { close(c.answered) })
	}
}
