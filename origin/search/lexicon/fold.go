package lexicon

import (
	"strings"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// Fold makes a plural singular, by the rules that names and queries share: -ies to -y, -sses, -shes, -ches and -xes less
// the es, else less a final s, but not of -ss, -us and -is. It need not be right, only the same on both sides.
func Fold(w string) string {
	switch n := len(w); {
	case n > 3 && strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "shes") || strings.HasSuffix(w, "ches") || strings.HasSuffix(w, "xes")):
		return w[:n-2]
	case n > 3 && w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
		return w[:n-1]
	}
	return w
}

// Stem takes the ending off a word of English ("lighting", "lighted": light), by Porter's second algorithm.
func Stem(w string) string {
	env := snowballstem.NewEnv(w)
	english.Stem(env)
	return env.Current()
}

// key is a phrase as it is looked up: folded words in lower case, a space between two.
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
