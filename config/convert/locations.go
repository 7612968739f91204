package convert

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// A location is a location block of nginx, or what a server says about all other requests.
type location struct {
	*level
	kind  string // "=", "^~", "~", "~*", "" or "@"
	path  string // or the regular expression
	regex *regexp.Regexp
	wrong string // why it can't be matched; empty: it can
	// rewritten is the target towards the origin that a rewrite has made; empty: none has.
	rewritten string
}

// newLocation reads the arguments of a location.
func newLocation(d *directive, up *level) *location {
	l := &location{level: &level{dir: d, dirs: d.block, up: up}}
	switch {
	case len(d.args) == 2:
		l.kind, l.path = d.args[0], d.args[1]
	case strings.HasPrefix(d.arg(0), "@"):
		l.kind, l.path = "@", d.args[0][1:]
	default:
		l.path = d.arg(0)
		for _, kind := range []string{"^~", "=", "~*", "~"} { // they need no space
			if rest, ok := strings.CutPrefix(l.path, kind); ok {
				l.kind, l.path = kind, rest
				break
			}
		}
	}
	if l.isRegex() {
		l.path = withoutLookahead(l.path)
		var err error
		if l.regex, err = compile(l.path, l.kind == "~*"); err != nil {
			l.wrong = err.Error()
		}
	} else if l.kind != "@" && !strings.HasPrefix(l.path, "/") {
		l.wrong = "the path does not begin with a slash"
	}
	return l
}

func (l *location) isRegex() bool  { return l.kind == "~" || l.kind == "~*" }
func (l *location) isPrefix() bool { return l.kind == "" || l.kind == "^~" }

// compile compiles a regular expression of PCRE in the syntax of RE2, whose meaning is the same
// where both have it.
func compile(text string, fold bool) (*regexp.Regexp, error) {
	return regexp.Compile(prefixed(text, fold))
}

// prefixed returns a regular expression; with fold, one that does not tell cases apart.
func prefixed(text string, fold bool) string {
	if fold {
		return "(?i)" + text
	}
	return text
}

// lookahead matches a regular expression that ends in a negative look-ahead of a plain text, which
// RE2 has not, and which many files have: /\.(?!well-known).
var lookahead = regexp.MustCompile(`^(.*)\(\?!((?:[A-Za-z0-9_/-]|\\[./-])+)\)(?:\.\*)?\$?$`)

