package upstream

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// hopByHop fields are for one connection alone (RFC 9110, section 7.6.1), like those that Connection names. Trailer is among
// them because trailer fields are not passed on.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authentication-Info",
	"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings"}

// endToEnd fields stay even if Connection names them: caching, framing and the end of loops rest on them, and a sender that
// names those wants to do harm, or is in error (RFC 9110, section 7.6.1).
var endToEnd = map[string]bool{"Age": true, "Cache-Control": true, "Cdn-Cache-Control": true, "Cdn-Loop": true, "Content-Encoding": true,
	"Content-Length": true, "Content-Range": true, "Content-Type": true, "Date": true, "Expires": true, "Vary": true, "Via": true}

// dropHopByHop takes them out of h, and what Connection names.
func dropHopByHop(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = http.CanonicalHeaderKey(strings.Trim(name, " \t")); !endToEnd[name] {
				delete(h, name)
			}
		}
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
}

// requestHeader is what of a caller's fields goes to the origin, with Via (RFC 9110, section 7.6.3) and CDN-Loop (RFC 8586).
// Host is the origin's own, and the framing is the Transport's.
func (c *Client) requestHeader(r Request) http.Header {
	h := make(http.Header, len(r.Header)+6)
	for field, lines := range r.Header {
		field = http.CanonicalHeaderKey(field)
		h[field] = append(h[field], lines...)
	}
	dropHopByHop(h)
	for field := range h {
		if tellsOfClient(field) {
			delete(h, field)
		}
	}
	for _, field := range []string{"Host", "Content-Length", "Expect"} {
		delete(h, field)
	}
	if len(h["User-Agent"]) == 0 {
		h.Set("User-Agent", c.name)
	}
	add(h, "Via", "1.1 "+c.name)
	add(h, "Cdn-Loop", c.member())
	tell(h, r.Client, r.Proto)
	return h
}

// add appends a member to a list, on one line: some take only the first.
func add(h http.Header, field, member string) {
	h[field] = []string{strings.Join(append(h[field], member), ", ")}
}

// tellsOfClient reports whether a field says where a request came from: what a client says of that is no word for an origin
// to trust. To an origin behind CGI an underscore is a dash.
func tellsOfClient(field string) bool {
	field = http.CanonicalHeaderKey(strings.ReplaceAll(field, "_", "-"))
	return strings.HasPrefix(field, "X-Forwarded-") || field == "Forwarded" || field == "X-Real-Ip"
}

// tell says in h who asks: as RFC 7239 has it, and in the fields that were there before it.
func tell(h http.Header, client netip.Addr, proto string) {
	if !client.IsValid() {
		return
	}
	client = client.Unmap().WithZone("")
	node := client.String()
	if client.Is6() {
		node = fmt.Sprintf("%q", "["+node+"]") // a colon is no part of a token (RFC 7239, section 6)
	}
	h.Set("X-Forwarded-For", client.String())
	if proto != "http" && proto != "https" {
		h.Set("Forwarded", "for="+node)
		return
	}
	h.Set("Forwarded", "for="+node+";proto="+proto)
	h.Set("X-Forwarded-Proto", proto)
}
