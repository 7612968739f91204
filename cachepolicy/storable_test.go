package cachepolicy

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"testing"
)

func TestStorable(t *testing.T) {
	const fresh = "Cache-Control: max-age=60"
	get := Request{Method: "GET"}
	authorized := Request{Method: "GET", Authorized: true}
	post := Request{Method: "POST", Target: "/a/b?c", Host: "example.org"}
	for _, c := range []struct {
		name   string
		r      Request
		status int
		h      http.Header
		want   bool
	}{
		{"fresh", get, 200, fields(fresh), true},
		{"a response to HEAD has no content", Request{Method: "HEAD"}, 200, fields(fresh), false},
		{"another method", Request{Method: "M-SEARCH"}, 200, fields(fresh), false},
		{"QUERY without its content in the key", Request{Method: "QUERY"}, 200, fields(fresh), false},
		{"QUERY, RFC 10008 section 2.7", Request{Method: "QUERY", ContentKeyed: true}, 200, fields(fresh), true},
		{"a private QUERY", Request{Method: "QUERY", ContentKeyed: true}, 200, fields("Cache-Control: private"), false},
		{"any status with an explicit lifetime, section 3", get, 599, fields(fresh), true},
		{"a status of no class", get, 600, fields(fresh), false},
		{"not final", get, 103, fields(fresh), false},
		{"not complete", get, 206, fields(fresh), false},
		{"a 304", get, 304, fields(fresh), false},
		{"about a range", get, 416, fields(fresh), false},
		{"no-store", get, 200, fields("Cache-Control: max-age=60, no-store"), false},
		{"the client's no-store, section 5.2.1.5", Request{Method: "GET", Directives: Directives{NoStore: true}}, 200,
			fields(fresh), false},
		{"the client's no-cache does not prevent storing",
			Request{Method: "GET", Directives: Directives{NoCache: true}}, 200, fields(fresh), true},
		{"private", get, 200, fields("Cache-Control: private, max-age=60"), false},
		{"private fields, section 5.2.2.7", get, 200, fields(`Cache-Control: private="x", max-age=60`), true},
		{"private and s-maxage contradict each other", get, 200, fields("Cache-Control: private, s-maxage=60"), false},
		{"Authorization, section 3.5", authorized, 200, fields(fresh), false},
		{"Authorization and Expires", authorized, 200, fields("Expires: @1h"), false},
		{"Authorization and public", authorized, 200, fields("Cache-Control: public, max-age=60"), true},
		{"Authorization and s-maxage", authorized, 200, fields("Cache-Control: s-maxage=60"), true},
		{"Authorization and must-revalidate", authorized, 200, fields("Cache-Control: must-revalidate, max-age=60"), true},
		{"Authorization and an overridden public", authorized, 200,
			fields("Cache-Control: public", "CDN-Cache-Control: max-age=60"), false},
		{"must-understand overrides no-store, section 5.2.2.3", get, 200,
			fields("Cache-Control: must-understand, no-store, max-age=60"), true},
		{"must-understand with an unknown status", get, 599, fields("Cache-Control: must-understand, max-age=60"), false},
		{"Vary: *, section 4.1", get, 200, fields(fresh, "Vary: Accept, *"), false},
		{"Vary", get, 200, fields(fresh, "Vary: Accept"), true},
		{"a malformed Vary", get, 200, fields(fresh, "Vary: a b"), false},
		{"no lifetime, no validator", get, 200, fields("Date: @0s"), false},
		{"a validator", get, 200, fields(`ETag: "x"`), true},
		{"a validator on a 500", get, 500, fields(`ETag: "x"`), false},
		{"no-cache with a validator", get, 200, fields("Cache-Control: no-cache", `ETag: "x"`), true},
		{"no-cache without a validator", get, 200, fields("Cache-Control: no-cache, max-age=60"), false},
		{"no-cache without a validator, with stale-if-error", get, 200,
			fields("Cache-Control: no-cache, max-age=60, stale-if-error=60"), false},
		{"no-cache of a field", get, 200, fields(`Cache-Control: no-cache="set-cookie", max-age=60`), true},
		{"stale at once, no validator", get, 200, fields("Cache-Control: max-age=0"), false},
		{"stale at once, with stale-if-error", get, 200, fields("Cache-Control: max-age=0, stale-if-error=60"), true},
		{"stale at once, with stale-if-error and must-revalidate", get, 200,
			fields("Cache-Control: max-age=0, stale-if-error=60, must-revalidate"), false},
		{"a heuristic by Last-Modified", get, 200, fields("Date: @0s", "Last-Modified: @-10h"), true},
		{"no heuristic for the status", get, 201, fields("Date: @0s", "Last-Modified: @-10h"), false},
		{"a heuristic for a public response, section 4.2.2", get, 599,
			fields("Date: @0s", "Last-Modified: @-10h", "Cache-Control: public"), true},
		{"public alone", get, 599, fields("Date: @0s", "Cache-Control: public"), false},
		{"cookies and an explicit lifetime", get, 200, fields(fresh, "Set-Cookie: a=b"), true},
		{"cookies and a heuristic", get, 200, fields("Date: @0s", "Last-Modified: @-10h", "Set-Cookie: a=b"), false},
		{"a quote without an end", get, 200, fields(`Cache-Control: max-age=60, x="`), false},
		{"targeted at us, RFC 9213", get, 200, fields("Cache-Control: no-store", "CDN-Cache-Control: max-age=60"), true},
		{"no-store targeted at us", get, 200, fields(fresh, "CDN-Cache-Control: no-store"), false},
		{"Expires beside a targeted field", get, 200, fields("Expires: @1h", "CDN-Cache-Control: public"), false},

		{"POST", post, 200, fields(fresh), false},
		{"POST with the response of a GET, RFC 9110 section 9.3.3", post, 200, fields(fresh, "Content-Location: /a/b?c"), true},
		// Port 80 is the default of http only, and the scheme is unknown.
		{"POST, Content-Location without a scheme", post, 200, fields("Expires: @1h", "Content-Location: //EXAMPLE.org:80/a/b?c"), false},
		{"POST, Content-Location with a scheme", post, 200, fields(fresh, "Content-Location: http://EXAMPLE.org:80/a/b?c"), true},
		{"POST, relative Content-Location", post, 200, fields(fresh, "Content-Location: b?c"), true},
		{"POST with the response of another GET", post, 200, fields(fresh, "Content-Location: /a/b"), false},
		{"POST, Content-Location on another host", post, 200, fields(fresh, "Content-Location: http://example.com/a/b?c"), false},
		{"POST, two Content-Locations", post, 200, fields(fresh, "Content-Location: /a/b?c", "Content-Location: /a/b?c"), false},
		{"POST with a heuristic lifetime", post, 200, fields("Date: @0s", "Last-Modified: @-10h", "Content-Location: /a/b?c"), false},
		{"POST with an error", post, 404, fields(fresh, "Content-Location: /a/b?c"), false},
		{"PUT", Request{Method: "PUT", Target: "/a"}, 200, fields(fresh, "Content-Location: /a"), false},
	} {
		if got := Storable(c.r, c.status, c.h, t0); got != c.want {
			t.Errorf("%s: Storable(%+v, %d, %v) = %v, want %v", c.name, c.r, c.status, c.h, got, c.want)
		}
	}
}

