package publish

import (
	"os"
	"testing"
	"time"

	"github.com/iconedge/iconedge/objectstore"
)

// TestLibrary publishes a whole @iconify/json 2.2.535, whose folder ICONEDGE_LIBRARY names.
func TestLibrary(t *testing.T) {
	folder := os.Getenv("ICONEDGE_LIBRARY")
	if folder == "" {
		t.Skip("ICONEDGE_LIBRARY does not name the folder of @iconify/json")
	}
	store := &counting{Bucket: objectstore.Dir(t.TempDir())}
	opt := Options{Sources: []string{folder}, Store: store, Work: t.TempDir()}
	began := time.Now()
	sum, err := Publish(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("published in %v, %d objects of %s", time.Since(began).Round(time.Millisecond), sum.Uploads, megabytes(sum.UploadedBytes))
	logUsage(t)
	for _, l := range sum.LeftOut {
		t.Errorf("left out %s/%s: %s", l.Pack, l.Name, l.Reason)
	}
	got := [...]int{sum.Packs, sum.HiddenPacks, len(sum.Skipped), sum.VisibleIcons, sum.Icons, sum.Aliases}
	if want := [...]int{222, 20, 1, 370207, 390629, 33054}; got != want {
		t.Errorf("packs, hidden packs, files without icons, visible icons, icons, aliases: %v, want %v", got, want)
	}

	before := store.writes()
	began = time.Now()
	again, err := Publish(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("published again in %v", time.Since(began).Round(time.Millisecond))
	logUsage(t)
	if n := store.writes() - before; n != 0 || !again.Unchanged || again.Release != sum.Release {
		t.Errorf("published again: %d writes, unchanged %v, release %s; want 0, true, %s", n, again.Unchanged, again.Release, sum.Release)
	}
}
