package vhosts

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/admin"
)

// fresh returns the flags of an edge that a file of these tests needs.
func fresh() *flag.FlagSet {
	fs := flag.NewFlagSet("edge", flag.ContinueOnError)
	new(access.Rules).Flags(fs)
	return fs
}

func load(t *testing.T, text string) *flags.Loaded {
	t.Helper()
	l, err := flags.Parse("f", []byte(text), fresh)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return l
}

// one returns a file of one site, with more fields of it.
func one(more string) string {
	return "version: 1\nsites: [{name: a, hosts: [a.test], origins: {app: {urls: [\"http://127.0.0.1:1\"]}}" + more + "}]\n"
}

// newBuilder returns a builder whose clients connect to nothing.
func newBuilder(t *testing.T) *Builder {
	t.Helper()
	b := &Builder{Life: t.Context(), Upstream: upstream.Config{}, Drain: time.Minute, Log: slog.New(slog.DiscardHandler)}
	t.Cleanup(b.Close)
	return b
}

func anySet(*Set) error { return nil }

// The sites of flags answer for the hosts that the operator names, and else for any.
func TestSingle(t *testing.T) {
	for _, row := range []struct {
		hosts      []string
		host, port string
		ok, takes  bool
	}{
		{host: "any.test", port: "9", ok: true, takes: true},
		{hosts: []string{"a.test"}, host: "a.test", ok: true, takes: true},
		{hosts: []string{"a.test"}, host: "A.Test", ok: true},
		{hosts: []string{"a.test"}, host: "b.test"},
		{hosts: []string{"a.test"}, host: "a.test", port: "9000", ok: true},
		{hosts: []string{"a.test:9000"}, host: "a.test", port: "9000", ok: true, takes: true},
	} {
		set := Single(&Site{Icons: true}, row.hosts)
		if site, ok := set.Find(row.host); ok != row.ok || site != set.Only() || set.Icons != site {
			t.Errorf("%v: %s is served: %v, want %v", row.hosts, row.host, ok, row.ok)
		}
		if got := set.TakesPort(row.host, row.port); got != row.takes {
			t.Errorf("%v: %s takes port %q: %v, want %v", row.hosts, row.host, row.port, got, row.takes)
		}
	}
}

// A request gets the site of its host; without one it gets a site without any paths.
func TestFind(t *testing.T) {
	set, err := newBuilder(t).Build(load(t, `
version: 1
defaults: {grace: 1h, pass_field: [x-a]}
sites:
  - {name: icons, hosts: [icons.test], icons: true, origins: {icons: {urls: ["http://127.0.0.1:1"]},
	x: {urls: ["http://127.0.0.1:2"]}}, origin: x}
  - {name: shop, hosts: ["*.shop.test", "shop.test:9000"], grace: 1m, compress: false, negative_ttl: {"404": 1m},
	origins: {app: {urls: ["http://127.0.0.1:3"], host: origin, timeout: 5s}}}
`), anySet)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"icons.test": "icons", "shop.test": "shop", "x.shop.test": "shop", "other.test": ""} {
		if site, ok := set.Find(host); site.Name != want || ok != (want != "") {
			t.Errorf("%s: site %q, %v", host, site.Name, ok)
		}
	}
	if names := set.Names(); !slices.Equal(names, []string{"icons", "shop"}) || len(set.All()) != 2 || set.Only() != nil {
		t.Errorf("%v, %d sites", names, len(set.All()))
	}
	if set.TakesPort("shop.test", "9001") || !set.TakesPort("shop.test", "9000") {
		t.Error("the port of a host")
	}
	icons, shop := set.All()[0], set.All()[1]
	if set.Icons != icons || set.Primary() != icons.Origins["icons"].Client || icons.ProxyAll || !shop.ProxyAll {
		t.Errorf("icons: %+v; shop: %+v", icons, shop)
	}
	if o := shop.Origins["app"]; o.ClientHost || o.FirstByte != 5*time.Second || !icons.Origins["x"].ClientHost {
		t.Errorf("the origins are %+v, %+v", o, icons.Origins["x"])
	}
	if got := shop.Policy.Override; got != nil {
		t.Errorf("an override without a rule: %+v", got)
	}
}

