package admin

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Hosts lists the host names that an admin listener answers for: NAME, or *.NAME for every name
// below it, at any depth. It is a flag.Value for a flag that may be repeated.
type Hosts []string

// Accept reports whether host, which may have a port, is an IP address, a name without a dot, or a
// name that h allows. In DNS rebinding, the owner of a page makes a name of its public domain
// resolve to this machine. That owner has no influence on IP addresses, nor on names such as
// localhost or edge-1, which the operator's own network resolves.
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

// withoutPort cuts the port off a Host (RFC 9110, section 7.2). The brackets of an IPv6 address
// stay. ok is false if the port is invalid.
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

// isAddress reports whether name is an IPv4 address, or an IPv6 address in brackets (RFC 3986,
// section 3.2.2).
func isAddress(name string) bool {
	inner, opened := strings.CutPrefix(name, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if opened != closed {
		return false
	}
	addr, err := netip.ParseAddr(inner)
	return err == nil && addr.Is6() == opened
}

const maxName = 254 // bytes of a name with its trailing dot (RFC 1035, section 2.3.4)

// isName reports whether s consists of labels with dots between them and perhaps one at the end. A
// label has ASCII letters, digits, hyphens and underscores, which names of containers use.
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

// canonical returns name in lower case and without its trailing dot, which only marks the name as
// fully qualified.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

var errHost = errors.New("must be a name such as edge.example.org, or *.example.org for every name below it, without a port")

// Set adds NAME or *.NAME.
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

// Repeatable reports true: the environment variable of the flag holds values separated by spaces.
func (h *Hosts) Repeatable() bool { return true }
