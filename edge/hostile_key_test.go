package edge

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/frameworks"
)

// poison are fields with which clients have made caches store a response for everyone that was made
// for one client.
var poison = []string{
	"X-Forwarded-Host: evil.test", "X-Forwarded-Scheme: evil", "X-Forwarded-Proto: evil", "X-Forwarded-Port: 31337",
	"X-Forwarded-Prefix: /evil", "X-Forwarded-Server: evil.test",
	"X-Forwarded-Path: /evil", "X-Forwarded-For: 203.0.113.66", "Forwarded: for=203.0.113.66;host=evil.test",
	"X-Real-IP: 203.0.113.66", "X-Original-URL: /evil", "X-Rewrite-URL: /evil",
	"X-Original-Host: evil.test", "X-Original-URI: /evil", "X-Override-URL: /evil", "X-Host: evil.test",
	"X-Host-Override: evil.test", "X-HTTP-Host-Override: evil.test",
	"X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "X-Method-Override: DELETE",
	"X_Forwarded_Host: evil.test", "X_Original_URL: /evil", "X_HTTP_Method_Override: DELETE",
	"Proxy: http://evil.test", "X-Scheme: evil", "X-URL-Scheme: evil", "Front-End-Https: evil",
	"x-forwarded-HOST: evil.test", "TRANSFER_ENCODING: chunked", "Content_Length: 666",
	"True-Client-IP: 203.0.113.66", "CF-Connecting-IP: 203.0.113.66", "CF-Connecting-IPv6: evil",
	"CF-Pseudo-IPv4: 203.0.113.66", "X-Client-IP: 203.0.113.66", "X-Cluster-Client-IP: 203.0.113.66",
	"Fastly-Client-IP: 203.0.113.66", "Fly-Client-IP: 203.0.113.66", "Client-IP: 203.0.113.66",
	"Forwarded-For: 203.0.113.66", "X-Forwarded: for=203.0.113.66", "X-Original-Forwarded-For: 203.0.113.66",
	"X-Originating-IP: 203.0.113.66",
	"X-Remote-IP: 203.0.113.66", "X-Remote-Addr: 203.0.113.66", "X-ProxyUser-IP: 203.0.113.66",
	"WL-Proxy-Client-IP: 203.0.113.66", "Proxy-Client-IP: 203.0.113.66", "X-Azure-ClientIP: 203.0.113.66", "X-Azure-SocketIP: 203.0.113.66",
	"X-AppEngine-User-IP: 203.0.113.66", "X-Envoy-External-Address: 203.0.113.66", "X-Envoy-Original-Path: /evil",
	"X-Envoy-Original-Host: evil.test", "X-Real-Client-IP: 203.0.113.66", "X-Custom-IP-Authorization: 203.0.113.66",
	"CloudFront-Viewer-Address: 203.0.113.66:1",
	"X-HTTP-Host: evil.test", "X-Forwarded-Host-Override: evil.test", "X-Original-Host-Override: evil.test",
	"X-HTTP-Path-Override: /evil", "X-Original-Path: /evil", "X-Rewrite-URI: /evil", "X-Original-Proto: evil",
	"X-Original-Scheme: evil", "CloudFront-Forwarded-Proto: evil",
	"X-Request-URI: /evil", "X-Request-URL: /evil", "X-Script-Name: /evil", "X-HTTP-DestinationURL: /evil",
	"X-WAWS-Unencoded-URL: /evil", "X-Client-Proto: evil", "X-Proto: evil", "X-ARR-SSL: evil",
	"X-Original-Method: DELETE", "X-HTTP-Method-Overrides: DELETE",
	"x-http-HOST: evil.test", "True_Client_IP: 203.0.113.66", "CF_CONNECTING_IP: 203.0.113.66",
	"X_HTTP_PATH_OVERRIDE: /evil", "X.Original.URL: /evil", "X~Forwarded~Host: evil.test", "X-Real_IP: 203.0.113.66",
	"X*Rewrite*URL: /evil",
	"X_Middleware_Subrequest: evil", "X.Invoke.Path: /evil", "x-NOW-route-MATCHES: evil", "X_Sendfile_Type: evil",
	"Upgrade: evil", "TE: evil", "Trailer: Evil", "Keep-Alive: evil", "Proxy-Authorization: evil", "Proxy-Connection: evil",
}

