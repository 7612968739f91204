package edge

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cespare/webtest"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/purge"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/valyala/fasthttp/fasthttputil"
)

const (
	releaseA = "0123456789abcdef0123456789abcdef"
	releaseB = "fedcba9876543210fedcba9876543210"
	iconLife = "public, max-age=86400, stale-while-revalidate=604800, stale-if-error=604800"
	listLife = "public, max-age=300, stale-while-revalidate=3600, stale-if-error=86400"
)

// An edgeTest is an edge as Run makes it, behind connections in memory, before an origin of the test's own. It does not watch the
// release by itself.
type edgeTest struct {
	*handler
	cfg     Config
	purges  *purge.Purger
	peers   *purge.Peers
	follows *purge.Follower
	ln      *fasthttputil.InmemoryListener
	via     http.RoundTripper // instead of ln; nil: through that
	of      testing.TB

	plainly bool // via is without TLS
}

func newEdgeTest(t testing.TB, origin http.Handler, change ...func(*Config)) *edgeTest {
	t.Helper()
	o := httptest.NewServer(origin)
	t.Cleanup(o.Close)
	var cfg Config
	cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
	patient(&cfg)
	cfg.Log = slog.New(slog.DiscardHandler)
	cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")} // connections in memory: X-Forwarded-For is the client
	for _, f := range change {
		f(&cfg)
	}
	if len(cfg.Origins) == 0 {
		cfg.Origins.Set(o.URL)
	}
	cfg = cfg.filled()
	store, err := cache.New(cache.Options{MaxBytes: cfg.CacheBytes})
	if err != nil {
		t.Fatal(err)
	}
	life, end := context.WithCancel(context.Background())
	tiers, err := cfg.Tiers.Open(time.Now())
	must(t, err)
	up := upstream.New(upstream.Config{Origins: cfg.Origins, FirstByte: cfg.OriginTimeout, Secret: tiers.Secrets.Sent, TLS: tiers.ToOrigins})
	m := observe.NewMetrics("test")
	lists, err := access.OpenLists(cfg.AllowFile, cfg.DenyFile, cfg.Log, m)
	must(t, err)
	fl, err := openFleet(cfg, m)
	must(t, err)
	peers := purge.NewPeers(fl, cfg.Log)
	h := newHandler(life, cfg, store, up, m, lists, windows(fl), peers)
	purges := purge.New(store, h.library.Negative)
	follows := peers.Follow(purges, h.library, false)
	t.Cleanup(peers.Close)
	h.tiers = tiers
	h.reports, err = cfg.Reporting.Open(nil, "test", cfg.Log, h.clients.OfEligible)
	must(t, err)
	e := &edgeTest{handler: h, purges: purges, peers: peers, follows: follows, cfg: cfg, ln: fasthttputil.NewInmemoryListener(), of: t}
	s := newServer(h, cfg.Log)
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(e.ln) }()
	t.Cleanup(func() {
		e.ln.Close()
		<-done // else shut finds a listener open, and looks again only after 100 ms
		shut(s)
		end()
		h.reports.Close()
		up.Close()
		store.Close()
	})
	return e
}

// patient gives everybody more time than any machine needs: what runs into a deadline all the same was kept waiting by the edge.
func patient(c *Config) {
	c.OriginTimeout, c.Drain = time.Minute, 2*time.Minute
	c.IdleTimeout, c.RequestTimeout, c.AnswerTimeout = 5*time.Minute, 5*time.Minute, 5*time.Minute
}

// RoundTrip sends a request through the edge. Whatever is answered must be described.
func (e *edgeTest) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.send(r)
	if err == nil {
		e.describes(e.of, r.Method, pathOfURL(r.URL), resp.StatusCode)
	}
	return resp, err
}

func (e *edgeTest) send(r *http.Request) (*http.Response, error) {
	if e.via != nil {
		r = r.Clone(r.Context())
		if r.URL.Scheme = "https"; e.plainly {
			r.URL.Scheme = "http"
		}
		return e.via.RoundTrip(r)
	}
	rt := &http.Transport{DisableCompression: true, DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return e.ln.Dial() }}
	return rt.RoundTrip(r)
}

// ServeHTTP relays a request to the edge and copies its answer.
func (e *edgeTest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", "edge.test"
	resp, err := e.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), 599)
		return
	}
	defer resp.Body.Close()
	for name, lines := range resp.Header {
		w.Header()[name] = lines
	}
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}

type answer struct {
	*http.Response
	body string
}

// do asks the edge; fields are name, value, name, value.
func (e *edgeTest) do(t testing.TB, method, target string, fields ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, "http://edge.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	resp, err := e.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp, string(b)}
}

