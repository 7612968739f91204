package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/iconedge/iconedge/edge"
	"github.com/iconedge/iconedge/internal/cli"
)

// systemd can open sockets and pass them to each process that it starts (sd_listen_fds(3)). They
// outlive the process: clients that connect between two processes wait in the socket's queue, and
// the next process answers them.

// The names of sockets: FileDescriptorName in a socket unit.
const (
	publicSocket = "public"
	adminSocket  = "admin"
	tlsSocket    = "tls"
	quicSocket   = "quic"
)

// inherited holds the sockets that the process was started with, by name.
type inherited struct {
	streams map[string]net.Listener
	packets map[string]net.PacketConn
}

// inherit takes the sockets that the process was started with. A socket whose name is not in known
// is a wrong call.
func inherit(known ...string) (inherited, error) {
	s := inherited{map[string]net.Listener{}, map[string]net.PacketConn{}}
	for _, f := range activation.Files(true) {
		err := s.take(f, known)
		f.Close() // the listener has a descriptor of its own
		if err != nil {
			return s, cli.Usage(err.Error())
		}
	}
	if s.packets[quicSocket] != nil && s.streams[tlsSocket] == nil {
		return s, cli.Usage("systemd passed in a socket called quic, and none called tls: HTTP/3 needs TLS")
	}
	return s, nil
}

func (s inherited) take(f *os.File, known []string) (err error) {
	name := f.Name()
	switch {
	case !slices.Contains(known, name):
		return fmt.Errorf("systemd passed in a socket called %q: FileDescriptorName must be one of %s", name, strings.Join(known, ", "))
	case s.streams[name] != nil || s.packets[name] != nil:
		return fmt.Errorf("systemd passed in two sockets called %s: use each name once", name)
	case name == quicSocket:
		s.packets[name], err = net.FilePacketConn(f)
	default:
		if err = listens(f); err == nil {
			s.streams[name], err = net.FileListener(f)
		}
	}
	if err != nil {
		return fmt.Errorf("using the socket called %s: %w", name, err)
	}
	return nil
}

// inheritEdge sets the listeners of an edge to the sockets that the process was started with.
func inheritEdge(cfg *edge.Config) error {
	s, err := inherit(publicSocket, tlsSocket, quicSocket, adminSocket)
	cfg.Listener, cfg.TLSListener, cfg.AdminListener = s.streams[publicSocket], s.streams[tlsSocket], s.streams[adminSocket]
	cfg.QUICSocket = s.packets[quicSocket]
	return err
}