// None of these fields reaches an origin with a GET. The response that the first client caused is
// what the second client gets.
func TestHostileUnkeyedFields(t *testing.T) {
	t.Parallel()
	lines := slices.Clone(poison)
	for _, f := range frameworks.Fields {
		if !f.OfScripts {
			lines = append(lines, strings.Replace(f.Name, "*", "Evil", 1)+": evil")
		}
	}
	for _, proxyAll := range []bool{true, false} {
		w := newRawEdge(t, proxyAll)
		for i, line := range lines {
			for _, pattern := range []string{"/page/%d", "/mdi/poison-%d.svg"} {
				if !proxyAll && pattern[1] == 'p' {
					continue
				}
				target := fmt.Sprintf(pattern, i)
				w.origin.take()
				m := w.ask(t, target, line+"\r\n")
				seen, _ := w.origin.take()
				if m.body != echoed("GET", target, "") || len(seen) != 1 {
					t.Errorf("%s with %s: %s %.100q, the origin saw %d requests", target, line, m.line, m.body, len(seen))
					continue
				}
				// The edge's random id may contain any of the digits below.
				delete(seen[0].fields, "cdn-loop")
				if got := strings.ToLower(fmt.Sprint(seen[0].fields)); strings.Contains(got, "evil") ||
					strings.Contains(got, "203.0.113.66") || strings.Contains(got, "31337") ||
					strings.Contains(got, "666") || strings.Contains(got, "delete") {
					t.Errorf("%s with %s: the origin saw %s", target, line, got)
				}
				if second := w.ask(t, target); second.body != m.body || !strings.Contains(second.fields["cache-status"][0], "; hit;") {
					t.Errorf("%s after %s: %s %.100q, %q", target, line, second.line, second.body, second.fields["cache-status"])
				}
			}
		}
	}
}

// The path of an icon is one cache entry, whatever Host a client names in whatever way. The origin
// receives one request, under its own host name. A forwarded path is an entry for each Host, and
// the origin receives that Host in its canonical form.
func TestHostileHosts(t *testing.T) {
	w := newRawEdge(t, true)
	for _, target := range []string{"/page", "/mdi/home.svg"} {
		for _, request := range []string{
			"GET %s HTTP/1.1\r\nHost: edge.test\r\n", "GET %s HTTP/1.1\r\nHost: evil.test\r\n",
			"GET %s HTTP/1.1\r\nHost: EDGE.test:8080\r\n", "GET %s HTTP/1.1\r\nHost: edge.test.\r\n",
			"GET %s HTTP/1.1\r\nHost: edge.test:80\r\n", "GET %s HTTP/1.1\r\nHost: edge.test:00080\r\n",
			"GET %s HTTP/1.1\r\nHost: Edge.test.:\r\n", "GET %s HTTP/1.1\r\nHost: edge.test.:08080\r\n",
			"GET http://edge.test:080%s HTTP/1.1\r\nHost: edge.test:080\r\n",
			"GET http://evil.test%s HTTP/1.1\r\nHost: evil.test\r\n", "GET %s HTTP/1.0\r\n",
		} {
			if m := w.tell(t, fmt.Sprintf(request, target)+"Connection: close\r\n\r\n"); m.body != echoed("GET", target, "") {
				t.Errorf("%s of %s: %s %.100q", request, target, m.line, m.body)
			}
		}
	}
	own := w.origin.ln.Addr().String()
	seen, _ := w.origin.take()
	var hosts []string
	for _, m := range seen {
		hosts = append(hosts, m.fields["host"][0]+" "+strings.Fields(m.line)[1])
	}
	if want := []string{"edge.test /page", "evil.test /page", "edge.test:8080 /page", own + " /page",
		own + " /mdi/home.svg"}; !slices.Equal(hosts, want) {
		t.Errorf("the origin received %q, want %q", hosts, want)
	}
}

