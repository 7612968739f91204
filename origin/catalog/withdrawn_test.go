package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/catalog/catalogtest"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/withdrawal"
)

// aliased is the library with an alias of one/home, and an alias of that.
func aliased(path string) catalogtest.Library {
	l := library(path)
	for alias, parent := range map[string]string{"abode": "home", "building": "abode"} {
		d := catalogtest.Square(alias, path, 24)
		d.Meta.AliasOf = parent
		l.Add("one", d)
	}
	return l
}

func (w *world) withdraw(target string) {
	w.Helper()
	if err := withdrawal.Withdraw(w.Context(), w.Store, target, "", "test", t0); err != nil {
		w.Fatal(err)
	}
}

// wantIcon checks the error for an icon in the release with an id; empty: the current one.
func (w *world) wantIcon(c *Catalog, id, ref string, want error) {
	w.Helper()
	r := c.Current()
	if id != "" {
		r.Done()
		var err error
		if r, err = c.Stored(w.Context(), id); err != nil {
			w.Fatal(err)
		}
	}
	defer r.Done()
	parsed, err := icon.ParseRef(ref)
	if err != nil {
		w.Fatal(err)
	}
	if _, err := r.Icon(w.Context(), parsed); !errors.Is(err, want) {
		w.Errorf("%s in release %q: %v, want %v", ref, id, err, want)
	}
}

// TestWithdrawn: a withdrawn icon and its aliases are in no release and no list, and come back when
// the withdrawal ends.
func TestWithdrawn(t *testing.T) {
	w := newWorld(t)
	old := w.publish(aliased("M0 0h1z")).ID
	w.publish(aliased("M5 5h1z"))
	c := w.start()
	w.wantIcon(c, old, "one/home", nil)
	before := c.Current()
	defer before.Done()

	w.withdraw("one/home")
	w.watcher.look(t.Context(), c)
	for _, id := range []string{"", old} {
		for ref, want := range map[string]error{"one/home": ErrWithdrawn, "one/abode": ErrWithdrawn,
			"one/building": ErrWithdrawn, "one/house": nil, "two/star": nil} {
			w.wantIcon(c, id, ref, want)
		}
	}
	now := c.Current()
	defer now.Done()
	if now.ID() != before.ID() || now.State() == before.State() || !strings.HasPrefix(now.State(), now.ID()+"-") {
		t.Errorf("the state went from %s to %s", before.State(), now.State())
	}
	if got := now.Withdrawn(); !slices.Equal(got, []string{"one/abode", "one/building", "one/home"}) {
		t.Errorf("withdrawn: %v", got)
	}
	p, _ := now.Pack("one")
	icons, err := p.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range icons.Names {
		names = append(names, name)
	}
	if !slices.Equal(names, []string{"house"}) || p.Count != 1 || slices.Contains(p.Samples, "home") ||
		slices.Contains(icons.Near("hom"), "home") {
		t.Errorf("pack one lists %v, count %d, samples %v, near %v", names, p.Count, p.Samples, icons.Near("hom"))
	}
	if got := c.Since(t.Context(), now, before.State()); got.All || !slices.Contains(got.Keys, "pack/one") ||
		!slices.Contains(got.Keys, icon.LibraryKey) || slices.Contains(got.Keys, "pack/two") {
		t.Errorf("changes: %+v", got)
	}
	if got := c.Since(t.Context(), now, old); !got.All {
		t.Errorf("changes since a release without withdrawals: %+v, want all", got)
	}

	w.publish(aliased("M6 6h1z")) // publishing again does not bring it back
	w.watcher.look(t.Context(), c)
	w.wantIcon(c, "", "one/home", ErrWithdrawn)

	if err := withdrawal.Undo(t.Context(), w.Store, "one/home", "test", t0); err != nil {
		t.Fatal(err)
	}
	w.watcher.look(t.Context(), c)
	w.wantIcon(c, "", "one/building", nil)
	w.wantIcon(c, old, "one/home", nil)
}

// TestWithdrawnPack: all icons of a withdrawn pack are gone, also those that it never had.
func TestWithdrawnPack(t *testing.T) {
	w := newWorld(t)
	old := w.publish(library("M0 0h1z")).ID
	w.publish(library("M5 5h1z"))
	c := w.start()
	w.withdraw("one")
	w.watcher.look(t.Context(), c)
	for _, id := range []string{"", old} {
		for ref, want := range map[string]error{"one/home": ErrWithdrawn, "one/unknown": ErrWithdrawn,
			"two/star": nil, "three/x": ErrNoPack} {
			w.wantIcon(c, id, ref, want)
		}
	}
	r := c.Current()
	defer r.Done()
	if _, ok := r.Pack("one"); ok || !r.IsWithdrawn("one") || len(r.Packs()) != 1 || !slices.Equal(r.Withdrawn(), []string{"one"}) {
		t.Errorf("the release still has the pack: %v", r.Withdrawn())
	}
}

// TestWithdrawnFromNoPack: an icon stays withdrawn in a release without its pack, for edges too.
func TestWithdrawnFromNoPack(t *testing.T) {
	w := newWorld(t)
	w.publish(library("M0 0h1z"))
	c := w.start()
	for _, target := range []string{"three/moon", "four", "four/sun", "one/none"} {
		w.withdraw(target)
	}
	w.watcher.look(t.Context(), c)
	w.wantIcon(c, "", "three/moon", ErrWithdrawn)
	r := c.Current()
	defer r.Done()
	if got := r.Withdrawn(); !slices.Equal(got, []string{"four", "one/none", "three/moon"}) {
		t.Errorf("withdrawn: %v", got)
	}
}

// TestWithdrawnWithoutStore: an origin that starts while the store is away does not serve a
// withdrawn icon. A damaged list in the store changes nothing.
func TestWithdrawnWithoutStore(t *testing.T) {
	w := newWorld(t)
	w.publish(library("M0 0h1z"))
	c := w.start()
	w.withdraw("one/home")
	w.watcher.look(t.Context(), c)
	c.Close()

	w.store.fail(objectstore.ErrUnreachable)
	c = w.start()
	w.wantIcon(c, "", "one/home", ErrWithdrawn)
	w.wantIcon(c, "", "one/house", nil)

	w.store.fail(nil)
	if err := w.Store.Put(t.Context(), withdrawal.Key, strings.NewReader("{"), 1); err != nil {
		t.Fatal(err)
	}
	w.watcher.look(t.Context(), c)
	w.wantIcon(c, "", "one/home", ErrWithdrawn)
	if !strings.Contains(w.log.String(), "damaged") {
		t.Errorf("the log does not name the damaged list: %s", w.log.String())
	}
}

// TestForgetPruned: an origin forgets an earlier release that publish has pruned.
func TestForgetPruned(t *testing.T) {
	w := newWorld(t)
	old := w.publish(library("M0 0h1z")).ID
	w.publish(library("M5 5h1z"))
	c := w.start()
	w.wantIcon(c, old, "one/home", nil)
	w.watcher.look(t.Context(), c)
	if err := w.Store.Delete(t.Context(), release.ManifestKey(old)); err != nil {
		t.Fatal(err)
	}
	w.wantIcon(c, old, "one/home", nil) // not checked since
	w.watcher.checked = w.watcher.checked.Add(-checkEarlier)
	w.watcher.look(t.Context(), c)
	if _, err := c.Stored(t.Context(), old); !errors.Is(err, ErrNoRelease) {
		t.Errorf("a pruned release: %v", err)
	}
}