// Two sites with icons are an error at the second.
func TestSecondIcons(t *testing.T) {
	text := "version: 1\nsites:\n"
	for _, name := range []string{"a", "b"} {
		text += fmt.Sprintf("  - {name: %s, hosts: [%s.test], icons: true, origins: {app: {urls: [\"http://127.0.0.1:1\"]}}}\n", name, name)
	}
	if _, err := newBuilder(t).Build(load(t, text), anySet); err == nil || !strings.HasPrefix(err.Error(), "f:4: sites[1].icons: ") {
		t.Errorf("%v", err)
	}
}

// A new set has the clients of unchanged origins and the counts of unchanged limits. One that check
// refuses changes nothing.
func TestBuildAgain(t *testing.T) {
	b := newBuilder(t)
	build := func(more string, check func(*Set) error) (*Site, error) {
		t.Helper()
		set, err := b.Build(load(t, one(more)), check)
		if err != nil {
			return nil, err
		}
		return set.All()[0], nil
	}
	first, err := build(`, limits: {client: 1/1h}`, anySet)
	if err != nil {
		t.Fatal(err)
	}
	client := netip.MustParseAddr("192.0.2.1")
	if now := time.Now(); !first.Client.Window.Allow(client, now).OK || first.Client.Window.Allow(client, now).OK {
		t.Error("a limit of one request")
	}
	refusal := errors.New("refused")
	if _, err := build(`, limits: {client: 2/1h}`, func(*Set) error { return refusal }); !errors.Is(err, refusal) {
		t.Error(err)
	}
	for _, row := range []struct {
		more         string
		same, counts bool
	}{
		{more: `, limits: {client: 1/1h}`, same: true, counts: true},
		{more: `, limits: {client: 1/1h}, rules: [{ttl: 1m}]`, same: true, counts: true},
		{more: `, limits: {client: 5/1h}`, same: true},
		{more: ``, same: true},
		{more: `, origin: app, limits: {client: 5/1h}`, same: true},
	} {
		next, err := build(row.more, anySet)
		if err != nil {
			t.Fatal(err)
		}
		if same := next.Origins["app"].Client == first.Origins["app"].Client; same != row.same {
			t.Errorf("%s: the same client: %v", row.more, same)
		}
		if counts := next.Client.Own == first.Client.Own; counts != row.counts {
			t.Errorf("%s: the same counts: %v", row.more, counts)
		}
	}
	other := strings.Replace(one(""), "127.0.0.1:1", "127.0.0.1:2", 1)
	set, err := b.Build(load(t, other), anySet)
	if err != nil || set.All()[0].Origins["app"].Client == first.Origins["app"].Client {
		t.Errorf("another URL has the same client, %v", err)
	}
}

// The counts of a client that no site uses any more stay, so that a counter never falls.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		b := newBuilder(t)
		b.Life = life
		build := func(url string) *upstream.Client {
			t.Helper()
			set, err := b.Build(load(t, strings.Replace(one(""), "http://127.0.0.1:1", url, 1)), anySet)
			if err != nil {
				t.Fatal(err)
			}
			return set.All()[0].Origins["app"].Client
		}
		// An address that can't be connected to: a socket that is not there.
		build("unix:/nonexistent/a").Do(t.Context(), upstream.Request{Method: "GET", Target: "/"})
		before := b.Stats()
		if before.Failures == 0 || len(before.Origins) != 1 {
			t.Errorf("%+v", before)
		}
		build("unix:/nonexistent/b")
		for range 2 {
			after := b.Stats()
			if after.Failures != before.Failures || len(after.Origins) != 1 || !strings.HasSuffix(after.Origins[0].URL, "/b") {
				t.Errorf("%+v, before %+v", after, before)
			}
			time.Sleep(2 * b.Drain) // the first client has left
		}
		end()
	})
}

// Edits remove, then set, then add.
func TestEdit(t *testing.T) {
	h := http.Header{"A": {"1"}, "B": {"1"}, "C": {"1"}}
	Edit(h, []*config.Edits{{Remove: config.Strings{"a"}, Set: map[string]string{"b": "2"},
		Add: map[string]string{"c": "2"}}, {Set: map[string]string{"a": "3"}}})
	if got := fmt.Sprint(h); got != "map[A:[3] B:[2] C:[1 2]]" {
		t.Error(got)
	}
}

// decide returns the decision of a site about a request.
func decide(t *testing.T, more, target string) (*Site, *rules.Decision) {
	t.Helper()
	set, err := newBuilder(t).Build(load(t, one(more)), anySet)
	if err != nil {
		t.Fatal(err)
	}
	site := set.All()[0]
	d := site.Rules.Decide(&rules.Request{Method: "GET", Host: "a.test", Target: target,
		Client: netip.MustParseAddr("192.0.2.1"), Header: http.Header{}})
	return site, &d
}

