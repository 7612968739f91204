// Package listening has what the tests and the load tester share for starting servers: loopback
// addresses that are free, and listeners that are passed to a server as systemd does.
package listening

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// The range of ports. Linux assigns ports from 32768 to outgoing connections (ip_local_port_range),
// and a run opens many of those before its last server starts, or while a server is started again.
const firstPort, lastPort = 10_000, 32_000

// tried is the number of ports examined so far, with a random start. This process never gives out a
// port twice before it has given out all of them.
var tried atomic.Int64

func init() { tried.Store(rand.Int64N(lastPort - firstPort)) }

// FreeAddresses returns n loopback addresses, HOST:PORT, that nothing listens on. Programs get them
// that do not report which port the kernel gave them, or whose address must survive a restart.
func FreeAddresses(n int) (addresses []string, err error) {
	for range lastPort - firstPort {
		if len(addresses) == n {
			return addresses, nil
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.FormatInt(firstPort+tried.Add(1)%(lastPort-firstPort), 10))
		if err != nil {
			continue // in use
		}
		addresses = append(addresses, l.Addr().String())
		l.Close()
	}
	return nil, fmt.Errorf("finding %d free ports from %d to %d: only %d are free", n, firstPort, lastPort, len(addresses))
}
