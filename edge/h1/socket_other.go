//go:build !linux

package h1

import "net"

// bound leaves it to the system how much it takes from us.
func bound(net.Conn) {}

// queued is not known on this system: there the deadlines of writes are all.
func queued(net.Conn) int64 { return 0 }

// Left is not known on this system.
func (c *Conn) Left() bool { return false }

// Waiting is not known here.
func (c *Conn) Waiting() bool { return false }
