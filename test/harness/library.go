package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// Library writes a small folder of SVGs; d is the path data of demo/arrow.
func Library(t *testing.T, d string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("demo/pack.json", `{"name":"Demo","license":{"title":"MIT License","spdx":"MIT","url":"https://example.org/license"},"author":{"name":"Somebody"}}`)
	write("demo/arrow.svg", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="`+d+`"/></svg>`)
	write("demo/dot.svg", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><circle cx="12" cy="12" r="6"/></svg>`)
	return dir
}

// TextFile writes text to a temporary file of the test.
func TextFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const TierSecret = "a-secret-between-tiers-0123"
