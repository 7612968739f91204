package edge

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/internal/tier"
)

// An echoing origin returns the scheme and Host that it was given, and counts its requests.
type echoing struct {
	mu   sync.Mutex
	seen []*http.Request
}

func (o *echoing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.seen = append(o.seen, r)
	o.mu.Unlock()
	w.Header().Set("Cache-Control", "max-age=600")
	w.Header().Set("Set-Cookie", "a=b; Domain=inner.example; Path=/x")
	w.Header().Set("Location", "http://inner.example:9/there")
	fmt.Fprintf(w, "%s %s://%s", r.Host, r.Header.Get("X-Forwarded-Proto"), r.Header.Get("X-Forwarded-Host"))
}

// take returns the requests since the last call.
func (o *echoing) take() []*http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := o.seen
	o.seen = nil
	return seen
}

func newNamed(t *testing.T, change ...func(*Config)) (*edgeTest, *echoing) {
	t.Helper()
	o := &echoing{}
	e := newEdgeTest(t, o, append([]func(*Config){func(c *Config) { c.ProxyAll, c.StoreCookies = true, true }}, change...)...)
	o.take()
	return e, o
}

// as makes a request for a Host.
func (e *edgeTest) as(t *testing.T, host, method, target string, fields ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, "http://edge.test"+target, nil)
	must(t, err)
	r.Host = host
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	resp, err := e.RoundTrip(r)
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return answer{resp, string(b)}
}

func nobodyTrusted(c *Config) { c.TrustedProxies = nil }

// The origin gets the Host that --origin-host says; the names of the client's request are in
// X-Forwarded-Host and Forwarded under all of them.
func TestOriginHost(t *testing.T) {
	for _, row := range []struct{ flag, want string }{{"", "shop.example:81"}, {"client", "shop.example:81"},
		{"origin", ""}, {"inner.example", "inner.example"}} {
		e, o := newNamed(t, nobodyTrusted, func(c *Config) { c.OriginHost = row.flag })
		a := e.as(t, "Shop.Example:81", "GET", "/page")
		seen := o.take()
		if len(seen) == 0 {
			t.Fatalf("%q: the origin got no request, the client %d", row.flag, a.StatusCode)
		}
		r := seen[len(seen)-1]
		want := row.want
		if want == "" {
			want = strings.TrimPrefix(e.cfg.Origins[0][0].String(), "http://")
		}
		if r.Host != want || r.Header.Get("X-Forwarded-Host") != "shop.example:81" ||
			r.Header.Get("Forwarded") != `for=0.0.0.0;host="shop.example:81";proto=http` {
			t.Errorf("%q: Host %q, %v", row.flag, r.Host, r.Header)
		}
		if a.Header.Get("Set-Cookie") != "a=b; Domain=inner.example; Path=/x" ||
			a.Header.Get("Location") != "http://inner.example:9/there" {
			t.Errorf("%q: fields changed: %v", row.flag, a.Header)
		}
	}
}

// Whatever Host the origin gets, a response is stored for the client's scheme and Host alone.
func TestKeyHasSchemeAndHost(t *testing.T) {
	for _, flag := range []string{"", "origin", "inner.example"} {
		e, o := newNamed(t, func(c *Config) { c.OriginHost = flag })
		ask := func(scheme, host string) (body string, hit bool) {
			a := e.as(t, host, "GET", "/page?x", "X-Forwarded-Proto", scheme)
			return a.body, strings.Contains(a.Header.Get("Cache-Status"), "hit;")
		}
		for _, row := range []struct {
			scheme, host string
			hit          bool
		}{
			{"http", "a.example", false}, {"http", "a.example", true}, {"http", "A.Example", true},
			{"https", "a.example", false}, {"https", "a.example", true},
			{"http", "b.example", false}, {"http", "a.example:81", false}, {"http", "b.example", true}, {"http", "a.example", true},
		} {
			body, hit := ask(row.scheme, row.host)
			if hit != row.hit || !strings.HasSuffix(body, " "+row.scheme+"://"+strings.ToLower(row.host)) {
				t.Errorf("%q, %s://%s: %q, hit %v, want %v", flag, row.scheme, row.host, body, hit, row.hit)
			}
		}
		if n := len(o.take()); n < 4 {
			t.Errorf("%d requests, want 4", n)
		}
	}
}

