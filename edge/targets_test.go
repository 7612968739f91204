package edge

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// unusualTargets are targets that RFC 3986 discourages or forbids, and that applications get behind
// other proxies.
var unusualTargets = []string{"//page", "///page", "//", "//evil.test/x", "//evil.test:99/x?a=//b",
	"//user@evil.test/x", "//[::1]/x", "/a//b", "/a/../b", "/../x", "/..", "/./a", "/%2e%2e/x", "/%zz", "/%", "/%00",
	"/a;b=c", "/a|b", "/a{b}", "/a\"b",
	"/a<b>", "/a\\b", "/a^b`c", "/caf\xc3\xa9", "/\xff", "/?a=\xe9", "/?", "/??", "/?%zz", "/?a=[b]&c={d}|e",
	"/a?http://x/", "/http://other/x", "/@scope%2fname", "/%u20ac"}

// The origin receives a target byte for byte, and each spelling is a cache key of its own. The
// text after two leading slashes is no host.
func TestForwardedTargets(t *testing.T) {
	w := newRawEdge(t, true)
	for range 2 { // hits have their own target too
		for _, target := range unusualTargets {
			if m := w.ask(t, target); m.status() != http.StatusOK || m.body != echoed("GET", target, "") {
				t.Errorf("%q: %s %q", target, m.line, m.body)
			}
		}
	}
	seen, wrong := w.origin.take()
	for i, target := range unusualTargets {
		if len(seen) != len(unusualTargets) || len(wrong) > 0 {
			t.Fatalf("the origin saw %d requests, and %q", len(seen), wrong)
		}
		if seen[i].line != "GET "+target+" HTTP/1.1" {
			t.Errorf("%q: the origin saw %q", target, seen[i].line)
		}
	}
}

// A whole URL as target reaches the origin as its path, as RFC 9112, section 3.2.2 says.
func TestForwardedAbsoluteTargets(t *testing.T) {
	w := newRawEdge(t, true)
	for target, want := range map[string]string{"http://edge.test//x": "//x", "http://edge.test?x": "/?x",
		"http://edge.test?x=/y": "/?x=/y", "http://edge.test": "/", "http://edge.test/?": "/?", "HTTP://edge.test/a?b": "/a?b"} {
		m := w.tell(t, "GET "+target+" HTTP/1.1\r\nHost: edge.test\r\nConnection: close\r\n\r\n")
		if seen, _ := w.origin.take(); len(seen) != 1 || seen[0].line != "GET "+want+" HTTP/1.1" {
			t.Errorf("%q: %s; the origin saw %v", target, m.line, seen)
		}
	}
	for _, target := range []string{"/a#b", "//a#b", "/a b", "/a\x7f", "//a\x01", "ftp://edge.test/x",
		"http://other.test/x", "http:///x", "*", "x"} {
		m := w.tell(t, "GET "+target+" HTTP/1.1\r\nHost: edge.test\r\nConnection: close\r\n\r\n")
		if seen, _ := w.origin.take(); len(seen) != 0 || m.status() != http.StatusBadRequest {
			t.Errorf("%q: %s; the origin saw %v; want 400", target, m.line, seen)
		}
	}
}

// Every protocol, to the edge and to the origin, carries unusual targets.
func TestForwardedTargetsByEveryProtocol(t *testing.T) {
	t.Parallel()
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/odd")
		io.WriteString(w, r.Host+" "+r.RequestURI)
	}
	h2c, _ := newHTTP2Origin(t, echo, false)
	for _, origin := range []string{"", h2c} {
		s := newSecured(t, http.HandlerFunc(echo), func(c *Config) {
			c.ProxyAll = true
			if origin != "" {
				must(t, c.Origins.Set(origin))
			}
		})
		for _, by := range []string{"h1 over TLS", "h2", "h2c", "h3"} {
			e := s.by(t, by)
			for _, target := range unusualTargets {
				if strings.ContainsAny(target, "\"<>\\^`{|}") && origin != "" || strings.Contains(target, "%zz") ||
					target == "/%" || target == "/%u20ac" {
					continue // servers of net/http refuse these
				}
				if got := e.call(t, http.MethodGet, target, "", nil); !strings.HasSuffix(got, "\r\n\r\nedge.test "+target+"\r\n") {
					t.Errorf("%s %s %q: %q", by, origin, target, got)
				}
			}
		}
	}
}
