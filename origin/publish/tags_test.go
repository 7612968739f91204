package publish

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// TestTags: what the index learns from lies beside a source, or is said, or is nothing.
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
	if got := beside([]string{library}); !slices.Equal(got, []string{tags}) {
		t.Errorf("beside %s: %q", library, got)
	}
	digests := map[string]string{}
	for _, row := range []struct {
		why      string
		tags     []string
		projects int
	}{{"those beside the source", nil, 1}, {"those that are said", []string{tags}, 1}, {"none", []string{NoTags}, 0}} {
		p := &publication{Options: Options{Sources: []string{library}, Tags: row.tags}}
		lex, made, err := p.lexicon(t.Context())
		if err != nil || len(lex.Projects) != row.projects {
			t.Errorf("%s: %v, %v", row.why, lex, err)
		}
		digests[row.why] = made
	}
	if digests["none"] == digests["those that are said"] || digests["those that are said"] != digests["those beside the source"] {
		t.Errorf("an index is made again where it learns from something else: %v", digests)
	}
	p := &publication{Options: Options{Tags: []string{t.TempDir()}}}
	if _, _, err := p.lexicon(t.Context()); !errors.Is(err, lexicon.ErrSource) {
		t.Errorf("a folder without tags: %v", err)
	}
}
