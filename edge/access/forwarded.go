package access

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/upstream"
)

// Forwarded returns the description of a request that the origin gets. host is the Host of the
// connection. From a peer that is neither a trusted proxy nor an edge behind this one, nothing of
// the request's own description counts. From the others the hops up to the client are kept, and the
// scheme and Host that they name stand for those of the connection. If Forwarded and another field
// disagree, the connection's own value counts, because a proxy may write one of them and pass the
// other on as the client sent it. A host is used only if valid accepts it.
func (c Clients) Forwarded(x *exchange.Request, host string, valid func(host string) bool) upstream.Forwarded {
	own := upstream.Forwarded{Peer: x.Peer, Scheme: x.Scheme(), Host: strings.ToLower(host)}
	trusts := c.Trusts
	if x.Tier { // an edge has removed what no trusted hop wrote
		trusts = func(netip.Addr) bool { return true }
	} else if !c.Trusts(x.Peer) {
		return own
	}
	elements := trail(x.Lines("Forwarded"), forwardedFor, trusts)
	nodes := trail(x.Lines("X-Forwarded-For"), parseNode, trusts)
	if len(elements) > 0 && len(nodes) > 0 && client(elements, x.Peer) != client(nodes, x.Peer) {
		return own
	}
	f := own
	f.Scheme = agreed(lastParameter(elements, "proto", isScheme), lastItem(x.Lines("X-Forwarded-Proto"), isScheme), own.Scheme)
	f.Host = agreed(lastParameter(elements, "host", valid), lastItem(x.Lines("X-Forwarded-Host"), valid), own.Host)
	f.For, f.Elements = inBothForms(readable(elements), readable(nodes))
	return f
}

func isScheme(s string) bool { return strings.EqualFold(s, "http") || strings.EqualFold(s, "https") }

// agreed returns the value of two fields, in lower case; own, if neither has one or they differ.
func agreed(a, b, own string) string {
	switch a, b = strings.ToLower(a), strings.ToLower(b); {
	case a == "" && b == "", a != "" && b != "" && a != b:
		return own
	case a == "":
		return b
	}
	return a
}

// trail returns the hops of hopsOf in the order of the list: the first is the client, or the last
// hop that can't be read.
func trail(lines [][]byte, read func(string) (netip.Addr, bool), trusts func(netip.Addr) bool) []hop {
	hops := slices.Collect(hopsOf(lines, read, trusts))
	slices.Reverse(hops)
	return hops
}

// client returns the client that a list of hops names; peer, if the nearest hop can't be read.
func client(hops []hop, peer netip.Addr) netip.Addr {
	if hops = readable(hops); len(hops) > 0 {
		return hops[0].address
	}
	return peer
}

// readable returns the hops of a trail with an address.
func readable(hops []hop) []hop {
	if len(hops) > 0 && !hops[0].address.IsValid() {
		return hops[1:]
	}
	return hops
}

// inBothForms returns the hops in the forms of X-Forwarded-For and Forwarded. If a proxy wrote only
// one of the fields, the other one is made from it, so that they name the same client.
func inBothForms(elements, nodes []hop) (forField, forElements []string) {
	for _, h := range nodes {
		forField = append(forField, h.text)
		if len(elements) == 0 {
			forElements = append(forElements, upstream.ForwardedElement(h.address))
		}
	}
	for _, h := range elements {
		forElements = append(forElements, h.text)
		if len(nodes) == 0 {
			forField = append(forField, h.address.String())
		}
	}
	return forField, forElements
}

// lastParameter returns the valid value of a parameter in the last element of Forwarded that has
// one.
func lastParameter(elements []hop, name string, valid func(string) bool) string {
	for _, h := range slices.Backward(elements) {
		if value, ok := parameter(h.text, name); ok && valid(value) {
			return value
		}
	}
	return ""
}

// lastItem returns the last item of a list field, which the nearest proxy wrote, if it is valid.
func lastItem(lines [][]byte, valid func(string) bool) string {
	if len(lines) == 0 {
		return ""
	}
	_, item, _ := cutLast(string(lines[len(lines)-1]))
	if item = strings.Trim(item, " \t"); !valid(item) {
		return ""
	}
	return item
}

// parameter returns the value of a parameter of an element of Forwarded, without its quotes (RFC
// 7239, section 4). Of several with the name it returns the first.
func parameter(element, name string) (value string, ok bool) {
	for rest := element; rest != ""; {
		var pair string
		pair, rest = cutPair(rest)
		if n, v, found := strings.Cut(pair, "="); found && strings.EqualFold(strings.Trim(n, " \t"), name) {
			return unquoted(strings.Trim(v, " \t")), true
		}
	}
	return "", false
}

// cutPair cuts the first pair off an element. A semicolon in a quoted string ends no pair.
func cutPair(s string) (pair, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ';' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// unquoted returns the text of a quoted string; other text it returns as it is.
func unquoted(s string) string {
	if n := len(s); n < 2 || s[0] != '"' || s[n-1] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
