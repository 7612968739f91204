package upstream

import (
	"net/http"
	"strings"
)

// hopByHop fields are for one connection alone (RFC 9110, section 7.6.1), like those that Connection names. Trailer is among
// them because trailer fields are not passed on.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authentication-Info",
	"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// dropHopByHop takes them out of h. The end-to-end fields that caching and framing rest on stay even if Connection names
// them: a sender that names those wants to do harm, or is in error (RFC 9110, section 7.6.1).
func dropHopByHop(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			switch name = http.CanonicalHeaderKey(strings.Trim(name, " \t")); name {
			case "Cache-Control", "Content-Length", "Content-Type", "Content-Encoding", "Vary":
			default:
				delete(h, name)
			}
		}
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
}

// requestHeader is what of a caller's fields goes to the origin, with Via (RFC 9110, section 7.6.3). Where a client says
// it comes from is no word for the origin to trust, Host is the origin's own, and the framing is the Transport's.
func requestHeader(from http.Header, name string) http.Header {
	h := make(http.Header, len(from)+2)
	for field, lines := range from {
		h[http.CanonicalHeaderKey(field)] = append([]string(nil), lines...)
	}
	dropHopByHop(h)
	for field := range h {
		if strings.HasPrefix(field, "X-Forwarded-") {
			delete(h, field)
		}
	}
	for _, field := range []string{"Host", "Content-Length", "Expect", "Forwarded", "X-Real-Ip"} {
		delete(h, field)
	}
	if len(h["User-Agent"]) == 0 {
		h.Set("User-Agent", name)
	}
	h.Set("Via", strings.Join(append(h["Via"], "1.1 "+name), ", "))
	return h
}

// safeTarget reports whether s can stand in a request line: visible ASCII, one slash first, no fragment. Two slashes would
// make it the name of a host.
func safeTarget(s string) bool {
	if !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f || s[i] == '#' {
			return false
		}
	}
	return true
}
