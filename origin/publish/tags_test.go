package publish

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// The index learns from the tags beside a source, from the folders in Options.Tags, or from none.
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
	if got := tagFolders([]string{library}); !slices.Equal(got, []string{tags}) {
		t.Errorf("beside %s: %q", library, got)
	}
	digests := map[string]string{}
	for _, row := range []struct {
		name     string
		tags     []string
		projects int
	}{{"those beside the source", nil, 1}, {"those in Options", []string{tags}, 1}, {"none", []string{NoTags}, 0}} {
		p := &publication{Options: Options{Sources: []string{library}, Tags: row.tags}}
		lex, made, err := p.lexicon(t.Context())
		if err != nil || len(lex.Projects) != row.projects {
			t.Errorf("%s: %v, %v", row.name, lex, err)
		}
		digests[row.name] = made
	}
	if digests["none"] == digests["those in Options"] || digests["those in Options"] != digests["those beside the source"] {
		t.Errorf("digests %v; want the same one for the same tags, and another one for none", digests)
	}
	p := &publication{Options: Options{Tags: []string{t.TempDir()}}}
	if _, _, err := p.lexicon(t.Context()); !errors.Is(err, lexicon.ErrSource) {
		t.Errorf("a folder without tags: %v", err)
	}
}
