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

	"github.com/cespare/webtest"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore/storetest"
	"github.com/iconedge/iconedge/test/harness"
)

// TestRun: an empty store is not ready, and the responses say how to publish; a release appears
// without a restart; another one replaces it, and unchanged icons stay in the cache; SIGTERM ends
// the process with status 0.
func TestRun(t *testing.T) {
	t.Parallel() // it mostly waits
	home := t.TempDir()
	s := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	public := s.Address("public")
	for _, path := range []string{"/demo/arrow.svg", "/api/v1/search?q=arrow", "/api/v1/packs", "/api/v1/icon/demo/arrow"} {
		if resp, body := harness.Get(t, public, path); resp.StatusCode != 503 ||
			resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "not ready") {
			t.Errorf("%s with nothing published: %d %s", path, resp.StatusCode, body)
		}
	}
	harness.Get(t, public, "/api/v1/openapi.json") // it needs no release
	if resp, body := harness.Get(t, s.Address("admin"), "/readyz"); resp.StatusCode != 503 ||
		!strings.Contains(body, "iconedge publish --store dir:"+home) {
		t.Errorf("ready with nothing published: %d %s", resp.StatusCode, body)
	}
	harness.Eventually(t, "the log says how to publish", func() bool { return strings.Contains(s.Log.String(), "iconedge publish") })
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	s.Ready()
	harness.Eventually(t, "the first release is served", func() bool {
		resp, body := harness.Get(t, public, "/demo/arrow.svg")
		return resp.StatusCode == 200 && strings.Contains(body, "M0 0h8v8z")
	})
	if _, body := harness.Get(t, public, "/demo/dot.svg"); !strings.Contains(body, `fill="currentColor"`) {
		t.Errorf("an SVG of a folder without a colour is not monochrome: %s", body)
	}
	harness.Must(t, home, "publish", harness.Library(t, "M1 1h8v8z"))
	harness.Eventually(t, "the second release is served", func() bool {
		_, body := harness.Get(t, public, "/demo/arrow.svg")
		return strings.Contains(body, "M1 1h8v8z")
	})
	if resp, _ := harness.Get(t, public, "/demo/dot.svg"); !strings.Contains(resp.Header.Get("Cache-Status"), "hit") {
		t.Errorf("the edge dropped an unchanged icon: %s", resp.Header.Get("Cache-Status"))
	}
	harness.Must(t, home, "publish", "--rollback")
	harness.Eventually(t, "the first release is served again", func() bool {
		_, body := harness.Get(t, public, "/demo/arrow.svg")
		return strings.Contains(body, "M0 0h8v8z")
	})
	if status := s.Stop(); status != 0 {
		t.Errorf("after SIGTERM: status %d", status)
	}
}

// TestToken: a token is valid at once, also for a running origin, until it is revoked.
func TestToken(t *testing.T) {
	home := t.TempDir()
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	s := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	verify := func(token string) string {
		resp, err := http.Post("http://"+s.Address("public")+"/api/v1/auth/verify", "application/json",
			strings.NewReader(`{"token":"`+token+`"}`))
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
	token := strings.TrimSuffix(harness.Must(t, home, "token", "issue", "--plan", "lifetime"), "\n")
	var answer icon.VerifyAnswer
	if err := json.Unmarshal([]byte(verify(token)), &answer); err != nil || !answer.Valid || answer.Plan != "lifetime" {
		t.Errorf("a new token: %+v, %v", answer, err)
	}
	unseen := strings.TrimSuffix(harness.Must(t, home, "token", "issue"), "\n")
	harness.Must(t, home, "token", "revoke", unseen)
	if got := verify(unseen); got != `{"valid":false}` {
		t.Errorf("a revoked token: %s", got)
	}
	list := harness.Must(t, home, "token", "list")
	if strings.Count(list, "\n") != 3 || strings.Contains(list, token) || strings.Contains(list, unseen) {
		t.Errorf("want a list of two hashes and no token: %s", list)
	}
	if strings.Contains(s.Log.String(), token) {
		t.Error("the token is in the log")
	}
}

// TestS3 runs publish, origin and edge as three processes over a real S3 server.
func TestS3(t *testing.T) {
	store := storetest.S3(t)
	home := t.TempDir()
	harness.Must(t, home, "publish", "--store", store, harness.Library(t, "M0 0h8v8z"))
	origin := harness.Start(t, home, "origin", "--store", store, "--mirror", filepath.Join(home, "mirror"),
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	edge := harness.Start(t, home, "edge", "--origin", "http://"+origin.Address("public"), "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0").Ready()
	if resp, body := harness.Get(t, edge.Address("public"), "/demo/arrow.svg?color=%23f00"); resp.StatusCode != 200 ||
		!strings.Contains(body, `#ff0000`) {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	// The origin tags a 404 as well, so that an edge drops it when the name is published.
	if resp, _ := harness.Get(t, origin.Address("public"), "/demo/nope.svg"); resp.StatusCode != 404 ||
		resp.Header.Get("Surrogate-Key") != "icon/demo/nope pack/demo" {
		t.Errorf("%d, Surrogate-Key %q", resp.StatusCode, resp.Header.Get("Surrogate-Key"))
	}
	// While the origin is gone, the edge serves its cached icons, and answers 502 for the others.
	if status := origin.Stop(); status != 0 {
		t.Errorf("origin after SIGTERM: status %d", status)
	}
	if resp, _ := harness.Get(t, edge.Address("public"), "/demo/arrow.svg"); resp.StatusCode != 200 {
		t.Errorf("a cached icon without an origin: %d", resp.StatusCode)
	}
	if resp, body := harness.Get(t, edge.Address("public"), "/demo/dot.svg"); resp.StatusCode != 502 ||
		resp.Header.Get("Retry-After") == "" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an uncached icon without an origin: %d %v %s", resp.StatusCode, resp.Header, body)
	}
}

// TestScripts runs the origin's scripts, on the origin's test library, through a real edge.
func TestScripts(t *testing.T) {
	home := t.TempDir()
	harness.Must(t, home, "publish", filepath.Join("..", "..", "origin", "api", "testdata", "library"))
	s := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--cdn-url",
		"https://cdn.example.org", "--limit", "pages=off", "--limit", "search=off", "--limit", "icon=off", "--limit",
		"packs=off", "--limit", "verify=off").Ready()
	webtest.TestHandler(t, "../../origin/api/testdata/*.txt", relay(s.Address("public")))
}

// publishedPacks holds the home folder with packs of real icons, which are published once for all
// tests because that takes a while.
var publishedPacks struct {
	once sync.Once
	home string // empty: publishing failed
}

// withPacks returns a home folder of the test's own with packs of real icons.
func withPacks(t *testing.T) (home string) {
	t.Helper()
	sources := []string{"publish"}
	for _, pack := range []string{"mdi", "lucide", "fluent-emoji-flat", "bi"} {
		sources = append(sources, harness.NPM(t, "@iconify-json/"+pack))
	}
	publishedPacks.once.Do(func() {
		dir, err := os.MkdirTemp("", "packs")
		if err != nil {
			t.Fatal(err)
		}
		harness.Must(t, dir, sources...)
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

// TestRealPacks publishes packs of real icons, and sends the requests of the README's first screen.
func TestRealPacks(t *testing.T) {
	home := withPacks(t)
	s := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	webtest.TestHandler(t, "testdata/*.txt", relay(s.Address("public")))
}
