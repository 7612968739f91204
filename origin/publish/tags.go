package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// NoTags is an element of Options.Tags: the index then leaves out the lexicon of the program.
const NoTags = "none"

// lexicon returns the lexicon of the program, with the tags in the folders of Options.Tags. It also
// returns a digest of both.
func (p *publication) lexicon(ctx context.Context) (*lexicon.Lexicon, string, error) {
	folders := slices.DeleteFunc(slices.Clone(p.Tags), func(folder string) bool { return folder == NoTags })
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
	if !slices.Contains(p.Tags, NoTags) {
		if lex.Base, err = lexicon.Shipped(sum); err != nil {
			return nil, "", err
		}
	}
	return lex, hex.EncodeToString(sum.Sum(nil)), nil
}
