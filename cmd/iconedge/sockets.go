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

// Sockets that outlive the process: systemd opens them, keeps them, and gives them to each process that it starts (sd_listen_fds(3)).
// Who connects between two processes waits in the socket's queue, and is answered by the next one.

// The names by which they are known: FileDescriptorName in a socket unit.
const (
	publicSocket = "public"
	adminSocket  = "admin"
	tlsSocket    = "tls"
	quicSocket   = "quic"
)

// inherited are the sockets that the process was started with, by name.
type inherited struct {
	streams map[string]net.Listener
	packets map[string]net.PacketConn
}

// inherit takes the sockets that the process was started with; a command knows some names, and one that it does not know is a wrong call.
func inherit(known ...string) (inherited, error) {
	s := inherited{map[string]net.Listener{}, map[string]net.PacketConn{}}
	for _, f := range activation.Files(true) {
		err := s.take(f, known)
		f.Close() // what was taken has a descriptor of its own
		if err != nil {
			return s, cli.Usage(err.Error())
		}
	}
	if s.packets[quicSocket] != nil && s.streams[tlsSocket] == nil {
		return s, cli.Usage("a socket called quic was passed in, and none called tls: HTTP/3 is served beside TLS alone")
	}
	return s, nil
}

func (s inherited) take(f *os.File, known []string) (err error) {
	name := f.Name()
	switch {
	case !slices.Contains(known, name):
		return fmt.Errorf("a socket called %q was passed in: FileDescriptorName must be one of %s", name, strings.Join(known, ", "))
	case s.streams[name] != nil || s.packets[name] != nil:
		return fmt.Errorf("two sockets called %s were passed in: each name is for one", name)
	case name == quicSocket:
		s.packets[name], err = net.FilePacketConn(f)
	default:
		if err = listens(f); err == nil {
			s.streams[name], err = net.FileListener(f)
		}
	}
	if err != nil {
		return fmt.Errorf("taking the socket called %s: %w", name, err)
	}
	return nil
}

// inheritEdge gives an edge the sockets that the process was started with.
func inheritEdge(cfg *edge.Config) error {
	s, err := inherit(publicSocket, tlsSocket, quicSocket, adminSocket)
	cfg.Listener, cfg.TLSListener, cfg.AdminListener = s.streams[publicSocket], s.streams[tlsSocket], s.streams[adminSocket]
	cfg.QUICSocket = s.packets[quicSocket]
	return err
}
