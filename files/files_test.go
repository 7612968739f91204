package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestChanged(t *testing.T) {
	f := File{Path: filepath.Join(t.TempDir(), "list")}
	write := func(text string, at int64) {
		t.Helper()
		if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f.Path, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
			t.Fatal(err)
		}
	}
	look := func(what string, want bool) {
		t.Helper()
		if got := f.Changed(); got != want {
			t.Errorf("%s: Changed is %v", what, got)
		}
	}
	write("one", 1)
	f.Reading()
	look("as it was", false)
	write("two", 2)
	look("changed just now", false)
	look("changed, and settled", true)
	look("still not read", true)
	f.Reading()
	look("read", false)
	write("three", 3)
	look("being written", false)
	write("three and more", 4)
	look("still being written", false)
	look("written", true)
	f.Reading()
	os.Remove(f.Path)
	look("just gone", false)
	look("gone", true)
}
