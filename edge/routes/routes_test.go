package routes

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

// releaseA is the id of a release.
const releaseA = "0123456789abcdef0123456789abcdef"

// routed sends a request target through the router and the endpoint's parser. ep is nil if no
// endpoint has the path.
func routed(uri string) (t Target, ep *Endpoint, err error) { return routing()(uri) }

// routing returns a function like routed for one goroutine, which makes the router once.
func routing() func(uri string) (Target, *Endpoint, error) {
	var t Target
	var ep *Endpoint
	var err error
	r := New(func(ctx *fasthttp.RequestCtx, e *Endpoint) {
		ep = e
		if e.Allow == Posting {
			ctx.Request.Header.SetMethod(fasthttp.MethodPost)
		}
		t, err = e.Parse(ctx)
	}, func(*fasthttp.RequestCtx) { err = NotFound() }, true)
	return func(uri string) (Target, *Endpoint, error) {
		t, ep, err = Target{}, nil, nil
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.Header.SetHost("a")
		ctx.Request.SetRequestURI(uri)
		r.Handler(&ctx)
		return t, ep, err
	}
}

func TestTargets(t *testing.T) {
	tests := []struct {
		uri   string
		route Route
		want  Target
	}{
		{"/mdi/home.svg", CDN, Target{Key: "/mdi/home.svg", Form: FormSVG, Name: "mdi/home"}},
		{"/mdi/home.svg?", CDN, Target{Key: "/mdi/home.svg", Form: FormSVG, Name: "mdi/home"}},
		{"/mdi/home.svg?foo=bar&color=ABC", CDN, Target{Key: "/mdi/home.svg", Color: "#aabbcc", Form: FormSVG, Name: "mdi/home"}},
		{"/mdi/home.svg?width=10&height=20&flip=vertical,horizontal", CDN,
			Target{Key: "/mdi/home.svg?height=20&rotate=180&width=10", Form: FormSVG, Name: "mdi/home"}},
		{"/mdi/home.svg?stroke=02.0&secondary=F0F&size=9", CDN,
			Target{Key: "/mdi/home.svg?height=9&secondary=%23ff00ff&stroke=2", Form: FormSVG, Name: "mdi/home"}},
		{"/mdi/home.svg?id=a-B_1&rotate=-90&size=2&color=f00", CDN,
			Target{Key: "/mdi/home.svg?height=2&id=a-B_1&rotate=270", Color: "#ff0000", Form: FormSVG, Name: "mdi/home"}},
		{"/api/v1/icon/mdi/home?id=p&format=svg", Icon, Target{Key: "/mdi/home.svg?id=p", Form: FormSVG, Name: "mdi/home"}},
		{"/mdi/home.svg?release=" + releaseA, CDN, Target{Key: "/mdi/home.svg?release=" + releaseA, Form: FormSVG}},
		{"/mdi/home.svg?release=" + releaseA + "&size=9&color=000", CDN,
			Target{Key: "/mdi/home.svg?height=9&release=" + releaseA, Color: "#000000", Form: FormSVG}},
		{"/api/v1/icon/mdi/home", Icon, Target{Key: "/api/v1/icon/mdi/home", Form: FormJSON, Name: "mdi/home"}},
		{"/api/v1/icon/mdi/home?size=7&format=json", Icon, Target{Key: "/api/v1/icon/mdi/home?height=7", Form: FormJSON, Name: "mdi/home"}},
		{"/api/v1/icon/mdi/home?size=7&format=svg&color=f00", Icon,
			Target{Key: "/mdi/home.svg?height=7", Color: "#ff0000", Form: FormSVG, Name: "mdi/home"}},
		{"/mdi/home.svg?padding=3&background=FFF&color=f00&radius=0", CDN,
			Target{Key: "/mdi/home.svg?background=%23ffffff&padding=3", Color: "#ff0000", Form: FormSVG, Name: "mdi/home"}},
		// With two colours the origin paints the icon, so that the key has both.
		{"/mdi/home.svg?color=000&dark=fff", CDN,
			Target{Key: "/mdi/home.svg?color=%23000000&dark=%23ffffff", Form: FormSVG, Name: "mdi/home"}},
		{"/mdi/home.svg?size=9&dark=White&release=" + releaseA, CDN,
			Target{Key: "/mdi/home.svg?dark=%23ffffff&height=9&release=" + releaseA, Form: FormSVG}},
		{"/api/v1/icon/mdi/home?dark=FFF&color=000&format=svg", Icon,
			Target{Key: "/mdi/home.svg?color=%23000000&dark=%23ffffff", Form: FormSVG, Name: "mdi/home"}},
		{"/api/v1/icon/mdi/home?dark=fff&color=000", Icon,
			Target{Key: "/api/v1/icon/mdi/home?color=%23000000&dark=%23ffffff", Form: FormJSON, Name: "mdi/home"}},
		{"/-/row.svg?gap=12&icons=lucide/house,+mdi%3Ahome&size=48&x=y", Row, Target{Key: "/-/row.svg?icons=lucide:house,mdi:home"}},
		{"/-/row.png?icons=mdi:home&color=f00&release=" + releaseA, Row,
			Target{Key: "/-/row.png?icons=mdi:home&color=%23ff0000&release=" + releaseA}},
		{"/mdi/home.png?", Picture, Target{Key: "/mdi/home.png", Name: "mdi/home"}},
		{"/mdi/home.png?size=64&x=y", Picture, Target{Key: "/mdi/home.png", Name: "mdi/home"}},
		{"/mdi/home.png?color=red&size=9&release=" + releaseA, Picture,
			Target{Key: "/mdi/home.png?color=%23ff0000&height=9&release=" + releaseA}},
		{"/search/home.png", Picture, Target{Key: "/search/home.png", Name: "search/home"}},
		{"/mdi/home.ico?size=9&color=f00", Picture, Target{Key: "/mdi/home.ico?color=%23ff0000", Name: "mdi/home"}},
		{"/api/v1/icon/mdi/home?size=7&format=png&color=f00", Icon,
			Target{Key: "/mdi/home.png?color=%23ff0000&height=7", Name: "mdi/home"}},
		{"/mdi/arrow_back.png?size=9", Picture,
			Target{Key: "/mdi/arrow-back.png?height=9", Name: "mdi/arrow-back", Spelling: "mdi/arrow_back"}},
		{"/api/v1/icon/mdi/arrow_back?format=png", Icon,
			Target{Key: "/mdi/arrow-back.png", Name: "mdi/arrow-back", Spelling: "mdi/arrow_back"}},
		// This endpoint ignores release.
		{"/api/v1/icon/mdi/home?release=" + releaseA, Icon, Target{Key: "/api/v1/icon/mdi/home", Form: FormJSON, Name: "mdi/home"}},
		{"/api/v1/search?q=a+b", Search, Target{Key: "/api/v1/search?q=a+b"}},
		{"/api/v1/search?q=%E2%82%AC", Search, Target{Key: "/api/v1/search?q=%E2%82%AC"}},
		{"/api/v1/search?similar=mdi/home&limit=5&x=y", Search, Target{Key: "/api/v1/search?limit=5&similar=mdi%2Fhome"}},
		{"/api/v1/search?explain=true&q=a&license=MIT", Search, Target{Key: "/api/v1/search?explain=true&license=MIT&q=a"}},
		{"/api/v1/search?q=a&explain=false", Search, Target{Key: "/api/v1/search?q=a"}},
		{"/api/v1/packs", Packs, Target{Key: "/api/v1/packs"}},
		{"/api/v1/packs?commercial=false&category=", Packs, Target{Key: "/api/v1/packs"}},
		{"/api/v1/packs/mdi?page=1&per_page=5", Pack, Target{Key: "/api/v1/packs/mdi?per_page=5", Name: "mdi"}},
		{"/api/v1/openapi.json?x", OpenAPI, Target{Key: "/api/v1/openapi.json"}},
		{"/-/release?since=" + releaseA, Release, Target{Key: "/-/release?since=" + releaseA}},
		{"/-/names?x=y&release=" + releaseA, Names, Target{Key: "/-/names?release=" + releaseA}},
		{"/docs", Page, Target{Key: "/docs"}},
		{"/docs/?x=y", Page, Target{Key: "/docs/"}},
		{"/docs/search?x=y&q=Edge%20%20down+", Page, Target{Key: "/docs/search?q=edge+down"}},
		{"/docs/search?q=", Page, Target{Key: "/docs/search"}},
		{"/docs/search?q=a&q=b", Page, Target{Key: "/docs/search?invalid=q"}},
		{"/docs/how-to/takedown", Page, Target{Key: "/docs/how-to/takedown"}},
		{"/docs/how-to/runbooks/EdgeDown", Page, Target{Key: "/docs/how-to/runbooks/EdgeDown"}},
		{"/docs/home.svg", CDN, Target{Key: "/docs/home.svg", Form: FormSVG, Name: "docs/home"}},
		{"/-/release?since=x", Release, Target{Key: "/-/release"}},
		{"/api/v1/auth/verify", Verify, Target{Key: "/api/v1/auth/verify"}},
		// A pack may have the name of an endpoint.
		{"/api/home.svg", CDN, Target{Key: "/api/home.svg", Form: FormSVG, Name: "api/home"}},
		{"/healthz/home.svg", CDN, Target{Key: "/healthz/home.svg", Form: FormSVG, Name: "healthz/home"}},
	}
	for _, tt := range tests {
		got, ep, err := routed(tt.uri)
		path, query, _ := strings.Cut(tt.uri, "?")
		if err != nil || got != tt.want || ep.RouteOf(path, query) != tt.route {
			t.Errorf("%s: %+v, %v; want %+v", tt.uri, got, err, tt.want)
		}
		if fast, ok := FastRoute(got.Key); ok && !strings.Contains(got.Key, "?") && fast != routeIn(t, got.Key) {
			t.Errorf("%s: the hit path uses route %s for %s", tt.uri, fast, got.Key)
		}
	}
}

