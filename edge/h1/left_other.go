//go:build !linux

package h1

// Left is not known on this system.
func (c *Conn) Left() bool { return false }
