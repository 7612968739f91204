//go:build linux

package fleet

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// sockets are listeners that are ours and are lent to a process, as systemd does (sd_listen_fds(3)): while the process is exchanged for
// another, connections wait in them.
type sockets struct {
	names, addresses []string
	files            []*os.File
}

// openSockets listens on an address for each name.
func openSockets(names, addresses []string) (*sockets, error) {
	s := &sockets{names: names, addresses: addresses}
	return s, s.open()
}

// open listens, unless it does.
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
			return fmt.Errorf("keeping the socket of %s: %w", address, err)
		}
		s.files = append(s.files, f)
	}
	return nil
}

// close gives the sockets up: who connects is refused, as where a machine is gone.
func (s *sockets) close() {
	for _, f := range s.files {
		f.Close()
	}
	s.files = nil
}

// hand makes a command that is given the sockets. The variable LISTEN_PID must name the process itself, so a shell sets it and becomes the
// program.
func (s *sockets) hand(argv, env []string) ([]string, []string, []*os.File) {
	argv = append([]string{"/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`}, argv...)
	env = append(env, "LISTEN_FDS="+strconv.Itoa(len(s.files)), "LISTEN_FDNAMES="+strings.Join(s.names, ":"))
	return argv, env, s.files
}
