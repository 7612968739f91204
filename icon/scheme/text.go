package scheme

import (
	"slices"
	"strings"
	"unicode"

	"github.com/iconedge/iconedge/icon"
)

// A text is a query, split as forms are.
type text struct {
	whole  string // in canonical form
	tokens []string
	// runs are the tokens between quotes, brackets and other marks. A component is the whole of a
	// run, so that the attributes beside it are no part of its name.
	runs       [][]string
	punctuated bool // it has other characters than letters, digits and spaces
}

// marks end a run. A slash, a colon and a hash are parts of tokens.
const marks = `<>()[]{}"'` + "`=,;"

// parse splits a text in canonical form.
func parse(whole string) text {
	t := text{whole: whole}
	t.punctuated = strings.ContainsFunc(whole, func(r rune) bool {
		return r != ' ' && !unicode.IsLetter(r) && !unicode.IsNumber(r) && r < unicode.MaxLatin1
	})
	rest := whole
	for rest != "" {
		at := strings.IndexAny(rest, marks)
		if at < 0 {
			at = len(rest)
		}
		run := words(rest[:at])
		switch {
		case at == len(rest):
			rest = ""
		case rest[at] == '=': // the end of the run is the name of an attribute
			run, rest = withoutAttribute(run), rest[at+1:]
		case strings.HasPrefix(rest[at:], "</"): // the end of an element
			_, rest, _ = strings.Cut(rest[at:], ">")
		default:
			rest = rest[at+1:]
		}
		if len(run) > 0 {
			t.runs = append(t.runs, run)
			t.tokens = append(t.tokens, run...)
		}
	}
	return t
}

// words splits at spaces, and removes the slash at the end of an element.
func words(s string) []string {
	return slices.DeleteFunc(strings.Fields(s), func(w string) bool { return w == "/" })
}

// attributes are the names of attributes that have two words as text in canonical form.
var attributes = []string{"class name", "stroke width", "aria label", "on click", "view box"}

// withoutAttribute removes the name of an attribute that no form has.
func withoutAttribute(run []string) []string {
	n := len(run)
	switch {
	case n == 0 || strings.HasPrefix(run[n-1], "data-"):
		return run
	case n > 1 && slices.Contains(attributes, run[n-2]+" "+run[n-1]):
		return run[:n-2]
	}
	return run[:n-1]
}

// hyphened makes a name of words: arrow back, arrow_back and house.fill are arrow-back and
// house-fill. It is not ok if these are no words of a name.
func hyphened(words []string) (name string, ok bool) {
	name = strings.Join(words, "-")
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-' && i > 0:
		case r == '_', r == '.':
			return hyphened(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '.' || r == '-' }))
		default:
			return "", false
		}
	}
	return name, name != "" && len(name) <= icon.MaxKey
}

// parseImport returns the text of an import of one name.
func parseImport(name, module string) text {
	return parse(icon.CanonicalQuery("{" + name + "} from '" + module + "'"))
}
