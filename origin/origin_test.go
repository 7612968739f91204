package origin

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/logtest"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/catalog/catalogtest"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/token"
)

var t0 = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A process is a running origin with its store.
type process struct {
	*testing.T
	*catalogtest.Publisher
	folder, mirror string
	public, admin  string // addresses
	stop           context.CancelFunc
	ended          chan error
	log            *logtest.Log
}

// prepare makes a store and the listeners; run starts the origin.
func prepare(t *testing.T) *process {
	p := &process{T: t, folder: t.TempDir(), mirror: t.TempDir(), log: new(logtest.Log), ended: make(chan error, 1)}
	p.Publisher = catalogtest.Dir(p.folder)
	return p
}

func (p *process) run(change ...func(*Config)) *process {
	p.Helper()
	cfg := Config{
		Store: "dir:" + p.folder, Mirror: p.mirror, Poll: 10 * time.Millisecond, Drain: time.Minute,
		Listener: listen(p.T), AdminListener: listen(p.T), Log: p.log.Logger(), Version: "test",
	}
	for _, c := range change {
		c(&cfg)
	}
	p.public, p.admin = cfg.Listener.Addr().String(), cfg.AdminListener.Addr().String()
	ctx, stop := context.WithCancel(p.Context())
	p.stop = stop
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.ended <- Run(ctx, cfg)
	}()
	p.Cleanup(func() { stop(); <-done })
	return p
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func library(path string) catalogtest.Library {
	l := catalogtest.Library{}
	l.Add("one", catalogtest.Square("home", path, 24))
	return l
}

func (p *process) publish(path string) *release.Manifest {
	p.Helper()
	m, err := p.Publish(p.Context(), library(path), t0)
	if err != nil {
		p.Fatal(err)
	}
	return m
}

// get sends one request. It returns the status 0 and no body if there is no response.
func (p *process) get(address, path string) (int, string) {
	resp, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(b)
}

// until repeats a request until the response has a status and contains a text.
func (p *process) until(address, path string, status int, text string) {
	p.Helper()
	var got int
	var body string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		if got, body = p.get(address, path); got == status && strings.Contains(body, text) {
			return
		}
		select {
		case err := <-p.ended:
			p.Fatalf("Run returned %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	p.Fatalf("GET %s = %d %s, want %d and %q", path, got, body, status, text)
}

// logs waits until the log contains all texts.
func (p *process) logs(texts ...string) {
	p.Helper()
	missing := func(text string) bool { return !strings.Contains(p.log.String(), text) }
	for late := time.Now().Add(2 * time.Minute); slices.ContainsFunc(texts, missing); <-time.After(5 * time.Millisecond) {
		if time.Now().After(late) {
			p.Fatalf("the log does not contain all of %q:\n%s", texts, p.log.String())
		}
	}
}

func TestEmptyThenPublished(t *testing.T) {
	p := prepare(t).run()
	p.until(p.admin, "/readyz", 503, "iconedge publish")
	p.until(p.admin, "/nothing", 404, `"status":404`)
	if status, _ := p.get(p.public, "/healthz"); status != 200 {
		t.Errorf("/healthz = %d while nothing is published", status)
	}
	if status, body := p.get(p.public, "/one/home.svg"); status != 503 || !strings.Contains(body, "iconedge publish") {
		t.Errorf("an icon while nothing is published: %d %s", status, body)
	}
	m := p.publish("M1 1h1z")
	p.until(p.admin, "/readyz", 200, "ok")
	p.until(p.public, "/one/home.svg", 200, "M1 1h1z")
	p.until(p.admin, "/metrics", 200, `iconedge_origin_release_info{release="`+m.ID+`"} 1`)
	p.until(p.admin, "/metrics", 200, `iconedge_origin_requests_total{route="cdn",status="503"} 1`)
	p.until(p.admin, "/metrics", 200, `iconedge_origin_build_info{go="go`)
}

// No request fails while new releases are published.
func TestSwitchWhileServing(t *testing.T) {
	p := prepare(t)
	p.publish("M0 0h1z")
	p.run()
	p.until(p.admin, "/readyz", 200, "ok")
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if status, body := p.get(p.public, "/one/home.svg"); status != 200 {
					t.Errorf("%d %s", status, body)
					return
				}
			}
		})
	}
	for _, path := range []string{"M1 1h1z", "M2 2h2z", "M3 3h3z", "M4 4h4z"} {
		p.publish(path)
		p.until(p.public, "/one/home.svg", 200, path)
	}
	stop()
	clients.Wait()
}

