package upstream

import (
	"bytes"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// A Request is what is asked of the origins.
type Request struct {
	Method string
	Target string      // path and query, canonical: visible ASCII that begins with one slash
	Header http.Header // end-to-end fields; hop-by-hop, Host, Content-Length and what tells of the client are not passed on
	Body   []byte
	Client netip.Addr      // told to the origin in Forwarded and X-Forwarded-For, with Proto; zero: nothing is told
	Proto  string          // http or https
	Proof  bool            // the secret between tiers goes with it: only to who is one, or may be, as others may show it to anybody
	Onward bool            // where an origin's own origin has failed (502, 503, 504), the next group is asked, once
	Passed map[string]bool // fields that reach the origin although they are Passable; as http.CanonicalHeaderKey spells them
	Exact  bool            // an answer that goes on behind its Content-Length is none; else its length is taken at its word
}

// Fit reports whether r can be sent; what is not is its sender's fault, not the origin's. CONNECT is no request for a resource, and its answer has a framing of its own.
func (r Request) Fit() bool {
	if !httpguts.ValidHeaderFieldName(r.Method) || r.Method == http.MethodConnect || !safeTarget(r.Target) {
		return false
	}
	for name, lines := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) || !cleanLines(lines) {
			return false
		}
	}
	return true
}

// path is what chooses among origins: the query does not, so that all forms of a drawing are asked of one.
func (r Request) path() string {
	path, _, _ := strings.Cut(r.Target, "?")
	return path
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

// request makes the request afresh: nothing of what the client sent but what is named here reaches the origin.
func (o *origin) request(ctx context.Context, r Request, header http.Header) (*http.Request, error) {
	// The body is copied: an origin may answer before it has all of it, and the caller have other uses for its memory then.
	req, err := http.NewRequestWithContext(ctx, r.Method, o.url.Scheme+"://"+o.url.Host, bytes.NewReader(bytes.Clone(r.Body)))
	if err != nil {
		return nil, ErrRequest
	}
	path, query, has := strings.Cut(r.Target, "?")
	// Opaque goes out byte for byte; a Path would be decoded and encoded again.
	req.URL = &url.URL{Scheme: o.url.Scheme, Host: o.url.Host,
		Opaque: strings.TrimSuffix(o.url.EscapedPath(), "/") + path, RawQuery: query, ForceQuery: has && query == ""}
	req.Header = header
	// An origin that does not read the body of a GET takes it for the next request. No other request follows it on its connection.
	req.Close = len(r.Body) > 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	return req, nil
}
