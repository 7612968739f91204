package publish

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// The index has the lexicon of the program, and learns the tags in the folders of Options.Tags. The
// packages that happen to lie beside a source change nothing.
func TestTags(t *testing.T) {
	modules := filepath.Join(t.TempDir(), "node_modules")
	library, tags := filepath.Join(modules, "@iconify", "json"), filepath.Join(modules, "lucide-static")
	for _, dir := range []string{library, tags} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(tags, "tags.json"), []byte(`{"trash": ["garbage"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, row := range []struct {
		name     string
		source   string
		tags     []string
		projects int
		base     bool
	}{
		{"beside tags", library, nil, 0, true},
		{"elsewhere", t.TempDir(), nil, 0, true},
		{"with tags", library, []string{tags}, 1, true},
		{"only these tags", library, []string{NoTags, tags}, 1, false},
		{"none", library, []string{NoTags}, 0, false},
	} {
		p := &publication{Options: Options{Sources: []string{row.source}, Tags: row.tags}}
		lex, made, err := p.lexicon(t.Context())
		if err != nil || len(lex.Projects) != row.projects || (lex.Base != nil) != row.base {
			t.Errorf("%s: %v, error %v", row.name, lex, err)
		}
		for other, digest := range digests {
			if same := other == "beside tags" && row.name == "elsewhere"; same != (made == digest) {
				t.Errorf("digests of %q and %q: equal is %v, want %v", other, row.name, made == digest, same)
			}
		}
		if row.name != "elsewhere" {
			digests[row.name] = made
		}
	}
	p := &publication{Options: Options{Tags: []string{t.TempDir()}}}
	if _, _, err := p.lexicon(t.Context()); !errors.Is(err, lexicon.ErrSource) {
		t.Errorf("a folder without tags: %v", err)
	}
}
