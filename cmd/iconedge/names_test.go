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

// TestNames: names that are not in the release reach no origin, however many are invented, through one edge and through two; one that
// is published shows all the same.
func TestNames(t *testing.T) {
	home := t.TempDir()
	store := "dir:" + filepath.Join(home, "library")
	harness.Must(t, home, "publish", "--store", store, harness.Library(t, "M0 0h8v8z"))
	origin := harness.Start(t, home, "origin", "--store", store, "--mirror", filepath.Join(home, "mirror"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	inner := harness.Start(t, home, "edge", "--origin", "http://"+origin.Address("public"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	outer := harness.Start(t, home, "edge", "--origin", "http://"+inner.Address("public"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	for _, s := range []*harness.Server{inner, outer} {
		harness.Eventually(t, "the names are here", func() bool { return strings.Contains(s.Log.String(), "msg=names") })
	}
	before := cdnCalls(t, origin)
	for i := range 2000 {
		s := []*harness.Server{inner, outer}[i%2]
		if resp, body := harness.Get(t, s.Address("public"), fmt.Sprintf("/demo/invented-%d.svg", i)); resp.StatusCode != 404 || !strings.Contains(body, icon.NoIcon) {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	if after := cdnCalls(t, origin); after != before {
		t.Errorf("2000 invented names reached the origin: %s calls before, %s after", before, after)
	}
	if resp, _ := harness.Get(t, outer.Address("public"), "/demo/ring.svg"); resp.StatusCode != 404 {
		t.Fatalf("before it is published: %d", resp.StatusCode)
	}
	dir := harness.Library(t, "M0 0h8v8z")
	ring := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/></svg>`
	if err := os.WriteFile(filepath.Join(dir, "demo", "ring.svg"), []byte(ring), 0o644); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, home, "publish", "--store", store, dir)
	published := time.Now()
	harness.Eventually(t, "the new icon is shown", func() bool {
		resp, _ := harness.Get(t, outer.Address("public"), "/demo/ring.svg")
		return resp.StatusCode == 200
	})
	t.Logf("a new icon shows behind two edges after %v", time.Since(published).Round(time.Millisecond))
}

// cdnCalls is what an origin counts of calls for drawings.
func cdnCalls(t *testing.T, origin *harness.Server) string {
	t.Helper()
	_, metrics := harness.Get(t, origin.Address("admin"), "/metrics")
	return strings.Join(regexp.MustCompile(`(?m)^iconedge_origin_requests_total\{.*route="cdn".*$`).FindAllString(metrics, -1), " ")
}