// What a client that is no trusted proxy says of its request reaches neither origin nor key.
func TestStrangersNameNothing(t *testing.T) {
	e, o := newNamed(t, nobodyTrusted)
	e.as(t, "shop.example", "GET", "/page")
	o.take()
	for _, fields := range [][]string{
		{"X-Forwarded-Host", "evil.test"}, {"X-Forwarded-Proto", "https"}, {"Forwarded", "for=10.0.0.1;host=evil.test;proto=https"},
		{"X-Forwarded-For", "10.0.0.1"}, {"x_forwarded_host", "evil.test"},
		{"X-Forwarded-Host", "evil.test", "X-Forwarded-Host", "shop.example"},
		{"X-Forwarded-Host", "evil.test", "X-Forwarded-Proto", "https", "Forwarded", "for=10.0.0.1;host=evil.test",
			"X-Forwarded-For", "10.0.0.1", "X-Forwarded-Port", "99", "X-Forwarded-Server", "evil.test"},
	} {
		if a := e.as(t, "shop.example", "GET", "/page", fields...); !strings.Contains(a.Header.Get("Cache-Status"),
			"hit;") || a.body != "shop.example http://shop.example" {
			t.Errorf("%q: %q, %s: want the stored response", fields, a.body, a.Header.Get("Cache-Status"))
		}
		e.as(t, "shop.example", "POST", "/post", fields...)
		for _, r := range o.take() {
			all := fmt.Sprint(r.Host, r.Header)
			if strings.Contains(all, "evil") || strings.Contains(all, "10.0.0.1") || strings.Contains(all, "99]") ||
				r.Header.Get("X-Forwarded-Proto") != "http" ||
				r.Header.Get("Forwarded") != "for=0.0.0.0;host=shop.example;proto=http" || r.Header.Get("X-Forwarded-For") != "0.0.0.0" {
				t.Errorf("%q: the origin got %s", fields, all)
			}
		}
	}
}

// The scheme and Host that a trusted proxy names stand for those of the connection, and its hops
// are kept. With --host the Host must be among its names too.
func TestTrustedProxyNames(t *testing.T) {
	e, o := newNamed(t, func(c *Config) { c.Hosts = []string{"edge.internal", "shop.example"} })
	a := e.as(t, "edge.internal", "GET", "/page", "X-Forwarded-Host", "shop.example", "X-Forwarded-Proto", "https",
		"X-Forwarded-For", "203.0.113.9")
	r := o.take()[0]
	if a.body != "shop.example https://shop.example" || r.Header.Get("X-Forwarded-For") != "203.0.113.9, 0.0.0.0" ||
		r.Header.Get("Forwarded") != "for=203.0.113.9, for=0.0.0.0;host=shop.example;proto=https" {
		t.Errorf("%q, %v", a.body, r.Header)
	}
	if a := e.as(t, "edge.internal", "GET", "/page", "Forwarded",
		"for=203.0.113.10;host=shop.example;proto=https"); !strings.Contains(a.Header.Get("Cache-Status"), "hit;") {
		t.Errorf("the same address named in Forwarded: %s", a.Header.Get("Cache-Status"))
	}
	if a := e.as(t, "edge.internal", "GET", "/page", "X-Forwarded-Host", "evil.test"); a.StatusCode != 421 {
		t.Errorf("a Host outside --host: %d, want 421", a.StatusCode)
	}
}

// An edge behind an edge keeps the client's scheme and Host, if it proves to be one or is a trusted
// proxy. Another client's word counts for nothing.
func TestNamesThroughTiers(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"the address is trusted", func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} },
			"shop.example https://shop.example"},
		{"nothing", nobodyTrusted, "shop.example http://shop.example"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inner, o := newNamed(t, row.change)
			ln := listenTest(t)
			inner.serveToo(t, ln, inner.Proxy)
			outer := newEdgeTest(t, o, func(c *Config) {
				c.ProxyAll = true
				must(t, c.Origins.Set("http://"+ln.Addr().String()))
			})
			if a := outer.as(t, "shop.example", "GET", "/page", "X-Forwarded-Proto", "https", "X-Forwarded-For",
				"203.0.113.9"); a.body != row.want {
				t.Errorf("%q, want %q", a.body, row.want)
			}
		})
	}
	inner, o := newNamed(t, nobodyTrusted, func(c *Config) { c.TierSecretFile = secretFile(t, tierSecret) })
	for secret, want := range map[string]string{tierSecret: "shop.example https://shop.example",
		"a-secret-of-nobodys-0123": "edge.internal http://edge.internal"} {
		a := inner.as(t, "edge.internal", "GET", "/page", tier.Field, secret, "X-Forwarded-Proto", "https",
			"X-Forwarded-Host", "shop.example", "X-Forwarded-For", "203.0.113.9, 198.51.100.1")
		seen := o.take()
		if a.body != want || len(seen) == 0 {
			t.Fatalf("%s: %q, want %q", secret, a.body, want)
		}
		if got := seen[len(seen)-1].Header.Get("X-Forwarded-For"); got != map[bool]string{true: "203.0.113.9, 198.51.100.1, 0.0.0.0",
			false: "0.0.0.0"}[secret == tierSecret] {
			t.Errorf("%s: X-Forwarded-For %q", secret, got)
		}
	}
}

