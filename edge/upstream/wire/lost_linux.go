package wire

import (
	"syscall"
	"time"
)

const tcpUserTimeout = 18 // TCP_USER_TIMEOUT (tcp(7))

// LostAfter returns a function for net.Dialer.Control. The system ends the connection when the
// other end has acknowledged nothing for a time, bytes or, in silence, probes. Otherwise requests
// would use a lost connection for a quarter of an hour.
func LostAfter(d time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		if network == "unix" {
			return nil
		}
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
		})
		if err != nil {
			return err
		}
		return failed
	}
}
