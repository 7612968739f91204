//go:build linux

package fleet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

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
