package dictionaries

import (
	"regexp"
	"strings"
)

// maxMatch is the length of the longest match, in bytes.
const maxMatch = 1 << 10

// A Pattern is a URL pattern of RFC 9842, section 2.1.1, of the kinds that dictionaries have:
// literal text, asterisks and :names, in the path and in the query. Patterns with groups,
// modifiers and regular expressions are not known, so that their dictionaries are not kept.
type Pattern struct {
	text        string
	path, query *regexp.Regexp // query is nil if any query matches
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
	path, query, asks, ok := split(rest)
	if !ok {
		return nil, false
	}
	p.path = path
	if asks {
		p.query = query
	}
	return p, true
}

// Match reports whether the target of a request matches.
func (p *Pattern) Match(target string) bool {
	path, query, _ := strings.Cut(target, "?")
	return p.path.MatchString(path) && (p.query == nil || p.query.MatchString(query))
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

// split returns the two parts of a pattern as regular expressions, which take linear time. asks:
// the pattern has a query.
func split(pattern string) (path, query *regexp.Regexp, asks, ok bool) {
	var parts [2]strings.Builder
	part, wild := &parts[0], false // wild: a modifier may follow
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.IndexByte("(){}#", c) >= 0, wild && strings.IndexByte("?*+", c) >= 0:
			return nil, nil, false, false
		case c == '*':
			part.WriteString(".*")
			wild = true
		case c == ':' && i+1 < len(pattern) && isLetter(pattern[i+1]):
			for i+1 < len(pattern) && (isLetter(pattern[i+1]) || isDigit(pattern[i+1])) {
				i++
			}
			part.WriteString("[^/]+")
			wild = true
		case c == '?' && !asks:
			part, asks, wild = &parts[1], true, false
		case c == '\\' && i+1 < len(pattern):
			i++
			part.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
			wild = false
		default:
			part.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
			wild = false
		}
	}
	path, err := regexp.Compile(`^(?s:` + parts[0].String() + `)$`)
	if err != nil { // a byte that is not UTF-8
		return nil, nil, false, false
	}
	query, err = regexp.Compile(`^(?s:` + parts[1].String() + `)$`)
	return path, query, asks, err == nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