// A name that is not valid has the target of the mended one, and its spelling, decoded. An
// address that is no spelling of a name is refused as before.
func TestSpellings(t *testing.T) {
	for _, tt := range []struct {
		uri    string
		want   Target
		status int // of the problem; 0: none
	}{
		{"/own/arrow_back.svg", Target{Key: "/own/arrow-back.svg", Form: FormSVG, Name: "own/arrow-back", Spelling: "own/arrow_back"}, 0},
		{"/own/Arrow%20Left.svg?size=9", Target{Key: "/own/arrow-left.svg?height=9", Form: FormSVG, Name: "own/arrow-left",
			Spelling: "own/Arrow Left"}, 0},
		{"/own/Gr%C3%B6%C3%9Fe.svg", Target{Key: "/own/grosse.svg", Form: FormSVG, Name: "own/grosse", Spelling: "own/Größe"}, 0},
		{"/api/v1/icon/own/EC2", Target{Key: "/api/v1/icon/own/ec2", Form: FormJSON, Name: "own/ec2", Spelling: "own/EC2"}, 0},
		{"/own/EC2.svg?release=" + releaseA, Target{Key: "/own/ec2.svg?release=" + releaseA, Form: FormSVG, Spelling: "own/EC2"}, 0},
		{"/own/%68ome.svg", Target{}, 400}, // a name has one address
		{"/own/home%2Esvg", Target{}, 400},
		{"/own/..%2Fhome.svg", Target{}, 400},
		{"/own/a%5Cb.svg", Target{}, 400},
		{`/own/a\b.svg`, Target{}, 400},
		{"/own/a%00b.svg", Target{}, 400},
		{"/own/a%ff.svg", Target{}, 400},
		{"/own/a%.svg", Target{}, 400},
		{"/own/%2E%2E.svg", Target{}, 400},
		{"/o%77n/home.svg", Target{}, 400},
		{"/Own/home.svg", Target{}, 404},
		{"/own/_.svg", Target{}, 404},
		{"/own/" + strings.Repeat("A", 300) + ".svg", Target{}, 404},
		{"/api/v1/packs/o%77n", Target{}, 400},
	} {
		got, _, err := routed(tt.uri)
		status := 0
		if err != nil {
			status = problem.From(err).Status
		}
		if got != tt.want || status != tt.status {
			t.Errorf("%s: %+v, %v; want %+v, %d", tt.uri, got, err, tt.want, tt.status)
		}
	}
}

