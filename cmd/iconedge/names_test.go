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
)

// TestNames: names that are not in the release reach no origin, however many are invented, through one edge and through two; one that
// is published shows all the same.
func TestNames(t *testing.T) {
	home := t.TempDir()
	store := "dir:" + filepath.Join(home, "library")
	must(t, home, "publish", "--store", store, library(t, "M0 0h8v8z"))
	origin := start(t, home, "origin", "--store", store, "--mirror", filepath.Join(home, "mirror"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").ready()
	inner := start(t, home, "edge", "--origin", "http://"+origin.address("public"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").ready()
	outer := start(t, home, "edge", "--origin", "http://"+inner.address("public"), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").ready()
	for _, s := range []*server{inner, outer} {
		eventually(t, "the names are here", func() bool { return strings.Contains(s.log.String(), `msg="name list ready"`) })
	}
	before := cdnCalls(t, origin)
	for i := range 2000 {
		s := []*server{inner, outer}[i%2]
		if resp, body := get(t, s.address("public"), fmt.Sprintf("/demo/invented-%d.svg", i)); resp.StatusCode != 404 || !strings.Contains(body, icon.NoIcon) {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	if after := cdnCalls(t, origin); after != before {
		t.Errorf("2000 invented names reached the origin: %s calls before, %s after", before, after)
	}
	if resp, _ := get(t, outer.address("public"), "/demo/ring.svg"); resp.StatusCode != 404 {
		t.Fatalf("before it is published: %d", resp.StatusCode)
	}
	dir := library(t, "M0 0h8v8z")
	ring := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="9"/></svg>`
	if err := os.WriteFile(filepath.Join(dir, "demo", "ring.svg"), []byte(ring), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, home, "publish", "--store", store, dir)
	published := time.Now()
	eventually(t, "the new icon is shown", func() bool {
		resp, _ := get(t, outer.address("public"), "/demo/ring.svg")
		return resp.StatusCode == 200
	})
	t.Logf("a new icon shows behind two edges after %v", time.Since(published).Round(time.Millisecond))
}

// cdnCalls is what an origin counts of calls for drawings.
func cdnCalls(t *testing.T, origin *server) string {
	t.Helper()
	_, metrics := get(t, origin.address("admin"), "/metrics")
	return strings.Join(regexp.MustCompile(`(?m)^iconedge_origin_requests_total\{.*route="cdn".*$`).FindAllString(metrics, -1), " ")
}