// If the operator names hosts, the edge serves no others, in the Host field or in the request
// target. On its own paths the port is no part of the key.
func TestHostileConfiguredHosts(t *testing.T) {
	w := newRawEdge(t, true, func(c *Config) { c.Hosts = []string{"edge.test", "listed.test:9000"} })
	for request, status := range map[string]int{
		"GET /mdi/home.svg HTTP/1.1\r\nHost: Edge.Test:81\r\n":                             200,
		"GET /page HTTP/1.1\r\nHost: edge.test:81\r\n":                                     400,
		"GET /page HTTP/1.1\r\nHost: edge.test:0\r\n":                                      400,
		"GET /page HTTP/1.1\r\nHost: edge.test:65535\r\n":                                  400,
		"GET http://edge.test:81/page HTTP/1.1\r\nHost: edge.test:81\r\n":                  400,
		"GET /page HTTP/1.1\r\nHost: Edge.Test:080\r\n":                                    200,
		"GET /page HTTP/1.1\r\nHost: edge.test.:443\r\n":                                   200,
		"GET /page HTTP/1.1\r\nHost: edge.test.\r\n":                                       200,
		"GET /page HTTP/1.1\r\nHost: listed.test:9000\r\n":                                 200,
		"GET /page HTTP/1.1\r\nHost: listed.test.:09000\r\n":                               200,
		"GET /page HTTP/1.1\r\nHost: listed.test:9001\r\n":                                 400,
		"GET /page HTTP/1.1\r\nHost: edge.test:9000\r\n":                                   400,
		"GET /mdi/home.svg HTTP/1.1\r\nHost: evil.test:9000\r\n":                           421,
		"GET /mdi/home.svg HTTP/1.1\r\nHost: evil.test\r\n":                                421,
		"GET /page HTTP/1.1\r\nHost: evil.test\r\n":                                        421,
		"GET /mdi/home.svg HTTP/1.1\r\nHost: edge.test.evil.test\r\n":                      421,
		"GET http://evil.test/mdi/home.svg HTTP/1.1\r\nHost: evil.test\r\n":                421,
		"GET http://edge.test/mdi/home.svg HTTP/1.1\r\nHost: evil.test\r\n":                400,
		"GET http://evil.test/mdi/home.svg HTTP/1.1\r\nHost: edge.test\r\n":                400,
		"GET /mdi/home.svg HTTP/1.1\r\nHost: evil.test@edge.test\r\n":                      400,
		"GET /mdi/home.svg HTTP/1.1\r\nHost: evil.test\r\nX-Forwarded-Host: edge.test\r\n": 421,
		"GET /mdi/home.svg HTTP/1.0\r\n":                                                   421,
	} {
		for range 2 { // the second request could take the hit path
			if m := w.tell(t, request+"Connection: close\r\n\r\n"); m.status() != status {
				t.Errorf("%q: %s, want %d", request, m.line, status)
			}
		}
	}
}