// A path purges that path for every scheme and Host, a whole URL for its Host alone.
func TestPurgeByHost(t *testing.T) {
	t.Parallel()
	type entry struct{ scheme, host, target string }
	a, as, b, other := entry{"http", "a.example", "/page?x"}, entry{"https", "a.example", "/page?x"},
		entry{"https", "b.example:8443", "/page?x"}, entry{"http", "a.example", "/other"}
	all := []entry{a, as, b, other}
	for _, row := range []struct {
		body string
		gone []entry
	}{
		{`{"urls":["/page?x"]}`, []entry{a, as, b}},
		{`{"urls":["/page"]}`, nil},
		{`{"urls":["https://a.example/page?x"]}`, []entry{a, as}},
		{`{"urls":["http://A.Example:80/page?x"]}`, []entry{a, as}},
		{`{"urls":["https://b.example:8443/page?x"]}`, []entry{b}},
		{`{"urls":["https://b.example/page?x","https://c.example/page?x"]}`, nil},
		{`{"prefixes":["/"]}`, all},
		{`{"prefixes":["/pa"]}`, []entry{a, as, b}},
		{`{"prefixes":["https://a.example/"]}`, []entry{a, as, other}},
		{`{"prefixes":["https://b.example:8443/page"]}`, []entry{b}},
		{`{"surrogate_keys":[" /page?x"]}`, nil},
	} {
		for _, soft := range []bool{false, true} {
			e, _ := newNamed(t)
			hit := func(n entry) bool {
				got := e.as(t, n.host, "GET", n.target, "X-Forwarded-Proto", n.scheme).Header.Get("Cache-Status")
				return strings.Contains(got, "hit;")
			}
			for _, n := range append(all, all...) {
				hit(n)
			}
			body, want := row.body, fmt.Sprintf("{\"purged\":%d}\n", len(row.gone))
			if soft {
				body = strings.TrimSuffix(body, "}") + `,"soft":true}`
			}
			code, got := e.purge(t, body)
			if refused := strings.Contains(body, `" /`); refused != (code == 400) || !refused && got != want {
				t.Errorf("%s: %d %s, want %s", body, code, got, want)
			}
			for _, n := range all {
				if gone := slices.Contains(row.gone, n); hit(n) == gone {
					t.Errorf("%s: %+v is purged: %v, want %v", body, n, !gone, gone)
				}
			}
		}
	}
}

// A successful POST invalidates the stored response of its own Host, whatever the scheme.
func TestInvalidationByHost(t *testing.T) {
	e, _ := newNamed(t)
	hit := func(scheme, host string) bool {
		return strings.Contains(e.as(t, host, "GET", "/page", "X-Forwarded-Proto", scheme).Header.Get("Cache-Status"), "hit;")
	}
	for range 2 {
		hit("http", "a.example")
		hit("https", "a.example")
		hit("http", "b.example")
	}
	e.as(t, "A.example", "POST", "/page")
	if hit("http", "a.example") || hit("https", "a.example") || !hit("http", "b.example") {
		t.Error("want the responses of a.example invalidated, and that of b.example not")
	}
}

// Icons have neither scheme nor Host in their key, and the origin never gets the client's.
func TestIconsHaveNoHost(t *testing.T) {
	o := &echoing{}
	e := newEdgeTest(t, o, func(c *Config) { c.ProxyAll, c.OriginHost = true, "client" })
	o.take()
	e.as(t, "a.example", "GET", "/mdi/home.svg")
	if a := e.as(t, "b.example", "GET", "/mdi/home.svg", "X-Forwarded-Proto",
		"https"); !strings.Contains(a.Header.Get("Cache-Status"), "hit;") {
		t.Errorf("the icon on another host: %s", a.Header.Get("Cache-Status"))
	}
	for _, r := range o.take() {
		if strings.HasSuffix(r.Host, ".example") || r.Header.Get("X-Forwarded-Host") != "" {
			t.Errorf("%s: the origin got Host %s, %v", r.URL, r.Host, r.Header)
		}
	}
}

func TestOriginAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"http://a.example": "http://a.example", "https://a.example:8443": "https://a.example:8443",
		"unix:/run/app.sock":        "unix:/run/app.sock",
		"unix:/run/a.sock,http://b": "unix:/run/a.sock,http://b",
		"unix:":                     "", "unix:app.sock": "", "unix://host/app.sock": "", "a.example": "",
		"ftp://a": "", "http://a/path": "",
	} {
		var o config.Origins
		if err := o.Set(address); (err != nil) != (want == "") || err == nil && o.String() != want {
			t.Errorf("%s: %v, %v", address, o.String(), err)
		}
	}
	for value, ok := range map[string]bool{"": true, "client": true, "origin": true, "shop.example": true,
		"shop.example:81": true, "a/b": false, "a b": false, "http://a": false} {
		c := Config{}
		c.OriginHost = value
		if err := c.Forwarding.Validate(); (err == nil) != ok {
			t.Errorf("--origin-host %q: %v", value, err)
		}
		c = Config{}
		c.OriginSNI = value
		if err := c.Forwarding.Validate(); (err == nil) != (ok && value != "shop.example:81") {
			t.Errorf("--origin-sni %q: %v", value, err)
		}
	}
}