func TestDamagedAtStart(t *testing.T) {
	for _, damaged := range []string{"archive", "index"} {
		p := prepare(t)
		m := p.publish("M0 0h1z")
		key := release.IndexKey(m.Index.Hash)
		if damaged == "archive" {
			key = release.ArchiveKey(m.Packs[0].Archive.Hash)
		}
		cut(t, filepath.Join(p.folder, key))
		p.run()
		if err := <-p.ended; err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("with a damaged %s, Run returns %v, want an error that names %s", damaged, err, key)
		}
	}
}

func cut(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)/2], 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedAtSwitch(t *testing.T) {
	p := prepare(t)
	old := p.publish("M0 0h1z")
	p.run()
	p.until(p.admin, "/readyz", 200, "ok")
	bad, err := catalogtest.Dir(t.TempDir()).Publish(t.Context(), library("M9 9h9z"), t0)
	if err != nil {
		t.Fatal(err)
	}
	// The manifest is intact, but the archive is damaged.
	put := func(key string, data []byte) {
		t.Helper()
		if err := p.Store.Put(t.Context(), key, bytes.NewReader(data), int64(len(data))); err != nil {
			t.Fatal(err)
		}
	}
	key := release.ArchiveKey(bad.Packs[0].Archive.Hash)
	put(key, []byte("damaged"))
	put(release.ManifestKey(bad.ID), bad.Encode())
	if err := p.Switch(t.Context(), bad.ID, t0); err != nil {
		t.Fatal(err)
	}
	p.until(p.admin, "/metrics", 200, "iconedge_origin_store_followed 0")
	if status, body := p.get(p.public, "/one/home.svg"); status != 200 || !strings.Contains(body, "M0 0h1z") {
		t.Errorf("after a refused switch: %d %s", status, body)
	}
	p.logs(key, "release="+old.ID) // the damaged archive, and the release that stays current
	if status, body := p.get(p.admin, "/metrics"); status != 200 || strings.Contains(body, "iconedge_origin_release_refused_total 0\n") {
		t.Errorf("iconedge_origin_release_refused_total is 0 after a refused release")
	}
	if status, _ := p.get(p.admin, "/readyz"); status != 200 {
		t.Errorf("/readyz = %d, want 200, because the earlier release is still current", status)
	}
}

func TestStoreGone(t *testing.T) {
	p := prepare(t)
	p.publish("M0 0h1z")
	p.run()
	p.until(p.admin, "/readyz", 200, "ok")
	p.stop()
	if err := <-p.ended; err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(p.folder); err != nil {
		t.Fatal(err)
	}
	p.run()
	p.until(p.public, "/one/home.svg", 200, "M0 0h1z")
}

// A slowStore delays the look-up of tokens, so that requests that need one stay in flight.
type slowStore struct {
	objectstore.Reader
	opened  chan struct{} // receives a value for each look-up
	proceed chan struct{} // closed: look-ups continue
}

func (s *slowStore) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if strings.HasPrefix(key, "licenses/") {
		s.opened <- struct{}{}
		<-s.proceed
	}
	return s.Reader.Open(ctx, key)
}

// newToken issues a token in the store of the origin.
func (p *process) newToken() string {
	p.Helper()
	tok, err := token.Issue(p.Context(), p.Store, "lifetime", nil, t0)
	if err != nil {
		p.Fatal(err)
	}
	return tok
}

