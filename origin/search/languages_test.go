package search

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// heldKeyword is a keyword of an emoji, or a short text of a user interface, in another language,
// that the lexicon has not learned, with the English words of that emoji or text.
type heldKeyword struct {
	text    string
	english []string // folded words, joined by spaces
}

// mostHeld bounds the keywords and the texts that are asked in a language.
const mostHeld = 100

// heldPackage is the package with texts of user interfaces that is held back from the lexicon.
const heldPackage = "@payloadcms/translations"

// languages holds one pair in five of an emoji and a keyword back from the lexicon, and all texts
// of heldPackage. It builds an index with the rest, and adds the share of those keywords that find
// an icon with an English word of their emoji, and of the texts of one or two words that find an
// icon with the words of the English text. Keywords that stand at one emoji alone are not asked,
// because nothing else says what they mean.
func (r *report) languages(t testing.TB, packs []icon.Pack, docs []Doc) {
	files := os.DirFS(filepath.Join(lexiconModules, "cldr-annotations-full"))
	modules := os.DirFS(lexiconModules)
	read := func(language string) lexicon.Annotations {
		a, err := lexicon.ReadAnnotations(files, language)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	english, vocabulary := read("en"), map[string]int{}
	for _, d := range docs {
		for _, w := range nameWords(nil, d.Name) {
			vocabulary[w]++
		}
	}
	heldAt := slices.IndexFunc(lexicon.InterfacePackages, func(p lexicon.InterfacePackage) bool { return p.Name == heldPackage })
	others := slices.Delete(slices.Clone(lexicon.InterfacePackages), heldAt, heldAt+1)
	var texts []lexicon.Parallel
	keywords, interfaces := map[string][]heldKeyword{}, map[string][]heldKeyword{}
	for _, language := range lexicon.Languages {
		learned, asked := holdBack(read(language), english)
		keywords[language] = asked
		rest, err := lexicon.ReadParallels(modules, others, language)
		if err != nil {
			t.Fatal(err)
		}
		held, err := lexicon.ReadInterfaces(modules, lexicon.InterfacePackages[heldAt:heldAt+1], language)
		if err != nil {
			t.Fatal(err)
		}
		interfaces[language] = shortTexts(held, vocabulary)
		texts = append(append(texts, lexicon.Parallel{English: english, Foreign: learned, Things: true}), rest...)
	}
	var file bytes.Buffer
	if err := lexicon.Compile(&file, nil, lexicon.Translate(texts, vocabulary, nil)); err != nil {
		t.Fatal(err)
	}
	base, err := lexicon.ReadCompiled(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	x, _ := r.build(t, packs, docs, &lexicon.Lexicon{Base: base})
	names, engines := []string{"this project"}, []engine{ask(x)}
	for _, o := range r.others {
		names, engines = append(names, o.name), append(engines, o.ask)
	}
	for _, table := range []struct {
		title string
		held  map[string][]heldKeyword
	}{{"keywords of emoji held back", keywords}, {"texts of " + heldPackage + ", held back", interfaces}} {
		r.line("\n| language | %s | found by %s |\n|---|---|%s", table.title, strings.Join(names, " | "),
			strings.Repeat("---|", len(names)))
		for _, language := range lexicon.Languages {
			held, cells := table.held[language], ""
			for _, ask := range engines {
				found := 0
				for _, k := range held {
					if k.found(ask(question{Q: k.text})) {
						found++
					}
				}
				cells += fmt.Sprintf(" %.2f |", float64(found)/float64(max(1, len(held))))
			}
			r.line("| %s | %d |%s", language, len(held), cells)
		}
	}
}

// shortTexts returns the texts of one or two words whose English words occur in names.
func shortTexts(texts lexicon.Parallel, vocabulary map[string]int) (asked []heldKeyword) {
	seen := map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(texts.Foreign)) {
		if len(texts.English[k].Name) == 0 || len(texts.Foreign[k].Name) == 0 {
			continue
		}
		text, english := texts.Foreign[k].Name[0], folded(split(texts.English[k].Name[0]))
		unknown := slices.ContainsFunc(english, func(w string) bool { return vocabulary[w] == 0 })
		if len(english) > 2 || unknown || seen[text] {
			continue
		}
		seen[text] = true
		asked = append(asked, heldKeyword{text, []string{strings.Join(english, " ")}})
	}
	return sample(asked)
}

// sample returns mostHeld of many keywords.
func sample(asked []heldKeyword) []heldKeyword {
	step := len(asked) / mostHeld
	if step < 2 {
		return asked
	}
	some := asked[:0]
	for i := 0; i < len(asked) && len(some) < mostHeld; i += step {
		some = append(some, asked[i])
	}
	return some
}

// holdBack splits the annotations of a language: those to learn from, and keywords to ask.
func holdBack(all, english lexicon.Annotations) (learned lexicon.Annotations, asked []heldKeyword) {
	learned = lexicon.Annotations{}
	standsAt, n := map[string]int{}, 0
	for _, of := range all {
		for _, word := range of.Keywords {
			standsAt[word]++
		}
	}
	for _, emoji := range slices.Sorted(maps.Keys(all)) {
		of := all[emoji]
		of.Keywords = slices.DeleteFunc(slices.Clone(of.Keywords), func(word string) bool {
			n++
			if n%5 != 0 || slices.Contains(of.Name, word) {
				return false
			}
			if k := (heldKeyword{text: word}); standsAt[word] > 1 {
				for _, text := range slices.Concat(english[emoji].Name, english[emoji].Keywords) {
					k.english = append(k.english, strings.Join(folded(split(text)), " "))
				}
				asked = append(asked, k)
			}
			return true
		})
		learned[emoji] = of
	}
	return learned, sample(asked)
}

// found reports whether some icon of the first page has all words of an English name or keyword.
func (k heldKeyword) found(icons []icon.Ref) bool {
	return slices.ContainsFunc(icons, func(r icon.Ref) bool {
		name := nameWords(nil, r.Name)
		return slices.ContainsFunc(k.english, func(term string) bool {
			words := strings.Fields(term)
			return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(name, w) })
		})
	})
}
