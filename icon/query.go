package icon

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CanonicalQuery returns the canonical form of a search query: "arrowLeft", "Arrow  left" and
// "arrow left" all give "arrow left". It splits camelCase words first, then lowers the case, then
// collapses white space. The result is valid UTF-8 and its own canonical form. If it has more than
// MaxText characters, it is cut.
func CanonicalQuery(q string) string {
	var b strings.Builder
	runes := []rune(strings.ToValidUTF8(q, "\uFFFD"))
	space := false
	for i, r := range runes {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case i > 0 && startsWord(runes, i):
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

// ParamSimilar reads the parameter similar of a search, which replaces q. It returns the zero Ref if
// the parameter is absent.
func ParamSimilar(p Params) (Ref, error) {
	s, given := p["similar"]
	if !given {
		return Ref{}, nil
	}
	if _, both := p["q"]; both {
		return Ref{}, &ParamError{"similar", "a search has q or similar, not both"}
	}
	r, err := ParseRef(s)
	if err != nil {
		return Ref{}, &ParamError{"similar", "similar must be the pack and name of an icon, such as mdi/home"}
	}
	return r, nil
}

// startsWord reports whether runes[i] begins a word of camelCase: a capital after a lower-case
// letter or a digit, or the last capital before lower-case letters ("HTMLFile" is html file).
func startsWord(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	before := runes[i-1]
	return unicode.IsLower(before) || unicode.IsDigit(before) ||
		unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// firstCharacters returns the first n characters of s, without a space at the end.
func firstCharacters(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:n]), " ")
}
