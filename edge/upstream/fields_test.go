package upstream

import (
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// TestRequest compares the request that the origin gets byte for byte.
func TestRequest(t *testing.T) {
	o := serve(t, responds(ok))
	c := o.client(t, Config{})
	header := http.Header{
		"Accept-Encoding": {"gzip"}, "If-None-Match": {`"x"`}, "Via": {"1.0 front"},
		"Connection": {"X-Hop, close", "via, CDN-Loop"}, "X-Hop": {"1"},
		"Te": {"trailers"}, "Upgrade": {"h2c"}, "Transfer-Encoding": {"chunked"}, "Host": {"elsewhere"}, "Content-Length": {"7"},
		"X-Forwarded-For": {"192.0.2.1"}, "X-Forwarded-Host": {"evil"}, "Forwarded": {"for=192.0.2.1"}, "X-Real-Ip": {"192.0.2.1"},
		"Expect": {"100-continue"}, "Proxy-Authorization": {"x"}, "x-forwarded-proto": {"https"}, "X_Forwarded_For": {"192.0.2.1"},
		"X-Original-Url": {"/evil"}, "X_Rewrite_Url": {"/evil"}, "X-Http-Method-Override": {"DELETE"},
		"X-Host": {"evil"}, "Proxy": {"http://evil"},
		"Content_Length": {"0"}, "Transfer_Encoding": {"chunked"},
		"Cdn-Loop": {"other; a=b", "third"}, "Range": {"bytes=0-1"},
	}
	const loop, via = "Cdn-Loop: iconedge; id=ID\r\n", "Via: 1.1 iconedge\r\n\r\n"
	for _, r := range []struct {
		r    Request
		want string // after Host
	}{
		{get("/a/%7E;x?b=%2F&c="), "User-Agent: iconedge\r\n" + loop + via},
		{get("/?"), "User-Agent: iconedge\r\n" + loop + via},
		{Request{Method: "HEAD", Target: "/", Header: http.Header{"User-Agent": {"me"}}}, "User-Agent: me\r\n" + loop + via},
		{Request{Method: "GET", Target: "/", Header: header},
			"User-Agent: iconedge\r\nAccept-Encoding: gzip\r\nCdn-Loop: other; a=b, third, iconedge; id=ID\r\n" +
				"If-None-Match: \"x\"\r\nRange: bytes=0-1\r\nVia: 1.0 front, 1.1 iconedge\r\n\r\n"},
		{Request{Method: "POST", Target: "/", Header: http.Header{"X-Http-Method-Override": {"PUT"}, "X-Original-Url": {"/evil"}}},
			"User-Agent: iconedge\r\nContent-Length: 0\r\n" + loop + "Via: 1.1 iconedge\r\nX-Http-Method-Override: PUT\r\n\r\n"},
		{Request{Method: "POST", Target: "/verify", Body: []byte("{}")}, "User-Agent: iconedge\r\nContent-Length: 2\r\n" + loop + via},
		{Request{Method: "GET", Target: "/", Forwarded: Forwarded{Peer: netip.MustParseAddr("2001:db8::1"),
			Scheme: "https", Host: "a.example:1"}, Header: header},
			"Accept-Encoding: gzip\r\nCdn-Loop: other; a=b, third, iconedge; id=ID\r\nForwarded: " +
				"for=\"[2001:db8::1]\";host=\"a.example:1\";proto=https\r\n" +
				"If-None-Match: \"x\"\r\nRange: bytes=0-1\r\nVia: 1.0 front, 1.1 iconedge\r\nX-Forwarded-For: " +
				"2001:db8::1\r\nX-Forwarded-Host: a.example:1\r\nX-Forwarded-Proto: https\r\n\r\n"},
	} {
		fetch(t.Context(), c, r.r)
		seen := o.requests()
		want := r.r.Method + " " + r.r.Target + " HTTP/1.1\r\nHost: " + o.url().Host + "\r\n" + strings.ReplaceAll(r.want, "ID", c.id)
		if got := seen[len(seen)-1]; got != want {
			t.Errorf("the origin got\n%q, want\n%q", got, want)
		}
	}
	if header.Get("Via") != "1.0 front" || header.Get("X-Hop") != "1" || len(header["Cdn-Loop"]) != 2 {
		t.Error("the caller's fields were changed")
	}
}

func TestForwarded(t *testing.T) {
	for _, row := range []struct {
		peer                           string
		f                              Forwarded
		forwarded, xFor, xHost, xProto string
	}{
		{"192.0.2.1", Forwarded{Scheme: "http"}, "for=192.0.2.1;proto=http", "192.0.2.1", "", "http"},
		{"192.0.2.1", Forwarded{Scheme: "http", Host: "a.example"}, "for=192.0.2.1;host=a.example;proto=http",
			"192.0.2.1", "a.example", "http"},
		// A colon and a bracket are no part of a token (RFC 7239, section 4).
		{"192.0.2.1", Forwarded{Scheme: "http", Host: "a.example:80"}, `for=192.0.2.1;host="a.example:80";proto=http`,
			"192.0.2.1", "a.example:80", "http"},
		{"192.0.2.1", Forwarded{Scheme: "http", Host: "[::1]"}, `for=192.0.2.1;host="[::1]";proto=http`, "192.0.2.1", "[::1]", "http"},
		{"::ffff:192.0.2.1", Forwarded{Scheme: "https"}, "for=192.0.2.1;proto=https", "192.0.2.1", "", "https"},
		{"2001:db8::1", Forwarded{Scheme: "https"}, `for="[2001:db8::1]";proto=https`, "2001:db8::1", "", "https"},
		// A zone has a meaning only on this machine.
		{"fe80::1%eth0", Forwarded{Scheme: "http"}, `for="[fe80::1]";proto=http`, "fe80::1", "", "http"},
		{"192.0.2.1", Forwarded{}, "for=192.0.2.1", "192.0.2.1", "", ""},
		{"192.0.2.1", Forwarded{Scheme: "gopher; x"}, "for=192.0.2.1", "192.0.2.1", "", ""},
		{"192.0.2.1", Forwarded{For: []string{"203.0.113.9", "198.51.100.1"}, Elements: []string{"for=203.0.113.9;by=_x"}},
			"for=203.0.113.9;by=_x, for=192.0.2.1", "203.0.113.9, 198.51.100.1, 192.0.2.1", "", ""},
		{"", Forwarded{Scheme: "https", Host: "a.example"}, "", "", "", ""},
	} {
		row.f.Peer, _ = netip.ParseAddr(row.peer)
		h := http.Header{}
		row.f.set(h)
		if h.Get("Forwarded") != row.forwarded || h.Get("X-Forwarded-For") != row.xFor ||
			h.Get("X-Forwarded-Host") != row.xHost || h.Get("X-Forwarded-Proto") != row.xProto {
			t.Errorf("%s, %+v: fields %v", row.peer, row.f, h)
		}
	}
}

// docs/reference/caching.md lists every field that is dropped by default.
func TestDroppedFieldsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/caching.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 && strings.HasPrefix(line, "| ") {
				listed[http.CanonicalHeaderKey(part)] = true
			}
		}
	}
	for _, set := range []map[string]bool{rewriteFields, methodOverrides} {
		for name := range set {
			if !listed[name] {
				t.Errorf("docs/reference/caching.md does not list %s", name)
			}
		}
	}
}
