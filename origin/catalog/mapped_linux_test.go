package catalog

import (
	"os"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/origin/catalog/catalogtest"
	"github.com/iconedge/iconedge/origin/release"
)

// TestMapped checks that the index of the current release is mapped from the mirror's file, not
// read, and that the mapping ends with the last use of the release.
func TestMapped(t *testing.T) {
	w := newWorld(t)
	first := w.publish(library("M0 0h1z"))
	c := w.start()
	if !w.mapped(first) {
		t.Error("the index of the current release is not mapped")
	}
	r := c.Current()
	more := library("M0 0h1z")
	more.Add("one", catalogtest.Square("moon", "M3 3h2z", 24))
	second := w.publish(more)
	if err := c.follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !w.mapped(first) {
		t.Error("the index of the former release is not mapped while it is in use")
	}
	if string(r.Index()[:4]) != "icon" {
		t.Errorf("the index of the former release has become %q", r.Index()[:4])
	}
	r.Done()
	if w.mapped(first) || !w.mapped(second) {
		t.Error("want the mapping of the former release to end, and that of the current one to stay")
	}
	c.Close()
	if w.mapped(second) {
		t.Error("the index is still mapped after Close")
	}
}

// mapped reports whether this process has mapped the index of a release.
func (w *world) mapped(m *release.Manifest) bool {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		w.Fatal(err)
	}
	// The file of a former release is removed from the mirror, which adds " (deleted)".
	return strings.Contains(string(maps), w.mirror+"/"+release.IndexKey(m.Index.Hash))
}
