package edge

import (
	"context"
	"crypto/tls"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/internal/logtest"
	"github.com/iconedge/iconedge/internal/tier"
)

// A node is an edge that runs as it does in production.
type node struct {
	public, admin string // addresses
	log           *logtest.Log
	reload        chan os.Signal
	stop          func()
}

// runNode runs an edge until the test ends.
func runNode(t *testing.T, change ...func(*Config)) *node {
	t.Helper()
	n := &node{log: new(logtest.Log), reload: make(chan os.Signal, 1)}
	var cfg Config
	cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
	patient(&cfg)
	cfg.Listener, cfg.AdminListener, cfg.Reload = listenTest(t), listenTest(t), n.reload
	cfg.Log = slog.New(slog.NewTextHandler(n.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, f := range change {
		f(&cfg)
	}
	n.public, n.admin = cfg.Listener.Addr().String(), cfg.AdminListener.Addr().String()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- Run(ctx, cfg) }()
	n.stop = sync.OnceFunc(func() {
		http.DefaultClient.CloseIdleConnections() // else the edge waits a second for a request
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(n.stop)
	return n
}

// before configures the groups of origins of an edge, and the secret that tiers share.
func before(t *testing.T, groups ...string) func(*Config) {
	return func(c *Config) {
		for _, group := range groups {
			must(t, c.Origins.Set(group))
		}
		c.TierSecretFile = secretFile(t, tierSecret)
	}
}

func (n *node) url() string { return "http://" + n.public }

// knows waits until an edge knows a release.
func (n *node) knows(t *testing.T, release string) *node {
	t.Helper()
	settled(t, "release "+release, func() bool {
		return strings.Contains(call(t, "http://"+n.admin+"/metrics").body, `iconedge_edge_release_info{release="`+release+`"} 1`)
	})
	return n
}

// call sends one request; fields are name, value, name, value.
func call(t *testing.T, url string, fields ...string) answer {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	must(t, err)
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{Response: &http.Response{}, body: err.Error()}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return answer{resp, string(b)}
}

func serveOrigin(t *testing.T, h http.Handler) string {
	o := httptest.NewServer(h)
	t.Cleanup(o.Close)
	return o.URL
}

// If a hundred clients request one uncached icon from three edges behind two shields, the origin
// receives one request. Each tier reports itself in Cache-Status, and the edges colour the icon.
func TestThreeEdgesTwoShields(t *testing.T) {
	t.Parallel()
	l := owntest.NewOrigin()
	origin := serveOrigin(t, l)
	var shields, edges []*node
	for range 2 {
		shields = append(shields, runNode(t, before(t, origin)))
	}
	for range 3 {
		edges = append(edges, runNode(t, before(t, shields[0].url()+","+shields[1].url(), origin),
			func(c *Config) { c.Limits = access.Limits{"icon": {N: 1000, Window: time.Minute}} }))
	}
	for _, n := range slices.Concat(shields, edges) {
		n.knows(t, owntest.ReleaseA)
	}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			a := call(t, edges[i%3].url()+"/mdi/home.svg")
			if a.StatusCode != 200 || a.body != owntest.SVG(owntest.ReleaseA) {
				t.Errorf("%d %.60s", a.StatusCode, a.body)
			}
			checkTiers(t, a, 2)
		})
	}
	all.Wait()
	if n := l.Count("/mdi/home.svg"); n != 1 {
		t.Errorf("the origin received %d requests for a hundred clients", n)
	}
	for _, n := range edges {
		a := call(t, n.url()+"/mdi/home.svg?color=f00")
		if a.StatusCode != 200 || !strings.Contains(a.body, "#ff0000") {
			t.Errorf("coloured: %d %.80s", a.StatusCode, a.body)
		}
		checkTiers(t, a, 2)
		if a := call(t, n.url()+"/-/release"); a.StatusCode != 403 {
			t.Errorf("a client may read the release: %d", a.StatusCode)
		}
	}
	if n := l.Count("/mdi/home.svg?color=%23ff0000"); n != 0 {
		t.Errorf("the origin received %d requests for colours", n)
	}
}

