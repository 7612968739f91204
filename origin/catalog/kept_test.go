package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/catalog/catalogtest"
	"github.com/iconedge/iconedge/test/sequential"
)

func TestKept(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for i := range maxKept + 3 {
		ids = append(ids, w.publish(library(fmt.Sprintf("M%d 0h1z", i))).ID)
	}
	c := w.start()
	for i, id := range ids {
		r, err := c.Stored(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("M%d 0h1z", i); !strings.Contains(w.read(r), want) {
			t.Errorf("release %d: one/home is %s, want %s", i, w.read(r), want)
		}
		r.Done()
	}
	if n := len(c.earlier); n != maxKept {
		t.Errorf("%d releases are open, want %d", n, maxKept)
	}
	for _, unknown := range []string{strings.Repeat("0", 32), "", "current", "../../current", strings.ToUpper(ids[0])} {
		if _, err := c.Stored(t.Context(), unknown); !errors.Is(err, ErrNoRelease) {
			t.Errorf("Kept(%q): %v, want ErrNoRelease", unknown, err)
		}
	}
	w.store.fail(objectstore.ErrUnreachable)
	if _, err := c.Stored(t.Context(), ids[0]); !errors.Is(err, objectstore.ErrUnreachable) {
		t.Errorf("Kept without the store: %v, want ErrUnreachable", err)
	}
	if r, err := c.Stored(t.Context(), ids[len(ids)-2]); err != nil {
		t.Errorf("an open release: %v", err)
	} else {
		r.Done()
	}
}

func TestSince(t *testing.T) {
	edit := func(change func(catalogtest.Library)) catalogtest.Library {
		l := library("M0 0h1z")
		change(l)
		return l
	}
	for _, row := range []struct {
		name string
		next catalogtest.Library
		want string
	}{
		{"nothing but the time", library("M0 0h1z"), ""},
		{"an SVG", library("M9 9h9z"), "icon/one/home library set/one"},
		{"an additional icon", edit(func(l catalogtest.Library) {
			l.Add("two",
				catalogtest.Square("moon", "M0 0h3z", 16))
		}), "icon/two/moon library set/two"},
		{"a removed icon", edit(func(l catalogtest.Library) { delete(l["one"].Icons, "house") }), "icon/one/house library set/one"},
		{"the metadata of an icon", edit(func(l catalogtest.Library) {
			d := l["one"].Icons["house"]
			d.Meta.Categories = []string{"Buildings"}
			l.Add("one", d)
		}), "icon/one/house library set/one"},
		{"an additional pack", edit(func(l catalogtest.Library) {
			l.Add("three",
				catalogtest.Square("sun", "M0 0h3z", 16))
		}), "library pack/three"},
		{"a removed pack", edit(func(l catalogtest.Library) { delete(l, "two") }), "library pack/two"},
		{"a licence", edit(func(l catalogtest.Library) {
			l["two"].SetLicense(icon.License{SPDX: "ISC", Title: "ISC License", URL: "https://spdx.org/licenses/ISC.html"})
		}), "library pack/two"},
		{"a field that only lists have", edit(func(l catalogtest.Library) { l["two"].Version = "2" }), "library"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			first := w.publish(library("M0 0h1z"))
			second := w.publish(row.next)
			for _, how := range []string{"from an earlier release", "from the previous release"} {
				c := w.open()
				if how == "from the previous release" {
					if err := w.Switch(t.Context(), first.ID, t0); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := w.Switch(t.Context(), second.ID, t0); err != nil {
					t.Fatal(err)
				}
				w.watcher.look(t.Context(), c)
				r := c.Current()
				got := c.Since(t.Context(), r, first.ID)
				r.Done()
				if got.All || strings.Join(got.Keys, " ") != row.want {
					t.Errorf("%s: Since = %v, %v; want %s", how, got.All, got.Keys, row.want)
				}
				c.Close()
			}
		})
	}
}

// TestSinceAcrossRollback checks that Since compares correctly after a rollback, although a
// sequence number is used again for a different release.
func TestSinceAcrossRollback(t *testing.T) {
	w := newWorld(t)
	w.publish(library("M0 0h1z"))
	c := w.start()
	undone := w.publish(library("M1 1h1z"))
	w.watcher.look(t.Context(), c)

	other := newWorld(t) // its second publication differs
	other.Store = w.Store
	other.publish(library("M0 0h1z"))
	other.publish(library("M2 2h2z"))
	w.watcher.look(t.Context(), c)
	w.wantPath(c, "M2 2h2z")
	r := c.Current()
	defer r.Done()
	if got := c.Since(t.Context(), r, undone.ID); !slices.Contains(got.Keys, "icon/one/home") {
		t.Errorf("Since = %+v, want it to include icon/one/home", got)
	}
}

func TestSinceUnknown(t *testing.T) {
	w := newWorld(t)
	m := w.publish(library("M0 0h1z"))
	c := w.start()
	r := c.Current()
	defer r.Done()
	if got := c.Since(t.Context(), r, m.ID); got.All || len(got.Keys) != 0 {
		t.Errorf("since the current release: %+v", got)
	}
	for _, id := range []string{"", "x", strings.Repeat("1", 32)} {
		if got := c.Since(t.Context(), r, id); !got.All {
			t.Errorf("Since(%q) = %+v, want All", id, got)
		}
	}
}

func TestSinceMany(t *testing.T) {
	sequential.Test(t)
	w := newWorld(t)
	l := catalogtest.Library{}
	for i := range maxChanges + 1 {
		l.Add("big", catalogtest.Square(fmt.Sprintf("i%d", i), "M0 0h1z", 16))
	}
	first := w.publish(library("M0 0h1z"))
	l["one"] = library("M0 0h1z")["one"]
	few := w.publish(l)
	for i := range maxChanges + 1 {
		l.Add("big", catalogtest.Square(fmt.Sprintf("i%d", i), "M1 0h1z", 16))
	}
	w.publish(l)
	c := w.start()
	r := c.Current()
	defer r.Done()
	if got := c.Since(t.Context(), r, few.ID); !got.All || got.Keys != nil {
		t.Errorf("Since = %v and %d keys, want All", got.All, len(got.Keys))
	}
	if got := c.Since(t.Context(), r, first.ID); got.All { // a new pack is one key
		t.Errorf("Since the first = %+v", got.All)
	}
}
