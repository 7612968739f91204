//go:build !linux

package h2

import "net"

// A socket reads and writes with the connection's own methods.
type socket struct{}

func (*socket) init(net.Conn) {}

func (*socket) fill(l *Link) error { return l.readDone(l.Conn.Read(l.take())) }

func (*socket) write(l *Link, p []byte) (int, error) { return l.Conn.Write(p) }
