package search

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestSplit(t *testing.T) {
	for _, row := range []struct{ in, typed, folded string }{
		{"home", "home", "home"}, {"Trash can", "trash can", "trash can"}, {"arrowLeft", "arrow left", "arrow left"},
		{"HTMLFile", "html file", "html file"}, {"HOME", "home", "home"}, {"Icons2Go", "icons2 go", "icons2 go"}, {"iPhone", "i phone", "i phone"},
		{"a-b_c.d,e", "a b c d e", "a b c d e"}, {"batteries  houses", "batteries houses", "battery house"},
		{"ÉcoleÄpfel", "école äpfel", "école äpfel"}, {"ящик", "ящик", "ящик"}, {"مرحبا", "مرحبا", "مرحبا"}, {"", "", ""}, {"?!\x00", "", ""}, {"red🏠❤️c", "red 🏠 ❤ c", "red 🏠 ❤ c"}, {"cafe\u0301", "café", "café"}, {"\xffhome", "home", "home"},
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
		"houses": "house", "batteries": "battery", "glasses": "glass", "brushes": "brush", "branches": "branch", "boxes": "box", "axes": "axe",
		"glass": "glass", "bus": "bus", "virus": "virus", "tennis": "tennis", "pies": "py", "gas": "gas", "cars": "car", "s": "s", "": "", "yes": "yes", "ties": "ty",
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
