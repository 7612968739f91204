package api

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/withdrawal"
)

// TestWithdrawn: a withdrawn icon is a 410 that no cache stores, on each of its addresses and for
// each condition, and is absent from lists and from search.
func TestWithdrawn(t *testing.T) {
	w := published(t)
	release := w.publish(t0)
	tag := w.do("GET", "/mdi/home.svg", "").Header.Get("ETag")
	if got := body(t, w.do("GET", "/api/v1/search?q=home", "")); !strings.Contains(got, `"name":"home"`) {
		t.Fatalf("search before: %s", got)
	}
	if err := withdrawal.Withdraw(t.Context(), w.Store, "mdi/home", "secret reason", "ann", t0); err != nil {
		t.Fatal(err)
	}
	if err := w.Catalog.Start(t.Context()); err != nil { // as its watch does
		t.Fatal(err)
	}
	for _, path := range []string{"/mdi/home.svg", "/mdi/home.svg?color=f00", "/mdi/home.svg?release=" + release,
		"/api/v1/icon/mdi/home", "/api/v1/icon/mdi/home?format=svg"} {
		for _, fields := range [][]string{nil, {"If-None-Match", tag}, {"Range", "bytes=0-9"}} {
			resp := w.do("GET", path, "", fields...)
			if got := body(t, resp); resp.StatusCode != 410 || resp.Header.Get("Cache-Control") != "no-store" ||
				resp.Header.Get("Content-Type") != problem.ContentType ||
				resp.Header.Get("Access-Control-Allow-Origin") != "*" || strings.Contains(got, "secret") || resp.Header.Get("ETag") != "" {
				t.Errorf("GET %s with %v: %d %v %s", path, fields, resp.StatusCode, resp.Header, got)
			}
		}
	}
	var found icon.SearchAnswer
	w.decode("/api/v1/search?q=home&limit=50", &found)
	for _, r := range found.Results {
		if r.Pack == "mdi" && r.Name == "home" || slices.ContainsFunc(r.Also,
			func(a icon.Also) bool { return a.Pack == "mdi" && a.Name == "home" }) {
			t.Errorf("search finds the withdrawn icon: %+v", r)
		}
	}
	var pack icon.PackAnswer
	w.decode("/api/v1/packs/mdi", &pack)
	if slices.ContainsFunc(pack.Icons, func(i icon.PackIcon) bool { return i.Name == "home" }) || pack.Count != len(pack.Icons) {
		t.Errorf("pack mdi lists %d icons and counts %d", len(pack.Icons), pack.Count)
	}
	for alias, of := range pack.Aliases {
		if of == "home" {
			t.Errorf("the alias %s is still listed", alias)
		}
		if resp := w.do("GET", "/mdi/"+alias+".svg", ""); resp.StatusCode != 200 {
			t.Errorf("the alias %s of %s: %d", alias, of, resp.StatusCode)
		}
	}
	if got := body(t, w.do("GET", "/mdi/hom.svg", "")); strings.Contains(got, `"home"`) {
		t.Errorf("a 404 suggests the withdrawn icon: %s", got)
	}
	var told icon.ReleaseAnswer
	w.decode("/-/release", &told)
	if told.Release != release || !strings.HasPrefix(told.State, release+"-") || !slices.Contains(told.Withdrawn, "mdi/home") {
		t.Errorf("the release: %+v", told)
	}

	if err := withdrawal.Withdraw(t.Context(), w.Store, "mdi", "", "ann", t0); err != nil {
		t.Fatal(err)
	}
	if err := w.Catalog.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/api/v1/packs/mdi": 410, "/mdi/account.svg": 410, "/mdi/never.svg": 410,
		"/api/v1/search?q=home&pack=mdi": 404, "/api/v1/packs": 200} {
		if resp := w.do("GET", path, ""); resp.StatusCode != want || want == 200 && strings.Contains(body(t, resp), `"pack":"mdi"`) {
			t.Errorf("GET %s with the pack withdrawn: %d, want %d", path, resp.StatusCode, want)
		}
	}
}

// decode gets JSON.
func (w *world) decode(path string, into any) {
	w.Helper()
	if err := json.NewDecoder(w.do("GET", path, "").Body).Decode(into); err != nil {
		w.Fatal(err)
	}
}
