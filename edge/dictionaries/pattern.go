package dictionaries

import (
	"math"
	"regexp"
	"strings"

	"github.com/iconedge/iconedge/internal/glob"
)

// maxMatch is the length of the longest match, in bytes.
const maxMatch = 1 << 10

// A Pattern is a URL pattern of RFC 9842, section 2.1.1, of the kinds that dictionaries have:
// literal text, asterisks and :names, in the path and in the query. Patterns with groups,
// modifiers and regular expressions are not known, so that their dictionaries are not kept.
type Pattern struct {
	text        string
	path, query part
	asks        bool // otherwise any query matches
}

// newPattern returns the pattern of a match in the response to a request for a target at an origin,
// SCHEME://HOST.
func newPattern(match, origin, target string) (*Pattern, bool) {
	if match == "" || len(match) > maxMatch {
		return nil, false
	}
	p := &Pattern{text: match}
	base, _, _ := strings.Cut(target, "?")
	rest := strings.TrimPrefix(match, origin)
	switch {
	case len(rest) < len(match) && !strings.HasPrefix(rest, "/"): // a longer host
		return nil, false
	case strings.HasPrefix(rest, "//"), strings.Contains(rest, "://"), hasDots(rest):
		return nil, false
	case strings.HasPrefix(rest, "?"):
		rest = escape(base) + rest
	case !strings.HasPrefix(rest, "/"):
		rest = escape(base[:strings.LastIndexByte(base, '/')+1]) + rest
	}
	var ok bool
	p.path, p.query, p.asks, ok = split(rest)
	return p, ok
}

// Match reports whether the target of a request matches.
func (p *Pattern) Match(target string) bool {
	path, query, _ := strings.Cut(target, "?")
	return p.path.Match(path) && (!p.asks || p.query.Match(query))
}

// hasDots reports whether a path has segments that a browser would resolve.
func hasDots(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// special are the characters that mean something else than themselves in a pattern.
const special = `*:(){}?+\`

// escape returns a pattern that matches a text alone.
func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte(special, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// A part is the path or the query of a pattern, which it matches in linear time: by a glob if it
// has only text and asterisks, as nearly all have, because a regular expression takes longer than
// all else of a hit.
type part struct {
	glob *glob.Glob
	re   *regexp.Regexp // nil: the glob
}

// Match reports whether the part matches the whole of a text.
func (p *part) Match(text string) bool {
	if p.re != nil {
		return p.re.MatchString(text)
	}
	left := glob.Budget(math.MaxInt) // a pattern is short
	return p.glob.Match(text, &left)
}

// A partBuilder collects the pieces of a part.
type partBuilder struct {
	glob, re strings.Builder
	needsRE  bool // it has more than text and asterisks
}

func (b *partBuilder) text(s string) {
	b.glob.WriteString(s)
	b.re.WriteString(regexp.QuoteMeta(s))
	b.needsRE = b.needsRE || s == "*"
}

func (b *partBuilder) wild(re string) {
	b.glob.WriteByte('*')
	b.re.WriteString(re)
	b.needsRE = b.needsRE || re != anyText
}

func (b *partBuilder) part() (p part, ok bool) {
	if !b.needsRE {
		return part{glob: glob.New(b.glob.String(), true)}, true
	}
	re, err := regexp.Compile(`^(?s:` + b.re.String() + `)$`)
	return part{re: re}, err == nil // an error: a byte that is not UTF-8
}

// What an asterisk and a :name match.
const (
	anyText = ".*"
	aName   = "[^/]+"
)

// split returns the two parts of a pattern. asks: the pattern has a query.
func split(pattern string) (path, query part, asks, ok bool) {
	var parts [2]partBuilder
	b, wild := &parts[0], false // wild: a modifier may follow
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.IndexByte("(){}#", c) >= 0, wild && strings.IndexByte("?*+", c) >= 0:
			return path, query, false, false
		case c == '*':
			b.wild(anyText)
			wild = true
		case c == ':' && i+1 < len(pattern) && isLetter(pattern[i+1]):
			for i+1 < len(pattern) && (isLetter(pattern[i+1]) || isDigit(pattern[i+1])) {
				i++
			}
			b.wild(aName)
			wild = true
		case c == '?' && !asks:
			b, asks, wild = &parts[1], true, false
		case c == '\\' && i+1 < len(pattern):
			i++
			b.text(pattern[i : i+1])
			wild = false
		default:
			b.text(pattern[i : i+1])
			wild = false
		}
	}
	if path, ok = parts[0].part(); ok {
		query, ok = parts[1].part()
	}
	return path, query, asks, ok
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
