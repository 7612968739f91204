package listen

import (
	"crypto/tls"
	"syscall"

	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/netloop"
)

// A secureSocket is the socket of a connection over TLS on an event loop. The handshake must be
// complete before its first call.
type secureSocket struct {
	*netloop.Conn
	tls  *tls.Conn
	link *h2.Link
}

// secureBatch is how many bytes are encrypted before they are written. What the client does not take
// of them waits in the link.
const secureBatch = 64 << 10

// TryRead reads at most one record, because an error in the next one would keep the responses to
// this one from the client.
func (s *secureSocket) TryRead(p []byte) (int, error) {
	if before := s.link.TryOnly(true); !before {
		defer s.link.TryOnly(false)
	}
	n, err := s.tls.Read(p)
	switch {
	case n > 0:
		return n, nil // the next call returns the error
	case err == h2.ErrWait:
		return 0, syscall.EAGAIN
	}
	return 0, err
}

// More reports whether TryRead may find more before the next event.
func (s *secureSocket) More() bool { return !s.link.Dry() }

// TryWrite encrypts and sends p. It returns syscall.EAGAIN if there is no room for all of it; the
// link keeps the rest of what was encrypted.
func (s *secureSocket) TryWrite(p []byte) (n int, err error) {
	for {
		if err = s.link.Flush(); err != nil || n == len(p) {
			return n, err
		}
		s.link.Cork()
		var m int
		m, err = s.tls.Write(p[n:min(len(p), n+secureBatch)])
		n += m
		if sent := s.link.Uncork(); err == nil {
			err = sent
		}
		if err != nil {
			return n, err
		}
	}
}

// Detach lets a goroutine use the connection.
func (s *secureSocket) Detach() { detach(s.Conn, s.link) }

// Attach returns the connection to its loop.
func (s *secureSocket) Attach() { attach(s.Conn, s.link) }

// A clearSocket is the socket of a connection of HTTP/2 without TLS on an event loop.
type clearSocket struct {
	*netloop.Conn
	link *h2.Link
}

// Detach lets a goroutine use the connection.
func (s *clearSocket) Detach() { detach(s.Conn, s.link) }

// Attach returns the connection to its loop.
func (s *clearSocket) Attach() { attach(s.Conn, s.link) }

func detach(c *netloop.Conn, l *h2.Link) {
	l.TryOnly(false)
	c.Detach()
}

func attach(c *netloop.Conn, l *h2.Link) {
	l.TryOnly(true)
	c.Attach()
}