// routeIn returns the route that the router finds.
func routeIn(t *testing.T, key string) Route {
	_, ep, err := routed(key)
	if err != nil {
		t.Fatal(err)
	}
	path, query, _ := strings.Cut(key, "?")
	return ep.RouteOf(path, query)
}

// A key has one meaning: it parses to itself, and it asks the origin for the same as the request
// asked the edge for.
func FuzzRoute(f *testing.F) {
	for _, s := range []string{
		"/", "/mdi/home.svg", "/mdi/home.svg?color=%23F00&size=1&x=y", "/mdi/home.svg?flip=vertical&rotate=3&release=" + releaseA,
		"/api/v1/icon/mdi/home?format=svg&width=3", "/api/v1/search?q=%20a%26b=c%20&limit=50&offset=3&pack=mdi",
		"/api/v1/search?q=\u20ac", "/api/v1/search?similar=mdi/home&explain=true&style=x", "/api/v1/search?similar=a/b&q=c",
		"/api/v1/packs?license=MIT&category=a%2Bb&commercial=true", "/api/v1/packs/mdi?page=2&per_page=100", "/-/release?since=" + releaseA,
		"/mdi/../x.svg", "/mdi//x.svg", "/a%2fb", "/api/v1/auth/verify", "/healthz", "//a/b",
		"/own/Arrow%20Left.svg?color=f00", "/own/A_b.svg", "/api/v1/icon/a/b?color=12345678",
		"/mdi/home.svg?dark=red&color=0f0&size=3", "/-/row.svg?icons=mdi:home,a/b&dark=fff", "/-/row.png?icons=mdi:home&size=9&gap=1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if !strings.HasPrefix(uri, "/") || strings.HasPrefix(uri, "//") ||
			strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r == '#' || r == 0x7f }) {
			return // refused before the router
		}
		path, _, _ := strings.Cut(uri, "?")
		if e, fast := find(path), isIcon(path); fast && (e != pairs() || e.RouteOf(path, "") != CDN) {
			t.Fatalf("%q has the hit path of an icon, but is another address", path)
		}
		got, ep, err := routed(uri)
		if err != nil {
			if p := problem.From(err); p.Status < 400 || p.Status >= 500 {
				t.Fatalf("%q: %v", uri, p)
			}
			return
		}
		again, _, err := routed(got.Key)
		if err != nil || again.Key != got.Key || again.Form != got.Form || again.Color != "" {
			t.Fatalf("%q has the key %q, which is read as %+v, %v", uri, got.Key, again, err)
		}
		if got.Color != "" {
			colored, _, err := routed(got.Colored())
			colored.Spelling = got.Spelling // of the client's address, not of the key
			if err != nil || colored != got {
				t.Fatalf("%q: %q is read as %+v, %v; want %+v", uri, got.Colored(), colored, err, got)
			}
		}
		sameMeaning(t, uri, got, ep)
	})
}

