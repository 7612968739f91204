package listen

import (
	"errors"
	"net"
	"sync"
)

// A several is the listeners of one address: one, or one for each event loop, among which the
// system distributes new connections.
type several struct {
	net.Listener // the first
	all          []net.Listener
}

// Close closes all of them.
func (s *several) Close() error {
	var errs []error
	for _, l := range s.all {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// severalOf returns the listeners of an address, which are one or several. own: each event loop has
// one.
func severalOf(l net.Listener) (s *several, own bool) {
	if once, ok := l.(*onceListener); ok {
		l = once.Listener
	}
	if s, own = l.(*several); own {
		return s, true
	}
	return &several{l, []net.Listener{l}}, false
}

// serveEach serves each of the listeners of an address until all of them are closed, which the
// failure of one of them does. It returns the first error.
func serveEach(l net.Listener, serve func(net.Listener) error) (err error) {
	of, _ := severalOf(l)
	ended := make(chan error, len(of.all))
	for _, one := range of.all {
		go func() { ended <- serve(one) }()
	}
	for range of.all {
		if failed := <-ended; err == nil {
			err = failed
			l.Close()
		}
	}
	return err
}

// CloseOnce returns a listener whose Close may be called again, because Drain, the server and the
// owner of the sockets each close it. It closes l once.
func CloseOnce(l net.Listener) net.Listener {
	return &onceListener{l, sync.OnceValue(l.Close)}
}

type onceListener struct {
	net.Listener
	close func() error
}

func (l *onceListener) Close() error { return l.close() }
