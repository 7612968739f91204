package edge

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// routed sends a request target through the router and the endpoint's parser; found is false where no endpoint has the path.
func routed(uri string) (t target, ep *endpoint, err error) {
	r := newRoutes(func(ctx *fasthttp.RequestCtx, e *endpoint) {
		ep = e
		if e.allow == posting {
			ctx.Request.Header.SetMethod(fasthttp.MethodPost)
		}
		t, err = parse(ctx, e)
	}, func(*fasthttp.RequestCtx) { err = notHere() })
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.SetHost("a")
	ctx.Request.SetRequestURI(uri)
	r.Handler(&ctx)
	return t, ep, err
}

func TestTargets(t *testing.T) {
	tests := []struct {
		uri   string
		route route
		want  target
	}{
		{"/mdi/home.svg", routeCDN, target{"/mdi/home.svg", "", formDrawing, "mdi/home"}},
		{"/mdi/home.svg?", routeCDN, target{"/mdi/home.svg", "", formDrawing, "mdi/home"}},
		{"/mdi/home.svg?foo=bar&color=ABC", routeCDN, target{"/mdi/home.svg", "#aabbcc", formDrawing, "mdi/home"}},
		{"/mdi/home.svg?width=10&height=20&flip=vertical,horizontal", routeCDN, target{"/mdi/home.svg?height=20&rotate=180&width=10", "", formDrawing, "mdi/home"}},
		{"/mdi/home.svg?release=" + releaseA, routeCDN, target{"/mdi/home.svg?release=" + releaseA, "", formDrawing, ""}},
		{"/mdi/home.svg?release=" + releaseA + "&size=9&color=000", routeCDN, target{"/mdi/home.svg?height=9&release=" + releaseA, "#000000", formDrawing, ""}},
		{"/api/v1/icon/mdi/home", routeIcon, target{"/api/v1/icon/mdi/home", "", formAnswer, "mdi/home"}},
		{"/api/v1/icon/mdi/home?size=7&format=json", routeIcon, target{"/api/v1/icon/mdi/home?height=7", "", formAnswer, "mdi/home"}},
		{"/api/v1/icon/mdi/home?size=7&format=svg&color=f00", routeIcon, target{"/mdi/home.svg?height=7", "#ff0000", formDrawing, "mdi/home"}},
		{"/api/v1/icon/mdi/home?release=" + releaseA, routeIcon, target{"/api/v1/icon/mdi/home", "", formAnswer, "mdi/home"}}, // unknown here
		{"/api/v1/search?q=a+b", routeSearch, target{key: "/api/v1/search?q=a+b"}},
		{"/api/v1/search?q=%E2%82%AC", routeSearch, target{key: "/api/v1/search?q=%E2%82%AC"}},
		{"/api/v1/packs", routePacks, target{key: "/api/v1/packs"}},
		{"/api/v1/packs?commercial=false&category=", routePacks, target{key: "/api/v1/packs"}},
		{"/api/v1/packs/mdi?page=1&per_page=5", routePack, target{key: "/api/v1/packs/mdi?per_page=5", name: "mdi"}},
		{"/api/v1/openapi.json?x", routeOpenAPI, target{key: "/api/v1/openapi.json"}},
		{"/-/release?since=" + releaseA, routeRelease, target{key: "/-/release?since=" + releaseA}},
		{"/-/names?x=y&release=" + releaseA, routeNames, target{key: "/-/names?release=" + releaseA}},
		{"/-/release?since=x", routeRelease, target{key: "/-/release"}},
		{"/api/v1/auth/verify", routeVerify, target{key: "/api/v1/auth/verify"}},
		{"/api/home.svg", routeCDN, target{"/api/home.svg", "", formDrawing, "api/home"}}, // a pack may be called so
		{"/healthz/home.svg", routeCDN, target{"/healthz/home.svg", "", formDrawing, "healthz/home"}},
	}
	for _, tt := range tests {
		got, ep, err := routed(tt.uri)
		if err != nil || got != tt.want || ep.route != tt.route {
			t.Errorf("%s: %+v, %v; want %+v", tt.uri, got, err, tt.want)
		}
		if tt.route != routeRelease && tt.route != routeVerify && !strings.Contains(got.key, "?") && routeOf(got.key) != routeIn(t, got.key) {
			t.Errorf("%s: the short way takes %s for %s", tt.uri, got.key, routeOf(got.key))
		}
	}
}

// routeIn is the route that the long way finds.
func routeIn(t *testing.T, key string) route {
	_, ep, err := routed(key)
	must(t, err)
	return ep.route
}

// A key means one thing: read again it is itself, and the origin, which reads it by the same words, is asked for what was asked
// for here.
func FuzzRoute(f *testing.F) {
	for _, s := range []string{
		"/", "/mdi/home.svg", "/mdi/home.svg?color=%23F00&size=1&x=y", "/mdi/home.svg?flip=vertical&rotate=3&release=" + releaseA,
		"/api/v1/icon/mdi/home?format=svg&width=3", "/api/v1/search?q=%20a%26b=c%20&limit=50&offset=3&pack=mdi", "/api/v1/search?q=\u20ac",
		"/api/v1/packs?license=MIT&category=a%2Bb&commercial=true", "/api/v1/packs/mdi?page=2&per_page=100", "/-/release?since=" + releaseA,
		"/mdi/../x.svg", "/mdi//x.svg", "/a%2fb", "/api/v1/auth/verify", "/healthz", "//a/b", "/api/v1/icon/a/b?color=12345678",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if !strings.HasPrefix(uri, "/") || strings.HasPrefix(uri, "//") || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == '#' || r == 0x7f }) {
			return // refused before
		}
		got, ep, err := routed(uri)
		if err != nil {
			if p := problem.From(err); p.Status < 400 || p.Status >= 500 {
				t.Fatalf("%q: %v", uri, p)
			}
			return
		}
		again, _, err := routed(got.key)
		if err != nil || again.key != got.key || again.form != got.form || again.color != "" {
			t.Fatalf("%q has the key %q, which is read as %+v, %v", uri, got.key, again, err)
		}
		if got.color != "" {
			colored, _, err := routed(got.colored())
			if err != nil || colored != got {
				t.Fatalf("%q: %q is read as %+v, %v; want %+v", uri, got.colored(), colored, err, got)
			}
		}
		sameMeaning(t, uri, got, ep)
	})
}

