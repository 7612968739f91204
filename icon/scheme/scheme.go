// Package scheme reads the names of icons as people have them in their projects: components,
// classes, imports, the addresses of packages. schemes.json says how each library of icons writes a
// name, and which icons it is here. Search, suggestions of problems, pages and editors share that
// table, and each checks by itself which of the icons exist.
package scheme

import (
	_ "embed" // schemes.json and shortcodes.txt
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/iconedge/iconedge/icon"
)

// A Reading is one way to understand a text as a name in code.
type Reading struct {
	Library string // whose way to write names it is
	Form    string // as the table has it: its star stands for the name
	// Name is the name in the text, in lower case with hyphens. It may be incomplete, because users
	// search while they type.
	Name string
	Refs []icon.Ref // the icons that the text may be, the likeliest first; they may not exist
	// Certain means that no ordinary query looks so: the text has punctuation, as classes and
	// elements have. A component such as FaHouse is fa house in a query, which may be two words.
	Certain bool

	// Styled means that the text is a name with a style of its library after it (HomeOutlined), and
	// nothing else tells the library.
	Styled  bool
	Targets []Target // of the form
}

// A library is one entry of schemes.json.
type library struct {
	Library  string
	Docs     string            // where its documentation shows the forms
	Packages []string          // names of its packages, and others that people use for it
	Icons    string            // targets of its names
	Forms    map[string]string // by form: targets of its names
	Examples map[string]string // a text, and the icon that it is

	targets []Target
}

// A Target makes the icon of a name: the pack ion with -outline after the name.
type Target struct {
	Pack          string
	Before, After string // around the name
}

// Ref returns the icon of a name.
func (t Target) Ref(name string) icon.Ref {
	return icon.Ref{Pack: t.Pack, Name: t.Before + name + t.After}
}

//go:embed schemes.json
var tableText []byte

var (
	libraries           = readLibraries()
	forms               = compile(libraries)
	byToken             = indexed(forms)
	packages, mostWords = packagesOf(libraries)
)

func readLibraries() (list []*library) {
	if err := json.Unmarshal(tableText, &list); err != nil {
		panic("schemes.json: " + err.Error()) // TestTable finds it before any user does
	}
	for _, l := range list {
		l.targets = targetsOf(l.Icons)
	}
	return list
}

// targetsOf reads targets such as "fa6-solid:* fa-solid:*".
func targetsOf(text string) (list []Target) {
	for t := range strings.FieldsSeq(text) {
		pack, pattern, _ := strings.Cut(t, ":")
		before, after, _ := strings.Cut(pattern, "*")
		list = append(list, Target{pack, before, after})
	}
	return list
}

// packPlace stands in a target for the pack that the text names.
const packPlace = "{pack}"

// maxReadings is the largest number of readings of a text.
const maxReadings = 6

// Read returns the ways to understand a text as a name in code, the likeliest first. isPack reports
// whether the library has a pack.
func Read(text string, isPack func(string) bool) []Reading {
	t := parse(icon.CanonicalQuery(text))
	if len(t.tokens) == 0 {
		return nil
	}
	found := t.packaged(isPack)
	for _, f := range byToken.of(t) {
		if len(found) == maxReadings {
			break
		}
		if pack, name, ok := f.match(t, isPack); ok {
			found = append(found, newReading(f, t, pack, name))
		}
	}
	return found
}

// newReading makes the reading of a name that a text has in a form, with the pack that it names.
func newReading(f *form, t text, pack, name string) Reading {
	r := Reading{Library: f.library.Library, Form: f.raw, Name: name, Certain: t.punctuated,
		Styled: f.component && len(f.before) == 0 && f.raw != anyComponent && !unicode.IsDigit(rune(f.after[0][0]))}
	for _, to := range f.targets {
		if to.Pack == packPlace {
			to.Pack = pack
		}
		r.Targets = append(r.Targets, to)
	}
	if f.raw == shortcode {
		name = emoji(name)
	}
	r.Refs = refs(r.Targets, name)
	return r
}

// refs returns the icons of a name, the likeliest spelling of its digits first.
func refs(targets []Target, name string) (list []icon.Ref) {
	for _, spelled := range spellings(name) {
		for _, t := range targets {
			list = append(list, t.Ref(spelled))
		}
	}
	return list
}

// spellings returns a name with its digits apart from the letters and together with them, because
// camelCase tells neither: Number1 is number-1, and 500Px is 500px.
func spellings(name string) []string {
	list := []string{name}
	var apart, together strings.Builder
	for i, r := range name {
		if i > 0 && r != '-' {
			before := rune(name[i-1])
			if before != '-' && unicode.IsDigit(before) != unicode.IsDigit(r) {
				apart.WriteByte('-')
			}
			if before == '-' && i > 1 && unicode.IsDigit(rune(name[i-2])) == unicode.IsDigit(r) {
				together.WriteByte('-')
			}
		}
		if r != '-' {
			together.WriteRune(r)
		}
		apart.WriteRune(r)
	}
	for _, other := range []string{apart.String(), together.String()} {
		if !slices.Contains(list, other) {
			list = append(list, other)
		}
	}
	return list
}

// Near returns the icons, as pack/name, that a path may mean whose pack is that of another library
// or whose name is one in code: bi/house for bootstrap-icons/house. has reports whether there is an
// icon; the first are the likeliest, and there are at most icon.MaxNear.
func Near(pack, name string, isPack func(string) bool, has func(icon.Ref) bool) (near []string) {
	list := OfPackage(name, pack)
	for _, r := range Read(name, isPack) {
		list = append(list, r.Refs...)
	}
	for _, ref := range list {
		if s := ref.String(); len(near) < icon.MaxNear && !slices.Contains(near, s) && has(ref) {
			near = append(near, s)
		}
	}
	return near
}

// OfPackage returns the icons of a name in the library that a text or a path names by one of its
// packages, such as bootstrap-icons; nil: no library has a package of that name.
func OfPackage(name, of string) []icon.Ref {
	l := packages[strings.ToLower(of)]
	if l == nil {
		return nil
	}
	return refs(l.targets, name)
}

// Examples yields texts that people have in their projects, and the icon of each as pack/name. The
// pack is a star if the text names none.
func Examples(yield func(text, icon string) bool) {
	for _, l := range libraries {
		for text, ref := range l.Examples {
			if !yield(text, ref) {
				return
			}
		}
	}
}
