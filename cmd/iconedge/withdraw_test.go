package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// TestWithdraw: an icon that is withdrawn while an origin, a shield and an edge run is gone from
// all of them, also after the next publication, and comes back when the withdrawal ends.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	origin := harness.Start(t, home, "origin", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	edge := func(of *harness.Server) *harness.Server {
		return harness.Start(t, home, "edge", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--origin",
			"http://"+of.Address("public")).Ready()
	}
	shield := edge(origin)
	outer := edge(shield)
	wait := func(s *harness.Server, path string, status int) {
		t.Helper()
		harness.Eventually(t, path, func() bool {
			resp, _ := harness.Get(t, s.Address("public"), path)
			return resp.StatusCode == status
		})
	}
	all := []*harness.Server{origin, shield, outer}
	for _, s := range all {
		wait(s, "/demo/arrow.svg", 200)
		wait(s, "/demo/arrow.svg?color=f00", 200)
		wait(s, "/api/v1/search?q=arrow", 200)
	}
	out := harness.Must(t, home, "withdraw", "demo/arrow", "--reason", "request 17", "--by", "ann")
	if !strings.Contains(out, `withdrawn target=demo/arrow by="ann" reason="request 17"`) {
		t.Errorf("withdraw prints %q", out)
	}
	for _, s := range all {
		wait(s, "/demo/arrow.svg", 410)
		wait(s, "/demo/arrow.svg?color=f00", 410)
		if _, body := harness.Get(t, s.Address("public"), "/api/v1/search?q=arrow"); strings.Contains(body, `"name":"arrow"`) {
			t.Errorf("search still finds it: %s", body)
		}
	}
	harness.Must(t, home, "publish", harness.Library(t, "M1 1h8v8z"))
	wait(outer, "/demo/arrow.svg", 410)
	if list := harness.Must(t, home, "withdraw", "--list"); !strings.Contains(list, "demo/arrow") || !strings.Contains(list, "request 17") {
		t.Errorf("the list is %q", list)
	}
	harness.Must(t, home, "withdraw", "demo/arrow", "--undo")
	for _, s := range all {
		wait(s, "/demo/arrow.svg", 200)
	}
	for target, unknown := range map[string]bool{"demo": false, "demo/arrow": false, "demo/arow": true, "dema": true} {
		_, stderr, status := harness.Call(t, home, "withdraw", target)
		if status != 0 || strings.Contains(stderr, "no release in the store has "+target) != unknown {
			t.Errorf("withdraw %s: status %d, stderr %q", target, status, stderr)
		}
	}
	for _, wrong := range []string{"withdraw", "withdraw Demo/arrow", "withdraw demo arrow", "withdraw demo --list",
		"withdraw demo --store ftp://x"} {
		if stdout, stderr, status := harness.Call(t, home, strings.Fields(wrong)...); status != 2 || stdout != "" ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("iconedge %s: status %d, stdout %q, stderr %q", wrong, status, stdout, stderr)
		}
	}
}

// TestListWithDamage: the operator sees the releases to go back to although another one is damaged.
func TestListWithDamage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	store := filepath.Join(home, "store")
	harness.Must(t, home, "publish", "--store", "dir:"+store, harness.Library(t, "M0 0h8v8z"))
	id := regexp.MustCompile(`(?m)^\w{32}`)
	damaged := id.FindString(harness.Must(t, home, "publish", "--store", "dir:"+store, "--list"))
	harness.Must(t, home, "publish", "--store", "dir:"+store, harness.Library(t, "M1 1h8v8z"))
	if err := os.WriteFile(filepath.Join(store, "releases", damaged, "release.json"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := harness.Call(t, home, "publish", "--store", "dir:"+store, "--list")
	if status != 1 || len(id.FindAllString(stdout, -1)) != 1 || !strings.Contains(stdout, "current") || !strings.Contains(stderr, damaged) {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}