// Each spelling of an icon's address has one meaning, or is an error. The origin receives its
// canonical form, once. An empty want is a 4xx without a request to the origin.
func TestHostileAddresses(t *testing.T) {
	const home, tall = "/mdi/home.svg", "/mdi/home.svg?height=48"
	w := newRawEdge(t, false)
	for _, row := range []struct{ target, want string }{
		{home, home}, {home + "?", home}, {home + "?x=1", home}, {home + "?X", home}, {home + "?&&=&", home},
		{home + "?SIZE=48", home}, {home + "?siz%65x=48", home}, {home + "?utm_source=evil", home},
		{home + "?x=%zz", home}, {home + "?%zz", home}, {home + "?x=\xff", home}, {home + "?;", home},
		{home + "?x;size=48", home}, {home + "?/../", home}, {home + "?x=http://evil.test/", home}, {home + "?callback=evil", home},
		{home + "?size=48", tall}, {home + "?height=48", tall}, {home + "?%73ize=48", tall},
		{home + "?size=%34%38", tall}, {home + "?size=048", tall}, {home + "?x&size=48&y=1", tall}, {home + "?size=48#", ""},
		{home + "?size=48&size=48", ""}, {home + "?size=48&s%69ze=49", ""}, {home + "?size=48;color=f00", ""},
		{home + "?size=%EF%BC%94%EF%BC%98", ""}, {home + "?size=4\u06608", ""}, {home + "?size=+48", ""},
		{home + "?size=%2b48", ""}, {home + "?size=-48", ""},
		{home + "?size=48.0", ""}, {home + "?size=4e1", ""}, {home + "?size=0x30", ""}, {home + "?size=", ""},
		{home + "?size", ""}, {home + "?size=48%00", ""}, {home + "?size=%zz", ""}, {home + "?size=\xff", ""},
		{home + "?size=0", ""}, {home + "?size=99999999999999999999", ""},
		{"/mdi/%68ome.svg", ""}, {"/mdi/home%2esvg", ""}, {"/mdi%2fhome.svg", ""}, {"/%6ddi/home.svg", ""},
		{"/mdi/home.svg%00", ""}, {"/mdi/home.svg%20", ""}, {"/mdi/home.svg%3fsize=48", ""}, {"/mdi/home.svg%23", ""},
		{"/mdi/home.svg%0d%0a", ""}, {"/mdi/%252e%252e/home.svg", ""},
		{"/mdi/..%2fmdi/home.svg", ""}, {"/mdi/%2e/home.svg", ""}, {"/mdi/./home.svg", ""},
		{"/mdi/../mdi/home.svg", ""}, {"/./mdi/home.svg", ""}, {"/../mdi/home.svg", ""}, {"//mdi/home.svg", ""},
		{"/mdi//home.svg", ""}, {"/mdi/home.svg/", ""}, {"/mdi/home.svg//", ""}, {"/mdi/home.svg/.", ""}, {"/mdi/home.svg/..", ""},
		{"/mdi\\home.svg", ""}, {"/mdi/home.svg\\", ""}, {"\\mdi/home.svg", ""}, {"/mdi/home.svg;x=1", ""},
		{"/mdi;x/home.svg", ""}, {"/mdi/home;.svg", ""}, {"/;/mdi/home.svg", ""}, {"/mdi/home.svg,", ""},
		{"/mdi/home.svg:", ""}, {"/mdi:home:x.svg", ""}, {"/mdi/home.svg&x", ""}, {"/mdi/home.svg*", ""},
		{"/MDI/home.svg", ""}, {"/mdi/Home.svg", ""}, {"/mdi/home.SVG", ""}, {"/mdi/h\u043eme.svg", ""},
		{"/mdi/\uff48ome.svg", ""}, {"/mdi/home\u200b.svg", ""}, {"/mdi/ho\u0301me.svg", ""},
		{"/mdi/hom\xe9.svg", ""}, {"/mdi/hom\xc0\xae.svg", ""}, {"/mdi/home.svg\u2028", ""}, {"/mdi/home..svg", ""},
		{"/mdi/.svg", ""}, {"/mdi/home-.svg", ""}, {"/mdi/-home.svg", ""},
		{"/mdi/home_.svg", ""}, {"/mdi/home.svg.svg", ""}, {"/mdi/home.css", ""}, {"/mdi/home", ""},
		{"/mdi/home.svg/x.css", ""}, {"/api/v1/icon/mdi/home/x.css", ""}, {"/api/v1/icon/mdi/%68ome", ""},
		{"/api/v1/icon//home", ""}, {"/api/v1/icon/mdi/home;x", ""}, {"/api/v1//icon/mdi/home", ""}, {"/API/v1/icon/mdi/home", ""},
	} {
		w.cache.InvalidateAll()
		w.library.Negative.Clear()
		w.origin.take()
		m := w.ask(t, row.target)
		seen, wrong := w.origin.take()
		if row.want == "" {
			if m.status()/100 != 4 || len(seen) > 0 {
				t.Errorf("%q: %s, the origin saw %v; want 4xx", row.target, m.line, seen)
			}
			continue
		}
		if len(seen) != 1 || len(wrong) > 0 || seen[0].line != "GET "+row.want+" HTTP/1.1" || m.body != echoed("GET", row.want, "") {
			t.Errorf("%q: %s, the origin saw %v %q; want %s", row.target, m.line, seen, wrong, row.want)
		}
	}
}

// The edge drops the fields that a client names in Connection before it forwards the request. They
// have no part in the response, so they select no variant either.
func TestHostileVaryByHopByHopFields(t *testing.T) {
	e, _ := newPassTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept-Language, X-Forwarded-Port, X-Original-Url")
		w.Header().Set("Cache-Control", "max-age=600")
		io.WriteString(w, "in "+r.Header.Get("Accept-Language"))
	}})
	e.get(t, "/page", "Accept-Language", "de", "Connection", "Accept-Language")
	if a := e.get(t, "/page", "Accept-Language", "de"); a.body != "in de" {
		t.Errorf("a response made without the field is served to a request with it: %q", a.body)
	}
	for _, name := range []string{"X-Forwarded-Port", "X-Original-URL"} {
		if a := e.get(t, "/page", "Accept-Language", "de", name, "evil"); !strings.Contains(a.Header.Get("Cache-Status"), "; hit;") {
			t.Errorf("%s makes a separate entry", name)
		}
	}
}

// A response that varies with a field in which the edge names the client is for that client only.
func TestHostileVaryByClient(t *testing.T) {
	e, s := newPassTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "X-Forwarded-For")
		w.Header().Set("Cache-Control", "max-age=600")
		io.WriteString(w, r.Header.Get("X-Forwarded-For"))
	}})
	for _, client := range []string{"203.0.113.1", "203.0.113.2", "203.0.113.1"} {
		if a := e.get(t, "/page", "X-Forwarded-For", client); !strings.HasPrefix(a.body, client+", ") {
			t.Errorf("%s got the response of %s", client, a.body)
		}
	}
	if n := len(s.requests("/page")); n != 2 {
		t.Errorf("the origin received %d requests, want 2", n)
	}
}

