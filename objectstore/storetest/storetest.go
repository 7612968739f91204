// Package storetest is the contract of objectstore: what every store must do, run by the tests of each. It also starts a
// real S3 service for tests (S3). Add to it the first time that two stores differ.
package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/objectstore"
)

// Run tests a store; open returns an empty one each time.
func Run(t *testing.T, open func(t *testing.T) objectstore.Bucket) {
	for _, c := range []struct {
		name string
		test func(*testing.T, objectstore.Bucket)
	}{
		{"round trip", roundTrip},
		{"absent objects", absent},
		{"keys that are taken", goodKeys},
		{"keys that are not", badKeys},
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
		{"sizes that are wrong", wrongSizes},
		{"content that breaks off", brokenContent},
		{"an ended context", endedContext},
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

// wants checks what is stored; an absent object is "absent".
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
	put(t, b, "packs/a.zip", "") // an empty object is one
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
	for range 2 { // in a store that has nothing, and in one that has something else
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
	wants(t, b, "other/object/deeper", "x") // Delete of its folder's name has not touched it
}

func goodKeys(t *testing.T, b objectstore.Bucket) {
	for _, key := range []string{
		"a", "A", "a.b", ".hidden", "..a", "a..", "a b", " a", "%2f", "%", "a+b", "a?b=c&d", "#a", "a:b", "\"quoted\"",
		"<a>&amp;", "~", "a*", "[a]", "{a}|^`", "ä/日本/🏠", "a@b,c;d='e'!$()", ".iconedge2/x",
		strings.Repeat("x", 255), strings.Repeat(strings.Repeat("y", 99)+"/", 9) + "z",
	} {
		put(t, b, key, "content of "+key)
		wants(t, b, key, "content of "+key)
		if got := keys(t, b, key); !slices.Contains(got, key) {
			t.Errorf("List(%q) = %q", key, got)
		}
		if err := b.Delete(t.Context(), key); err != nil {
			t.Errorf("Delete(%q): %v", key, err)
		}
	}
	if got := keys(t, b, ""); len(got) != 0 {
		t.Errorf("left after all were deleted: %q", got)
	}
}

// BadKeys are keys that no store takes.
var BadKeys = []string{
	"", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/./b", "../a", "a/..", "a/../b", "a/../../b", "a\x00b", "a\\b", `..\a`,
	"a\nb", "a\x7fb", "\xff", "a/\xc3", strings.Repeat("x", 256), strings.Repeat("x/", 512) + "x", ".iconedge/lock", ".iconedge",
}

func badKeys(t *testing.T, b objectstore.Bucket) {
	ctx := t.Context()
	put(t, b, "a", "stays")
	for _, key := range BadKeys {
		_, open := b.Open(ctx, key)
		_, part := b.OpenRange(ctx, key, 0, 1)
		_, stat := b.Stat(ctx, key)
		errs := map[string]error{
			"Open": open, "OpenRange": part, "Stat": stat,
			"Put":    b.Put(ctx, key, strings.NewReader("x"), 1),
			"PutIf":  b.PutIf(ctx, key, strings.NewReader("x"), 1, ""),
			"Delete": b.Delete(ctx, key),
		}
		for call, err := range errs {
			if !errors.Is(err, objectstore.ErrKey) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s(%q): %v, want ErrKey in one line", call, key, err)
			}
		}
	}
	for _, prefix := range []string{"/", "../", "a/../", "a//", "\\", "\x00"} {
		for info, err := range b.List(ctx, prefix) {
			if !errors.Is(err, objectstore.ErrKey) {
				t.Errorf("List(%q) = %v, %v, want ErrKey", prefix, info, err)
			}
		}
	}
	if got := keys(t, b, ""); !slices.Equal(got, []string{"a"}) {
		t.Errorf("List = %q, want the one object", got)
	}
}

// blob is n bytes in which no part is like another.
func blob(n int) []byte {
	out := make([]byte, 0, n+sha256.Size)
	for i := 0; len(out) < n; i++ {
		sum := sha256.Sum256(fmt.Append(nil, i))
		out = append(out, sum[:]...)
	}
	return out[:n]
}

func wrongSizes(t *testing.T, b objectstore.Bucket) {
	put(t, b, "old", "stays")
	for _, n := range []int{0, 5, 20 << 20} { // the last takes several requests
		content := blob(n)
		for _, said := range []int{n + 1, n - 1} {
			if said < 0 {
				continue
			}
			for _, key := range []string{"new", "old"} {
				if err := b.Put(t.Context(), key, bytes.NewReader(content), int64(said)); err == nil {
					t.Errorf("Put of %d bytes that were said to be %d: no error", n, said)
				}
			}
			if n < objectstore.MaxPutIf {
				if err := b.PutIf(t.Context(), "new", bytes.NewReader(content), int64(said), ""); err == nil {
					t.Errorf("PutIf of %d bytes that were said to be %d: no error", n, said)
				}
			}
		}
	}
	wants(t, b, "new", "absent")
	wants(t, b, "old", "stays")
}

func brokenContent(t *testing.T, b objectstore.Bucket) {
	put(t, b, "old", "stays")
	for _, n := range []int{0, 7, 20 << 20} {
		// io.ErrUnexpectedEOF is what a broken connection and a truncated gzip give, and must not pass for the end.
		for _, broken := range []error{errors.New("broken"), io.ErrUnexpectedEOF} {
			for _, size := range []int64{-1, int64(n) + 5} {
				for _, key := range []string{"new", "old"} {
					err := b.Put(t.Context(), key, io.MultiReader(bytes.NewReader(blob(n)), fails{broken}), size)
					if !errors.Is(err, broken) || errors.Is(err, objectstore.ErrUnreachable) {
						t.Errorf("Put of content that ends with %q: %v", broken, err)
					}
				}
			}
		}
	}
	wants(t, b, "new", "absent")
	wants(t, b, "old", "stays")
	if got := keys(t, b, ""); !slices.Equal(got, []string{"old"}) {
		t.Errorf("List = %q: unfinished writes show", got)
	}
}

type fails struct{ err error }

func (f fails) Read([]byte) (int, error) { return 0, f.err }

func large(t *testing.T, b objectstore.Bucket) {
	for _, n := range []int{16<<20 - 1, 16 << 20, 16<<20 + 1, 33 << 20} {
		content := blob(n)
		for _, size := range []int64{int64(n), -1} {
			if err := b.Put(t.Context(), "large", bytes.NewReader(content), size); err != nil {
				t.Fatalf("Put of %d bytes, size %d: %v", n, size, err)
			}
			got, err := objectstore.ReadAll(t.Context(), b, "large", 64<<20)
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("%d bytes came back as %d others (%v)", n, len(got), err)
			}
			if info := stat(t, b, "large"); info.Size != int64(n) || info.ETag == "" {
				t.Errorf("Stat = %+v", info)
			}
		}
	}
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
		{"o", 8, 100, "89"}, // fewer where the object ends before
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
	putIf("none", "no-such-tag", objectstore.ErrChanged) // nothing is there to be compared with
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

func lists(t *testing.T, b objectstore.Bucket) {
	all := []string{"a!/b", "a-b", "a/b", "a/c/d", "a/ca", "a0", "b", "packs/1.zip", "packs/2.zip", "z/ä", "z/日"}
	for _, i := range []int{3, 0, 9, 1, 10, 2, 8, 4, 7, 5, 6} {
		put(t, b, all[i], all[i])
	}
	if !slices.IsSorted(all) {
		t.Fatal("the test's own list is not sorted")
	}
	for _, prefix := range []string{"", "a", "a/", "a/c", "a/c/", "a!", "a-", "b", "b/", "packs/", "packs/2", "pack", "none", "z/日", "a/b", "a/b/"} {
		want := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, prefix) })
		if got := keys(t, b, prefix); !slices.Equal(got, want) {
			t.Errorf("List(%q) = %q, want %q", prefix, got, want)
		}
	}
	for info, err := range b.List(t.Context(), "packs/") { // it can be left early
		if err != nil || info.Key != "packs/1.zip" || info.Size != 11 || info.Modified.IsZero() {
			t.Errorf("first of the list: %+v, %v", info, err)
		}
		break
	}
}