// Cookies that the rules strip come back from no origin.
func TestStripResponse(t *testing.T) {
	for _, row := range []struct{ rules, want string }{
		{``, "[a=1 b=2; Path=/]"}, {`, rules: [{strip_cookies: true}]`, "[]"},
		{`, rules: [{strip_cookies: [b]}]`, "[a=1]"}, {`, rules: [{cache: force}]`, "[]"},
	} {
		_, d := decide(t, row.rules, "/")
		h := http.Header{"Set-Cookie": {"a=1", "b=2; Path=/"}}
		if StripResponse(h, d); fmt.Sprint(h["Set-Cookie"]) != row.want {
			t.Errorf("%s: %v, want %s", row.rules, h["Set-Cookie"], row.want)
		}
	}
}

// What a rule says replaces what the response says; the grace of a site yields to the response.
func TestOverride(t *testing.T) {
	for _, row := range []struct {
		rules string
		want  func(ttl, grace, ifError time.Duration, force bool) bool
	}{
		{`, rules: [{ttl: 1m}]`, func(ttl, grace, ifError time.Duration, force bool) bool {
			return ttl == time.Minute && grace+ifError == 0 && !force
		}},
		{`, grace: 1h, rules: [{stale_if_error: 2h}]`,
			func(ttl, grace, ifError time.Duration, force bool) bool { return ifError == 2*time.Hour && grace == 0 }},
		{`, grace: 1h, rules: [{grace: 2h}]`, func(ttl, grace, ifError time.Duration, force bool) bool { return grace == 2*time.Hour }},
		{`, rules: [{cache: force}]`, func(ttl, grace, ifError time.Duration, force bool) bool { return force }},
	} {
		site, d := decide(t, row.rules, "/")
		o := Override(d, site, "/")
		if o == nil {
			t.Errorf("%s: nothing", row.rules)
			continue
		}
		var ttl, grace, ifError time.Duration
		if o.TTL != nil {
			ttl, _ = o.TTL(200)
		}
		if o.Grace != nil {
			grace = *o.Grace
		}
		if o.StaleIfError != nil {
			ifError = *o.StaleIfError
		}
		if !row.want(ttl, grace, ifError, o.Force) {
			t.Errorf("%s: ttl %v, grace %v, stale_if_error %v, force %v", row.rules, ttl, grace, ifError, o.Force)
		}
	}
	if site, d := decide(t, `, grace: 1h, rules: [{compress: false}]`, "/"); Override(d, site, "/") != nil {
		t.Error("a rule that says nothing about lifetimes overrides something")
	}
}

// A purge of an address finds a response under the target that the rules give it.
func TestCacheTargets(t *testing.T) {
	set, err := newBuilder(t).Build(load(t,
		one(`, rules: [{match: {path: "/old/*"}, rewrite: "/new/$1", key: {query: none}}, {match: {path: "/old/secret"},
			deny: [0.0.0.0/0, "::/0"]}]`)), anySet)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ host, target, want string }{
		{"a.test", "/page", "[/page] a"}, {"a.test", "/old/x?q=1", "[/old/x?q=1 /new/x] a"},
		{"", "/old/x", "[/old/x /new/x] "}, {"b.test", "/old/x", "[/old/x] "}, {"a.test", "/old/secret", "[/old/secret /new/secret] a"},
	} {
		if all, site := set.CacheTargets(row.host, row.target); fmt.Sprint(all, " ", site) != row.want {
			t.Errorf("%s %s: %v %q, want %s", row.host, row.target, all, site, row.want)
		}
	}
}

// newReloader returns a reloader that has started with a file, and reads text from then on.
func newReloader(t *testing.T, start string) (r *Reloader, text *string, used *int) {
	t.Helper()
	text, used = &start, new(int)
	r = &Reloader{Builder: Builder{Life: t.Context(), Drain: time.Minute, Log: slog.New(slog.DiscardHandler)},
		Record: func(bool) {}, Use: func(*Set) { *used++ }}
	r.Load = func() (*flags.Loaded, error) { return flags.Parse("f", []byte(*text), fresh) }
	t.Cleanup(r.Close)
	if _, _, err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r, text, used
}

