//go:build linux

package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Ports are taken from these: from 32768 on Linux gives them to connections, and a run makes many before its last server starts.
const firstPort, lastPort = 20_000, 32_000

// tried is how many of them were looked at, the first one somewhere among them: what was free once is not given away twice.
var tried atomic.Int64

func init() { tried.Store(rand.Int64N(lastPort - firstPort)) }

// freePorts are loopback addresses that nothing listens on.
func freePorts(n int) (addresses []string, err error) {
	for range lastPort - firstPort {
		if len(addresses) == n {
			return addresses, nil
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.FormatInt(firstPort+tried.Add(1)%(lastPort-firstPort), 10))
		if err != nil {
			continue // it is taken: another one
		}
		addresses = append(addresses, l.Addr().String())
		l.Close()
	}
	return nil, fmt.Errorf("looking for %d free ports from %d to %d: there are %d", n, firstPort, lastPort, len(addresses))
}

// wellAt is ready when this address answers 200.
func wellAt(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		status, _, err := fetch(ctx, http.MethodGet, url, "")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%s answers %d", url, status)
		}
		return err
	}
}

// takesConnections is ready when somebody listens.
func takesConnections(addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		return c.Close()
	}
}
