package upstream

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/iconedge/iconedge/edge/frameworks"
	"github.com/iconedge/iconedge/internal/tier"
)

// hopByHop lists fields that are for one connection alone (RFC 9110, section 7.6.1), like those
// named by Connection. Trailer is among them because not all trailer fields are passed on.
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
// secret. An application gets no User-Agent that its client has not sent.
func (c *Client) requestHeader(r Request) http.Header {
	h := r.Fields()
	if secret := c.secret(); r.SendTierSecret && secret != "" {
		h.Set(tier.Field, secret)
	}
	if len(h["User-Agent"]) == 0 {
		h["User-Agent"] = nil // the Transport adds none of its own
		if !r.Forwarded.Peer.IsValid() {
			h.Set("User-Agent", c.name) // the request is the edge's own, not a client's
		}
	}
	add(h, "Via", "1.1 "+c.name)
	add(h, "Cdn-Loop", c.member())
	var options []string
	if r.TakesTrailer {
		h["Te"], options = []string{"trailers"}, []string{"TE"}
	}
	if r.Upgrade != "" {
		h["Upgrade"], options = []string{r.Upgrade}, append(options, "Upgrade")
	}
	if len(options) > 0 {
		h["Connection"] = []string{strings.Join(options, ", ")}
	}
	return h
}

// add appends a member to a list field, on one line because some recipients read only the first.
func add(h http.Header, field, member string) {
	h[field] = []string{strings.Join(append(h[field], member), ", ")}
}

// rewriteFields lists fields with which some origins replace the host, path, scheme or client
// address of the request itself. They are not part of any cache key, so a client could use them to
// change a response that others get, or to pass for another client.
var rewriteFields = fieldSet(
	// host
	"X-Host", "X-Host-Override", "X-HTTP-Host", "X-HTTP-Host-Override", "X-Original-Host", "X-Original-Host-Override",
	"X-Envoy-Original-Host",
	// path
	"X-Original-URL", "X-Original-URI", "X-Original-Path", "X-Rewrite-URL", "X-Rewrite-URI", "X-Override-URL",
	"X-HTTP-Path-Override", "X-Envoy-Original-Path",
	"X-Request-URI", "X-Request-URL", "X-Script-Name", "X-HTTP-DestinationURL", "X-WAWS-Unencoded-URL",
	// scheme
	"X-URL-Scheme", "X-Scheme", "X-Proto", "X-Client-Proto", "X-Original-Proto", "X-Original-Scheme",
	"CloudFront-Forwarded-Proto", "Front-End-Https", "X-ARR-SSL",
	// client address
	"X-Real-IP", "X-Real-Client-IP", "X-Client-IP", "X-Cluster-Client-IP", "True-Client-IP", "CF-Connecting-IP",
	"CF-Connecting-IPv6", "CF-Pseudo-IPv4",
	"Fastly-Client-IP", "Fly-Client-IP", "Client-IP", "Proxy-Client-IP", "WL-Proxy-Client-IP", "X-ProxyUser-IP",
	"Forwarded-For", "X-Forwarded",
	"X-Original-Forwarded-For", "X-Originating-IP", "X-Remote-IP", "X-Remote-Addr", "X-Azure-ClientIP",
	"X-Azure-SocketIP", "X-AppEngine-User-IP",
	"X-Envoy-External-Address", "CloudFront-Viewer-Address", "X-Custom-IP-Authorization",
)

// methodOverrides lists fields that ask for another method. If an origin treats a GET as a DELETE,
// its response is not one to a GET.
var methodOverrides = fieldSet("X-HTTP-Method-Override", "X-HTTP-Method-Overrides", "X-HTTP-Method",
	"X-Method-Override", "X-Original-Method")

// neverPassed lists fields that are never passed on as a client wrote them: the edge writes them
// itself, or they belong to the framing or to one hop.
var neverPassed = fieldSet("Host", "Content-Length", "Expect", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
	tier.Field, // it is for the next hop alone, so a received one was meant for this edge
	"Proxy")    // a CGI program takes HTTP_PROXY for the address of a proxy

// earlyFields lists fields that count before a body is read, besides those that this file and the
// standard library know: they route a request, authenticate its sender, make it conditional, or
// control what becomes of a response (RFC 9110, section 6.5.1).
var earlyFields = fieldSet(
	"Max-Forwards",
	"Authorization", "Cookie", "Set-Cookie", "Www-Authenticate", "Authentication-Info",
	"Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Pragma",
	"Cdn-Cache-Control", "Iconedge-Cache-Control", "Surrogate-Control", "Surrogate-Key", "Surrogate-Capability",
	"Location", "Retry-After", "Content-Location", "Content-Disposition", "Refresh", "Clear-Site-Data",
)

