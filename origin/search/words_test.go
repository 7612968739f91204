package search

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/search/lexicon"
	"github.com/iconedge/iconedge/test/sequential"
)

func TestSplit(t *testing.T) {
	for _, row := range []struct{ in, typed, folded string }{
		{"home", "home", "home"}, {"Trash can", "trash can", "trash can"}, {"arrowLeft", "arrow left", "arrow left"},
		{"HTMLFile", "html file", "html file"}, {"HOME", "home", "home"}, {"Icons2Go", "icons2 go", "icons2 go"},
		{"iPhone", "i phone", "i phone"},
		{"a-b_c.d,e", "a b c d e", "a b c d e"}, {"batteries  houses", "batteries houses", "battery house"},
		{"ÉcoleÄpfel", "école äpfel", "école äpfel"}, {"ящик", "ящик", "ящик"}, {"مرحبا", "مرحبا", "مرحبا"},
		{"", "", ""}, {"?!\x00", "", ""}, {"red🏠❤️c", "red 🏠 ❤ c", "red 🏠 ❤ c"}, {"cafe\u0301", "café", "café"},
		{"\xffhome", "home", "home"},
	} {
		var typed, folded []string
		for _, w := range split(row.in) {
			typed, folded = append(typed, w.typed), append(folded, w.folded)
		}
		if strings.Join(typed, " ") != row.typed || strings.Join(folded, " ") != row.folded {
			t.Errorf("split(%q) = %q, %q; want %q, %q", row.in, typed, folded, row.typed, row.folded)
		}
	}
	if n := len(split(strings.Repeat("a ", 100))); n != maxWords {
		t.Errorf("%d words of a hundred, want %d", n, maxWords)
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"houses": "house", "batteries": "battery", "glasses": "glass", "brushes": "brush", "branches": "branch",
		"boxes": "box", "axes": "axe",
		"glass": "glass", "bus": "bus", "virus": "virus", "tennis": "tennis", "pies": "py", "gas": "gas",
		"cars": "car", "s": "s", "": "", "yes": "yes", "ties": "ty",
		"الإعدادات": "إعدادات", "إعدادات": "إعدادات", "الى": "الى", "ال": "ال",
	} {
		if got := fold(in); got != want {
			t.Errorf("fold(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"arrowLeft", "HTMLFile", "mdi:home", "ÀÉ", "ǅabc", "\xff", "a\u0301B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		terms := split(s)
		var again []string
		for _, w := range terms {
			if w.typed == "" || strings.ContainsFunc(w.typed, func(r rune) bool { return unicode.IsSpace(r) || r == '-' }) {
				t.Fatalf("split(%q) has the word %q", s, w.typed)
			}
			again = append(again, w.typed)
		}
		if len(terms) > maxWords {
			t.Fatalf("split(%q) has %d words", s, len(terms))
		}
		if joined := strings.Join(again, " "); len([]rune(joined)) <= MaxText && !slices.Equal(split(joined), terms) {
			t.Fatalf("split(%q) = %q, which splits into %q, want the same words", s, joined, split(joined))
		}
	})
}

// TestLanguages: words of other languages and emoji find icons by their English names, words
// without spaces between them too, and they come before names that only begin with them.
func TestLanguages(t *testing.T) {
	sequential.Test(t)
	packs := []icon.Pack{{Key: "a", Name: "A"}}
	var docs []Doc
	for i, name := range []string{"apple", "dog", "heart", "house", "hundred", "red-apple", "trash"} {
		docs = append(docs, Doc{Pack: "a", Name: name, Width: 24, Height: 24, Image: [16]byte{byte(i + 1)}})
	}
	base, err := lexicon.Shipped(sha256.New())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := Build(t.Context(), &file, Library{Packs: packs, Docs: byPack(docs),
		Lexicon: &lexicon.Lexicon{Base: base}, Made: "a test"}); err != nil {
		t.Fatal(err)
	}
	x, err := Open(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"maison": "house", "casa": "house", "Haus": "house", "дом": "house", "家": "house", "집": "house",
		"بيت": "house", "房子": "house", "🏠": "house",
		"corazón": "heart", "corazon": "heart", "corac\u0327a\u0303o": "heart", "❤️": "heart", "hund": "dog",
		"犬": "dog", "roter apfel": "red-apple", "红苹果": "red-apple",
		"red 🍎": "red-apple", "hundr": "hundred", "dog": "dog", "hea": "heart",
	} {
		hits, _ := x.Search(Query{Text: query, Limit: 3})
		if len(hits) == 0 || hits[0].Ref.Name != want {
			t.Errorf("%s finds %+v, want %s first", query, hits, want)
		}
	}
}
