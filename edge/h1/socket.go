package h1

import "net"

// socket returns the innermost connection of a connection that wraps another, as one of TLS does.
func socket(c net.Conn) net.Conn {
	for {
		wrapper, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = wrapper.NetConn()
	}
}
