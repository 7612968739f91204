package files

import (
	"errors"
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

// A file is locked once at a time, and free again when the lock is closed.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v, want ErrLocked", err)
	}
	first.Close()
	again, err := Lock(path)
	if err != nil {
		t.Fatalf("a lock after the first: %v", err)
	}
	again.Close()
}