// checkTiers checks that n tiers report themselves in Cache-Status, each as a cache does.
func checkTiers(t *testing.T, a answer, n int) {
	t.Helper()
	members := strings.Split(strings.Join(a.Header["Cache-Status"], ", "), ", ")
	if len(members) != n || slices.ContainsFunc(members, func(m string) bool {
		return !strings.HasPrefix(m, "iconedge; hit") && !strings.HasPrefix(m, "iconedge; fwd=")
	}) {
		t.Errorf("Cache-Status of %d tiers: %q", n, a.Header["Cache-Status"])
	}
}

// If a shield is down, the edge uses the other one within the same request. If both are down, it
// uses the origin itself.
func TestShieldsAreGone(t *testing.T) {
	t.Parallel()
	l := owntest.NewOrigin()
	origin := serveOrigin(t, l)
	shields := []*node{runNode(t, before(t, origin)), runNode(t, before(t, origin))}
	n := runNode(t, before(t, shields[0].url()+","+shields[1].url(), origin))
	for _, n := range append(shields, n) {
		n.knows(t, owntest.ReleaseA)
	}
	for gone, target := range []string{"/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg"} {
		if gone > 0 {
			shields[gone-1].stop()
		}
		a := call(t, n.url()+target)
		if a.StatusCode != 200 || a.body != owntest.SVG(owntest.ReleaseA) || l.Count(target) != 1 {
			t.Errorf("%d shields are down: %d %.60s, %d requests to the origin", gone, a.StatusCode, a.body, l.Count(target))
		}
		checkTiers(t, a, map[bool]int{true: 1, false: 2}[gone == 2])
	}
}

// If a shield is up but has lost its own origin, the edge uses the next group of origins, once and
// only if nothing is stored: stale copies come first. When the shield recovers, the edge uses it
// again.
func TestShieldHasLostItsOrigin(t *testing.T) {
	t.Parallel()
	const key = "/api/v1/packs" // stale-while-revalidate ends long before stale-if-error
	l, lost := owntest.NewOrigin(), owntest.NewOrigin()
	shield := runNode(t, before(t, serveOrigin(t, lost)))
	shield.knows(t, owntest.ReleaseA)
	e := newEdgeTest(t, nil, before(t, shield.url(), serveOrigin(t, l)), func(c *Config) { must(t, c.Limits.Set("packs=off")) })
	must(t, e.library.Poll())
	lost.Set(func() { lost.Broken = true })
	if a := e.get(t, key); a.StatusCode != 200 || l.Count(key) != 1 {
		t.Errorf("cold: %d, %d requests to the origin", a.StatusCode, l.Count(key))
	}
	e.age(t, key, 12*time.Hour)
	a := e.get(t, key)
	if got := a.Header.Get("Cache-Status"); a.StatusCode != 200 || l.Count(key) != 1 || !strings.Contains(got, "origin failed") {
		t.Errorf("stale: %d, %d requests to the origin, Cache-Status: %s", a.StatusCode, l.Count(key), got)
	}
	e.age(t, key, 24*time.Hour) // stale-if-error is over too
	// The edge caches a failure for a second.
	settled(t, "the origin answers", func() bool { return e.get(t, key).StatusCode == 200 })
	if n := l.Count(key); n != 2 {
		t.Errorf("too old: %d requests to the origin", n)
	}
	l.Set(func() { l.Broken = true })
	if a := e.get(t, "/mdi/account.svg"); a.StatusCode != 502 || l.Count("/mdi/account.svg") != 1 {
		t.Errorf("all have failed: %d, %d requests to the origin", a.StatusCode, l.Count("/mdi/account.svg"))
	}
	lost.Set(func() { lost.Broken = false })
	settled(t, "the shield is used again", func() bool {
		return e.get(t, "/mdi/account.svg").StatusCode == 200
	})
	if n := l.Count("/mdi/account.svg"); n > 4 {
		t.Errorf("%d requests to the origin, want 4 at most", n)
	}
}

