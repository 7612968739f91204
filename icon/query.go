package icon

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CanonicalQuery gives the one form of all spellings of a query that are the same: "arrowLeft", "Arrow  left" and "arrow left"
// are "arrow left". Words of camelCase are parted first, then letters made small, then spaces made one. What it gives is its
// own canonical form, in valid UTF-8; of more than MaxText characters the first are left.
func CanonicalQuery(q string) string {
	var b strings.Builder
	runes := []rune(strings.ToValidUTF8(q, "\uFFFD"))
	space := false
	for i, r := range runes {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case i > 0 && humps(runes, i):
			space = b.Len() > 0
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return firstCharacters(b.String(), MaxText)
}

// humps reports whether runes[i] begins a word of camelCase: a capital after a small letter or a digit, or the last capital
// before small letters ("HTMLFile" is html file).
func humps(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	before := runes[i-1]
	return unicode.IsLower(before) || unicode.IsDigit(before) ||
		unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// firstCharacters are the first n of s, without a space at their end.
func firstCharacters(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n]), " ")
}
