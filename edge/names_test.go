package edge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// A listing is our own origin, with a list of names.
type listing struct {
	*ourOrigin
	list   atomic.Pointer[[]byte]
	sum    atomic.Pointer[string] // the SHA-256 that the release states; nil: the right one
	lists  atomic.Int64           // requests for the list
	others atomic.Int64           // requests for anything but the release and the list
}

func newListing(packs ...string) *listing {
	l := &listing{ourOrigin: newOurOrigin()}
	l.has(packs...)
	return l
}

// has replaces the list. Each item of packs is a pack with its icons, such as "mdi account home".
func (l *listing) has(packs ...string) {
	list := icon.AppendNames(nil, func(yield func(icon.PackNames) bool) {
		for _, p := range packs {
			names := strings.Fields(p)
			if !yield(icon.PackNames{Key: names[0], Names: func(yield func(string, bool) bool) {
				for _, name := range names[1:] {
					if !yield(name, false) {
						return
					}
				}
			}}) {
				return
			}
		}
	})
	l.list.Store(&list)
}

func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	release := l.release
	l.mu.Unlock()
	list := *l.list.Load()
	switch r.URL.Path {
	case routes.ReleasePath:
		sum := sha256.Sum256(list)
		body := icon.ReleaseAnswer{Release: release, Since: r.URL.Query().Get("since"), Changed: append([]string{}, l.changed...), Names: hex.EncodeToString(sum[:])}
		if s := l.sum.Load(); s != nil {
			body.Names = *s
		}
		json.NewEncoder(w).Encode(body)
	case routes.NamesPath:
		l.lists.Add(1)
		if r.URL.Query().Get("release") != release {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable, no-transform")
		w.Header().Set("Content-Length", fmt.Sprint(len(list)))
		w.Write(list)
	default:
		l.others.Add(1)
		l.ourOrigin.ServeHTTP(w, r)
	}
}

// learnAll makes the edge ask the origin for the release, and fetch the list of names if it is due.
func (e *edgeTest) learnAll(t *testing.T) {
	t.Helper()
	must(t, e.library.Poll())
	select {
	case <-e.library.NamesDue:
		if _, err := e.library.UpdateNames(t.Context()); err != nil {
			t.Fatal(err)
		}
	default:
	}
}

var ourNames = []string{"fc apple", "mdi account home"} // five names, with those of the packs

// The edge answers a request for a name that the release does not have without the origin, in every
// form of the address. It asks the origin for the names that the release has.
func TestAbsent(t *testing.T) {
	t.Parallel()
	l := newListing(ourNames...)
	e := newEdgeTest(t, l, func(c *Config) { must(t, c.Limits.Set("icon=off")); must(t, c.Limits.Set("packs=off")) })
	e.learnAll(t)
	if a := e.get(t, "/mdi/hoem.svg"); !strings.Contains(a.body, `"suggestions":["home"]`) {
		t.Errorf("no suggestion for a typo in the name of an icon: %s", a.body)
	}
	if a := e.get(t, "/mdl/home.svg"); !strings.Contains(a.body, `"suggestions":["mdi"]`) {
		t.Errorf("no suggestion for a typo in the name of a pack: %s", a.body)
	}
	for i := range 500 {
		for _, target := range []string{"/mdi/name-%d.svg", "/pack-%d/home.svg", "/mdi/name-%d.svg?size=24&color=f00", "/api/v1/icon/mdi/name-%d", "/api/v1/icon/mdi/name-%d?format=svg", "/api/v1/packs/pack-%d"} {
			a := e.get(t, fmt.Sprintf(target, i))
			want := icon.NoIcon
			if strings.Contains(target, "pack-") {
				want = icon.NoPack
			}
			var p problem.Problem
			if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.StatusCode != 404 || p.Status != 404 || p.Detail != want {
				t.Fatalf("%s: %d %s, want %s", fmt.Sprintf(target, i), a.StatusCode, a.body, want)
			}
			if h := a.Header; h.Get("Cache-Status") != "" || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Cache-Control") == "" {
				t.Fatalf("%s: %v", target, h)
			}
		}
	}
	if n := l.others.Load(); n != 0 {
		t.Errorf("3000 requests for absent names reached the origin %d times, want 0", n)
	}
	for _, target := range []string{"/mdi/home.svg", "/mdi/home.svg?size=24", "/fc/apple.svg", "/api/v1/icon/mdi/home", "/api/v1/packs/mdi"} {
		if a := e.get(t, target); a.StatusCode != 200 {
			t.Errorf("%s: %d", target, a.StatusCode)
		}
	}
}

// The list of names covers only the current release, so the edge asks the origin for a name of
// another release.
func TestAbsentOfAnotherRelease(t *testing.T) {
	l := newListing(ourNames...)
	e := newEdgeTest(t, l)
	e.learnAll(t)
	e.get(t, "/mdi/former.svg?release="+releaseB)
	if l.others.Load() != 1 {
		t.Error("the origin got no request for the icon of another release")
	}
}

