package publish

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// A series publishes releases an hour apart, each with another version of one icon.
type series struct {
	b    objectstore.Bucket
	lib  string
	n    int
	path string
}

func newSeries(t *testing.T) *series {
	return &series{b: objectstore.Dir(t.TempDir()), lib: copied(t, "library"), path: "M2 2h20v20H2z"}
}

func (s *series) now() time.Time { return t0.Add(time.Duration(s.n) * time.Hour) }

func (s *series) publish(t *testing.T, keep int) string {
	t.Helper()
	s.n++
	next := "M" + s.now().Format("15 2")
	edit(t, filepath.Join(s.lib, "json/shapes.json"), s.path, next)
	s.path = next
	sum, err := Publish(t.Context(), Options{Sources: []string{s.lib}, Tags: noTags, Store: s.b, Now: s.now(),
		Keep: keep, Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return sum.Release
}

func (s *series) back(t *testing.T) string {
	t.Helper()
	s.n++
	k, err := Rollback(t.Context(), s.b, "", s.now())
	if err != nil {
		t.Fatal(err)
	}
	if !k.Current || whole(t, s.b).ID != k.ID {
		t.Errorf("Rollback returns %+v, current is %s", k, whole(t, s.b).ID)
	}
	return k.ID
}

func ids(t *testing.T, b objectstore.Bucket) (all []string, current string) {
	t.Helper()
	list, err := List(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range list {
		all = append(all, k.ID)
		if k.Current {
			current = k.ID
		}
	}
	return all, current
}

func TestRollback(t *testing.T) {
	s := newSeries(t)
	one, two, three := s.publish(t, 9), s.publish(t, 9), s.publish(t, 9)
	if got := s.back(t); got != two {
		t.Errorf("back from three is %s, want two", got)
	}
	if got := s.back(t); got != one {
		t.Errorf("back once more is %s, want one", got)
	}
	if _, err := Rollback(t.Context(), s.b, "", s.now()); !errors.Is(err, ErrNoEarlier) {
		t.Errorf("back from the first: %v, want ErrNoEarlier", err)
	}
	four := s.publish(t, 9)
	if all, current := ids(t, s.b); !slices.Equal(all, []string{four, three, two, one}) || current != four {
		t.Errorf("stored %v, current %s; want %v, the first", all, current, []string{four, three, two, one})
	}
	if m := whole(t, s.b); m.Seq != 4 { // not 2 again, because the second release has other changes
		t.Errorf("the fourth release has the number %d", m.Seq)
	}
	if got := s.back(t); got != one { // not three, because one was current when four was published
		t.Errorf("back from four is %s, want one", got)
	}
}

func TestRollbackIncomplete(t *testing.T) {
	s := newSeries(t)
	s.publish(t, 9)
	m := whole(t, s.b)
	two := s.publish(t, 9)
	shapes, _ := m.Pack("shapes")
	remove(t, s.b, release.ArchiveKey(shapes.Archive.Hash))
	if _, err := Rollback(t.Context(), s.b, "", s.now()); !errors.Is(err, objectstore.ErrNotExist) {
		t.Errorf("back to a release that lacks an archive: %v, want ErrNotExist", err)
	}
	if got := whole(t, s.b).ID; got != two {
		t.Errorf("current is %s, want %s", got, two)
	}
}

// A watched store does something when the first manifest is opened.
type watched struct {
	objectstore.Bucket
	then func()
	once sync.Once
}

func (w *watched) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if _, ok := release.ManifestID(key); ok {
		w.once.Do(w.then)
	}
	return w.Bucket.Open(ctx, key)
}

// TestPruneRaced: pruning deletes nothing of a release that becomes current meanwhile.
func TestPruneRaced(t *testing.T) {
	s := newSeries(t)
	one := s.publish(t, 9)
	s.publish(t, 9)
	s.publish(t, 9)
	w := &watched{Bucket: s.b, then: func() {
		if _, err := Rollback(t.Context(), s.b, one, s.now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
	}}
	if _, err := prune(t.Context(), w, 1, time.Time{}, time.Now().Add(2*grace)); !errors.Is(err, ErrRaced) {
		t.Errorf("prune: %v, want ErrRaced", err)
	}
	if got := whole(t, s.b).ID; got != one {
		t.Errorf("current is %s, want %s", got, one)
	}
}

func TestEmptyStore(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	if list, err := List(t.Context(), b); err != nil || len(list) != 0 {
		t.Errorf("List of an empty store: %v, %v", list, err)
	}
	if _, err := Rollback(t.Context(), b, "", t0); !errors.Is(err, ErrNoEarlier) {
		t.Errorf("Rollback of an empty store: %v, want ErrNoEarlier", err)
	}
}

func TestListDamaged(t *testing.T) {
	s := newSeries(t)
	one, two := s.publish(t, 9), s.publish(t, 9)
	put(t, s.b, release.ManifestKey(one), "x")
	list, err := List(t.Context(), s.b)
	if !errors.Is(err, release.ErrDamaged) || len(list) != 1 || list[0].ID != two {
		t.Errorf("List: %v, %v; want the second release, and an error about the first", list, err)
	}
	s.publish(t, 9) // the damaged release does not prevent a publication
}

func TestKeep(t *testing.T) {
	s := newSeries(t)
	var all []string
	for range 4 {
		all = append(all, s.publish(t, 2))
	}
	if got, current := ids(t, s.b); !slices.Equal(got, []string{all[3], all[2]}) || current != all[3] {
		t.Errorf("stored %v, want %v", got, []string{all[3], all[2]})
	}
	last := s.publish(t, 1)
	if got, _ := ids(t, s.b); !slices.Equal(got, []string{last}) {
		t.Errorf("stored %v, want %s alone", got, last)
	}
}

// prune deletes archives that no release needs, but only those that are older than grace.
func TestSweep(t *testing.T) {
	s := newSeries(t)
	for range 3 {
		s.publish(t, 1)
	}
	put(t, s.b, "packs/notes.txt", "a file of the operator")
	had := len(keys(t, s.b))
	ctx := context.Background()
	if _, err := prune(ctx, s.b, 1, time.Time{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := len(keys(t, s.b)); got != had {
		t.Errorf("%d objects that are less than an hour old were deleted", had-got)
	}
	if _, err := prune(ctx, s.b, 1, time.Time{}, time.Now().Add(2*grace)); err != nil {
		t.Fatal(err)
	}
	m := whole(t, s.b)
	want := 1 + 1 + len(m.Packs) + 1 + 1 + 1 // current, manifest, archives, index, sets, notes
	for _, p := range m.Packs {
		if !p.Hidden {
			want++ // docs
		}
	}
	if got := keys(t, s.b); len(got) != want {
		t.Errorf("%d objects are left, want %d: %v", len(got), want, got)
	}
}

// Rollback never goes to a release that a failed publication left in the store.
func TestNeverCurrent(t *testing.T) {
	s := newSeries(t)
	one := s.publish(t, 9)
	f := &failing{Bucket: s.b}
	f.left.Store(5) // two that test the store, the archive, the docs and the manifest
	edit(t, filepath.Join(s.lib, "json/shapes.json"), s.path, "M9 9")
	_, err := Publish(t.Context(), Options{Sources: []string{s.lib}, Tags: noTags, Store: f,
		Now: s.now().Add(time.Minute), Work: t.TempDir()})
	if all, _ := ids(t, s.b); !errors.Is(err, errFull) || len(all) != 2 {
		t.Fatalf("%v, stored %v; want the manifest written and no more", err, all)
	}
	s.path = "M9 9"
	s.publish(t, 9)
	if got := s.back(t); got != one {
		t.Errorf("back is %s, want %s", got, one)
	}
}
