package search

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/iconedge/iconedge/origin/search/lexicon"
)

// maxWords is the largest number of words of a query that count; the longest real name has 15.
const maxWords = 16

// A term is one word of a query: as typed, in lower case, and folded, as in names.
type term struct{ typed, folded string }

// variationSelector follows characters that are to be shown as emoji.
const variationSelector = '\uFE0F'

// split splits text into words: at every character that is not a letter, mark or digit, and where
// camelCase begins a new word ("HTMLFile" is html file). An emoji is a word by itself. It ignores
// text beyond MaxText characters and words beyond maxWords.
func split(text string) []term {
	var terms []term
	runes := []rune(norm.NFC.String(text))
	runes = runes[:min(len(runes), MaxText)]
	start := 0
	end := func(i int) {
		if i > start && len(terms) < maxWords {
			typed := strings.ToLower(string(runes[start:i]))
			terms = append(terms, term{typed, fold(typed)})
		}
	}
	for i, r := range runes {
		switch {
		case lexicon.IsPictograph(r): // an emoji is a word
			end(i)
			start = i
			end(i + 1)
			start = i + 1
		case r == variationSelector:
			end(i)
			start = i + 1
		case !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r):
			end(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && startsWord(runes, i):
			end(i)
			start = i
		}
	}
	end(len(runes))
	return terms
}

// startsWord reports whether the upper-case letter runes[i] begins a word: after another kind of
// character, or as the last capital before lower-case letters.
func startsWord(runes []rune, i int) bool {
	return !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// fold makes a plural singular. Names, queries and meanings share it.
func fold(w string) string { return lexicon.Fold(w) }

// folded returns the words that a doc must have.
func folded(terms []term) []string {
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.folded
	}
	return words
}

// spelledWords returns the folded words of other spellings of a name, as a query has them: größe of
// Größe, whose name is grosse, and github of GitHub, whose name is git-hub.
func spelledWords(spellings []string) (words []string) {
	for _, s := range spellings {
		for w := range strings.FieldsFuncSeq(strings.ToLower(norm.NFC.String(s)), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && !lexicon.IsPictograph(r)
		}) {
			words = append(words, fold(w))
		}
	}
	return words
}

// nameWords splits an icon's name into folded words and appends them to buf.
func nameWords(buf []string, name string) []string {
	for w := range strings.SplitSeq(name, "-") {
		if w != "" {
			buf = append(buf, fold(w))
		}
	}
	return buf
}