// A file that can't be used changes nothing, and its findings are the answer of the endpoint.
func TestReload(t *testing.T) {
	start := one("")
	for _, row := range []struct {
		name, text string
		status     int
		want       string
	}{
		{"another rule", one(`, rules: [{ttl: 1m}]`), 200, `{"sha256":"`},
		{"a wrong file", one(`, nonsense: 1`), 422, "f:2: sites[0].nonsense: unknown field"},
		{"another listener", strings.Replace(start, "sites:", "listen: {http: \":1\"}\nsites:", 1), 422,
			"listen: can't change without a restart"},
		{"icons", one(", icons: true"), 422, "the site with icons and its origin can't change without a restart"},
	} {
		r, text, used := newReloader(t, start)
		before := r.current.SHA256()
		*text = row.text
		mux := http.NewServeMux()
		r.Handle(mux, &admin.Access{})
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/config/reload", nil))
		if w.Code != row.status || !strings.Contains(w.Body.String(), row.want) {
			t.Errorf("%s: %d %s, want %d %s", row.name, w.Code, w.Body, row.status, row.want)
		}
		if changed := r.current.SHA256() != before; changed != (row.status == 200) || (*used == 1) != changed {
			t.Errorf("%s: changed %v, used %d times", row.name, changed, *used)
		}
		w = httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/config", nil))
		if sum := r.current.SHA256(); w.Header().Get("Config-SHA256") != sum ||
			!strings.HasPrefix(w.Body.String(), "# sha256: "+sum+"\nversion: 1\n") {
			t.Errorf("%s: GET /config has %s", row.name, w.Body)
		}
	}
}

// TestUncheckedLimits: limits that nobody has checked are an error of the reload, and change
// neither sites nor certificates.
func TestUncheckedLimits(t *testing.T) {
	r, _, used := newReloader(t, one(`, icons: true, limits: {client: 9/1h}, rules: [{limit: {rate: 8/1h}}]`))
	read := r.Load
	r.Certify = func(flags.Certificates) error { t.Error("the certificates have changed"); return nil }
	for _, class := range []string{"search", "client", "forwarded", "team:cdn"} {
		r.Load = func() (*flags.Loaded, error) {
			l, err := read()
			if err == nil {
				l.File.Sites[0].Limits[class] = map[bool]config.Limit{true: "10/1m", false: "0/1m"}[class == "team:cdn"]
			}
			return l, err
		}
		if err := r.Reload(); err == nil || !strings.Contains(err.Error(), class) || *used > 0 {
			t.Errorf("%s: %v", class, err)
		}
	}
}

// A certificate that can't be used keeps the sites as they are.
func TestCertify(t *testing.T) {
	r, text, used := newReloader(t, one(""))
	refusal := errors.New("no such certificate")
	r.Certify = func(flags.Certificates) error { return refusal }
	*text = one(", compress: false")
	if err := r.Reload(); !errors.Is(err, refusal) || *used != 0 {
		t.Errorf("%v, used %d times", err, *used)
	}
	r.Certify = func(flags.Certificates) error { return nil }
	if err := r.Reload(); err != nil || *used != 1 {
		t.Errorf("%v, used %d times", err, *used)
	}
}

// A signal reloads the file until the edge ends.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, text, used := newReloader(t, one(""))
		ctx, stop := context.WithCancel(t.Context())
		told, ended := make(chan os.Signal), make(chan bool)
		go func() {
			r.Run(ctx, told)
			close(ended)
		}()
		*text = one(", compress: false")
		told <- os.Interrupt
		synctest.Wait()
		if *used != 1 {
			t.Errorf("used %d times", *used)
		}
		stop()
		<-ended
	})
}

// Connect succeeds as soon as an origin of any site accepts a connection.
func TestConnect(t *testing.T) {
	app := httptest.NewServer(http.NotFoundHandler())
	defer app.Close()
	file := func(second string) string {
		return `
version: 1
sites:
  - {name: a, hosts: [a.test], origins: {app: {urls: ["unix:/nonexistent/a"]}}}
  - {name: b, hosts: [b.test], origins: {app: {urls: ["` + second + `"]}}}
`
	}
	r, _, _ := newReloader(t, file(app.URL))
	if err := r.Connect(t.Context()); err != nil {
		t.Error(err)
	}
	r, _, _ = newReloader(t, file("unix:/nonexistent/b"))
	if err := r.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "/nonexistent/a") {
		t.Errorf("%v, want the error of the first site", err)
	}
}
