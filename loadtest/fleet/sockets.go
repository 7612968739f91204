//go:build linux

package fleet

import (
	"fmt"
	"net"
	"os"
)

// sockets are listeners that this process holds and passes to another one, as systemd does
// (sd_listen_fds(3)): while that process is replaced, connections wait in the queue.
type sockets struct {
	names, addresses []string
	files            []*os.File
}

// openSockets listens on an address for each name.
func openSockets(names, addresses []string) (*sockets, error) {
	s := &sockets{names: names, addresses: addresses}
	return s, s.open()
}

// open opens the listeners unless they are open.
func (s *sockets) open() error {
	if len(s.files) > 0 {
		return nil
	}
	for _, address := range s.addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			s.close()
			return fmt.Errorf("listening on %s: %w", address, err)
		}
		f, err := l.(*net.TCPListener).File()
		l.Close() // f is another descriptor of the same socket
		if err != nil {
			s.close()
			return fmt.Errorf("duplicating the socket of %s: %w", address, err)
		}
		s.files = append(s.files, f)
	}
	return nil
}

// close closes the listeners: new connections are refused, as at a machine that is gone.
func (s *sockets) close() {
	for _, f := range s.files {
		f.Close()
	}
	s.files = nil
}
