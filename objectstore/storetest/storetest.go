// Package storetest defines the behaviour that every store of objectstore must have, as tests that
// each store runs. It also starts a real S3 service for tests (S3). When two stores turn out to
// differ, add a test here.
package storetest

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/objectstore"
)

// Run tests a store. Each call of open must return an empty one.
func Run(t *testing.T, open func(t *testing.T) objectstore.Bucket) {
	for _, c := range []struct {
		name string
		test func(*testing.T, objectstore.Bucket)
	}{
		{"round trip", roundTrip},
		{"absent objects", absent},
		{"valid keys", goodKeys},
		{"invalid keys", badKeys},
		{"ranges", ranges},
		{"lists", lists},
		{"long lists", longList},
		{"deleted folders", deletedFolders},
		{"conditions", conditions},
		{"one writer wins", oneWins},
		{"no update is lost", noLostUpdate},
		{"readers and writers", readersAndWriters},
		{"replaced while read", replacedWhileRead},
		{"large objects", large},
		{"wrong sizes", wrongSizes},
		{"broken content", brokenContent},
		{"ended context", endedContext},
		{"ReadAll has a limit", readAllLimit},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func put(t *testing.T, b objectstore.Bucket, key, content string) {
	t.Helper()
	if err := b.Put(t.Context(), key, strings.NewReader(content), int64(len(content))); err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
}

// wants checks the content of an object; "absent" means that it must not exist.
func wants(t *testing.T, b objectstore.Bucket, key, want string) {
	t.Helper()
	got, err := objectstore.ReadAll(t.Context(), b, key, 64<<20)
	if errors.Is(err, objectstore.ErrNotExist) {
		got, err = []byte("absent"), nil
	}
	if err != nil || string(got) != want {
		t.Fatalf("%q is %.60q (%v), want %.60q", key, got, err, want)
	}
}

func stat(t *testing.T, b objectstore.Bucket, key string) objectstore.Info {
	t.Helper()
	info, err := b.Stat(t.Context(), key)
	if err != nil {
		t.Fatalf("Stat(%q): %v", key, err)
	}
	return info
}

func keys(t *testing.T, b objectstore.Bucket, prefix string) []string {
	t.Helper()
	out := []string{}
	for info, err := range b.List(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("List(%q): %v", prefix, err)
		}
		out = append(out, info.Key)
	}
	return out
}

func roundTrip(t *testing.T, b objectstore.Bucket) {
	put(t, b, "packs/a.zip", "first")
	wants(t, b, "packs/a.zip", "first")
	first := stat(t, b, "packs/a.zip")
	if first.Key != "packs/a.zip" || first.Size != 5 || first.ETag == "" || first.Modified.IsZero() {
		t.Errorf("Stat = %+v, want the key, 5 bytes, an ETag and a time", first)
	}
	if again := stat(t, b, "packs/a.zip"); again.ETag != first.ETag {
		t.Errorf("ETag of an unchanged object went from %s to %s", first.ETag, again.ETag)
	}
	put(t, b, "packs/a.zip", "other")
	wants(t, b, "packs/a.zip", "other")
	if second := stat(t, b, "packs/a.zip"); second.ETag == first.ETag {
		t.Errorf("ETag %s is the same for other content of the same size", first.ETag)
	}
	put(t, b, "packs/a.zip", "") // an empty object exists
	wants(t, b, "packs/a.zip", "")
	if err := b.Put(t.Context(), "packs/a.zip", strings.NewReader("unknown size"), -1); err != nil {
		t.Fatalf("Put of unknown size: %v", err)
	}
	wants(t, b, "packs/a.zip", "unknown size")
	if err := b.Delete(t.Context(), "packs/a.zip"); err != nil {
		t.Fatal(err)
	}
	wants(t, b, "packs/a.zip", "absent")
}

func absent(t *testing.T, b objectstore.Bucket) {
	ctx := t.Context()
	check := func(call string, err error) {
		t.Helper()
		if !errors.Is(err, objectstore.ErrNotExist) {
			t.Errorf("%s of an absent object: %v, want ErrNotExist", call, err)
		}
	}
	for range 2 { // in an empty store, then beside another object
		for _, key := range []string{"a", "a/b", "other/object"} {
			_, err := b.Open(ctx, key)
			check("Open", err)
			_, err = b.OpenRange(ctx, key, 0, 1)
			check("OpenRange", err)
			_, err = b.OpenRange(ctx, key, 0, 0)
			check("OpenRange of nothing", err)
			_, err = b.Stat(ctx, key)
			check("Stat", err)
			if err := b.Delete(ctx, key); err != nil {
				t.Errorf("Delete of an absent object: %v", err)
			}
		}
		if got := keys(t, b, ""); len(got) > 1 {
			t.Errorf("List = %q", got)
		}
		put(t, b, "other/object/deeper", "x")
	}
	wants(t, b, "other/object/deeper", "x") // Delete of its folder's name must not touch it
}

func ranges(t *testing.T, b objectstore.Bucket) {
	put(t, b, "o", "0123456789")
	put(t, b, "empty", "")
	for _, c := range []struct {
		key    string
		off, n int64
		want   string
	}{
		{"o", 0, 10, "0123456789"},
		{"o", 0, 1, "0"},
		{"o", 9, 1, "9"},
		{"o", 3, 4, "3456"},
		{"o", 0, 0, ""},
		{"o", 4, 0, ""},
		{"o", 8, 100, "89"}, // fewer, because the object ends earlier
		{"o", 8, 1<<63 - 1, "89"},
		{"o", 10, 1, ""}, // at the end
		{"o", 99, 1, ""}, // past it
		{"o", 99, -1, ""},
		{"o", 0, -1, "0123456789"}, // all the rest
		{"o", 7, -1, "789"},
		{"empty", 0, 1, ""},
		{"empty", 0, -1, ""},
	} {
		f, err := b.OpenRange(t.Context(), c.key, c.off, c.n)
		if err != nil {
			t.Errorf("OpenRange(%s, %d, %d): %v", c.key, c.off, c.n, err)
			continue
		}
		got, err := io.ReadAll(f)
		f.Close()
		if err != nil || string(got) != c.want {
			t.Errorf("OpenRange(%s, %d, %d) reads %q (%v), want %q", c.key, c.off, c.n, got, err, c.want)
		}
	}
	if _, err := b.OpenRange(t.Context(), "o", -1, 1); err == nil {
		t.Error("OpenRange with a negative offset: no error")
	}
}

func conditions(t *testing.T, b objectstore.Bucket) {
	ctx := t.Context()
	putIf := func(content, tag string, want error) {
		t.Helper()
		err := b.PutIf(ctx, "current", strings.NewReader(content), int64(len(content)), tag)
		if !errors.Is(err, want) {
			t.Fatalf("PutIf(%s) on tag %q: %v, want %v", content, tag, err, want)
		}
	}
	putIf("none", "no-such-tag", objectstore.ErrChanged) // there is no object to compare with
	wants(t, b, "current", "absent")
	putIf("one", "", nil)
	putIf("two", "", objectstore.ErrChanged)
	wants(t, b, "current", "one")
	first := stat(t, b, "current").ETag
	putIf("two", first, nil)
	putIf("three", first, objectstore.ErrChanged)
	wants(t, b, "current", "two")
	put(t, b, "current", "by Put")
	putIf("three", first, objectstore.ErrChanged)
	if err := b.Delete(ctx, "current"); err != nil {
		t.Fatal(err)
	}
	putIf("three", first, objectstore.ErrChanged)
	if err := b.PutIf(ctx, "current", strings.NewReader("four"), -1, ""); err != nil {
		t.Fatalf("PutIf of unknown size: %v", err)
	}
	wants(t, b, "current", "four")
	big := blob(objectstore.MaxPutIf + 1)
	if err := b.PutIf(ctx, "big", bytes.NewReader(big), int64(len(big)), ""); !errors.Is(err, objectstore.ErrTooLarge) {
		t.Errorf("PutIf of %d bytes: %v, want ErrTooLarge", len(big), err)
	}
	if err := b.PutIf(ctx, "big", bytes.NewReader(big[1:]), int64(len(big)-1), ""); err != nil {
		t.Errorf("PutIf of %d bytes: %v", len(big)-1, err)
	}
	wants(t, b, "big", string(big[1:]))
}