// A new release reaches every edge behind two tiers within five seconds, because each tier polls
// every WatchEvery. Icons that it did not change are not fetched again.
func TestReleaseThroughTwoTiers(t *testing.T) {
	t.Parallel()
	l := owntest.NewOrigin()
	origin := serveOrigin(t, l)
	shields := []*node{runNode(t, before(t, origin)), runNode(t, before(t, origin))}
	// An edge may learn of the release from one shield and fetch the icon from the other, which has
	// not learnt of it: the edge keeps that response for seconds, by a clock that goes on.
	goesOn := func(c *Config) { c.Clock = time.Now }
	var edges []*node
	for range 2 {
		edges = append(edges, runNode(t, before(t, shields[0].url()+","+shields[1].url()), goesOn).knows(t, owntest.ReleaseA))
	}
	for _, n := range edges {
		for _, target := range []string{"/mdi/home.svg", "/mdi/account.svg"} {
			if a := call(t, n.url()+target); a.body != owntest.SVG(owntest.ReleaseA) {
				t.Fatalf("%d %.60s", a.StatusCode, a.body)
			}
		}
	}
	l.Set(func() { l.Release, l.Changed = owntest.ReleaseB, []string{"icon/mdi/home"} })
	if 2*library.WatchEvery > 5*time.Second {
		t.Errorf("two tiers may take %v to ask", 2*library.WatchEvery)
	}
	for _, n := range edges {
		settled(t, "the edge serves the new icon",
			func() bool { return call(t, n.url()+"/mdi/home.svg").body == owntest.SVG(owntest.ReleaseB) })
		if a := call(t, n.url()+"/mdi/account.svg"); a.body != owntest.SVG(owntest.ReleaseA) {
			t.Errorf("an unchanged icon: %.60s", a.body)
		}
	}
	if n := l.Count("/mdi/account.svg"); n != 1 {
		t.Errorf("an unchanged icon was fetched %d times", n)
	}
}

// After purges at the shield and then at the edge, the edge serves a new response.
func TestPurgeOfTwoTiers(t *testing.T) {
	t.Parallel()
	l := owntest.NewOrigin()
	shield := runNode(t, before(t, serveOrigin(t, l))).knows(t, owntest.ReleaseA)
	n := runNode(t, before(t, shield.url())).knows(t, owntest.ReleaseA)
	for range 2 {
		call(t, n.url()+"/mdi/home.svg")
	}
	if got := l.Count("/mdi/home.svg"); got != 1 {
		t.Fatalf("the origin received %d requests", got)
	}
	for i, purged := range []*node{shield, n} {
		if _, got := purged.purge(t, `{"surrogate_keys":["icon/mdi/home"]}`); got != "{\"purged\":1}\n" {
			t.Errorf("tier %d: %s", i, got)
		}
		a := call(t, n.url()+"/mdi/home.svg")
		if got := l.Count("/mdi/home.svg"); a.StatusCode != 200 || got != 1+i {
			t.Errorf("after the purge of tier %d: %d, %d requests to the origin", i, a.StatusCode, got)
		}
	}
}

// An edge gives an icon the origin's entity tag also when it fetches the icon again from a shield
// whose response has the same head as before.
func TestEntityTagThroughTwoTiers(t *testing.T) {
	t.Parallel()
	origin := serveOrigin(t, owntest.NewOrigin())
	shield := runNode(t, before(t, origin)).knows(t, owntest.ReleaseA)
	n := runNode(t, before(t, shield.url())).knows(t, owntest.ReleaseA)
	want := call(t, origin+"/mdi/home.svg", "Accept-Encoding", "identity").Header.Get("Etag")
	for i := range 4 {
		if a := call(t, n.url()+"/mdi/home.svg", "Accept-Encoding", "identity"); a.Header.Get("Etag") != want || want == "" {
			t.Errorf("fetch %d: entity tag %s, want %s", i+1, a.Header.Get("Etag"), want)
		}
		for _, purged := range []*node{shield, n} {
			purged.purge(t, `{"urls":["/mdi/home.svg"]}`)
		}
	}
}

