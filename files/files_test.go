package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestChanged(t *testing.T) {
	f := file{path: filepath.Join(t.TempDir(), "list")}
	write := func(text string, at int64) {
		t.Helper()
		if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f.path, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
			t.Fatal(err)
		}
	}
	look := func(what string, want bool) {
		t.Helper()
		if got := f.changed(); got != want {
			t.Errorf("%s: changed() = %v", what, got)
		}
	}
	write("one", 1)
	f.reading()
	look("unchanged", false)
	write("two", 2)
	look("changed just now", false)
	look("changed and settled", true)
	look("still not read again", true)
	f.reading()
	look("read again", false)
	write("three", 3)
	look("being written", false)
	write("three and more", 4)
	look("still being written", false)
	look("settled", true)
	f.reading()
	os.Remove(f.path)
	look("just removed", false)
	look("removed", true)
}
