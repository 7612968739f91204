// Package hostport checks the form of addresses to listen on, HOST:PORT, and of addresses to call,
// http://HOST:PORT; and it reads networks.
package hostport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

// Valid reports whether s is HOST:PORT. The port must be a number up to 65535 or the name of a
// service. The host may be empty, and Valid does not look it up.
func Valid(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && validPort(port)
}

// Check returns an error that names the flag unless s is HOST:PORT.
func Check(flag, s string) error {
	if Valid(s) {
		return nil
	}
	example := "127.0.0.1:8080"
	if port := strings.Trim(s, ":/ "); port != "" && validPort(port) {
		example = "127.0.0.1:" + port + ", or :" + port + " for all addresses of this machine"
	}
	return fmt.Errorf("%s must be HOST:PORT, such as %s", flag, example)
}

// Listen listens on a TCP address. The error names the flag that has the address.
func Listen(ctx context.Context, flag, address string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, Explain(flag, address, err)
	}
	return ln, nil
}

// Explain adds the flag of an address to an error of listening on it, and the mend.
func Explain(flag, address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s %s: another process listens there: stop it, or choose another port (%w)", flag, address, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s %s: this user may not listen there: ports below 1024 need CAP_NET_BIND_SERVICE, or a higher port (%w)", flag,
			address, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s %s: this machine does not have that address (%w)", flag, address, err)
	}
	return fmt.Errorf("%s %s: %w", flag, address, err)
}

func validPort(s string) bool {
	_, err := net.LookupPort("tcp", s)
	return err == nil
}

var errURL = errors.New("must be http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]")

// ParseURL reads http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]. It refuses user names,
// queries and fragments.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errURL
	}
	more := u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != ""
	if u.Host == "" || more || !validPort(u.Port()) {
		return nil, errURL
	}
	return u, nil
}

// ParsePrefix parses a CIDR or a single address.
func ParsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, errors.New("must be an address or a network, such as 10.0.0.0/8")
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if prefix.Addr().Is4In6() {
		return netip.Prefix{}, errors.New("an IPv4 network must be in IPv4 form, such as 10.0.0.0/8")
	}
	return prefix.Masked(), nil
}
