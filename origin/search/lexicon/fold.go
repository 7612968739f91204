package lexicon

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// Fold makes a plural singular, by the rules that names and queries share: -ies becomes -y; -sses,
// -shes, -ches and -xes lose the es; other words lose a final s, except for -ss, -us and -is. The
// result need not be correct English, only the same for names and queries. An Arabic word loses its
// article, which is written as a part of it, because people type words with and without it.
func Fold(w string) string {
	if rest, ok := strings.CutPrefix(w, "ال"); ok && utf8.RuneCountInString(rest) >= minArabic {
		return rest
	}
	switch n := len(w); {
	case n > 3 && strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "shes") || strings.HasSuffix(w, "ches") ||
		strings.HasSuffix(w, "xes")):
		return w[:n-2]
	case n > 3 && w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
		return w[:n-1]
	}
	return w
}

// minArabic is the number of letters of an Arabic word without its article.
const minArabic = 3

// Stem removes the ending of an English word ("lighting", "lighted": light), by Porter's second
// algorithm.
func Stem(w string) string {
	env := snowballstem.NewEnv(w)
	english.Stem(env)
	return env.Current()
}

// key returns the form of a phrase in look-ups: folded words in lower case, joined by spaces.
func key(phrase string) string { return strings.Join(words(phrase), " ") }

func words(phrase string) []string {
	list := strings.FieldsFunc(strings.ToLower(phrase), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
	for i := range list {
		list[i] = Fold(list[i])
	}
	return list
}