func (e *edgeTest) get(t testing.TB, target string, fields ...string) answer {
	t.Helper()
	return e.do(t, http.MethodGet, target, fields...)
}

// An ourOrigin is an origin of ours, as far as an edge can see: two drawings, a search that tells what it was asked.
type ourOrigin struct {
	mu      sync.Mutex
	release string
	changed []string       // since the other release
	asked   map[string]int // by target
	hold    func(target string)
	broken  bool
}

func newOurOrigin() *ourOrigin { return &ourOrigin{release: releaseA, asked: map[string]int{}} }

func (l *ourOrigin) set(f func()) { l.mu.Lock(); defer l.mu.Unlock(); f() }

func (l *ourOrigin) count(target string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[target]
}

var path = strings.Repeat(`<path fill="currentColor" d="M10 20v-6h4v6h5v-8h3L12 3L2 12h3v8z"/>`, 4)

func drawn(release string) string {
	return `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><!--` + release[:4] + "-->" + path + "</svg>"
}

func (l *ourOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.URL.RequestURI()
	l.mu.Lock()
	l.asked[target]++
	release, broken, hold := l.release, l.broken, l.hold
	l.mu.Unlock()
	if hold != nil {
		hold(target)
	}
	h := w.Header()
	h.Set(icon.FieldRelease, release)
	h.Set("Server", "secret/1.0")
	h.Set("Set-Cookie", "secret=1")
	if broken || strings.HasPrefix(target, "/broken/") {
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, "secret: stack trace")
		return
	}
	switch path, _, _ := strings.Cut(target, "?"); path {
	case "/mdi/home.svg", "/mdi/account.svg", "/fc/apple.svg":
		name := strings.TrimSuffix(path[1:], ".svg")
		pack, _, _ := strings.Cut(name, "/")
		etag := `"` + name[len(pack)+1:] + release[:4] + `"`
		h.Set("Cache-Control", iconLife)
		h.Set("ETag", etag)
		h.Set("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT")
		h.Set("Surrogate-Key", "icon/"+name+" pack/"+pack+" release/"+release)
		h.Set("Link", `<https://licences.test/mit>; rel="license"`)
		h.Set(icon.FieldMonochrome, map[bool]string{true: "?1", false: "?0"}[pack == "mdi"])
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", "image/svg+xml")
		io.WriteString(w, drawn(release))
	case "/api/v1/icon/mdi/home":
		h.Set("Cache-Control", iconLife)
		h.Set("ETag", `"json"`)
		h.Set(icon.FieldMonochrome, "?1")
		h.Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(icon.Answer{Pack: "mdi", Name: "home", SVG: drawn(release), License: "MIT"})
	case "/api/v1/search", "/api/v1/suggest", "/api/v1/packs", "/api/v1/packs/mdi", "/api/v1/openapi.json":
		h.Set("Cache-Control", listLife)
		h.Set("Surrogate-Key", icon.LibraryKey)
		h.Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"asked":%q}`, target)
	case "/api/v1/auth/verify":
		body, _ := io.ReadAll(r.Body)
		h.Set("Cache-Control", "public, max-age=60")
		h.Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"valid":%v}`, strings.Contains(string(body), "good"))
	case "/-/release":
		l.tell(w, r.URL.Query().Get("since"), release)
	case "/other/dot.svg": // as an origin that is not ours: it colours by itself
		h.Del(icon.FieldRelease)
		h.Set("Cache-Control", "max-age=60")
		h.Set("Content-Type", "image/svg+xml")
		fmt.Fprintf(w, "<svg>%s</svg>", r.URL.Query().Get("color"))
	case "/other/page.svg":
		h.Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<h1>secret</h1>")
	case "/other/private.svg":
		h.Set("Cache-Control", "private")
		io.WriteString(w, "mine")
	default:
		h.Set("Cache-Control", "public, max-age=5")
		h.Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type":"about:blank","title":"Not Found","status":404,"detail":"no such icon","suggestions":["home"]}`)
	}
}

func (l *ourOrigin) tell(w http.ResponseWriter, since, release string) {
	a := icon.ReleaseAnswer{Release: release, All: true, Changed: []string{}}
	if since != "" {
		a.Since, a.All, a.Changed = since, false, l.changed
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(a)
}

// The scripts hold over every protocol, and calls are counted by it.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			e := newEdgeTest(t, newOurOrigin())
			if err := e.library.Poll(); err != nil {
				t.Fatal(err)
			}
			webtest.TestHandler(t, file, e)
		})
		for way, of := range wayOf {
			t.Run(filepath.Base(file)+" by "+way, func(t *testing.T) {
				t.Parallel()
				s := newSecured(t, newOurOrigin(), of.changes()...).by(t, way)
				webtest.TestHandler(t, file, s)
				s.onlyBy(t, of.protocol)
			})
		}
	}
}