// Two edges that are each other's origin answer 508, and each logs the loop once.
func TestTwoEdgesInALoop(t *testing.T) {
	t.Parallel()
	ln := listenTest(t)
	first := runNode(t, before(t, "http://"+ln.Addr().String()), func(c *Config) { c.ProxyAll, c.Icons = true, vhosts.On })
	second := runNode(t, before(t, first.url()), func(c *Config) { c.Listener, c.ProxyAll, c.Icons = ln, true, vhosts.On })
	for range 3 {
		for _, n := range []*node{first, second} {
			if a := call(t, n.url()+"/round/and/round"); a.StatusCode != http.StatusLoopDetected {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
			if a := call(t, n.url()+"/mdi/home.svg"); a.StatusCode != http.StatusBadGateway {
				t.Errorf("an icon: %d %s", a.StatusCode, a.body)
			}
		}
	}
	for _, n := range []*node{first, second} {
		if got := strings.Count(n.log.String(), "some --origin leads back to this edge"); got != 1 {
			t.Errorf("logged %d times:\n%s", got, n.log.String())
		}
		resp, err := http.Post(n.url()+routes.VerifyPath, "application/json", strings.NewReader(`{"token":"x"}`))
		must(t, err)
		if resp.Body.Close(); resp.StatusCode != 502 {
			t.Errorf("verify: %d", resp.StatusCode)
		}
		if a := call(t, "http://"+n.admin+"/readyz"); a.StatusCode != 503 {
			t.Errorf("an edge without an origin is ready: %d", a.StatusCode)
		}
	}
}

// An edge starts without its origin, and is not ready until the origin answers.
func TestOriginComesLater(t *testing.T) {
	ln, err := net.Listen("tcp", "127.43.21.7:0") // no other test uses it
	must(t, err)
	address := ln.Addr().String()
	ln.Close()
	n := runNode(t, before(t, "http://"+address))
	if a := call(t, "http://"+n.admin+"/readyz"); a.StatusCode != 503 {
		t.Errorf("/readyz without an origin: %d", a.StatusCode)
	}
	if a := call(t, n.url()+"/mdi/home.svg"); a.StatusCode != 502 {
		t.Errorf("an icon without an origin: %d", a.StatusCode)
	}
	settled(t, "the log says that the edge waits", func() bool { return strings.Contains(n.log.String(), "waiting for the origin") })
	ln, err = net.Listen("tcp", address)
	must(t, err)
	o := httptest.NewUnstartedServer(owntest.NewOrigin())
	o.Listener.Close()
	o.Listener = ln
	o.Start()
	t.Cleanup(o.Close)
	settled(t, "ready", func() bool { return call(t, "http://"+n.admin+"/readyz").StatusCode == 200 })
}

// The secret can be replaced tier by tier, and no request is refused meanwhile.
func TestSecretIsReplaced(t *testing.T) {
	t.Parallel()
	const next = "the-next-secret-01234567"
	l := owntest.NewOrigin()
	files := []string{secretFile(t, tierSecret), secretFile(t, tierSecret)}
	shield := runNode(t, before(t, serveOrigin(t, l)), func(c *Config) { c.TierSecretFile = files[0] })
	n := runNode(t, before(t, shield.url()), func(c *Config) { c.TierSecretFile = files[1] }).knows(t, owntest.ReleaseA)
	write := func(i int, text string) {
		t.Helper()
		must(t, os.WriteFile(files[i], []byte(text), 0o600))
		tier := []*node{shield, n}[i]
		read := strings.Count(tier.log.String(), "file read again")
		tier.reload <- os.Interrupt // any signal will do
		settled(t, "the file is read again", func() bool { return strings.Count(tier.log.String(), "file read again") > read })
	}
	for _, step := range []func(){
		func() { write(0, next+"\n"+tierSecret) }, func() { write(1, next+"\n"+tierSecret) },
		func() { write(0, next) }, func() { write(1, next) },
	} {
		step()
		if a := call(t, n.url()+"/-/release", tier.Field,
			map[bool]string{true: tierSecret, false: next}[readFile(t, files[1]) == tierSecret]); a.StatusCode != 200 {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	}
	if a := call(t, shield.url()+"/-/release", tier.Field, tierSecret); a.StatusCode != 403 {
		t.Errorf("the old secret: %d", a.StatusCode)
	}
	for _, log := range []string{n.log.String(), shield.log.String()} {
		if strings.Contains(log, "level=WARN") || strings.Contains(log, tierSecret) || strings.Contains(log, next) {
			t.Errorf("log: %s", log)
		}
	}
}

func readFile(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// Tiers authenticate to each other by certificates, without a secret. If the shield does not trust
// an edge's certificate, the edge uses the next origin. An edge that does not trust the shield
// sends it no requests.
func TestTiersByCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, theirs := certstest.NewAuthority(t, dir, "ours"), certstest.NewAuthority(t, dir, "theirs")
	shieldCert, shieldKey := ours.Pair(t, dir, "shield", "127.0.0.1")
	l := owntest.NewOrigin()
	ln := listenTest(t)
	shield := runNode(t, func(c *Config) {
		must(t, c.Origins.Set(serveOrigin(t, l)))
		c.TLSListener, c.TLSCerts, c.TLSKeys, c.TLSClientCA = ln, []string{shieldCert}, []string{shieldKey}, ours.File
	}).knows(t, owntest.ReleaseA)
	address := "https://" + ln.Addr().String()
	for _, row := range []struct {
		name      string
		trusts    *certstest.Authority
		signed    *certstest.Authority // nil: it has no certificate
		proven    bool
		throughIt bool // the shield answers
	}{
		{name: "trusted both ways", trusts: ours, signed: ours, proven: true, throughIt: true},
		{name: "without a certificate", trusts: ours, throughIt: true},
		{name: "with a certificate of another authority", trusts: ours, signed: theirs},
		{name: "that trusts another authority", trusts: theirs, signed: ours},
	} {
		t.Run(row.name, func(t *testing.T) {
			straight := owntest.NewOrigin()
			cert, key := "", ""
			if row.signed != nil {
				cert, key = row.signed.Pair(t, t.TempDir(), "edge")
			}
			n := runNode(t, func(c *Config) {
				must(t, c.Origins.Set(address))
				must(t, c.Origins.Set(serveOrigin(t, straight)))
				c.OriginCA, c.OriginCert, c.OriginKey = row.trusts.File, cert, key
			}).knows(t, owntest.ReleaseA)
			a := call(t, n.url()+"/mdi/home.svg")
			if through := straight.Count("/mdi/home.svg") == 0; a.StatusCode != 200 || through != row.throughIt {
				t.Errorf("%d; through the shield: %v", a.StatusCode, through)
			}
			if refused := straight.Count("/-/release") > 0; refused == row.proven {
				t.Errorf("the shield refused its release: %v", refused)
			}
			n.stop()
		})
	}
	if a := call(t, "http://"+shield.admin+"/metrics"); !strings.Contains(a.body,
		"iconedge_edge_tier_requests_total ") || strings.Contains(a.body, "iconedge_edge_tier_requests_total 0\n") {
		t.Error("no requests of tiers were counted")
	}
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := browser.Get(address + "/mdi/home.svg")
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("a browser, which has no certificate: %d", resp.StatusCode)
	}
}

// Validate reports wrong settings of tiers before anything starts, with the name of the flag.
func TestTiersAreValidated(t *testing.T) {
	dir := t.TempDir()
	ca := certstest.NewAuthority(t, dir, "ca")
	cert, key := ca.Pair(t, dir, "edge")
	_, other := ca.Pair(t, dir, "other")
	broken := secretFile(t, "no certificate, and no secret")
	for _, row := range []struct {
		set   access.Tiers
		wrong string
	}{
		{access.Tiers{TierSecretFile: secretFile(t, tierSecret), OriginCA: ca.File, OriginCert: cert, OriginKey: key}, ""},
		{access.Tiers{TierSecretFile: secretFile(t, "short")}, "--tier-secret-file: "},
		{access.Tiers{TierSecretFile: broken}, "visible ASCII"},
		{access.Tiers{TierSecretFile: dir + "/none"}, "no such file"},
		{access.Tiers{OriginCA: broken}, "--origin-ca: "},
		{access.Tiers{OriginCert: cert}, "--origin-cert and --origin-key require each other"},
		{access.Tiers{OriginKey: key}, "--origin-cert and --origin-key require each other"},
		{access.Tiers{OriginCert: cert, OriginKey: other}, "private key does not match"},
		{access.Tiers{OriginCert: broken, OriginKey: key}, "--origin-cert: "},
		{access.Tiers{TLSClientCA: ca.File}, "--tls-client-ca requires --tls-listen"},
		{access.Tiers{TLSClientCA: broken}, "--tls-client-ca: "},
	} {
		c := Config{Tiers: row.set}
		must(t, c.Origins.Set("https://origin.test"))
		err := c.Validate()
		if (err == nil) != (row.wrong == "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
			t.Errorf("%+v: %v, want %q", row.set, err, row.wrong)
		}
	}
	c := Config{Tiers: access.Tiers{OriginCA: ca.File}}
	must(t, c.Origins.Set("http://origin.test"))
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "require an https --origin") {
		t.Errorf("--origin-ca for an origin without TLS: %v", err)
	}
}
