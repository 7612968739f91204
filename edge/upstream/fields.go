package upstream

import (
	"net/http"
	"strings"

	"github.com/iconedge/iconedge/tier"
)

// hopByHop lists fields that are for one connection alone (RFC 9110, section 7.6.1), like those
// named by Connection. Trailer is among them because trailer fields are not passed on.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authentication-Info",
	"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings"}

// endToEnd lists fields that stay even if Connection names them: caching, framing and loop
// detection depend on them, and a sender that names one is malicious or in error (RFC 9110, section
// 7.6.1).
var endToEnd = map[string]bool{"Age": true, "Cache-Control": true, "Cdn-Cache-Control": true, "Cdn-Loop": true, "Content-Encoding": true,
	"Content-Length": true, "Content-Range": true, "Content-Type": true, "Date": true, "Expires": true, "Vary": true, "Via": true}

// dropHopByHop removes them, and the fields named by Connection.
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

// Fields returns the fields of r that its origin will get, without Via, CDN-Loop and a User-Agent
// of our own. The URL gives Host, and the Transport the framing. A cache must select by these
// fields: a field that is not passed on, such as one named by Connection, did not affect the
// response, whatever its Vary says.
func (r Request) Fields() http.Header {
	h := make(http.Header, len(r.Header)+6)
	for field, lines := range r.Header {
		field = http.CanonicalHeaderKey(field)
		h[field] = append(h[field], lines...)
	}
	dropHopByHop(h)
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	for field := range h {
		if r.dropped(field, reading) {
			delete(h, field)
		}
	}
	r.Forwarded.set(h)
	return h
}

// requestHeader returns Fields with Via (RFC 9110, section 7.6.3), CDN-Loop (RFC 8586) and the tier
// secret.
func (c *Client) requestHeader(r Request) http.Header {
	h := r.Fields()
	if secret := c.secret(); r.SendTierSecret && secret != "" {
		h.Set(tier.Field, secret)
	}
	if len(h["User-Agent"]) == 0 {
		h.Set("User-Agent", c.name)
	}
	add(h, "Via", "1.1 "+c.name)
	add(h, "Cdn-Loop", c.member())
	if r.Upgrade != "" {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{r.Upgrade}
	}
	return h
}

// add appends a member to a list field, on one line because some recipients read only the first.
func add(h http.Header, field, member string) {
	h[field] = []string{strings.Join(append(h[field], member), ", ")}
}