// A request that is not a plain GET leaves nothing in the cache that a plain GET would get.
func TestHostileOtherRequestsFirst(t *testing.T) {
	t.Parallel()
	w := newRawEdge(t, true)
	for i, request := range []string{
		"HEAD %s HTTP/1.1\r\n", "GET %s HTTP/1.1\r\nRange: bytes=0-1\r\n",
		"GET %s HTTP/1.1\r\nRange: bytes=99999-\r\n", "GET %s HTTP/1.1\r\nRange: bytes=0-0,2-3\r\n",
		"GET %s HTTP/1.1\r\nRange: bytes=0-1\r\nIf-Range: \"e\"\r\n",
		"GET %s HTTP/1.1\r\nIf-None-Match: \"e\"\r\n", "GET %s HTTP/1.1\r\nIf-None-Match: *\r\n",
		"GET %s HTTP/1.1\r\nIf-Modified-Since: Sat, 21 Nov 2099 00:00:00 GMT\r\n", "GET %s HTTP/1.1\r\nIf-Match: \"x\"\r\n",
		"GET %s HTTP/1.1\r\nIf-Unmodified-Since: Sat, 21 Nov 1999 00:00:00 GMT\r\n",
		"HEAD %s HTTP/1.1\r\nIf-None-Match: \"e\"\r\n", "HEAD %s HTTP/1.1\r\nRange: bytes=0-1\r\n",
		"OPTIONS %s HTTP/1.1\r\n", "get %s HTTP/1.1\r\n", "POST %s HTTP/1.1\r\nContent-Length: 0\r\n", "TRACE %s HTTP/1.1\r\n",
		"GET %s HTTP/1.1\r\nCache-Control: only-if-cached\r\n", "GET %s HTTP/1.1\r\nCache-Control: no-store\r\n",
		"GET %s HTTP/1.1\r\nAuthorization: Bearer evil\r\n", "GET %s HTTP/1.1\r\nContent-Length: 4\r\nX: evil\r\n",
	} {
		for _, pattern := range []string{"/page/%d", "/mdi/first-%d.svg"} {
			target := fmt.Sprintf(pattern, i)
			body := ""
			if strings.Contains(request, "Content-Length: 4") {
				body = "evil"
			}
			c := w.call(t)
			c.send(fmt.Sprintf(request, target) + "Host: edge.test\r\nConnection: close\r\n\r\n" + body)
			io.Copy(io.Discard, c)
			c.Close()
			if m := w.ask(t, target); m.status() != 200 || m.body != echoed("GET", target, "") {
				t.Errorf("after %q: %s %q", request, m.line, m.body)
			}
		}
	}
}

// An error, except 404 and 410, does not replace a good response: the stored response is still
// there when the error is over, and clients get it meanwhile if it may be served stale.
func TestHostileErrorsReplaceNothing(t *testing.T) {
	w := newRawEdge(t, true)
	for i, row := range []struct {
		status string
		stays  bool
	}{
		{"400 Bad Request", true}, {"401 Unauthorized", true}, {"403 Forbidden", true},
		{"405 Method Not Allowed", true}, {"406 Not Acceptable", true}, {"413 Content Too Large", true}, {"414 URI Too Long", true},
		{"416 Range Not Satisfiable", true}, {"429 Too Many Requests", true},
		{"431 Request Header Fields Too Large", true}, {"500 Internal Server Error", true},
		{"501 Not Implemented", true}, {"502 Bad Gateway", true},
		{"503 Service Unavailable", true}, {"504 Gateway Timeout", true}, {"505 HTTP Version Not Supported", true},
		{"404 Not Found", false}, {"410 Gone", false},
	} {
		for _, pattern := range []string{"/page/%d", "/mdi/error-%d.svg"} {
			target := fmt.Sprintf(pattern, i)
			honest := w.ask(t, target).body
			w.age(t, target, 700*time.Second)
			w.origin.mu.Lock()
			w.origin.lies[target] = corpusCase{origin: "HTTP/1.1 " + row.status +
				"\r\nCache-Control: max-age=600\r\nContent-Length: 4\r\n\r\nevil"}
			w.origin.mu.Unlock()
			m := w.ask(t, target)
			if own := strings.HasPrefix(target, "/mdi/"); own && m.status() >= 500 && m.status() != 502 {
				t.Errorf("%s, %s: %s", target, row.status, m.line)
			}
			e := w.stored(target)
			if good := e != nil && string(e.Identity().Body) == honest; good != row.stays {
				t.Errorf("%s after %s: the good response is still stored: %v, want %v", target, row.status, good, row.stays)
			}
		}
	}
}