// withoutLookahead writes such a look-ahead as the texts that may follow in its place.
func withoutLookahead(text string) string {
	found := lookahead.FindStringSubmatch(text)
	if found == nil {
		return text
	}
	literal, others, before := strings.ReplaceAll(found[2], `\`, ""), []string{"$"}, ""
	for i := range len(literal) {
		c := regexp.QuoteMeta(literal[i : i+1])
		if c == "-" {
			c = `\-`
		}
		if others = append(others, before+"[^"+c+"]"); i > 0 {
			others = append(others, before+"$")
		}
		before += regexp.QuoteMeta(literal[i : i+1])
	}
	return found[1] + "(?:" + strings.Join(others, "|") + ")"
}

// whole returns a regular expression that matches a whole path where text matches a part of it, as
// nginx searches. Its groups are those of text.
func whole(text string, fold bool) string {
	begin, end, inner := "", "", text
	one := !alternates(text)
	if rest, ok := strings.CutPrefix(inner, "^"); ok && one {
		inner = rest
	} else {
		begin = "(?s:.*?)"
	}
	if rest, ok := strings.CutSuffix(inner, "$"); ok && one && !strings.HasSuffix(rest, `\`) {
		inner = rest
	} else {
		end = "(?s:.*)"
	}
	if !one {
		inner = "(?:" + inner + ")"
	}
	return prefixed(begin+inner+end, fold)
}

// alternates reports whether a regular expression has a | outside of groups and classes.
func alternates(text string) bool {
	depth, class := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
			if i+1 < len(text) && text[i+1] == '^' {
				i++
			}
			if i+1 < len(text) && text[i+1] == ']' { // it stands for itself
				i++
			}
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			return true
		}
	}
	return false
}

// match returns the match of the paths of a location.
func (l *location) match() object {
	switch {
	case l.isRegex():
		return object{{"path_regex", whole(l.path, l.kind == "~*")}}
	case strings.ContainsAny(l.path, "*"):
		text := regexp.QuoteMeta(l.path)
		if l.kind != "=" {
			text += "(?s:.*)"
		}
		return object{{"path_regex", text}}
	case l.kind == "=":
		return object{{"path", l.path}}
	}
	return object{{"path", l.path + "**"}}
}

// ordered returns the locations of a server in an order in which the first that matches is the one
// that nginx chooses, and for each the longer ones that it must leave out: exact paths, redirects
// to a slash, prefixes that stop regular expressions, regular expressions, and other prefixes.
func ordered(all []*location) (sorted []*location, except map[*location][]*location) {
	except = map[*location][]*location{}
	rank := func(l *location) int {
		switch l.kind {
		case "=":
			return 0
		case "^~":
			return 1
		case "":
			return 3
		}
		return 2
	}
	for _, l := range all {
		if l.kind == "@" {
			continue
		}
		sorted = append(sorted, l)
		if l.kind != "^~" {
			continue
		}
		for _, other := range all {
			// Of two prefixes the longer counts, and this one lets regular expressions follow.
			if other.kind == "" && len(other.path) > len(l.path) && strings.HasPrefix(other.path, l.path) {
				except[l] = append(except[l], other)
			}
		}
	}
	slices.SortStableFunc(sorted, func(a, b *location) int {
		if ra, rb := rank(a), rank(b); ra != rb {
			return ra - rb
		}
		if a.isPrefix() {
			return cmp.Compare(len(b.path), len(a.path))
		}
		return 0
	})
	return sorted, except
}

// find returns the location that nginx chooses for a path; nil: none.
func find(all []*location, path string) *location {
	sorted, except := ordered(all)
	for _, l := range sorted {
		if l.matches(path) && !slices.ContainsFunc(except[l], func(other *location) bool { return other.matches(path) }) {
			return l
		}
	}
	return nil
}

// mayMatch reports whether a regular expression may match a path that begins with a text.
func (l *location) mayMatch(begin string) bool {
	rest, anchored := strings.CutPrefix(l.path, "^")
	if !anchored || alternates(l.path) {
		return true
	}
	re, err := regexp.Compile(rest)
	if err != nil {
		return true
	}
	literal, _ := re.LiteralPrefix()
	if l.kind == "~*" {
		begin, literal = strings.ToLower(begin), strings.ToLower(literal)
	}
	return strings.HasPrefix(begin, literal) || strings.HasPrefix(literal, begin)
}

func (l *location) matches(path string) bool {
	switch {
	case l.wrong != "":
		return false
	case l.isRegex():
		return l.regex.MatchString(path)
	case l.kind == "=":
		return path == l.path
	}
	return strings.HasPrefix(path, l.path)
}

// both returns a match that holds where both hold.
func both(a, b any) any {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	x, isObject := a.(object)
	y, too := b.(object)
	if isObject && too {
		joined, apart := x, true
		for _, m := range y {
			switch other := joined.get(m.key); {
			case other == nil:
				joined = joined.with(m.key, m.value)
			case m.key == "not": // of each of them
				joined = without(joined, "not").with("not", append(alternatives(other), alternatives(m.value)...))
			default:
				apart = false
			}
		}
		if apart {
			return joined
		}
	}
	return not([]any{not(a), not(b)})
}

// alternatives returns the matches of which any holds where m does.
func alternatives(m any) []any {
	if list, ok := m.([]any); ok {
		return slices.Clone(list)
	}
	return []any{m}
}

// not returns a match that holds where m does not.
func not(m any) any {
	if o, ok := m.(object); ok && len(o) == 1 && o[0].key == "not" {
		return o[0].value
	}
	return object{{"not", m}}
}
