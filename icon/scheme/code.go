package scheme

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/iconedge/iconedge/icon"
)

// Component returns the reading of a word that is a component of a library by its beginning and its
// capitals, such as FaHouse, IconHome and mdiHome. It is not ok for an ordinary
// word that only begins so, because a capital or a digit must follow.
func Component(word string, isPack func(string) bool) (r Reading, ok bool) {
	for _, r := range Read(word, isPack) {
		before, after, _ := strings.Cut(r.Form, "*")
		rest, begins := strings.CutPrefix(word, before)
		if before == "" || !isComponent(before, after) || !begins || !strings.HasSuffix(rest, after) {
			continue
		}
		if first, _ := utf8.DecodeRuneInString(rest); unicode.IsUpper(first) || unicode.IsDigit(first) {
			return r, true
		}
	}
	return Reading{}, false
}

// imports finds the imports of a program: the names, and the module.
var imports = regexp.MustCompile(`\bimport\s+(?:type\s+)?([\w$*\s{},]+?)\s*from\s*['"]([^'"\n]+)['"]`)

// Imported returns the reading of a word that a program imports from a package of a library of
// icons, which names icons as the library does.
func Imported(word, program string, isPack func(string) bool) (r Reading, ok bool) {
	for _, m := range imports.FindAllStringSubmatch(program, -1) {
		for _, name := range strings.FieldsFunc(m[1], isNoName) {
			if name != word {
				continue
			}
			if list := parseImport(word, m[2]).packaged(isPack); len(list) > 0 {
				return list[0], true
			}
		}
	}
	return Reading{}, false
}

// isNoName reports whether a character is no part of a name in a program.
func isNoName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '$'
}

// Component returns the component of an icon in the form of a reading: FaHouse for fa6-solid/house,
// if the form is Fa*. It is not ok for an icon that the form does not name.
func (r Reading) Component(ref icon.Ref) (component string, ok bool) {
	before, after, _ := strings.Cut(r.Form, "*")
	for _, t := range r.Targets {
		name, begins := strings.CutPrefix(ref.Name, t.Before)
		name, ends := strings.CutSuffix(name, t.After)
		if t.Pack != ref.Pack || !begins || !ends || name == "" {
			continue
		}
		var b strings.Builder
		for word := range strings.SplitSeq(name, "-") {
			if word != "" {
				b.WriteString(strings.ToUpper(word[:1]) + word[1:])
			}
		}
		return before + b.String() + after, true
	}
	return "", false
}
