package cachepolicy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestInvalidated(t *testing.T) {
	r := func(method string) Request {
		return Request{Method: method, Target: "/a/b?c", Host: "Example.org:8080"}
	}
	for _, c := range []struct {
		name   string
		r      Request
		status int
		h      http.Header
		want   string // targets separated by spaces
	}{
		{"POST", r("POST"), 200, nil, "/a/b?c"},
		{"PUT", r("PUT"), 204, nil, "/a/b?c"},
		{"DELETE", r("DELETE"), 303, nil, "/a/b?c"},
		{"an unknown method", r("M-SEARCH"), 200, nil, "/a/b?c"},
		{"an error, section 4.4", r("POST"), 404, fields("Location: /d"), ""},
		{"the origin failed", r("POST"), 500, nil, ""},
		{"GET", r("GET"), 200, fields("Location: /d"), ""},
		{"HEAD", r("HEAD"), 200, nil, ""},
		{"QUERY", r("QUERY"), 200, fields("Location: /d"), ""},
		{"a POST that reads", Request{Method: "POST", Target: "/a", ContentKeyed: true}, 200, nil, ""},
		{"OPTIONS", r("OPTIONS"), 200, nil, ""},
		{"Location", r("POST"), 201, fields("Location: /d?e#f"), "/a/b?c /d?e"},
		{"both", r("POST"), 201, fields("Location: /d", "Content-Location: /e"), "/a/b?c /d /e"},
		{"relative, RFC 3986 section 5.2", r("POST"), 201, fields("Location: d/../e", "Content-Location: ?x"), "/a/b?c /a/e /a/b?x"},
		{"the same target once", r("POST"), 201, fields("Location: b?c", "Content-Location: "), "/a/b?c"},
		{"absolute", r("POST"), 201, fields("Location: http://example.ORG:8080/d"), "/a/b?c /d"},
		{"without a scheme", r("POST"), 201, fields("Location: //example.org:8080"), "/a/b?c /"},
		{"another host", r("POST"), 201, fields("Location: http://example.com:8080/d"), "/a/b?c"},
		{"another port", r("POST"), 201, fields("Location: http://example.org/d"), "/a/b?c"},
		{"another scheme", r("POST"), 201, fields("Location: ftp://example.org:8080/d", "Content-Location: data:x"), "/a/b?c"},
		{"a scheme without a host", r("POST"), 201, fields("Location: http:/d", "Content-Location: http:d"), "/a/b?c"},
		{"a user name in the URI", r("POST"), 201, fields("Location: http://a@example.org:8080/d"), "/a/b?c"},
		{"invalid references", r("POST"), 201, fields("Location: http://[/d", "Content-Location: %zz"), "/a/b?c"},
		{"the default port of the scheme", Request{Method: "POST", Target: "/a", Host: "h"}, 200,
			fields("Location: https://h:443/d", "Content-Location: http://h:443/e"), "/a /d"},
		{"a request without a host", Request{Method: "POST", Target: "/a"}, 200,
			fields("Location: http://h/d", "Content-Location: /e"), "/a /e"},
		{"a path that looks like a host", Request{Method: "POST", Target: "//h/a", Host: "x"}, 200, fields("Location: b"), "//h/a //h/b"},
		{"an invalid target", Request{Method: "POST", Target: "/%zz", Host: "x"}, 200, fields("Location: /b"), "/%zz"},
	} {
		if got := strings.Join(Invalidated(c.r, c.status, c.h), " "); got != c.want {
			t.Errorf("%s: Invalidated(%+v, %d, %v) = %q, want %q", c.name, c.r, c.status, c.h, got, c.want)
		}
	}
}

// The result always contains the request's own target. Every member is a valid target, and no
// reference to another host adds one.
func FuzzInvalidated(f *testing.F) {
	for _, s := range []string{"/d", "d?e", "//h/x", "http://example.com/d", "https://h:443", "?", "#", "%2F/..", "http:x", "//[::1]/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reference string) {
		r := Request{Method: "POST", Target: "/a/b?c", Host: "h"}
		got := Invalidated(r, 200, http.Header{"Location": {reference}})
		if len(got) == 0 || got[0] != r.Target {
			t.Fatalf("Location %q: %q does not contain the request's own target", reference, got)
		}
		for _, target := range got {
			if u, err := url.ParseRequestURI(target); err != nil || !strings.HasPrefix(target, "/") || u.RequestURI() != target {
				t.Fatalf("Location %q: %q is not a valid target", reference, target)
			}
		}
		u, err := url.Parse(reference)
		if err == nil && u.Host != "" && !slices.Contains([]string{"h", "h:80", "h:443"}, strings.ToLower(u.Host)) && len(got) > 1 {
			t.Fatalf("Location %q invalidates %q", reference, got[1])
		}
	})
}
