package lexicon

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fill adds names without any meaning, so that a library is large enough to learn from.
func (n *Names) fill() {
	for i := range leastNames {
		n.Icons = append(n.Icons, Named{Text: fmt.Sprint("filler", i), Packs: 1})
	}
}

// TestNames checks the meanings that Learn finds in the names of a library without tags.
func TestNames(t *testing.T) {
	library := Names{Words: strings.Fields("arrow battery drive flash left nut right screw usb x")}
	for _, name := range []string{"usb flash drive", "usb drive", "nut screw", "arrow left", "arrow right", "battery", "left right", "x"} {
		library.Icons = append(library.Icons, Named{Text: name, Packs: 9})
	}
	library.fill()
	l := &Lexicon{Projects: []Project{{Name: "tags", Icons: []Tagged{
		{Name: "nut", Tags: []string{"fastener", "flash drive", "x screw"}},
		{Name: "battery", Tags: []string{"screw"}},
	}}}}
	got, err := l.Learn(t.Context(), library)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ why, word, meaning, not string }{
		{"a word that stands in the same name", "screw", "nut", "arrow"},
		{"a phrase, and the other word of its name", "flash drive", "usb", "flash"},
		{"words that meet by chance", "arrow", "left", "usb"},
		{"words that stand together in no name are no meaning", "nut", "screw", "x screw"},
	} {
		list := texts(got[row.word])
		if !slices.Contains(list, row.meaning) || slices.Contains(list, row.not) {
			t.Errorf("%s: %q means %q, want %q and not %q", row.why, row.word, list, row.meaning, row.not)
		}
	}
}

// TestFewPacks checks that an inferred meaning is not the name of few packs, unless icons of that
// name have the tag.
func TestFewPacks(t *testing.T) {
	l := &Lexicon{Projects: []Project{{Name: "tags", Icons: []Tagged{
		{Name: "trash", Tags: []string{"garbage", "bin"}}, {Name: "rubbish", Tags: []string{"garbage", "bin"}},
		{Name: "dustbin", Tags: []string{"bin", "litter"}},
	}}}}
	for _, packs := range []int{1, leastPacks} {
		library := Names{Words: []string{"dustbin", "house", "rubbish", "trash"}}
		for _, w := range library.Words {
			library.Icons = append(library.Icons, Named{Text: w, Packs: packs})
		}
		library.Icons = append(library.Icons, Named{Text: "home", Packs: leastPacks * packShare})
		got, err := l.Learn(t.Context(), library)
		if err != nil {
			t.Fatal(err)
		}
		if list := texts(got["litter"]); !slices.Contains(list, "=dustbin") || slices.Contains(list, "=trash") != (packs == leastPacks) {
			t.Errorf("names of %d packs: litter means %q", packs, list)
		}
	}
}

// TestContexts checks that words mean the like if a rare word stands in both definitions.
func TestContexts(t *testing.T) {
	l := &Lexicon{Senses: map[string][]int32{}}
	for word, gloss := range map[string]string{
		"stronghold": "a fortified building", "castle": "a fortified house for a ruler",
		"barn": "a building for animals", "house": "a building for people", "fortified": "ready for attack",
	} {
		l.Senses[word] = []int32{int32(len(l.Synsets))}
		l.Synsets = append(l.Synsets, Synset{Words: []string{word}, Gloss: gloss})
	}
	library := Names{Words: []string{"barn", "castle", "house"}}
	for _, w := range library.Words {
		library.Icons = append(library.Icons, Named{Text: w, Packs: leastShown})
	}
	library.fill()
	got, err := l.Learn(t.Context(), library)
	if err != nil {
		t.Fatal(err)
	}
	if list := texts(got["stronghold"]); len(list) == 0 || list[0] != "castle" {
		t.Errorf("stronghold means %q, want castle first", list)
	}
}
