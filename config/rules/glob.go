package rules

import (
	"errors"
	"strings"
)

// A glob is a compiled glob over a path: * stands for any text inside a segment, ** for any text.
type glob struct {
	parts []globPart
	// prefix are the whole segments before the first asterisk.
	prefix []string
	exact  bool // without asterisks
	text   string
}

// A globPart is a literal text, or an asterisk.
type globPart struct {
	text   string
	star   bool
	across bool // ** instead of *
}

// newGlob compiles a glob. With anySlash a single * matches slashes too, for values that are no
// paths.
func newGlob(s string, anySlash bool) *glob {
	g := &glob{text: s, exact: !strings.Contains(s, "*")}
	for rest := s; rest != ""; {
		at := strings.IndexByte(rest, '*')
		if at < 0 {
			g.parts = append(g.parts, globPart{text: rest})
			break
		}
		if at > 0 {
			g.parts = append(g.parts, globPart{text: rest[:at]})
		}
		n := 1
		for at+n < len(rest) && rest[at+n] == '*' {
			n++
		}
		g.parts = append(g.parts, globPart{star: true, across: n > 1 || anySlash})
		rest = rest[at+n:]
	}
	literal, _, found := strings.Cut(s, "*")
	if found {
		literal = literal[:strings.LastIndexByte(literal, '/')+1]
	}
	for segment := range strings.SplitSeq(strings.Trim(literal, "/"), "/") {
		if segment != "" {
			g.prefix = append(g.prefix, segment)
		}
	}
	return g
}

// captures returns the number of asterisks.
func (g *glob) captures() (n int) {
	for _, p := range g.parts {
		if p.star {
			n++
		}
	}
	return n
}

// match reports whether the glob matches the whole of s, and returns the text of each asterisk. An
// asterisk takes as little as it can. The time is at most the length of s times the parts: the
// positions that have failed are remembered.
func (g *glob) match(s string) (captures []string, ok bool) {
	if g.exact {
		return nil, s == g.text
	}
	// The first and the last literal decide most cases without further work.
	if first := g.parts[0]; !first.star && !strings.HasPrefix(s, first.text) {
		return nil, false
	}
	if last := g.parts[len(g.parts)-1]; !last.star && !strings.HasSuffix(s, last.text) {
		return nil, false
	}
	m := globMatch{g: g, s: s}
	if !m.from(0, 0) {
		return nil, false
	}
	captures = make([]string, 0, len(m.spans))
	for i := len(m.spans) - 1; i >= 0; i-- {
		captures = append(captures, s[m.spans[i][0]:m.spans[i][1]])
	}
	return captures, true
}

type globMatch struct {
	g      *glob
	s      string
	failed map[[2]int]bool
	spans  [][2]int // of the asterisks, last first
}

// from reports whether the parts from part on match the text from at on.
func (m *globMatch) from(part, at int) bool {
	if part == len(m.g.parts) {
		return at == len(m.s)
	}
	p := m.g.parts[part]
	if !p.star {
		return strings.HasPrefix(m.s[at:], p.text) && m.from(part+1, at+len(p.text))
	}
	if m.failed[[2]int{part, at}] {
		return false
	}
	for end := at; ; end++ {
		if part == len(m.g.parts)-1 { // the last asterisk takes all that is left
			if rest := m.s[at:]; p.across || strings.IndexByte(rest, '/') < 0 {
				m.spans = append(m.spans, [2]int{at, len(m.s)})
				return true
			}
			break
		}
		if m.from(part+1, end) {
			m.spans = append(m.spans, [2]int{at, end})
			return true
		}
		if end == len(m.s) || !p.across && m.s[end] == '/' {
			break
		}
	}
	if m.failed == nil {
		m.failed = map[[2]int]bool{}
	}
	m.failed[[2]int{part, at}] = true
	return false
}

// maxStars bounds the asterisks of a glob.
const maxStars = 16

var errStars = errors.New("a glob has more than 16 asterisks; must have fewer")

// A template is a target with $1, $2 and so on.
type template struct {
	parts   []string // literals, one more than numbers
	numbers []int
	query   bool // it has a query of its own
}

// newTemplate parses a target. max is the largest $N.
func newTemplate(s string) (t template, largest int) {
	t.query = strings.Contains(s, "?")
	for {
		at := strings.IndexByte(s, '$')
		for at >= 0 && (at+1 >= len(s) || s[at+1] < '0' || s[at+1] > '9') {
			next := strings.IndexByte(s[at+1:], '$')
			if next < 0 {
				at = -1
				break
			}
			at += 1 + next
		}
		if at < 0 {
			t.parts = append(t.parts, s)
			return t, largest
		}
		n, end := 0, at+1
		for end < len(s) && '0' <= s[end] && s[end] <= '9' && n < 1000 {
			n = 10*n + int(s[end]-'0')
			end++
		}
		t.parts, t.numbers = append(t.parts, s[:at]), append(t.numbers, n)
		largest = max(largest, n)
		if n == 0 {
			largest = max(largest, 1000) // $0 is no capture
		}
		s = s[end:]
	}
}

// fill returns the target for captures, with the query of the client unless it has one itself.
// Captures are percent-encoded, so that no capture can end the path, begin a host or end a line.
func (t template) fill(captures []string, clientQuery string) string {
	var b strings.Builder
	for i, part := range t.parts {
		b.WriteString(part)
		if i < len(t.numbers) && t.numbers[i] >= 1 && t.numbers[i] <= len(captures) {
			if _, host, isURL := strings.Cut(b.String(), "://"); isURL && !strings.ContainsAny(host, "/?") && !strings.HasPrefix(captures[t.numbers[i]-1], "/") {
				b.WriteByte('/') // a capture never extends the host
			}
			inQuery := strings.Contains(b.String(), "?")
			escape(&b, captures[t.numbers[i]-1], inQuery)
		}
	}
	s := b.String()
	if strings.HasPrefix(s, "//") || !strings.HasPrefix(s, "/") && !strings.Contains(s, "://") {
		s = "/" + strings.TrimLeft(s, "/") // never the host of another site
	}
	if !t.query && clientQuery != "" {
		s += "?" + clientQuery
	}
	return s
}

const hexDigits = "0123456789ABCDEF"

// escape percent-encodes all but the characters that are plain in a path, or in the value of a
// parameter.
func escape(b *strings.Builder, s string, inQuery bool) {
	plain := "-._~!$'()*,:@/&=+;"
	if inQuery {
		plain = "-._~!$'()*,:@/"
	}
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
}
