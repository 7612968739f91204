package h2

import (
	"io"

	"golang.org/x/net/http2"
)

// tunnelWindow is the number of bytes after which a tunnel opens the client's window again.
const tunnelWindow = ourWindow / 4

// A Tunnel is the stream of an extended CONNECT (RFC 8441) after a response of 200: bytes in both
// directions, each of which ends by itself. It holds at most the bytes of one window that its
// reader has not taken yet. The lock of its connection guards its fields.
type Tunnel struct {
	c       *Conn
	s       *stream
	in      []byte        // received and not read yet
	read    int64         // bytes that the client's window is not open for again
	arrived chan struct{} // signals bytes or the end; has room for one signal
	open    bool          // the response has opened the tunnel
	ended   bool          // this side has ended its direction
}

func newTunnel(c *Conn, s *stream) *Tunnel {
	return &Tunnel{c: c, s: s, arrived: make(chan struct{}, 1)}
}

// extendsConnect reports whether a request with :protocol is sound (RFC 8441, section 4). It has no
// length, because its DATA are the tunnel's.
func (q *parsedHeaders) extendsConnect() bool {
	for _, pseudo := range [...][]byte{q.protocol, q.scheme, q.path, q.authority} {
		if len(pseudo) == 0 {
			return false
		}
	}
	return string(q.method) == "CONNECT" && q.length < 0
}

// receive takes a frame of the client's, of so many bytes including padding.
func (t *Tunnel) receive(p []byte, size int64) {
	t.in = append(t.in, p...)
	t.read += size - int64(len(p)) // nobody reads padding
	t.wake()
}

func (t *Tunnel) wake() {
	select {
	case t.arrived <- struct{}{}:
	default:
	}
}

// Read returns the client's bytes, and opens the client's window for as many.
func (t *Tunnel) Read(p []byte) (int, error) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	for len(t.in) == 0 {
		switch {
		case t.c.phase.dead != nil:
			return 0, t.c.phase.dead
		case t.s.whole:
			return 0, io.EOF
		}
		if err := t.wait(); err != nil {
			return 0, err
		}
	}
	n := copy(p, t.in)
	if t.in = t.in[n:]; len(t.in) == 0 {
		t.in = nil // an idle tunnel holds no buffer
	}
	if t.read += int64(n); t.read >= tunnelWindow && !t.s.whole {
		t.s.credit += t.read
		t.c.returnWindow(t.s.id, t.read)
		t.read = 0
		return n, t.c.flush()
	}
	return n, nil
}

// wait waits for bytes of the client, without holding the lock.
func (t *Tunnel) wait() error {
	t.c.mu.Unlock()
	defer t.c.mu.Lock()
	select {
	case <-t.arrived:
		return nil
	case <-t.s.gone:
		return errClosed
	}
}

// A TunnelEnd is the client's end of a tunnel.
type TunnelEnd struct {
	*Tunnel
	w *Writer
}

// TunnelEnd returns the client's end, after the head of the response was sent.
func (w *Writer) TunnelEnd() TunnelEnd {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.Tunnel.open = true
	return TunnelEnd{w.Tunnel, w}
}

// Write sends bytes to the client as the windows allow.
func (e TunnelEnd) Write(p []byte) (int, error) {
	n, err := e.w.Write(p)
	if err == nil {
		err = e.w.Flush()
	}
	return n, err
}

// CloseWrite ends the direction to the client. The stream ends when the client has ended its own
// direction too.
func (e TunnelEnd) CloseWrite() error {
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.ended {
		return nil
	}
	if err := e.w.failed(); err != nil {
		return err
	}
	e.ended = true
	c.out.append(appendFrame(nil, http2.FrameData, http2.FlagDataEndStream, e.s.id))
	return c.flush()
}

// Close ends the stream, with a reset unless both directions have ended.
func (e TunnelEnd) Close() error {
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.w.failed() != nil {
		return nil
	}
	if !e.ended || !e.s.whole {
		c.sendReset(e.s.id, http2.ErrCodeCancel)
	}
	e.s.whole = true
	return e.w.end()
}