// mayTrail reports whether a field may be passed on as a trailer field. Some recipients treat
// trailer fields as header fields, so one that counts before the body is read could change the
// meaning of the message after others have acted on it.
func mayTrail(name string) bool {
	if !httpguts.ValidHeaderFieldName(name) {
		return false
	}
	name = http.CanonicalHeaderKey(strings.Map(dashed, name))
	switch {
	case endToEnd[name], earlyFields[name], neverPassed[name], Passable(name), frameworks.OfScripts(name), slices.Contains(hopByHop, name):
		return false
	}
	return true
}

func fieldSet(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[http.CanonicalHeaderKey(name)] = true
	}
	return set
}

// Passable reports whether a field, in the form of http.CanonicalHeaderKey, is one that the edge
// drops unless the operator passes it.
func Passable(field string) bool {
	return !neverPassed[field] && (rewriteFields[field] || methodOverrides[field] || frameworks.Internal(field) ||
		strings.HasPrefix(field, "X-Forwarded-"))
}

// dropped reports whether a field of a client is dropped. For an origin behind CGI every character
// other than a letter or a digit is an underscore, so all spellings of a name count as the one with
// dashes.
func (r Request) dropped(field string, reading bool) bool {
	name := http.CanonicalHeaderKey(strings.Map(dashed, field))
	switch {
	case neverPassed[name], name != field && slices.Contains(hopByHop, name):
		return true
	case methodOverrides[name] && !reading:
		return false
	}
	return Passable(name) && !r.PassedFields[field]
}

// SentAsReceived reports whether an origin gets a request field, in the form of
// http.CanonicalHeaderKey, as the client has sent it, whatever else the request has. The edge
// drops, writes or evaluates the other fields.
func SentAsReceived(name string) bool {
	switch {
	case written[name], neverPassed[name], earlyConditions[name], Passable(name), slices.Contains(hopByHop, name):
		return false
	}
	return strings.Map(dashed, name) == name
}

// written lists the fields that the edge adds to, or writes by itself.
var written = fieldSet("Via", "Cdn-Loop", "Surrogate-Capability", "Traceparent", "Tracestate", FieldRequestID)

// FieldRequestID is the field with the id of a request.
const FieldRequestID = "X-Request-Id"

// SetRequestID makes id the id of the request with the fields h, in place of every spelling of the
// field that an origin behind CGI takes for it; empty: the request has none.
func SetRequestID(h http.Header, id string) {
	for field := range h {
		if http.CanonicalHeaderKey(strings.Map(dashed, field)) == FieldRequestID {
			delete(h, field)
		}
	}
	if id != "" {
		h[FieldRequestID] = []string{id}
	}
}

// earlyConditions lists the fields that a cache evaluates and takes from a request.
var earlyConditions = fieldSet("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range")

// Scripted returns the fields of h that scripts of frameworks set, in any spelling that CGI takes
// for one of them.
func Scripted(h http.Header) (names []string) {
	for field := range h {
		if frameworks.OfScripts(http.CanonicalHeaderKey(strings.Map(dashed, field))) {
			names = append(names, field)
		}
	}
	slices.Sort(names)
	return names
}

func dashed(c rune) rune {
	if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
		return c
	}
	return '-'
}

// maxEdges is how many of our edges a request may have passed. More are a loop, even if the
// processes restart.
const maxEdges = 8

// maxBefore is how many earlier edges a shared request names. It is less than maxEdges, so that a
// client that invents edges can't make the shared request look like a loop.
const maxBefore = 4

// member returns the entry of c in CDN-Loop (RFC 8586, section 2): a name that all edges share and
// an ID of this Client.
func (c *Client) member() string { return c.name + "; id=" + c.id }

// IsLoop reports whether a request with these lines of CDN-Loop has passed this Client before, or
// too many edges. It splits them at every comma, even in a quoted string, so that a client can't
// hide entries behind an open quote.
func (c *Client) IsLoop(cdnLoop []string) bool {
	ours := 0
	for _, line := range cdnLoop {
		for member := range strings.SplitSeq(line, ",") {
			name, parameters, _ := strings.Cut(member, ";")
			if !strings.EqualFold(strings.Trim(name, " \t"), c.name) {
				continue
			}
			if ours++; ours > maxEdges || strings.Contains(parameters, "id="+c.id) {
				return true
			}
		}
	}
	return false
}

// LoopField returns the CDN-Loop field for a request made on behalf of a request with these lines
// of CDN-Loop: the last of our edges in them, and nothing else. nil means that there are none.
func (c *Client) LoopField(cdnLoop []string) []string {
	var members []string
	for _, line := range cdnLoop {
		for member := range strings.SplitSeq(line, ",") {
			id, ours := strings.CutPrefix(strings.Trim(member, " \t"), c.name+"; id=")
			if _, err := hex.DecodeString(id); ours && err == nil && len(id) == len(c.id) {
				members = append(members, c.name+"; id="+id)
			}
		}
	}
	if members = members[max(0, len(members)-maxBefore):]; len(members) == 0 {
		return nil
	}
	return []string{strings.Join(members, ", ")}
}
