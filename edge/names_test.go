package edge

import (
	"testing"

	"github.com/iconedge/iconedge/edge/own/owntest"
)

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

// With --proxy-all the path of an unknown pack may belong to another application, so the edge asks
// the origin.
func TestAbsentBesideOthers(t *testing.T) {
	l := owntest.NewListing(ourNames...)
	e := newEdgeTest(t, l, func(c *Config) { c.ProxyAll = true })
	e.learnAll(t)
	if a := e.get(t, "/other/dot.svg"); a.StatusCode != 200 {
		t.Errorf("a file of another application: %d", a.StatusCode)
	}
	asked := l.Others.Load()
	if a := e.get(t, "/mdi/nothing.svg"); a.StatusCode != 404 || l.Others.Load() != asked {
		t.Errorf("an absent icon: %d after %d requests to the origin, want 404 after none", a.StatusCode, l.Others.Load()-asked)
	}
}

// An edge that has another edge as its origin gets the list from it. The inner edge asks its own
// origin once for the list that it passes on.
func TestNamesForOthers(t *testing.T) {
	l := owntest.NewListing(ourNames...)
	inner := newEdgeTest(t, l)
	inner.learnAll(t)
	outer := newEdgeTest(t, inner)
	outer.learnAll(t)
	if n := outer.library.CurrentNames(); n == nil || n.Len() != 5 {
		t.Fatal("the outer edge does not have the five names")
	}
	for range 3 {
		if a := inner.get(t, "/-/names?release="+owntest.ReleaseA); a.StatusCode != 200 || a.Header.Get("Content-Encoding") != "" {
			t.Fatalf("%d %v", a.StatusCode, a.Header)
		}
	}
	if n := l.Lists.Load(); n != 2 { // one for the edge itself, one for all other edges
		t.Errorf("the origin got %d requests for its list, want 2", n)
	}
	for target, want := range map[string]int{"/-/names": 400, "/-/names?release=x": 400, "/-/names?release=" + owntest.ReleaseB: 404} {
		if a := inner.get(t, target); a.StatusCode != want {
			t.Errorf("%s: %d, want %d", target, a.StatusCode, want)
		}
	}
}
