package objectstore

import (
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A key that is taken names one place below the root, and no other key names it: it is what path.Join makes of it.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"a", "a/b.zip", "../a", "/a", "a//b", "a/./b", "a\\b", "C:/a", "\x00", ".iconedge/lock", "🏠"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if checkKey(key) != nil {
			return
		}
		if got := path.Join("/root", key); got != "/root/"+key {
			t.Fatalf("checkKey(%q) is fine, but it is the place %q", key, got)
		}
		if filepath.Separator == '/' && !filepath.IsLocal(key) {
			t.Fatalf("checkKey(%q) is fine, but it is not local", key)
		}
		if strings.HasPrefix(key+"/", private+"/") {
			t.Fatalf("checkKey(%q) is fine, but it is the store's own", key)
		}
	})
}
