//go:build linux

package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// A target is a server under load.
type target struct {
	name string
	host string // for the Host field
	addr netip.AddrPort
}

var errTarget = errors.New("a target is http://HOST:PORT, or NAME=http://HOST:PORT")

// parseTarget parses a target and resolves its address.
func parseTarget(ctx context.Context, s string) (t target, err error) {
	name, address, ok := strings.Cut(s, "=")
	if !ok {
		name, address = "", s
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" {
		return t, errTarget
	}
	if u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return t, errTarget
	}
	port := uint64(80)
	if u.Port() != "" {
		if port, err = strconv.ParseUint(u.Port(), 10, 16); err != nil {
			return t, errTarget
		}
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return t, err
	}
	t = target{name, u.Host, netip.AddrPortFrom(addrs[0].Unmap(), uint16(port))}
	if name == "" {
		t.name = u.Host
	}
	return t, nil
}

// sources returns n loopback addresses, one for each simulated client, from 127.0.0.2. A single
// client needs no special address.
func sources(n int) (addrs []netip.Addr) {
	if n <= 1 {
		return nil
	}
	for i := range n {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, byte((i + 2) >> 8), byte(i + 2)}))
	}
	return addrs
}