// A stopping origin answers in-flight requests, and accepts no new ones once it has ended.
func TestDrain(t *testing.T) {
	p := prepare(t)
	p.publish("M0 0h1z")
	body := `{"token":"` + p.newToken() + `"}`
	slow := &slowStore{p.Store, make(chan struct{}, 1), make(chan struct{})}
	p.run(func(c *Config) { c.Bucket = slow })
	p.until(p.admin, "/readyz", 200, "ok")
	status := make(chan int, 1)
	go func() {
		resp, err := http.Post("http://"+p.public+"/api/v1/auth/verify", "application/json", strings.NewReader(body))
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	<-slow.opened
	p.stop()
	p.until(p.admin, "/readyz", 503, "stopping")
	close(slow.proceed)
	if got := <-status; got != 200 {
		t.Errorf("the in-flight request got %d, want 200", got)
	}
	if err := <-p.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if got, _ := p.get(p.public, "/healthz"); got != 0 {
		t.Errorf("status %d after the end, want no response", got)
	}
}

// A request that does not end delays the end of the origin by at most Config.Drain.
func TestDrainEnds(t *testing.T) {
	p := prepare(t)
	p.publish("M0 0h1z")
	body := `{"token":"` + p.newToken() + `"}`
	slow := &slowStore{p.Store, make(chan struct{}, 1), make(chan struct{})}
	defer close(slow.proceed)
	p.run(func(c *Config) { c.Bucket, c.Drain = slow, 20*time.Millisecond })
	p.until(p.admin, "/readyz", 200, "ok")
	go http.Post("http://"+p.public+"/api/v1/auth/verify", "application/json", strings.NewReader(body))
	<-slow.opened
	p.stop()
	if err := <-p.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestListenFails(t *testing.T) {
	ln := listen(t)
	defer ln.Close()
	err := Run(t.Context(), Config{Listen: ln.Addr().String(), AdminListen: "none", Store: "dir:" + t.TempDir(), Mirror: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), ln.Addr().String()) {
		t.Errorf("Run on an address in use returns %v, want an error that names the address", err)
	}
}

func TestConfig(t *testing.T) {
	var defaults Config
	fs := flag.NewFlagSet("origin", flag.ContinueOnError)
	defaults.Flags(fs)
	if defaults.Listen != "127.0.0.1:8081" || defaults.AdminListen != "127.0.0.1:8083" || defaults.CDNURL != "http://127.0.0.1:8080" {
		t.Errorf("defaults: %+v", defaults)
	}
	for _, row := range []struct {
		name   string
		change func(*Config)
		want   string // part of the error; "": no error
	}{
		{"defaults with a store and a mirror", func(*Config) {}, ""},
		{"no store", func(c *Config) { c.Store = "" }, "--store"},
		{"a store of an unknown kind", func(c *Config) { c.Store = "ftp://x" }, "--store"},
		{"no mirror", func(c *Config) { c.Mirror = "" }, "--mirror"},
		{"no port", func(c *Config) { c.Listen = "127.0.0.1" }, "--listen"},
		{"no admin listener", func(c *Config) { c.AdminListen = "none" }, ""},
		{"an unknown port", func(c *Config) { c.AdminListen = "127.0.0.1:http8" }, "--admin-listen"},
		{"a slash at the end", func(c *Config) { c.CDNURL = "https://cdn.example.org/icons/" }, ""},
		{"a CDN without a scheme", func(c *Config) { c.CDNURL = "cdn.example.org" }, "--cdn-url"},
		{"two lines", func(c *Config) { c.CacheControl = "public\r\nX: y" }, "--cache-control"},
		{"polling without a pause", func(c *Config) { c.Poll = time.Nanosecond }, "--poll"},
		{"a negative drain", func(c *Config) { c.Drain = -1 }, "--drain"},
	} {
		c := defaults
		c.Store, c.Mirror = "dir:store", "mirror"
		row.change(&c)
		err := c.Validate()
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
}
