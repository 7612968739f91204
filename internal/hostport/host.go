package hostport

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// SplitHost splits a Host field into host and port. An IPv6 address keeps its brackets.
func SplitHost(s string) (host, port string) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.HasSuffix(s, "]") {
		return s, ""
	}
	return s[:i], s[i+1:]
}

// ValidHost reports whether s is a name or an IP address, with or without a port (RFC 9110,
// section 7.2).
func ValidHost(s string) bool {
	host, port := SplitHost(s)
	if _, err := strconv.ParseUint(port, 10, 16); port != "" && err != nil || len(port) > 5 || host == "" || len(host) > 255 {
		return false
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return net.ParseIP(host[1:len(host)-1]) != nil
	}
	for i := 0; i < len(host); i++ {
		switch c := host[i] | 0x20; {
		case 'a' <= c && c <= 'z' && host[i] >= 'A', '0' <= host[i] && host[i] <= '9', host[i] == '-', host[i] == '.', host[i] == '_':
		default:
			return false
		}
	}
	return true
}

// CanonicalHost returns the one form of a valid Host that a client may spell in several ways: in
// lower case, without a dot at the end of the name, with the shortest form of an IPv6 address, and
// with a port without leading zeros, unless it is the default port of the scheme (RFC 9110, section
// 4.2.3).
func CanonicalHost(host, scheme string) string {
	name, port := SplitHost(strings.ToLower(host))
	if inner, ok := strings.CutPrefix(name, "["); ok {
		if addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]")); err == nil {
			name = "[" + addr.String() + "]"
		}
	}
	if name = CanonicalName(name); port != "" {
		if port = strings.TrimLeft(port, "0"); port == "" {
			port = "0"
		}
	}
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return name
	}
	return name + ":" + port
}

// CanonicalName returns a name without dots at its end, which mean the root of DNS.
func CanonicalName(name string) string {
	if short := strings.TrimRight(name, "."); short != "" {
		return short
	}
	return name
}
