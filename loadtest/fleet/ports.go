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

// The range of ports. Linux assigns ports from 32768 to outgoing connections, and a run opens many
// of those before its last server starts.
const firstPort, lastPort = 20_000, 32_000

// tried is the number of ports examined so far, with a random start. A port is never returned
// twice.
var tried atomic.Int64

func init() { tried.Store(rand.Int64N(lastPort - firstPort)) }

// freePorts returns loopback addresses that nothing listens on.
func freePorts(n int) (addresses []string, err error) {
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

// wellAt returns a readiness check: the URL answers 200.
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

// takesConnections returns a readiness check: the address accepts connections.
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
