package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cespare/webtest"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore/storetest"
)

// library writes a small folder of SVGs; drawing is the one of demo/arrow.
func library(t *testing.T, drawing string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("demo/pack.json", `{"name":"Demo","license":{"title":"MIT License","spdx":"MIT","url":"https://example.org/license"},"author":{"name":"Somebody"}}`)
	write("demo/arrow.svg", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="`+drawing+`"/></svg>`)
	write("demo/dot.svg", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="6"/></svg>`)
	return dir
}

// get asks for path and returns status, header and body.
func get(t *testing.T, address, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// eventually asks again until the answer is as wanted: what the contract allows some seconds for.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !comes(is) {
		t.Fatalf("never: %s", what)
	}
}

// comes waits until it is so, and reports whether it ever was.
func comes(is func() bool) bool {
	for late := time.After(longest); ; {
		if is() {
			return true
		}
		select {
		case <-late:
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestRun: an empty store is not ready and says how to publish; a release appears by itself; another one takes its place, and
// drawings that did not change stay in the cache; SIGTERM ends it with status 0.
func TestRun(t *testing.T) {
	t.Parallel() // most of its time it waits
	home := t.TempDir()
	s := start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	public := s.address("public")
	for _, path := range []string{"/demo/arrow.svg", "/api/v1/search?q=arrow", "/api/v1/packs", "/api/v1/icon/demo/arrow"} {
		if resp, body := get(t, public, path); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "not ready") {
			t.Errorf("%s with nothing published: %d %s", path, resp.StatusCode, body)
		}
	}
	get(t, public, "/api/v1/openapi.json") // which needs no release
	if resp, body := get(t, s.address("admin"), "/readyz"); resp.StatusCode != 503 || !strings.Contains(body, "iconedge publish --store dir:"+home) {
		t.Errorf("ready with nothing published: %d %s", resp.StatusCode, body)
	}
	eventually(t, "it says how to publish", func() bool { return strings.Contains(s.log.String(), "iconedge publish") })
	must(t, home, "publish", library(t, "M0 0h8v8z"))
	s.ready()
	eventually(t, "the first release is shown", func() bool {
		resp, body := get(t, public, "/demo/arrow.svg")
		return resp.StatusCode == 200 && strings.Contains(body, "M0 0h8v8z")
	})
	if _, body := get(t, public, "/demo/dot.svg"); !strings.Contains(body, `fill="currentColor"`) {
		t.Errorf("a folder's drawing without a colour becomes monochrome: %s", body)
	}
	must(t, home, "publish", library(t, "M1 1h8v8z"))
	eventually(t, "the second release is shown", func() bool {
		_, body := get(t, public, "/demo/arrow.svg")
		return strings.Contains(body, "M1 1h8v8z")
	})
	if resp, _ := get(t, public, "/demo/dot.svg"); !strings.Contains(resp.Header.Get("Cache-Status"), "hit") {
		t.Errorf("a drawing that did not change was dropped: %s", resp.Header.Get("Cache-Status"))
	}
	must(t, home, "publish", "--rollback")
	eventually(t, "the first release is back", func() bool {
		_, body := get(t, public, "/demo/arrow.svg")
		return strings.Contains(body, "M0 0h8v8z")
	})
	if status := s.stop(); status != 0 {
		t.Errorf("after SIGTERM: status %d", status)
	}
}

// TestToken: valid at once, also for a running origin; a revocation counts.
func TestToken(t *testing.T) {
	home := t.TempDir()
	must(t, home, "publish", library(t, "M0 0h8v8z"))
	s := start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").ready()
	verify := func(token string) string {
		resp, err := http.Post("http://"+s.address("public")+"/api/v1/auth/verify", "application/json", strings.NewReader(`{"token":"`+token+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("Cache-Control %q", resp.Header.Get("Cache-Control"))
		}
		return strings.TrimSpace(string(body))
	}
	token := strings.TrimSuffix(must(t, home, "token", "issue", "--plan", "lifetime"), "\n")
	var answer icon.VerifyAnswer
	if err := json.Unmarshal([]byte(verify(token)), &answer); err != nil || !answer.Valid || answer.Plan != "lifetime" {
		t.Errorf("a token just issued: %+v, %v", answer, err)
	}
	unseen := strings.TrimSuffix(must(t, home, "token", "issue"), "\n")
	must(t, home, "token", "revoke", unseen)
	if got := verify(unseen); got != `{"valid":false}` {
		t.Errorf("a revoked token: %s", got)
	}
	list := must(t, home, "token", "list")
	if strings.Count(list, "\n") != 3 || strings.Contains(list, token) || strings.Contains(list, unseen) {
		t.Errorf("the list has two tokens and shows neither: %s", list)
	}
	if strings.Contains(s.log.String(), token) {
		t.Error("the token is in the log")
	}
}

// TestS3 runs publish, origin and edge as three processes over a real S3 server.
func TestS3(t *testing.T) {
	store := storetest.S3(t)
	home := t.TempDir()
	must(t, home, "publish", "--store", store, library(t, "M0 0h8v8z"))
	origin := start(t, home, "origin", "--store", store, "--mirror", filepath.Join(home, "mirror"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").ready()
	edge := start(t, home, "edge", "--origin", "http://"+origin.address("public"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").ready()
	if resp, body := get(t, edge.address("public"), "/demo/arrow.svg?color=%23f00"); resp.StatusCode != 200 || !strings.Contains(body, `#ff0000`) {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	// The origin tags a 404 as well, so that an edge drops it when the name is published.
	if resp, _ := get(t, origin.address("public"), "/demo/nope.svg"); resp.StatusCode != 404 || resp.Header.Get("Surrogate-Key") != "icon/demo/nope pack/demo" {
		t.Errorf("%d, Surrogate-Key %q", resp.StatusCode, resp.Header.Get("Surrogate-Key"))
	}
	// The origin goes away: what the edge has is served on, what it has not is a clean 502.
	if status := origin.stop(); status != 0 {
		t.Errorf("origin after SIGTERM: status %d", status)
	}
	if resp, _ := get(t, edge.address("public"), "/demo/arrow.svg"); resp.StatusCode != 200 {
		t.Errorf("a cached icon without an origin: %d", resp.StatusCode)
	}
	if resp, body := get(t, edge.address("public"), "/demo/dot.svg"); resp.StatusCode != 502 || resp.Header.Get("Retry-After") == "" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an icon that is not cached, without an origin: %d %v %s", resp.StatusCode, resp.Header, body)
	}
}

// TestScripts runs the origin's own scripts, on the origin's own test library, through a real edge.
func TestScripts(t *testing.T) {
	home := t.TempDir()
	must(t, home, "publish", filepath.Join("..", "..", "origin", "api", "testdata", "library"))
	s := start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--cdn-url", "http://cdn.test", "--limit", "search=off", "--limit", "icon=off", "--limit", "packs=off", "--limit", "verify=off").ready()
	webtest.TestHandler(t, "../../origin/api/testdata/*.txt", relay(s.address("public")))
}

// publishedPacks is the home folder in which packs of real icons were published, once for all tests: that takes a while.
var publishedPacks struct {
	once sync.Once
	home string // empty: they were not
}

// withPacks is a home folder of the test's own in which packs of real icons are published.
func withPacks(t *testing.T) (home string) {
	t.Helper()
	sources := []string{"publish"}
	for _, pack := range []string{"mdi", "lucide", "fluent-emoji-flat", "bi"} {
		sources = append(sources, npm(t, "@iconify-json/"+pack))
	}
	publishedPacks.once.Do(func() {
		dir, err := os.MkdirTemp("", "packs")
		if err != nil {
			t.Fatal(err)
		}
		must(t, dir, sources...)
		publishedPacks.home = dir
	})
	if publishedPacks.home == "" {
		t.Fatal("the packs could not be published")
	}
	home = t.TempDir()
	if err := os.CopyFS(home, os.DirFS(publishedPacks.home)); err != nil {
		t.Fatal(err)
	}
	return home
}

// TestRealPacks publishes packs of real icons and uses them: the calls of the README's first screen.
func TestRealPacks(t *testing.T) {
	home := withPacks(t)
	s := start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").ready()
	webtest.TestHandler(t, "testdata/*.txt", relay(s.address("public")))
}
