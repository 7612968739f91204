package scheme

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/iconedge/iconedge/icon"
)

// A form is one way to write names. A component (FaReg*, *Outlined, mdi*) is the whole of a run,
// and its name is words. Any other form is classes, in any order, of which one has the name; a name
// that is a class by itself follows the class before the star.
type form struct {
	library   *library
	order     int // in forms
	raw       string
	component bool
	before    []string // tokens before the name, of a component also the one that digits end
	after     []string
	classes   []string // tokens without a star
	prefix    string   // of the token with the star, up to the star or the pack
	between   string   // between the pack and the name
	suffix    string
	ofPack    bool // the text names the pack
	targets   []Target
}

// compile returns all forms, those with the longest text first, because MdOutline* is also Md*.
func compile(list []*library) (all []*form) {
	for _, l := range list {
		for raw, targets := range l.Forms {
			all = append(all, newForm(l, raw, targetsOf(targets)))
		}
	}
	slices.SortFunc(all, func(a, b *form) int {
		return cmp.Or(cmp.Compare(len(b.raw), len(a.raw)), cmp.Compare(a.raw, b.raw), cmp.Compare(a.library.Library, b.library.Library))
	})
	for i, f := range all {
		f.order = i
	}
	return all
}

// index finds the forms that a text may have by one of its tokens, so that a search need not try
// all.
type index struct {
	before, after, class map[string][]*form
	others               []*form
}

func indexed(all []*form) index {
	x := index{before: map[string][]*form{}, after: map[string][]*form{}, class: map[string][]*form{}}
	for _, f := range all {
		switch last := len(f.after) - 1; {
		case len(f.before) > 0:
			x.before[f.before[0]] = append(x.before[f.before[0]], f)
		case last >= 0 && !f.endsDigits():
			x.after[f.after[last]] = append(x.after[f.after[last]], f)
		case len(f.classes) > 0:
			x.class[f.classes[0]] = append(x.class[f.classes[0]], f)
		default:
			x.others = append(x.others, f)
		}
	}
	return x
}

// endsDigits reports whether digits follow the name, which may be a part of its last token.
func (f *form) endsDigits() bool { return len(f.after) == 1 && unicode.IsDigit(rune(f.after[0][0])) }

// of returns the forms that a text may have, in their order.
func (x index) of(t text) []*form {
	var list []*form
	for _, run := range t.runs {
		first, last := run[0], run[len(run)-1]
		list = append(append(list, x.before[first]...), x.after[last]...)
		if digits := strings.IndexAny(first, "0123456789"); digits > 0 {
			list = append(list, x.before[first[:digits]]...)
		}
	}
	for _, token := range t.tokens {
		list = append(list, x.class[token]...)
	}
	if list == nil {
		return x.others
	}
	list = append(list, x.others...)
	slices.SortFunc(list, func(a, b *form) int { return cmp.Compare(a.order, b.order) })
	return slices.Compact(list)
}

// packMark stands in the tokens of a form for {pack}, because braces end a run.
const packMark = "¤"

func newForm(l *library, raw string, targets []Target) *form {
	f := &form{library: l, raw: raw, targets: targets}
	before, after, _ := strings.Cut(raw, "*")
	if isComponent(before, after) {
		f.component = true
		f.before = strings.Fields(icon.CanonicalQuery(before))
		// With a letter in front, so that capitals and digits are split as in a name.
		f.after = strings.Fields(strings.TrimPrefix(icon.CanonicalQuery("x"+after), "x"))
		return f
	}
	for _, token := range parse(icon.CanonicalQuery(strings.ReplaceAll(raw, "{pack}", packMark))).tokens {
		if !strings.Contains(token, "*") {
			f.classes = append(f.classes, token)
			continue
		}
		f.prefix, f.suffix, _ = strings.Cut(token, "*")
		var before string
		if before, f.between, f.ofPack = strings.Cut(f.prefix, packMark); f.ofPack {
			f.prefix = before
		}
	}
	return f
}

