package objectstore

import (
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzKey checks that a valid key names one place below the root, and that no other key names the
// same place.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"a", "a/b.zip", "../a", "/a", "a//b", "a/./b", "a\\b", "C:/a", "\x00", ".iconedge/lock", "🏠"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if checkKey(key) != nil {
			return
		}
		if got := path.Join("/root", key); got != "/root/"+key {
			t.Fatalf("checkKey(%q) accepts it, but path.Join gives %q", key, got)
		}
		if filepath.Separator == '/' && !filepath.IsLocal(key) {
			t.Fatalf("checkKey(%q) accepts it, but it is not local", key)
		}
		if strings.HasPrefix(key+"/", private+"/") {
			t.Fatalf("checkKey(%q) accepts it, but it is reserved", key)
		}
	})
}
