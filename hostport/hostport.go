// Package hostport checks the form of addresses to listen on, HOST:PORT, and of addresses to call,
// http://HOST:PORT; and it reads networks.
package hostport

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
)

// Valid reports whether s is HOST:PORT. The port must be a number up to 65535 or the name of a
// service. The host may be empty, and Valid does not look it up.
func Valid(s string) bool {
	_, port, err := net.SplitHostPort(s)
	return err == nil && validPort(port)
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
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		!validPort(u.Port()) {
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
