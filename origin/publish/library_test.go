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
	got := [...]int{sum.Packs, sum.Packs + sum.HiddenPacks + len(sum.Skipped), sum.Icons, sum.Aliases}
	left := map[bool]int{}
	for _, l := range sum.LeftOut {
		left[false]++
		t.Logf("left out %s/%s: %s", l.Pack, l.Name, l.Reason)
	}
	want := [...]int{222, 243, 390629, 33054}
	if missing := want[2] + want[3] - got[2] - got[3]; missing != len(sum.LeftOut) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("visible packs, packs, icons, aliases: %v, and %d left out; want %v", got, len(sum.LeftOut), want)
	}
	if sum.VisibleIcons > 370207 || sum.VisibleIcons < 370207-len(sum.LeftOut) {
		t.Errorf("%d visible icons, want 370207 but for those left out", sum.VisibleIcons)
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