// A response that a field of scripts caused is stored only if its Vary names the field, whatever
// the spelling. The origin gets the field. Nothing that such a request does takes the page from
// other clients.
func TestHostileFieldsOfScripts(t *testing.T) {
	e, _ := newPassTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		h, body := w.Header(), "page"
		for name := range r.Header {
			if name == r.URL.Query().Get("field") {
				body = "fragment"
			}
		}
		h.Set("Cache-Control", "max-age=600, stale-while-revalidate=600")
		h.Set("Etag", `"`+body+`"`)
		if vary := r.URL.Query().Get("vary"); vary != "" {
			h.Set("Vary", vary)
		}
		io.WriteString(w, body)
	}})
	hit := func(a answer) bool { return strings.Contains(a.Header.Get("Cache-Status"), "; hit") }
	var names []string
	for _, f := range frameworks.Fields {
		if f.OfScripts {
			names = append(names, strings.Replace(f.Name, "*", "Request", 1))
		}
	}
	for _, name := range append(names, "X_requested_with", "Hx.request") {
		canonical := http.CanonicalHeaderKey(name)
		page := "/page?field=" + canonical
		for _, method := range []string{"GET", "HEAD", "GET"} {
			if a := e.do(t, method, page, name, "1"); hit(a) || method == "GET" && a.body != "fragment" {
				t.Errorf("%s %s with the field: %s %q", method, page, a.Header.Get("Cache-Status"), a.body)
			}
		}
		if a := e.get(t, page); hit(a) || a.body != "page" {
			t.Errorf("%s after the fragment: %s %q", page, a.Header.Get("Cache-Status"), a.body)
		}
		// By the Vary of the page the request is the same.
		if a := e.get(t, page, name, "1"); !hit(a) || a.body != "page" {
			t.Errorf("%s with the field: %s %q, want the page", page, a.Header.Get("Cache-Status"), a.body)
		}
		for _, age := range []time.Duration{700 * time.Second, 1300 * time.Second} {
			e.age(t, page, age)
			for _, method := range []string{"HEAD", "GET", "GET"} {
				e.do(t, method, page, name, "1")
			}
			if a := e.get(t, page); a.body != "page" {
				t.Errorf("%s after %v: %s %q", page, age, a.Header.Get("Cache-Status"), a.body)
			}
		}
		varies := page + "&vary=Accept," + name
		for _, value := range []string{"1", ""} {
			first, second := e.get(t, varies, name, value), e.get(t, varies, name, value)
			if hit(first) || !hit(second) || second.body != "fragment" {
				t.Errorf("%s, which varies, with %q: %s %q", varies, value, second.Header.Get("Cache-Status"), second.body)
			}
		}
		if a := e.get(t, varies); hit(a) || a.body != "page" {
			t.Errorf("%s after the fragment: %s %q", varies, a.Header.Get("Cache-Status"), a.body)
		}
	}
}

// A request with a field of scripts waits for no request without, and leaves no marker behind that
// keeps those from being collapsed.
func TestFieldsOfScriptsCollapseApart(t *testing.T) {
	w := make(chan struct{})
	e, s := newPassTest(t, map[string]http.HandlerFunc{"/page": func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Cache-Control", "max-age=600")
		if r.Header.Get("HX-Request") != "" {
			io.WriteString(rw, "fragment")
			return
		}
		<-w
		io.WriteString(rw, "page")
	}})
	if a := e.get(t, "/page", "HX-Request", "true"); a.body != "fragment" {
		t.Errorf("%q", a.body)
	}
	done := make(chan string)
	for range 5 {
		go func() { done <- e.get(t, "/page").body }()
	}
	settled(t, "five requests wait for the page", func() bool { return e.Server.origin.Waiting() == 5 })
	if a := e.get(t, "/page", "HX-Request", "true"); a.body != "fragment" {
		t.Errorf("while the page is fetched: %q", a.body)
	}
	close(w)
	for range 5 {
		if body := <-done; body != "page" {
			t.Errorf("%q", body)
		}
	}
	if n := len(s.requests("/page")); n != 3 {
		t.Errorf("the origin received %d requests, want 3", n)
	}
}