// sameMeaning compares what a call asks for with what its key asks for, parameter by parameter.
func sameMeaning(t *testing.T, uri string, got target, ep *endpoint) {
	_, query, _ := strings.Cut(uri, "?")
	_, canonical, _ := strings.Cut(got.key, "?")
	asked, err := icon.ParseQuery(query, "q", "pack", "category", "license")
	if err != nil || ep.route.class() != classSearch && ep.route.class() != classPacks || strings.HasPrefix(got.key, packsPath+"/") {
		return // others are compared by their canonical form alone
	}
	told, err := icon.ParseQuery(canonical, "q", "pack", "category", "license")
	if err != nil {
		t.Fatalf("%q: %v", got.key, err)
	}
	names := []string{"category", "license"}
	if ep.route.class() == classSearch {
		names = []string{"q", "pack"}
	}
	for _, name := range names {
		if a, b := strings.TrimSpace(asked[name]), strings.TrimSpace(told[name]); a != b {
			t.Fatalf("%q asks for %s=%q, its key %q for %q", uri, name, a, got.key, b)
		}
	}
}

func TestWellFormed(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/a/b.svg": true, "/a..b": true, "/a/": true, "/...": true,
		"": false, "a": false, "*": false, "//": false, "/a//b": false, "/.": false, "/..": false, "/a/../b": false, "/a/.": false,
		"/%61": false, "/a\\b": false, "/a\x00": false, "/ä": false, "/a b": false,
	} {
		if got := wellFormedPath(path); got != want {
			t.Errorf("wellFormed(%q) = %v, want %v", path, got, want)
		}
	}
}

func TestWellFormedHost(t *testing.T) {
	for host, want := range map[string]bool{
		"a": true, "a.b:80": true, "A-b_c.d": true, "127.0.0.1:1": true, "[::1]": true, "[::1]:8080": true, "a:": true,
		"": false, ":80": false, "a:b": false, "a:123456": false, "[::1": false, "[x]": false, "a b": false, "a/b": false, "a@b": false, "::1": false,
		"ä": false, strings.Repeat("a", 256): false,
	} {
		if got := wellFormedHost(host); got != want {
			t.Errorf("wellFormedHost(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestFraming(t *testing.T) {
	for fields, want := range map[string]framed{
		"":                                   {strict: true},
		"Host: a\r\n\r\n":                    {strict: true},
		"Content-Length: 1\r\n\r\n":          {strict: true, measured: true},
		"transfer-ENCODING: chunked\r\n\r\n": {strict: true, coded: true},
		"Transfer-Encoding: x\r\ncontent-length: 1\r\n\r\n":   {strict: true, coded: true, measured: true},
		"Transfer-Encodings: x\r\nContent-Lengths: 1\r\n\r\n": {strict: true},
		"X: Transfer-Encoding: chunked\r\nTe: y\r\n\r\n":      {strict: true},
		"Connection: a, CLOSE\r\nConnection: b\r\n\r\n":       {strict: true, closing: true},
		"Connection: closed\r\nUpgrade: h2c\r\n\r\n":          {strict: true, upgrading: true},
		"X: caf\xe9\tb\r\nY:\r\n\r\n":                         {strict: true},
		"Host: a\n\n":                                         {},
		"Host: a\r\nX: b\n\r\n":                               {},
		"Host: a\r\n b\r\n\r\n":                               {},
		"Host : a\r\n\r\n":                                    {},
		"X A: b\r\n\r\n":                                      {},
		"X: a\rb\r\n\r\n":                                     {},
		"X: \x00\r\n\r\n":                                     {},
		": a\r\n\r\n":                                         {},
		"nonsense\r\n\r\n":                                    {},
		"X: a\r\n\r\nY: b\r\n":                                {},
		"X: a\r\n\r\n\r\n":                                    {},
		"\xc3\x9cber: a\r\n\r\n":                              {},
	} {
		if got := framing([]byte(fields)); got != want {
			t.Errorf("framing(%q) = %+v, want %+v", fields, got, want)
		}
	}
}

// What is sound reads the same line by line.
func FuzzFraming(f *testing.F) {
	for _, s := range []string{"", "Host: a\r\n\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", "X: a\r\n b\r\n\r\n", "X : a\r\n\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m := framing([]byte(s))
		if !m.strict {
			return
		}
		fields := strings.TrimSuffix(s, "\r\n")
		if strings.Count(s, "\n") != strings.Count(s, "\r\n") || strings.Count(s, "\r") != strings.Count(s, "\n") {
			t.Fatalf("%q has a bare CR or LF", s)
		}
		again := framed{strict: true}
		for line := range strings.SplitSeq(strings.TrimSuffix(fields, "\r\n"), "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			again.field([]byte(name), []byte(value))
		}
		if again != m {
			t.Fatalf("%q: %+v, line by line %+v", s, m, again)
		}
	})
}