// sameMeaning compares the parameters of a request with those of its key.
func sameMeaning(t *testing.T, uri string, got Target, ep *Endpoint) {
	_, query, _ := strings.Cut(uri, "?")
	_, canonical, _ := strings.Cut(got.Key, "?")
	asked, err := icon.ParseQuery(query, "q", "pack", "category", "license")
	if err != nil || ep.Route.Class() != ClassSearch && ep.Route.Class() != ClassPacks || strings.HasPrefix(got.Key, packsPath+"/") {
		return // FuzzRoute compares the canonical forms of the others
	}
	keyed, err := icon.ParseQuery(canonical, "q", "pack", "category", "license")
	if err != nil {
		t.Fatalf("%q: %v", got.Key, err)
	}
	names := []string{"category", "license"}
	if ep.Route.Class() == ClassSearch {
		names = []string{"q", "pack"}
	}
	for _, name := range names {
		if a, b := strings.TrimSpace(asked[name]), strings.TrimSpace(keyed[name]); a != b {
			t.Fatalf("%q asks for %s=%q, its key %q for %q", uri, name, a, got.Key, b)
		}
	}
}

// find agrees with the router about every path, so that a purge and the hit path use the endpoint
// that serves the path.
func TestFindIsTheRouter(t *testing.T) {
	parts := []string{"", "/", "-", "api", "v1", "icon", "icons", "packs", "search", "suggest", "openapi.json",
		"auth", "verify", "release", "names", "healthz", "mdi", "home.svg", "pack", "bag", "site", "sitemap", "docs",
		"sw.js", "app.js", "favicon.svg", "favicon.ico"}
	r := rand.New(rand.NewPCG(1, 2))
	paths := []string{"/", "/api/v1/icon/a", "/api/v1/packs/", "/api/v1/icon/a/b/c", "/-/x.svg"}
	for _, e := range endpoints {
		paths = append(paths, e.Pattern)
	}
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			b.WriteString("/" + parts[1+r.IntN(len(parts)-1)])
		}
		paths = append(paths, b.String())
	}
	routed := routing()
	for _, path := range paths {
		if !WellFormedPath(path) {
			continue
		}
		_, want, _ := routed(path)
		if got := find(path); got != want {
			t.Fatalf("%s: find returns %+v, the router %+v", path, got, want)
		}
	}
}

