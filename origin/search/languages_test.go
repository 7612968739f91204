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

// heldKeyword is a keyword of an emoji in another language that the lexicon of languages has not
// learned, with the English words of that emoji.
type heldKeyword struct {
	text    string
	english []string // folded words, joined by spaces
}

// mostHeld bounds the keywords that are asked in a language.
const mostHeld = 100

// languages holds one pair in five of an emoji and a keyword back from the lexicon, builds an index
// with the rest, and adds the share of those keywords that find an icon with an English word of
// their emoji. Keywords that stand at one emoji alone are not asked, because nothing else says what
// they mean.
func (r *report) languages(t testing.TB, packs []icon.Pack, docs []Doc) {
	files := os.DirFS(filepath.Join(filepath.Dir(filepath.Dir(os.Getenv("ICONEDGE_LIBRARY"))), "cldr-annotations-full"))
	read := func(language string) lexicon.Annotations {
		a, err := lexicon.ReadAnnotations(files, language)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	english, vocabulary := read("en"), map[string]bool{}
	for _, d := range docs {
		for _, w := range nameWords(nil, d.Name) {
			vocabulary[w] = true
		}
	}
	var rest []lexicon.Annotations
	held := map[string][]heldKeyword{}
	for _, language := range lexicon.Languages {
		learned, asked := holdBack(read(language), english)
		rest, held[language] = append(rest, learned), asked
	}
	var file bytes.Buffer
	if err := lexicon.Compile(&file, nil, lexicon.Translate(english, rest, slices.Sorted(maps.Keys(vocabulary)), nil)); err != nil {
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
	r.line("\n| language | keywords held back | found by %s |\n|---|---|%s", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, language := range lexicon.Languages {
		cells := ""
		for _, ask := range engines {
			found := 0
			for _, k := range held[language] {
				if k.found(ask(question{Q: k.text})) {
					found++
				}
			}
			cells += fmt.Sprintf(" %.2f |", float64(found)/float64(max(1, len(held[language]))))
		}
		r.line("| %s | %d |%s", language, len(held[language]), cells)
	}
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
	if step := len(asked) / mostHeld; step > 1 {
		sample := asked[:0]
		for i := 0; i < len(asked) && len(sample) < mostHeld; i += step {
			sample = append(sample, asked[i])
		}
		asked = sample
	}
	return learned, asked
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
