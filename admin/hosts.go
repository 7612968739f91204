package admin

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Hosts are names that an admin listener answers for: NAME, or *.NAME for every name below it, however deep. It is a flag.Value that may be repeated.
type Hosts []string

// Accept reports whether the Host of a request, perhaps with a port, is an IP address, a name without a dot, or one of h. The owner of a page decides what
// the names of a public domain resolve to, but neither what an address is nor, on the operator's own network, what `localhost` or `edge-1` is.
func (h Hosts) Accept(host string) bool {
	name, ok := withoutPort(host)
	switch {
	case !ok:
		return false
	case isAddress(name):
		return true
	case !isName(name):
		return false
	case !strings.Contains(name, "."):
		return true
	}
	name = canonical(name)
	return slices.ContainsFunc(h, func(pattern string) bool {
		below, wild := strings.CutPrefix(pattern, "*")
		return name == pattern || wild && strings.HasSuffix(name, below)
	})
}

// withoutPort cuts the port off a Host (RFC 9110, section 7.2). The brackets of an IPv6 address stay. ok is false where there is something that is no port.
func withoutPort(host string) (name string, ok bool) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || i < strings.LastIndexByte(host, ']') {
		return host, true
	}
	name, port := host[:i], host[i+1:]
	if port == "" {
		return name, true
	}
	_, err := strconv.ParseUint(port, 10, 16)
	return name, err == nil
}

// isAddress reports whether a name is an IPv4 address, or an IPv6 address in brackets (RFC 3986, section 3.2.2).
func isAddress(name string) bool {
	inner, opened := strings.CutPrefix(name, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if opened != closed {
		return false
	}
	addr, err := netip.ParseAddr(inner)
	return err == nil && addr.Is6() == opened
}

const maxName = 254 // bytes of a name with the dot at its end (RFC 1035, section 2.3.4)

// isName reports whether s is labels of ASCII letters, digits, hyphens and underscores, as containers have them, with dots between them and perhaps one
// at the end.
func isName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
		}) {
			return false
		}
	}
	return true
}

// canonical is a name in lower case, without the dot at its end: that one only says that the name is whole.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

var errHost = errors.New("must be a name such as edge.example.org, or *.example.org for every name below it, without a port")

// Set adds a name or a wildcard.
func (h *Hosts) Set(s string) error {
	name, wild := strings.CutPrefix(s, "*.")
	if !isName(name) {
		return errHost
	}
	name = canonical(name)
	if wild {
		name = "*." + name
	}
	*h = append(*h, name)
	return nil
}

func (h *Hosts) String() string {
	if h == nil {
		return ""
	}
	return strings.Join(*h, " ")
}

// Repeatable says that in the environment several values are separated by spaces.
func (h *Hosts) Repeatable() bool { return true }