// The edge asks the origin for a new name as soon as it knows the release, whether or not it has
// the new list.
func TestPublishedIsPresent(t *testing.T) {
	l := newListing("mdi account")
	e := newEdgeTest(t, l)
	e.learnAll(t)
	if a := e.get(t, "/mdi/home.svg"); a.StatusCode != 404 || l.others.Load() != 0 {
		t.Fatalf("before: %d", a.StatusCode)
	}
	l.set(func() { l.release = releaseB })
	l.has(ourNames...)
	must(t, e.library.Poll())
	if a := e.get(t, "/mdi/home.svg"); a.StatusCode != 200 {
		t.Errorf("while the list is being fetched: %d %s", a.StatusCode, a.body)
	}
	e.get(t, "/mdi/nothing.svg")
	asked := l.others.Load()
	e.learnAll(t)
	if a := e.get(t, "/mdi/nothing-else.svg"); a.StatusCode != 404 || l.others.Load() != asked {
		t.Errorf("with the new list: %d for an absent name after %d requests to the origin, want 404 after none", a.StatusCode, l.others.Load()-asked)
	}
	if a := e.get(t, "/mdi/home.svg"); a.StatusCode != 200 {
		t.Errorf("with the list: %d", a.StatusCode)
	}
}

// If a new release changes icons but no names, the edge does not fetch the list again.
func TestSameNames(t *testing.T) {
	l := newListing(ourNames...)
	e := newEdgeTest(t, l)
	e.learnAll(t)
	l.set(func() { l.release = releaseB })
	e.learnAll(t)
	e.learnAll(t)
	if n := l.lists.Load(); n != 1 || e.library.CurrentNames() == nil {
		t.Errorf("the list was fetched %d times, want once; the edge has it: %v", n, e.library.CurrentNames() != nil)
	}
}

// If the origin has no list, or a list that is malformed or does not have the SHA-256 that the
// release states, the edge asks the origin for every name.
func TestNoNames(t *testing.T) {
	for name, spoil := range map[string]func(l *listing){
		"no list":       func(l *listing) { none := ""; l.sum.Store(&none) },
		"wrong SHA-256": func(l *listing) { sum := strings.Repeat("0", 64); l.sum.Store(&sum) },
		"malformed list": func(l *listing) {
			page := []byte("<!doctype html>")
			l.list.Store(&page)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newListing(ourNames...)
			spoil(l)
			e := newEdgeTest(t, l)
			must(t, e.library.Poll())
			e.library.UpdateNames(t.Context())
			if e.get(t, "/mdi/nothing.svg"); l.others.Load() != 1 {
				t.Errorf("the origin got %d requests, want 1", l.others.Load())
			}
		})
	}
}

// With --proxy-all the path of an unknown pack may belong to another application, so the edge asks
// the origin.
func TestAbsentBesideOthers(t *testing.T) {
	l := newListing(ourNames...)
	e := newEdgeTest(t, l, func(c *Config) { c.ProxyAll = true })
	e.learnAll(t)
	if a := e.get(t, "/other/dot.svg"); a.StatusCode != 200 {
		t.Errorf("a file of another application: %d", a.StatusCode)
	}
	asked := l.others.Load()
	if a := e.get(t, "/mdi/nothing.svg"); a.StatusCode != 404 || l.others.Load() != asked {
		t.Errorf("an absent icon: %d after %d requests to the origin, want 404 after none", a.StatusCode, l.others.Load()-asked)
	}
}

// An edge that has another edge as its origin gets the list from it. The inner edge asks its own
// origin once for the list that it passes on.
func TestNamesForOthers(t *testing.T) {
	l := newListing(ourNames...)
	inner := newEdgeTest(t, l)
	inner.learnAll(t)
	outer := newEdgeTest(t, inner)
	outer.learnAll(t)
	if n := outer.library.CurrentNames(); n == nil || n.Len() != 5 {
		t.Fatal("the outer edge does not have the five names")
	}
	for range 3 {
		if a := inner.get(t, "/-/names?release="+releaseA); a.StatusCode != 200 || a.Header.Get("Content-Encoding") != "" {
			t.Fatalf("%d %v", a.StatusCode, a.Header)
		}
	}
	if n := l.lists.Load(); n != 2 { // one for the edge itself, one for all other edges
		t.Errorf("the origin got %d requests for its list, want 2", n)
	}
	for target, want := range map[string]int{"/-/names": 400, "/-/names?release=x": 400, "/-/names?release=" + releaseB: 404} {
		if a := inner.get(t, target); a.StatusCode != want {
			t.Errorf("%s: %d, want %d", target, a.StatusCode, want)
		}
	}
}
