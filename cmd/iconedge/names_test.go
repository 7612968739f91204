package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/test/harness"
)

// TestNames: requests for names that the release does not have reach no origin, through one edge
// and through two. An icon that is published later is served nevertheless.
func TestNames(t *testing.T) {
	home := t.TempDir()
	store := "dir:" + filepath.Join(home, "library")
	harness.Must(t, home, "publish", "--store", store, harness.Library(t, "M0 0h8v8z"))
	origin := harness.Start(t, home, "origin", "--store", store, "--mirror", filepath.Join(home, "mirror"),
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	inner := harness.Start(t, home, "edge", "--origin", "http://"+origin.Address("public"), "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0").Ready()
	outer := harness.Start(t, home, "edge", "--origin", "http://"+inner.Address("public"), "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0").Ready()
	for _, s := range []*harness.Server{inner, outer} {
		harness.Eventually(t, "the edge has the list of names",
			func() bool { return strings.Contains(s.Log.String(), `msg="name list ready"`) })
	}
	before := cdnCalls(t, origin)
	for i := range 2000 {
		s := []*harness.Server{inner, outer}[i%2]
		if resp, body := harness.Get(t, s.Address("public"),
			fmt.Sprintf("/demo/invented-%d.svg", i)); resp.StatusCode != 404 || !strings.Contains(body, icon.NoIcon) {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	if after := cdnCalls(t, origin); after != before {
		t.Errorf("requests for 2000 unknown names reached the origin: %s calls before, %s after", before, after)
	}
	if resp, _ := harness.Get(t, outer.Address("public"), "/demo/ring.svg"); resp.StatusCode != 404 {
		t.Fatalf("before the icon is published: status %d", resp.StatusCode)
	}
	dir := harness.Library(t, "M0 0h8v8z")
	ring := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/></svg>`
	if err := os.WriteFile(filepath.Join(dir, "demo", "ring.svg"), []byte(ring), 0o644); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, home, "publish", "--store", store, dir)
	published := time.Now()
	harness.Eventually(t, "the new icon is served", func() bool {
		resp, _ := harness.Get(t, outer.Address("public"), "/demo/ring.svg")
		return resp.StatusCode == 200
	})
	t.Logf("two edges serve a new icon after %v", time.Since(published).Round(time.Millisecond))
}

// cdnCalls returns an origin's metrics of requests for icons.
func cdnCalls(t *testing.T, origin *harness.Server) string {
	t.Helper()
	_, metrics := harness.Get(t, origin.Address("admin"), "/metrics")
	return strings.Join(regexp.MustCompile(`(?m)^iconedge_origin_requests_total\{.*route="cdn".*$`).FindAllString(metrics, -1), " ")
}
