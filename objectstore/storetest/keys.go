package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/objectstore"
)

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
		t.Errorf("List after deleting all: %q", got)
	}
}

// unusable lists keys that every store must refuse.
var unusable = []string{
	"", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/./b", "../a", "a/..", "a/../b", "a/../../b", "a\x00b", "a\\b", `..\a`,
	"a\nb", "a\x7fb", "\xff", "a/\xc3", strings.Repeat("x", 256), strings.Repeat("x/", 512) + "x", ".iconedge/lock", ".iconedge",
}

func badKeys(t *testing.T, b objectstore.Bucket) {
	ctx := t.Context()
	put(t, b, "a", "stays")
	for _, key := range unusable {
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

func lists(t *testing.T, b objectstore.Bucket) {
	all := []string{"a!/b", "a-b", "a/b", "a/c/d", "a/ca", "a0", "b", "packs/1.zip", "packs/2.zip", "z/ä", "z/日"}
	for _, i := range []int{3, 0, 9, 1, 10, 2, 8, 4, 7, 5, 6} {
		put(t, b, all[i], all[i])
	}
	if !slices.IsSorted(all) {
		t.Fatal("the test's own list is not sorted")
	}
	for _, prefix := range []string{"", "a", "a/", "a/c", "a/c/", "a!", "a-", "b", "b/", "packs/", "packs/2", "pack",
		"none", "z/日", "a/b", "a/b/"} {
		want := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, prefix) })
		if got := keys(t, b, prefix); !slices.Equal(got, want) {
			t.Errorf("List(%q) = %q, want %q", prefix, got, want)
		}
	}
	for info, err := range b.List(t.Context(), "packs/") { // a caller can stop early
		if err != nil || info.Key != "packs/1.zip" || info.Size != 11 || info.Modified.IsZero() {
			t.Errorf("first of the list: %+v, %v", info, err)
		}
		break
	}
}

// deletedFolders checks that a folder disappears with its last object, so that an object can have
// its name.
func deletedFolders(t *testing.T, b objectstore.Bucket) {
	put(t, b, "a/b/c", "x")
	if err := b.Delete(t.Context(), "a/b/c"); err != nil {
		t.Fatal(err)
	}
	put(t, b, "a", "now an object")
	wants(t, b, "a", "now an object")
	wants(t, b, "a/b/c", "absent")
}
