//go:build !linux

package h1

import "net"

// limitUnsent does nothing, because this system has no such limit.
func limitUnsent(net.Conn, int) {}

const (
	maxUnsent     = 0
	maxUnsentFile = 0
)

// unacked returns 0, because this system does not report the number. Only write deadlines apply
// here.
func unacked(net.Conn) int64 { return 0 }

// ClientGone returns false, because this system does not report it.
func (c *Conn) ClientGone() bool { return false }

// Waiting returns false, because this system does not report it.
func (c *Conn) Waiting() bool { return false }
