package objectstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/objectstore/storetest"
)

func TestDir(t *testing.T) {
	storetest.Run(t, func(t *testing.T) objectstore.Bucket { return objectstore.Dir(t.TempDir()) })
}

func TestDirIsCreatedByWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not", "there")
	b := objectstore.Dir(path)
	for info, err := range b.List(t.Context(), "") {
		t.Errorf("List of a missing store yields %v, %v", info, err)
	}
	if _, err := b.Stat(t.Context(), "a"); !errors.Is(err, objectstore.ErrNotExist) {
		t.Errorf("Stat: %v, want ErrNotExist", err)
	}
	if err := b.Delete(t.Context(), "a"); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading has created the folder (%v)", err)
	}
	store(t, b, "a", "x")
}

func TestDirWithFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for call, err := range everyCall(t, objectstore.Dir(path)) {
		if !errors.Is(err, objectstore.ErrNoBucket) {
			t.Errorf("%s: %v, want ErrNoBucket", call, err)
		}
	}
}

// everyCall calls each method on object "a" and returns the errors by method.
func everyCall(t *testing.T, b objectstore.Bucket) map[string]error {
	ctx := t.Context()
	_, open := b.Open(ctx, "a")
	_, part := b.OpenRange(ctx, "a", 0, 1)
	_, stat := b.Stat(ctx, "a")
	var list error
	for _, err := range b.List(ctx, "") {
		list = err
	}
	return map[string]error{
		"Open": open, "OpenRange": part, "Stat": stat, "List": list, "Delete": b.Delete(ctx, "a"),
		"Put": b.Put(ctx, "a", strings.NewReader("x"), 1), "PutIf": b.PutIf(ctx, "a", strings.NewReader("x"), 1, ""),
	}
}

func store(t *testing.T, b objectstore.Bucket, key, content string) {
	t.Helper()
	if err := b.Put(t.Context(), key, strings.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, b objectstore.Bucket, key string) string {
	t.Helper()
	got, err := objectstore.ReadAll(t.Context(), b, key, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// TestDirLinksLeadNowhere checks that the store does not follow links out of its folder: it reads,
// writes, lists and removes nothing outside.
func TestDirLinksLeadNowhere(t *testing.T) {
	outside, path := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"folder": outside, "up": "..", "file": filepath.Join(outside, "secret"), "new": filepath.Join(outside, "new"),
	} {
		if err := os.Symlink(target, filepath.Join(path, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	b, ctx := objectstore.Dir(path), t.Context()
	for _, key := range []string{"folder/secret", "folder/new", "up/x", "file", "new"} {
		_, open := b.Open(ctx, key)
		_, part := b.OpenRange(ctx, key, 0, 1)
		_, stat := b.Stat(ctx, key)
		for call, err := range map[string]error{"Open": open, "OpenRange": part, "Stat": stat} {
			if !errors.Is(err, objectstore.ErrKey) {
				t.Errorf("%s(%s): %v, want ErrKey", call, key, err)
			}
		}
		if strings.Contains(key, "/") { // a link at the top level is replaced or removed itself
			for call, err := range map[string]error{
				"Put": b.Put(ctx, key, strings.NewReader("x"), 1), "PutIf": b.PutIf(ctx, key, strings.NewReader("x"), 1, ""),
				"Delete": b.Delete(ctx, key),
			} {
				if !errors.Is(err, objectstore.ErrKey) {
					t.Errorf("%s(%s): %v, want ErrKey", call, key, err)
				}
			}
		}
	}
	for info, err := range b.List(ctx, "") {
		t.Errorf("List yields %v, %v", info, err)
	}
	store(t, b, "file", "inside")
	if got := content(t, b, "file"); got != "inside" {
		t.Errorf("the object that replaced the link is %q", got)
	}
	files, err := os.ReadDir(outside)
	if got, _ := os.ReadFile(filepath.Join(outside, "secret")); err != nil || len(files) != 1 || string(got) != "secret" {
		t.Errorf("files outside: %v, with %q (%v)", files, got, err)
	}
}

// TestDirPrivateLink checks that a link in place of the store's private folder is not followed
// either.
func TestDirPrivateLink(t *testing.T) {
	outside, path := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(path, ".iconedge")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := objectstore.Dir(path).Put(t.Context(), "a", strings.NewReader("x"), 1); !errors.Is(err, objectstore.ErrKey) {
		t.Errorf("Put: %v, want ErrKey", err)
	}
	if files, err := os.ReadDir(outside); err != nil || len(files) != 0 {
		t.Errorf("files outside: %v (%v)", files, err)
	}
}

func TestDirObjectInTheWay(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	store(t, b, "a", "x")
	store(t, b, "b/c", "x")
	for _, key := range []string{"a/b", "a/b/c", "b"} {
		if err := b.Put(t.Context(), key, strings.NewReader("x"), 1); !errors.Is(err, objectstore.ErrKey) {
			t.Errorf("Put(%s): %v, want ErrKey", key, err)
		}
	}
	if content(t, b, "a")+content(t, b, "b/c") != "xx" {
		t.Error("an object has changed")
	}
}

// TestDirSweeps checks that the remains of a crashed write are removed after a day, and recent
// unfinished writes are not.
func TestDirSweeps(t *testing.T) {
	path := t.TempDir()
	store(t, objectstore.Dir(path), "a", "x")
	tmp := filepath.Join(path, ".iconedge", "tmp")
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "young": 23 * time.Hour} {
		f, at := filepath.Join(tmp, name), time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(f, []byte("half"), 0o644), os.Chtimes(f, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	store(t, objectstore.Dir(path), "a", "y")
	files, err := os.ReadDir(tmp)
	if err != nil || len(files) != 1 || files[0].Name() != "young" {
		t.Errorf("unfinished writes after the sweep: %v (%v), want only young", files, err)
	}
}

// write makes a file and returns its path.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
