//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLibrary checks that copies of packs differ from them in keys, SVGs and names, that their
// aliases have icons, and that they come out the same again.
func TestLibrary(t *testing.T) {
	from := t.TempDir()
	for name, content := range map[string]string{
		"collections.json": `{"a": {"name": "A", "samples": ["home"]}}`,
		"json/a.json": `{"prefix": "a", "icons": {"home": {"body": "<path d=\"M1 1h2z\"/>"}, "map": {"body": "<circle r=\"1\"/>"},
			"pin": {"body": "<path d=\"M2 2h2z\"/>"}}, "aliases": {"house": {"parent": "home"}}, "categories": {"C": ["home", "map"]}}`,
	} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var trees [2]string
	for i := range trees {
		trees[i] = filepath.Join(t.TempDir(), "out")
		status, out, errs := loadtest(t, "library", "--icons", "30", "--from", from, "--out", trees[i])
		if status != 0 || out != "30 icons in 10 packs\n" {
			t.Fatalf("status %d: %s%s", status, out, errs)
		}
	}
	bodies, names := map[string]bool{}, map[string]bool{}
	for _, key := range strings.Fields("a a-2 a-3 a-4 a-5 a-6 a-7 a-8 a-9 a-10") {
		var f iconFile
		if err := readJSON(filepath.Join(trees[0], "json", key+".json"), &f); err != nil {
			t.Fatal(err)
		}
		for name, ic := range f.Icons {
			bodies[ic["body"].(string)], names[name] = true, true
		}
		for _, of := range []any{f.Aliases["house"]["parent"], f.Categories["C"][0], f.Categories["C"][1]} {
			if f.Prefix != key || f.Icons[of.(string)] == nil {
				t.Errorf("%s has the prefix %s and names %s, which is none of its icons", key, f.Prefix, of)
			}
		}
		one, _ := os.ReadFile(filepath.Join(trees[0], "json", key+".json"))
		if other, _ := os.ReadFile(filepath.Join(trees[1], "json", key+".json")); string(one) != string(other) {
			t.Errorf("%s differs from run to run", key)
		}
	}
	if len(bodies) != 30 || len(names) < 5 {
		t.Errorf("%d SVGs and %d names, want 30, and at least 5", len(bodies), len(names))
	}
}
