package edge

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cespare/webtest"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// An obedientApp is the origin of another application. It responds as the fields of a request say,
// with a body that counts the requests of the method for the path. Thus a body shows whether the
// cache made it. X-Say-Spaces makes the body longer by so many spaces.
type obedientApp struct {
	mu    sync.Mutex
	count map[string]int
}

func (a *obedientApp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/die" {
		panic(http.ErrAbortHandler)
	}
	a.mu.Lock()
	key := r.Method + " " + r.URL.RequestURI()
	a.count[key]++
	body := fmt.Sprintf("%d %s", a.count[key], key)
	a.mu.Unlock()
	h, asked := w.Header(), r.Header
	spaces := 0
	fmt.Sscan(asked.Get("X-Say-Spaces"), &spaces)
	body += strings.Repeat(" ", spaces)
	h["Content-Type"] = []string{"text/plain"}
	for _, name := range []string{"X-Say", "X-Say-More"} {
		if name, value, ok := strings.Cut(asked.Get(name), ": "); ok {
			h.Set(name, value)
		}
	}
	for from, to := range map[string]string{"X-Say-Age": "Age", "X-Say-Tag": "ETag",
		"X-Say-Location": "Content-Location", "X-Say-Limit": "RateLimit", "X-Say-Control": "Cache-Control"} {
		if value := asked.Get(from); value != "" {
			h.Set(to, value)
		}
	}
	status := 200
	fmt.Sscan(asked.Get("X-Say-Status"), &status)
	if tag := asked.Get("If-None-Match"); tag != "" && tag == h.Get("ETag") {
		status = http.StatusNotModified
	}
	if tag := asked.Get("If-Match"); tag != "" && tag != h.Get("ETag") {
		status = http.StatusPreconditionFailed
	}
	if h.Set("X-Got-Match", asked.Get("If-Match")+asked.Get("If-None-Match")+asked.Get("If-Range")); h.Get("X-Got-Match") == "" {
		h.Del("X-Got-Match")
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead && status != 204 && status != 304 {
		io.WriteString(w, body)
	}
}

// siteConfig gives an edge the flags of a site, behind --proxy-all.
func siteConfig(t testing.TB, args ...string) func(*Config) {
	return func(c *Config) {
		fs := flag.NewFlagSet("", flag.PanicOnError)
		c.Settings = vhosts.Settings{}
		c.Settings.Flags(fs)
		fs.Var(&c.Limits, "limit", "")
		fs.Func("host", "", func(s string) error { c.Hosts = append(c.Hosts, s); return nil })
		must(t, fs.Parse(args))
		if c.ProxyAll = true; c.Icons == "" {
			c.Icons = vhosts.Off
		}
		if c.PurgeMethod {
			c.Admin.TokenFile = secretFile(t, adminToken)
		}
	}
}

const adminToken = "the-admin-token-of-this-test"

// A siteClient sends the requests of a script. Its fields X-Method and X-Host stand for the method
// and the host, for which scripts have no words.
type siteClient struct{ http.RoundTripper }

func (c siteClient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = r.Clone(r.Context())
	r.RequestURI, r.URL.Scheme, r.URL.Host, r.Host = "", "http", "edge.test", "edge.test"
	take := func(name string, set *string) {
		if v := r.Header.Get(name); v != "" {
			r.Header.Del(name)
			*set = v
		}
	}
	take("X-Method", &r.Method)
	take("X-Host", &r.Host)
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "{token}", adminToken, 1))
	if r.Header.Get("Authorization") == "" {
		r.Header.Del("Authorization")
	}
	resp, err := c.RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	defer resp.Body.Close()
	for name, lines := range resp.Header {
		w.Header()[name] = lines
	}
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}

// The scripts in testdata/sites name their flags in the first line. They pass over every version of
// HTTP.
func TestSiteScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/sites/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		first, _, _ := strings.Cut(string(text), "\n")
		flags, ok := strings.CutPrefix(first, "# flags:")
		if !ok {
			t.Fatalf("%s does not begin with its flags", file)
		}
		change := siteConfig(t, strings.Fields(flags)...)
		origin := func() http.Handler {
			if strings.Contains(flags, "--icons=on") {
				return besideIcons{owntest.NewOrigin(), &obedientApp{count: map[string]int{}}}
			}
			return &obedientApp{count: map[string]int{}}
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			webtest.TestHandler(t, file, siteClient{newEdgeTest(t, origin(), change)})
		})
		for _, way := range []string{"h2", "h3"} {
			t.Run(filepath.Base(file)+" by "+way, func(t *testing.T) {
				t.Parallel()
				webtest.TestHandler(t, file, siteClient{newSecured(t, origin(), change).by(t, way)})
			})
		}
	}
}

// besideIcons is our own origin on the edge's own paths, and an application on all others.
type besideIcons struct{ icons, app http.Handler }

func (b besideIcons) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/mdi/") || strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/-/") {
		b.icons.ServeHTTP(w, r)
		return
	}
	b.app.ServeHTTP(w, r)
}