// isComponent reports whether letters and digits alone surround the name, without a space.
func isComponent(before, after string) bool {
	around := before + after
	return around != "" && !strings.ContainsFunc(around, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// match reports whether a text has the form, with the name, and the pack if the text names one.
func (f *form) match(t text, isPack func(string) bool) (pack, name string, ok bool) {
	if f.component {
		for _, run := range t.runs {
			if name, ok := f.componentIn(run); ok {
				return "", name, true
			}
		}
		return "", "", false
	}
	last := -1
	for _, c := range f.classes {
		at := slices.Index(t.tokens, c)
		if at < 0 {
			return "", "", false
		}
		last = max(last, at)
	}
	if f.prefix+f.suffix == "" && !f.ofPack {
		if last+1 == len(t.tokens) {
			return "", "", false
		}
		name, ok = hyphened(t.tokens[last+1 : last+2])
		return "", name, ok
	}
	for i, token := range t.tokens {
		if !strings.HasPrefix(token, f.prefix) || slices.Contains(f.classes, token) {
			continue
		}
		if pack, name, ok := f.inToken(t, i, isPack); ok && !slices.Contains(modifiers, token) {
			return pack, name, true
		}
	}
	return "", "", false
}

// modifiers are classes that look like names.
var modifiers = strings.Fields("fa-xs fa-sm fa-lg fa-xl fa-fw fa-1x fa-2x fa-3x fa-4x fa-5x fa-spin fa-pulse fa-beat fa-fade " +
	"fa-stack fa-inverse bx-sm bx-md bx-lg bx-fw bx-spin bx-tada mdi-18px mdi-24px mdi-36px mdi-48px mdi-spin ri-lg ri-xl ri-fw")

// inToken finds the name in the token i, which begins with the prefix.
func (f *form) inToken(t text, i int, isPack func(string) bool) (pack, name string, ok bool) {
	rest := t.tokens[i][len(f.prefix):]
	if f.ofPack {
		if t.tokens[i] == t.whole && f.prefix == "" && f.between == ":" {
			return "", "", false // a reference, as users write it
		}
		pack, rest, ok = f.cutPack(rest, isPack)
		if !ok {
			return "", "", false
		}
	}
	parts := []string{rest}
	switch {
	case f.suffix == "" && strings.HasSuffix(f.prefix, "."): // arrow back follows Icons.Filled.
		parts = append(parts, t.tokens[i+1:]...)
	case f.suffix != "":
		if rest, ok = strings.CutSuffix(rest, f.suffix); !ok {
			return "", "", false
		}
		parts[0] = rest
		if f.prefix == "" && !f.ofPack { // of a file
			parts = append(slices.Clone(t.tokens[:i]), rest[strings.LastIndexByte(rest, '/')+1:])
		}
	}
	name, ok = hyphened(parts)
	if !ok && f.raw == shortcode {
		name, ok = rest, rest != ""
	}
	return pack, name, ok
}

// cutPack splits pack and name. Both may have the hyphen that separates them, so the longest pack
// counts.
func (f *form) cutPack(s string, isPack func(string) bool) (pack, name string, ok bool) {
	if f.between != "-" {
		pack, name, ok = strings.Cut(s, f.between)
		return pack, name, ok && isPack(pack)
	}
	for at := len(s) - 1; at > 0; at-- {
		if s[at] == '-' && isPack(s[:at]) {
			return s[:at], s[at+1:], true
		}
	}
	return "", "", false
}

// componentIn finds the name of a component that is the whole of a run.
func (f *form) componentIn(run []string) (name string, ok bool) {
	if !f.component {
		return "", false
	}
	if n := len(f.before); n > 0 {
		if len(run) < n || !slices.Equal(run[:n-1], f.before[:n-1]) {
			return "", false
		}
		digits, ok := strings.CutPrefix(run[n-1], f.before[n-1])
		switch {
		case !ok:
			return "", false
		case digits == "":
			run = run[n:]
		case unicode.IsDigit(rune(digits[0])): // the name is 500px
			run = append([]string{digits}, run[n:]...)
		default:
			return "", false
		}
	}
	if n := len(f.after); n > 0 {
		if len(run) < n || !slices.Equal(run[len(run)-n+1:], f.after[1:]) {
			return "", false
		}
		at := len(run) - n
		rest, ok := strings.CutSuffix(run[at], f.after[0])
		switch {
		case !ok:
			return "", false
		case rest == "":
			run = run[:at]
		// The name ends with a letter, and a size follows.
		case unicode.IsDigit(rune(f.after[0][0])) && !unicode.IsDigit(rune(rest[len(rest)-1])):
			run = append(slices.Clone(run[:at]), rest)
		default:
			return "", false
		}
	}
	return hyphened(run)
}
