package access

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/request"
)

// Clients finds the client of a request. It believes only the proxies that the operator trusts
// about the clients that they forward for.
type Clients struct{ Trusted []netip.Prefix }

// Of returns the address of a request's client: the peer's, or, behind trusted proxies, the
// rightmost named address that is not itself trusted. If Forwarded and X-Forwarded-For name
// different clients, the peer is the client. Other fields are ignored.
func (c Clients) Of(x *exchange.Request) netip.Addr { return c.named(x.Peer, x.Lines) }

// OfEligible returns the client's address for a request on the hit path.
func (c Clients) OfEligible(q *request.Request) netip.Addr {
	if !q.Forwarded {
		return q.Client
	}
	return c.named(q.Client, func(name string) [][]byte { return q.Lines(strings.ToLower(name)) })
}

// named returns the client of a request that arrived from peer. It uses the request's fields only
// if peer is trusted.
func (c Clients) named(peer netip.Addr, fields func(name string) [][]byte) netip.Addr {
	if !c.Trusts(peer) {
		return peer
	}
	lines := fields("Forwarded") // valid until fields is called again
	if len(lines) == 0 {
		return c.behind(peer, fields("X-Forwarded-For"), parseNode)
	}
	client := c.behind(peer, lines, forwardedFor)
	if lines = fields("X-Forwarded-For"); len(lines) > 0 && c.behind(peer, lines, parseNode) != client {
		// A proxy may write one of the two fields and pass the other on as the client sent it.
		return peer
	}
	return client
}

// Trusts reports whether an address is that of a trusted proxy. Networks have no zones.
func (c Clients) Trusts(a netip.Addr) bool {
	a = a.WithZone("")
	for _, p := range c.Trusted {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// behind returns the address of the last hop of a list that can be read, as hopsOf passes them;
// peer if there is none.
func (c Clients) behind(peer netip.Addr, lines [][]byte, read func(string) (netip.Addr, bool)) netip.Addr {
	for h := range hopsOf(lines, read, c.Trusts) {
		if h.address.IsValid() {
			peer = h.address
		}
	}
	return peer
}

// A hop is one element of Forwarded or X-Forwarded-For. Its address is invalid if it can't be read.
type hop struct {
	text    string
	address netip.Addr
}

// hopsOf passes the hops of a list from its end, which the nearest proxy wrote, up to the first
// whose address is not trusted. An unreadable hop ends the list too, because no trusted proxy wrote
// the hops before it.
func hopsOf(lines [][]byte, read func(string) (netip.Addr, bool), trusts func(netip.Addr) bool) iter.Seq[hop] {
	return func(yield func(hop) bool) {
		for _, line := range slices.Backward(lines) {
			rest := string(line)
			for more := true; more; {
				var text string
				rest, text, more = cutLast(rest)
				h := hop{text: strings.Trim(text, " \t")}
				if addr, ok := read(h.text); ok {
					h.address = addr
				}
				if !yield(h) || !h.address.IsValid() || !trusts(h.address) {
					return
				}
			}
		}
	}
}

// cutLast cuts the last element off a list. It reads from the end, quotes included, so that it
// understands the element that a proxy appended, whatever the client wrote into the field before.
func cutLast(s string) (before, last string, more bool) {
	quoted := false
	for i := len(s) - 1; i >= 0; i-- {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[:i], s[i+1:], true
		}
	}
	return "", s, false
}

// forwardedFor returns the address in an element of Forwarded, such as
// `for="[2001:db8::1]:4711";proto=https` (RFC 7239, section 4).
func forwardedFor(element string) (netip.Addr, bool) {
	value, ok := parameter(element, "for")
	if !ok {
		return netip.Addr{}, false
	}
	return parseNode(value)
}

// parseNode parses an address, with or without a port. An IPv6 address with a port is in brackets
// (RFC 7239, section 6).
func parseNode(s string) (netip.Addr, bool) {
	if strings.HasPrefix(s, "[") {
		inner, port, closed := strings.Cut(s[1:], "]")
		if !closed || port != "" && port[0] != ':' {
			return netip.Addr{}, false
		}
		s = inner
	} else if host, _, ok := strings.Cut(s, ":"); ok && strings.Count(s, ":") == 1 {
		s = host
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}