// Without icons the edge asks the origin nothing of its own. It is ready once an origin accepts a
// connection.
func TestReadyWithoutIcons(t *testing.T) {
	var mu sync.Mutex
	var targets []string
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		targets = append(targets, r.URL.Path)
		w.WriteHeader(http.StatusInternalServerError) // its state is not the edge's
	})
	origin := httptest.NewUnstartedServer(app)
	defer origin.Close()
	origin.Listener.Close()
	closed, err := net.Listen("tcp", "127.43.21.8:0") // no other test uses it
	must(t, err)
	address := closed.Addr().String()
	closed.Close() // the kernel accepts connections for an open one
	var cfg Config
	cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
	patient(&cfg)
	must(t, cfg.Origins.Set("http://"+address))
	cfg.Log, cfg.ProxyAll = slog.New(slog.DiscardHandler), true
	cfg.Listener, cfg.AdminListener = listenTest(t), listenTest(t)
	admin := "http://" + cfg.AdminListener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, cfg) }()
	if code := statusOf(t, admin+"/readyz"); code != 503 {
		t.Errorf("/readyz is %d before an origin accepts connections, want 503", code)
	}
	origin.Listener, err = net.Listen("tcp", address)
	must(t, err)
	origin.Start()
	settled(t, "it is ready", func() bool { return statusOf(t, admin+"/readyz") == 200 })
	if code := statusOf(t, "http://"+cfg.Listener.Addr().String()+"/-/release"); code != 500 {
		t.Errorf("/-/release is %d, want the origin's 500", code)
	}
	mu.Lock()
	if fmt.Sprint(targets) != "[/-/release]" {
		t.Errorf("the origin got requests for %q, want only the client's", targets)
	}
	mu.Unlock()
	if code := statusOf(t, admin+"/healthz"); code != 200 {
		t.Errorf("/healthz on the admin listener is %d", code)
	}
	stop()
	must(t, <-done)
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	must(t, err)
	resp.Body.Close()
	return resp.StatusCode
}

// Without icons a release on disk, or one that another edge announces, means nothing: the origin
// may be any software, so it never gets the secret between tiers.
func TestNoReleaseWithoutIcons(t *testing.T) {
	asked := 0
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++ }), siteConfig(t))
	e.library.Progress.SetPosition("1-0")
	if err := e.library.Poll(); err == nil || asked != 0 || e.library.Known() != "" || e.library.MayGetSecret(true) {
		t.Errorf("Poll = %v after %d requests; release %q", err, asked, e.library.Known())
	}
}

// OPTIONS * concerns the server, so the origin answers it.
func TestOptionsOfTheServer(t *testing.T) {
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", r.Method+" "+r.RequestURI)
	})
	origin := httptest.NewUnstartedServer(app)
	origin.Config.DisableGeneralOptionsHandler = true
	origin.Start()
	defer origin.Close()
	e := newEdgeTest(t, nil, siteConfig(t), func(c *Config) { must(t, c.Origins.Set(origin.URL)) })
	conn, err := e.dialRaw()
	must(t, err)
	defer conn.Close()
	io.WriteString(conn, "OPTIONS * HTTP/1.1\r\nHost: edge.test\r\nConnection: close\r\n\r\n")
	text, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(text), "HTTP/1.1 200") || !strings.Contains(string(text), "Allow: OPTIONS *\r\n") ||
		strings.Contains(string(text), "Access-Control") {
		t.Errorf("%s", text)
	}
	if (upstream.Request{Method: "GET", Target: "*"}).Valid() {
		t.Error("GET * is sent to the origin")
	}
}

// Users with the cookie never share a response, nor does anybody get theirs, if all arrive at once.
func TestBypassCookieAtOnce(t *testing.T) {
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=600")
		user := "nobody"
		if c, err := r.Cookie("session"); err == nil {
			user = c.Value
		}
		io.WriteString(w, user)
	}), siteConfig(t, "--bypass-cookie=session"))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			user := fmt.Sprint("user", i)
			if a := e.get(t, "/page", "Cookie", "session="+user); a.body != user {
				t.Errorf("%s got the page of %s", user, a.body)
			}
		})
		wg.Go(func() {
			if a := e.get(t, "/page"); a.body != "nobody" {
				t.Errorf("a client without the cookie got the page of %s", a.body)
			}
		})
	}
	wg.Wait()
}

// Clients whose targets differ in ignored parameters alone share one fetch.
func TestIgnoredQueryAtOnce(t *testing.T) {
	var mu sync.Mutex
	var targets []string
	asked, open := make(chan struct{}, 30), make(chan struct{})
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		targets = append(targets, r.URL.RequestURI())
		mu.Unlock()
		asked <- struct{}{}
		<-open
		w.Header().Set("Cache-Control", "max-age=600")
		io.WriteString(w, "page")
	}), siteConfig(t, "--ignore-query=utm_*"))
	var wg sync.WaitGroup
	wg.Go(func() { e.get(t, "/page?utm_source=first") })
	<-asked
	for i := range 20 {
		wg.Go(func() {
			if a := e.get(t, fmt.Sprint("/page?utm_source=", i)); a.body != "page" {
				t.Errorf("body %q", a.body)
			}
		})
	}
	close(open)
	wg.Wait()
	if fmt.Sprint(targets) != "[/page?utm_source=first]" {
		t.Errorf("the origin got %q, want the first client's target alone", targets)
	}
}

// POST /purge and PURGE find a response by any target that has its key.
func TestPurgeIgnoresTheSameParameters(t *testing.T) {
	e := newEdgeTest(t, &obedientApp{count: map[string]int{}}, siteConfig(t, "--ignore-query=utm_*"))
	e.get(t, "/page?a=1&utm_source=x", "X-Say", "Cache-Control: max-age=60")
	if code, body := e.purge(t, `{"urls":["/page?utm_source=y&a=1"]}`); code != 200 || body != "{\"purged\":1}\n" {
		t.Errorf("a purge by another spelling: %d %s", code, body)
	}
}