// deletedFolders: a folder is gone with its last object, so that its name can be an object's.
func deletedFolders(t *testing.T, b objectstore.Bucket) {
	put(t, b, "a/b/c", "x")
	if err := b.Delete(t.Context(), "a/b/c"); err != nil {
		t.Fatal(err)
	}
	put(t, b, "a", "now an object")
	wants(t, b, "a", "now an object")
	wants(t, b, "a/b/c", "absent")
}

func endedContext(t *testing.T, b objectstore.Bucket) {
	put(t, b, "old", "stays")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, open := b.Open(ctx, "old")
	_, part := b.OpenRange(ctx, "old", 0, 1)
	_, stat := b.Stat(ctx, "old")
	var list error
	for _, err := range b.List(ctx, "") {
		list = err
	}
	for call, err := range map[string]error{
		"Open": open, "OpenRange": part, "Stat": stat, "List": list,
		"Put":    b.Put(ctx, "old", strings.NewReader("x"), 1),
		"PutIf":  b.PutIf(ctx, "new", strings.NewReader("x"), 1, ""),
		"Delete": b.Delete(ctx, "old"),
	} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, objectstore.ErrUnreachable) {
			t.Errorf("%s: %v, want context.Canceled alone", call, err)
		}
	}
	// One that ends while the content is read.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	content := io.MultiReader(bytes.NewReader(blob(100)), then{cancel}, bytes.NewReader(blob(100)))
	if err := b.Put(ctx, "old", content, -1); !errors.Is(err, context.Canceled) {
		t.Errorf("Put whose context ends on the way: %v", err)
	}
	wants(t, b, "old", "stays")
	wants(t, b, "new", "absent")
}

// then does something when it is read.
type then struct{ do func() }

func (r then) Read([]byte) (int, error) { r.do(); return 0, io.EOF }

func readAllLimit(t *testing.T, b objectstore.Bucket) {
	put(t, b, "o", "0123456789")
	if got, err := objectstore.ReadAll(t.Context(), b, "o", 10); string(got) != "0123456789" || err != nil {
		t.Errorf("ReadAll with limit 10 = %q, %v", got, err)
	}
	if got, err := objectstore.ReadAll(t.Context(), b, "o", 9); !errors.Is(err, objectstore.ErrTooLarge) || got != nil {
		t.Errorf("ReadAll with limit 9 = %q, %v, want ErrTooLarge", got, err)
	}
}
