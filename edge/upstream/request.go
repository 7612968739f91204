package upstream

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// A Request is a request to the origins.
type Request struct {
	Method       string
	Target       string      // path and query, as the origin gets them
	Header       http.Header // the client's fields; see Fields
	Body         []byte
	Upload       *Upload         // the body instead of Body, if it still arrives; nil: it does not
	Trailer      Trailer         // the trailer fields of the body; zero: none
	TakesTrailer bool            // the client takes trailer fields (RFC 9110, section 10.1.4)
	Patience     *Patience       // instead of that of the Config; nil: as there
	Key          string          // for choosing an origin; empty: the path of Target
	Host         string          // sent as Host; empty: Config.Host, or the origin's own
	Forwarded    Forwarded       // describes the client's request; zero: nothing does
	TryNextGroup bool            // after a 502, 503 or 504 the next group is tried, once
	PassedFields map[string]bool // Passable fields to pass on, in canonical spelling
	StrictLength bool            // bytes after Content-Length are an error, not dropped
	// Called for each 1xx but 100 and 101, by another goroutine; nil: they are dropped.
	Interim func(Interim)
	Upgrade string // protocols to switch to, for Upgrade; the response may be a 101

	// TakesKnown says that the response may be one with a Known.
	TakesKnown bool

	check bool   // it is a health check
	turn  func() // to be called when the request has a slot; nil: by nobody

	// SendTierSecret sends the tier secret. It is meant for an origin that is, or may be, an edge
	// or iconedge's own origin, because any other could disclose the secret.
	SendTierSecret bool
}

// Valid reports whether r can be sent. If not, its sender is at fault, not the origin. CONNECT
// can't, because it requests no resource and its response has another framing.
func (r Request) Valid() bool {
	if !httpguts.ValidHeaderFieldName(r.Method) || r.Method == http.MethodConnect ||
		!safeTarget(r.Target) && !(r.Method == http.MethodOptions && r.Target == "*") {
		return false
	}
	for name, lines := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) || !cleanLines(lines) {
			return false
		}
	}
	return true
}

// key is the key for choosing an origin. On the edge's own routes it leaves out the query, so that
// all forms of an icon come from the same origin.
func (r Request) key() string {
	if r.Key != "" {
		return r.Key
	}
	path, _, _ := strings.Cut(r.Target, "?")
	return path
}

// safeTarget reports whether s is safe in a request line: a path without spaces, control characters
// or a fragment. Programs send bytes outside of ASCII, although a URI has none, and two slashes.
func safeTarget(s string) bool {
	if !strings.HasPrefix(s, "/") {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] == 0x7f || s[i] == '#' {
			return false
		}
	}
	return true
}

// A Trailer is the trailer fields of a request's body, as the client sent them.
type Trailer struct {
	Announced []string // the lines of Trailer in the header fields
	// Fields returns them, after the whole body has been read. nil: there are none.
	Fields func() http.Header
}

// announced returns the trailer fields that the client has announced, without their values. Over
// HTTP/1.1 only a body in chunks has trailer fields.
func (t Trailer) announced() http.Header {
	h := http.Header{}
	for _, line := range t.Announced {
		for name := range strings.SplitSeq(line, ",") {
			if name = http.CanonicalHeaderKey(strings.Trim(name, " \t")); mayTrail(name) {
				h[name] = nil
			}
		}
	}
	return h
}

// fill adds the trailer fields that may be passed on.
func (t Trailer) fill(h http.Header) {
	for name, lines := range t.Fields() {
		if mayTrail(name) && cleanLines(lines) {
			h[name] = lines
		}
	}
}

// attach gives req the trailer fields of a body that has arrived.
func (t Trailer) attach(req *http.Request) {
	if t.Fields == nil {
		return
	}
	h := t.announced()
	if t.fill(h); len(h) == 0 {
		return
	}
	req.Trailer = h
	req.Body, req.GetBody, req.ContentLength = io.NopCloser(req.Body), nil, -1 // in chunks
}

// request builds a new request, so that the origin gets no byte of the client's except those used
// here.
func (o *origin) request(ctx context.Context, r Request, header http.Header) (*http.Request, error) {
	to := destinationOf(ctx)
	// The body is copied because the origin may respond before it has read all of it, and the
	// caller may then reuse the memory.
	req, err := http.NewRequestWithContext(ctx, r.Method, "http://origin", bytes.NewReader(bytes.Clone(r.Body)))
	if err != nil {
		return nil, ErrRequest
	}
	path, query, has := strings.Cut(r.Target, "?")
	// Opaque is sent unchanged; a Path would be decoded and encoded again.
	req.URL = &url.URL{Scheme: o.scheme(), Host: to.pool,
		Opaque: o.prefix() + path, RawQuery: query, ForceQuery: has && query == ""}
	if strings.HasPrefix(req.URL.Opaque, "//") {
		// The Transport takes the rest for a host. With HTTP/2 it removes the scheme and the
		// Host again, with HTTP/1.1 conn removes them.
		req.URL.Opaque = "//" + to.host + req.URL.Opaque
	}
	req.Host = to.host
	req.Header = o.header(header)
	if o.http2() && len(r.Body) == 0 && strings.HasPrefix(header.Get("Content-Type"), "application/grpc") {
		// Servers of gRPC wait for DATA, although the HEADERS of a request without messages could
		// end its stream.
		req.Body, req.GetBody, req.ContentLength = io.NopCloser(strings.NewReader("")), nil, -1
	}
	if r.Upload == nil {
		r.Trailer.attach(req)
	}
	// An origin that ignores the body of a GET would parse it as the next request, so no other
	// request may follow on its connection.
	req.Close = (len(r.Body) > 0 || r.Upload != nil) && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	return req, nil
}
