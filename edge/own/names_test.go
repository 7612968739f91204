package own_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

var ourNames = []string{"fc apple", "mdi account home"} // five names, with those of the packs

// The edge answers a request for a name that the release does not have without the origin, in every
// form of the address. It asks the origin for the names that the release has.
func TestAbsent(t *testing.T) {
	t.Parallel()
	l := owntest.NewListing(ourNames...)
	e := owntest.New(t, l)
	e.Learn(t)
	if a := e.Get(t, "/mdi/hoem.svg"); !strings.Contains(a.Body, `"suggestions":["home"]`) {
		t.Errorf("no suggestion for a typo in the name of an icon: %s", a.Body)
	}
	if a := e.Get(t, "/mdl/home.svg"); !strings.Contains(a.Body, `"suggestions":["mdi"]`) {
		t.Errorf("no suggestion for a typo in the name of a pack: %s", a.Body)
	}
	for target, want := range map[string]string{"/materialdesignicons/home.svg": "mdi/home", "/fc/mdiHome.svg": "mdi/home",
		"/materialdesignicons/Home.png": "mdi/home"} {
		if a := e.Get(t, target); a.StatusCode != 404 || !strings.Contains(a.Body, `"suggestions":["`+want+`"`) {
			t.Errorf("%s: %d %s, want the suggestion %s first", target, a.StatusCode, a.Body, want)
		}
	}
	for i := range 500 {
		for _, target := range []string{"/mdi/name-%d.svg", "/pack-%d/home.svg", "/mdi/name-%d.svg?size=24&color=f00",
			"/api/v1/icon/mdi/name-%d", "/api/v1/icon/mdi/name-%d?format=svg", "/api/v1/packs/pack-%d"} {
			a := e.Get(t, fmt.Sprintf(target, i))
			want := icon.NoIcon
			if strings.Contains(target, "pack-") {
				want = icon.NoPack
			}
			var p problem.Problem
			if err := json.Unmarshal([]byte(a.Body), &p); err != nil || a.StatusCode != 404 || p.Status != 404 || p.Detail != want {
				t.Fatalf("%s: %d %s, want %s", fmt.Sprintf(target, i), a.StatusCode, a.Body, want)
			}
			if h := a.Header; h.Get("Cache-Status") != "" || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Cache-Control") == "" {
				t.Fatalf("%s: %v", target, h)
			}
		}
	}
	if n := l.Others.Load(); n != 0 {
		t.Errorf("3000 requests for absent names reached the origin %d times, want 0", n)
	}
	for _, target := range []string{"/mdi/home.svg", "/mdi/home.svg?size=24", "/fc/apple.svg",
		"/api/v1/icon/mdi/home", "/api/v1/packs/mdi"} {
		if a := e.Get(t, target); a.StatusCode != 200 {
			t.Errorf("%s: %d", target, a.StatusCode)
		}
	}
}

// The list of names covers only the current release, so the edge asks the origin for a name of
// another release.
func TestAbsentOfAnotherRelease(t *testing.T) {
	l := owntest.NewListing(ourNames...)
	e := owntest.New(t, l)
	e.Learn(t)
	e.Get(t, "/mdi/former.svg?release="+owntest.ReleaseB)
	if l.Others.Load() != 1 {
		t.Error("the origin got no request for the icon of another release")
	}
}

// The edge asks the origin for a new name as soon as it knows the release, whether or not it has
// the new list.
func TestPublishedIsPresent(t *testing.T) {
	l := owntest.NewListing("mdi account")
	e := owntest.New(t, l)
	e.Learn(t)
	if a := e.Get(t, "/mdi/home.svg"); a.StatusCode != 404 || l.Others.Load() != 0 {
		t.Fatalf("before: %d", a.StatusCode)
	}
	l.Set(func() { l.Release = owntest.ReleaseB })
	l.Has(ourNames...)
	must(t, e.Library.Poll())
	if a := e.Get(t, "/mdi/home.svg"); a.StatusCode != 200 {
		t.Errorf("while the list is being fetched: %d %s", a.StatusCode, a.Body)
	}
	e.Get(t, "/mdi/nothing.svg")
	asked := l.Others.Load()
	e.Learn(t)
	if a := e.Get(t, "/mdi/nothing-else.svg"); a.StatusCode != 404 || l.Others.Load() != asked {
		t.Errorf("with the new list: %d for an absent name after %d requests to the origin, want 404 after none",
			a.StatusCode, l.Others.Load()-asked)
	}
	if a := e.Get(t, "/mdi/home.svg"); a.StatusCode != 200 {
		t.Errorf("with the list: %d", a.StatusCode)
	}
}

// If a new release changes icons but no names, the edge does not fetch the list again.
func TestSameNames(t *testing.T) {
	l := owntest.NewListing(ourNames...)
	e := owntest.New(t, l)
	e.Learn(t)
	l.Set(func() { l.Release = owntest.ReleaseB })
	e.Learn(t)
	e.Learn(t)
	if n := l.Lists.Load(); n != 1 || e.Library.CurrentNames() == nil {
		t.Errorf("the list was fetched %d times, want once; the edge has it: %v", n, e.Library.CurrentNames() != nil)
	}
}

// If the origin has no list, or a list that is malformed or does not have the SHA-256 that the
// release states, the edge asks the origin for every name.
func TestNoNames(t *testing.T) {
	for name, spoil := range map[string]func(l *owntest.Listing){
		"no list":       func(l *owntest.Listing) { none := ""; l.Sum.Store(&none) },
		"wrong SHA-256": func(l *owntest.Listing) { sum := strings.Repeat("0", 64); l.Sum.Store(&sum) },
		"malformed list": func(l *owntest.Listing) {
			page := []byte("<!doctype html>")
			l.List.Store(&page)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := owntest.NewListing(ourNames...)
			spoil(l)
			e := owntest.New(t, l)
			must(t, e.Library.Poll())
			e.Library.UpdateNames(t.Context())
			if e.Get(t, "/mdi/nothing.svg"); l.Others.Load() != 1 {
				t.Errorf("the origin got %d requests, want 1", l.Others.Load())
			}
		})
	}
}
