package upstream

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// Forwarded describes a client's request to the origin: X-Forwarded-For, -Host and -Proto, and
// Forwarded (RFC 7239). The zero value sends none of them.
type Forwarded struct {
	Peer         netip.Addr // the other end of the connection
	Scheme, Host string     // of the client's request; empty: not sent

	// For and Elements are the hops before Peer, in the form of X-Forwarded-For and of Forwarded.
	For, Elements []string
}

// set sets the fields in h.
func (f Forwarded) set(h http.Header) {
	if !f.Peer.IsValid() {
		return
	}
	scheme := f.Scheme
	if scheme != "http" && scheme != "https" {
		scheme = ""
	}
	peer := f.Peer.Unmap().WithZone("") // a zone has a meaning only on this machine
	h.Set("X-Forwarded-For", strings.Join(append(f.For[:len(f.For):len(f.For)], peer.String()), ", "))
	own := ForwardedElement(peer)
	if f.Host != "" {
		h.Set("X-Forwarded-Host", f.Host)
		own += ";host=" + forwardedValue(f.Host)
	}
	if scheme != "" {
		h.Set("X-Forwarded-Proto", scheme)
		own += ";proto=" + scheme
	}
	h.Set("Forwarded", strings.Join(append(f.Elements[:len(f.Elements):len(f.Elements)], own), ", "))
}

// ForwardedElement returns the element of Forwarded that names an address. An IPv6 address is in
// brackets and in quotes (RFC 7239, section 6).
func ForwardedElement(a netip.Addr) string {
	if a = a.Unmap(); a.Is6() {
		return "for=" + forwardedValue("["+a.String()+"]")
	}
	return "for=" + a.String()
}

// forwardedValue returns a host or an address as a value of Forwarded. A colon and a bracket are no
// part of a token, so a value that has one is a quoted string (RFC 7239, section 4).
func forwardedValue(s string) string {
	if strings.ContainsAny(s, ":[]") {
		return strconv.Quote(s)
	}
	return s
}