func TestSupersedes(t *testing.T) {
	get := Request{Method: "GET", Policy: Policy{SafeCookies: true}}
	with := func(change func(*Request)) Request {
		r := get
		change(&r)
		return r
	}
	for _, c := range []struct {
		name   string
		r      Request
		status int
		h      http.Header
		want   bool
	}{
		{"one that may be stored", get, 200, fields("Cache-Control: max-age=60"), false},
		{"no-store", get, 200, fields("Cache-Control: no-store"), true},
		{"no lifetime and no validator", get, 200, fields(), true},
		{"not found", get, 404, fields(), true},
		{"a redirect", get, 302, fields(), true},
		{"a part", get, 206, fields(), false},
		{"an error that may be over soon", get, 503, fields(), false},
		{"an error of the request", get, 400, fields(), false},
		{"a cookie", get, 200, fields("Cache-Control: max-age=60", "Set-Cookie: a=1"), false},
		{"to a user", with(func(r *Request) { r.Cookie = true }), 200, fields("Cache-Control: private"), false},
		{"to another user", with(func(r *Request) { r.Authorized = true }), 200, fields("Cache-Control: private"), false},
		{"to a request with no-store", with(func(r *Request) { r.Directives.NoStore = true }), 200,
			fields("Cache-Control: max-age=60"), false},
	} {
		if got := Supersedes(c.r, c.status, c.h, t0); got != c.want {
			t.Errorf("%s: Supersedes = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestStoredHeader(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.Header
		out  []string // the fields that StoredHeader removes
	}{
		{"no field to remove", fields("Cache-Control: max-age=60", "A: 1"), nil},
		{"no-cache, RFC 9111 section 5.2.2.4", fields(`Cache-Control: no-cache="a, x"`, "A: 1", "A: 2", "B: 2"), []string{"A"}},
		{"private, section 5.2.2.7", fields(`Cache-Control: private="a", no-cache="b"`, "A: 1", "B: 2"), []string{"A", "B"}},
		{"only directives that apply to this cache",
			fields(`Cache-Control: private="a"`, `CDN-Cache-Control: private="b"`, "A: 1", "B: 2"), []string{"B"}},
		{"of the connection, section 3.1", fields("Connection: a, keep-alive", "A: 1", "Keep-Alive: x", "Te: x", "Upgrade: x"),
			[]string{"A", "Connection", "Keep-Alive", "Te", "Upgrade"}},
		{"of a proxy", fields("Proxy-Authenticate: x", "Proxy-Connection: x", "B: 1"), []string{"Proxy-Authenticate", "Proxy-Connection"}},
		{"named fields that are absent", fields(`Cache-Control: no-cache="a"`), nil},
	} {
		before := c.h.Clone()
		want := c.h.Clone()
		maps.DeleteFunc(want, func(name string, _ []string) bool { return slices.Contains(c.out, name) })
		if got := StoredHeader(c.h); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: StoredHeader(%v) = %v, want %v", c.name, before, got, want)
		}
		if !reflect.DeepEqual(c.h, before) {
			t.Errorf("%s: StoredHeader changed %v into %v", c.name, before, c.h)
		}
	}
}