func TestWellFormed(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/a/b.svg": true, "/a..b": true, "/a/": true, "/...": true,
		"": false, "a": false, "*": false, "//": false, "/a//b": false, "/.": false, "/..": false, "/a/../b": false, "/a/.": false,
		"/%61": false, "/a\\b": false, "/a\x00": false, "/ä": false, "/a b": false,
	} {
		if got := WellFormedPath(path); got != want {
			t.Errorf("wellFormed(%q) = %v, want %v", path, got, want)
		}
	}
}

// Requests that differ in method, content or its description have different keys, although their
// parts look alike when they are joined. Each key begins with that of a GET, and no target has it.
func TestContentKey(t *testing.T) {
	const get = "http://a.test/q"
	keys := map[string]string{}
	for name, key := range map[string]string{
		"content":           ContentKey(get, "QUERY", [][]string{{"text/x"}, nil}, []byte("ab")),
		"other content":     ContentKey(get, "QUERY", [][]string{{"text/x"}, nil}, []byte("ba")),
		"type in content":   ContentKey(get, "QUERY", [][]string{nil, nil}, []byte("text/xab")),
		"coding, not type":  ContentKey(get, "QUERY", [][]string{nil, {"text/x"}}, []byte("ab")),
		"type with content": ContentKey(get, "QUERY", [][]string{{"text/xa"}, nil}, []byte("b")),
		"no content":        ContentKey(get, "QUERY", [][]string{{"text/x"}, nil}, nil),
		"POST":              ContentKey(get, "POST", [][]string{{"text/x"}, nil}, []byte("ab")),
		"other address":     ContentKey(get+"?", "QUERY", [][]string{{"text/x"}, nil}, []byte("ab")),
	} {
		if other, has := keys[key]; has || !strings.HasPrefix(key, get) || !strings.ContainsRune(key, '\x01') {
			t.Errorf("%s: key %q, which %q has too", name, key, other)
		}
		keys[key] = name
	}
}
