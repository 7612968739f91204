// Package glob matches texts by globs in time that is linear in the text. Neither a
// match nor its captures allocate.
//
// A * stands for any text without a slash, and two or more for any text. A glob matches the whole
// of a text. Each asterisk takes as little as it can, from left to right, as a matcher finds that
// tries every length of the first asterisk in turn, then of the second one, and so on.
//
// # Why one pass is enough
//
// Asterisks that match slashes cut a glob into runs, which have only single asterisks inside. The
// asterisk behind a run matches anything, so a run that ends earlier leaves at least as much to the
// rest of the glob: it suffices to find the first end of each run. Inside of a run, a
// literal behind an asterisk is one of two:
//
//   - one with a slash. The asterisk stops at the next slash of the text, so the literal has one
//     possible place.
//   - one without. Every possible place is before the next slash, and the first one leaves the
//     most to the rest.
//
// So a run that begins at a known place never has to go back. Where it may begin at several places
// of one segment, the first one leaves the most again; if that fails, so do the others, because
// they meet the same next slash. The search continues behind that slash. Each segment of the text
// is thus looked at once for each segment of the run. The last run ends where the text ends, and
// has as many slashes, which gives the segment where it begins.
package glob

import "strings"

// A Glob is a compiled glob. It never changes.
type Glob struct {
	text     string
	literals []literal // before, between and after the asterisks; only the outer ones may be empty
	across   []bool    // whether each asterisk matches slashes
	least    int       // the length of all literals
	tail     int       // slashes of the last run
}

type literal struct {
	text  string
	slash int // offset of its first slash; -1: none
	probe int // offset of the byte that index looks for: one that is rarer than slashes
}

// New compiles a glob. With anySlash a single * matches slashes too, for values that are no paths.
func New(s string, anySlash bool) *Glob {
	g := &Glob{text: s}
	for {
		at := strings.IndexByte(s, '*')
		if at < 0 {
			g.add(s)
			break
		}
		g.add(s[:at])
		rest := strings.TrimLeft(s[at:], "*")
		g.across = append(g.across, anySlash || len(s)-at-len(rest) > 1)
		s = rest
	}
	for i := len(g.literals) - 1; i >= 0; i-- {
		g.tail += strings.Count(g.literals[i].text, "/")
		if i > 0 && g.across[i-1] {
			break
		}
	}
	return g
}

func (g *Glob) add(text string) {
	g.literals = append(g.literals, newLiteral(text))
	g.least += len(text)
}

func newLiteral(text string) literal {
	probe := max(0, strings.IndexFunc(text, func(r rune) bool { return r != '/' }))
	return literal{text, strings.IndexByte(text, '/'), probe}
}

// String returns the glob as it was written.
func (g *Glob) String() string { return g.text }

// Stars returns the number of asterisks, of which two or more in a row are one.
func (g *Glob) Stars() int { return len(g.across) }

// A Budget is the steps that are left to matchers. A step takes about a nanosecond of a slow core.
// When the budget is below zero, what the last matcher said means nothing.
type Budget int

// Match reports whether the glob matches the whole of s.
func (g *Glob) Match(s string, left *Budget) bool { return g.find(s, nil, left) }

// AppendCaptures appends the text of each asterisk if the glob matches the whole of s. It allocates
// nothing for a glob of few asterisks, if dst has room.
func (g *Glob) AppendCaptures(dst []string, s string, left *Budget) (captures []string, ok bool) {
	var room [20]int
	starts := room[:]
	if len(g.literals) > len(room) {
		starts = make([]int, len(g.literals))
	}
	if !g.find(s, starts, left) {
		return dst, false
	}
	for i := range g.across {
		dst = append(dst, s[starts[i]+len(g.literals[i].text):starts[i+1]])
	}
	return dst, true
}

// Contains is strings.Contains within a budget.
func Contains(s, text string, left *Budget) bool {
	*left -= placeSteps
	l := newLiteral(text)
	return text == "" || index(s, &l, 0, len(s), left) >= 0
}

// A search is one look for a glob in a text.
type search struct {
	g      *Glob
	s      string
	starts []int // where the literals are; nil: nobody wants to know
	left   Budget
	// There is no slash from clear up to slash, where there is one, or the end of the text.
	clear, slash int
}

// placeSteps are the steps for a literal at one place. A search for a byte passes over bytesPerStep
// in a step.
const (
	placeSteps   = 20
	bytesPerStep = 8
)

// find does the work of Match, and writes the places of the literals to starts.
func (g *Glob) find(s string, starts []int, left *Budget) (ok bool) {
	*left -= placeSteps
	last := len(g.literals) - 1
	first, end := g.literals[0].text, g.literals[last].text
	switch {
	case last == 0:
		return s == first
	case len(s) < g.least, !strings.HasPrefix(s, first), !strings.HasSuffix(s, end):
		return false
	}
	m := search{g: g, s: s, starts: starts, left: *left, slash: -1}
	m.note(0, 0)
	hi := m.runEnd(0)
	at, ok := m.fit(0, hi, 0)
	for ok && hi < last {
		lo := hi + 1
		if hi = m.runEnd(lo); hi == last {
			ok = m.end(lo, at)
		} else {
			at, ok = m.run(lo, hi, at)
		}
	}
	*left = m.left
	return ok
}

// runEnd returns the last literal of the run that begins with literal lo.
func (m *search) runEnd(lo int) int {
	for lo < len(m.g.across) && !m.g.across[lo] {
		lo++
	}
	return lo
}

func (m *search) note(i, at int) {
	if m.starts != nil {
		m.starts[i] = at
	}
}

// nextSlash returns the place of the first slash from at on, or the end of the text.
func (m *search) nextSlash(at int) int {
	if m.clear <= at && at <= m.slash {
		return m.slash
	}
	m.clear, m.slash = at, len(m.s)
	if k := strings.IndexByte(m.s[at:], '/'); k >= 0 {
		m.slash = at + k
	}
	m.left -= Budget(m.slash-at) / bytesPerStep
	return m.slash
}

// index returns the first place of a literal in s between two places; -1: none. It counts the
// places of the probe, on which the time of strings.Index depends as well.
func index(s string, l *literal, from, to int, left *Budget) int {
	probe := l.text[l.probe]
	for to -= len(l.text) - 1; from < to && *left >= 0; from++ {
		k := strings.IndexByte(s[from+l.probe:to+l.probe], probe)
		if k < 0 {
			*left -= Budget(to-from) / bytesPerStep
			break
		}
		*left -= placeSteps/2 + Budget(k+len(l.text))/bytesPerStep
		if from += k; s[from:from+len(l.text)] == l.text {
			return from
		}
	}
	return -1
}

// fit reports whether the literals after lo up to hi, with a single asterisk before each, follow
// literal lo, which is at at. It returns where they end.
func (m *search) fit(lo, hi, at int) (end int, ok bool) {
	end = at + len(m.g.literals[lo].text)
	for i := lo + 1; i <= hi; i++ {
		l, last := &m.g.literals[i], i == len(m.g.literals)-1
		slash := m.nextSlash(end)
		m.left -= placeSteps + Budget(len(l.text))/bytesPerStep
		switch {
		case l.slash >= 0:
			if at = slash - l.slash; at < end || !strings.HasPrefix(m.s[at:], l.text) {
				return 0, false
			}
		case last:
			if at = len(m.s) - len(l.text); at < end || slash < len(m.s) {
				return 0, false // find has compared the text
			}
		default:
			if at = index(m.s, l, end, slash, &m.left); at < 0 {
				return 0, false
			}
		}
		m.note(i, at)
		end = at + len(l.text)
		if last && end < len(m.s) {
			return 0, false
		}
	}
	return end, true
}

// run finds the first place from from on where the literals from lo to hi match. It returns where
// they end.
func (m *search) run(lo, hi, from int) (end int, ok bool) {
	first := &m.g.literals[lo]
	for {
		at := index(m.s, first, from, len(m.s), &m.left)
		if at < 0 {
			return 0, false
		}
		if end, ok = m.fit(lo, hi, at); ok {
			m.note(lo, at)
			return end, true
		}
		if from = at + 1; first.slash < 0 {
			if from = m.nextSlash(at) + 1; from > len(m.s) {
				return 0, false
			}
		}
	}
}

// end reports whether the literals from lo to the last one match the end of the text, from from on.
func (m *search) end(lo, from int) bool {
	first, last := &m.g.literals[lo], len(m.g.literals)-1
	if lo == last {
		at := len(m.s) - len(first.text)
		m.note(lo, at)
		return at >= from // find has compared the text
	}
	segment, slash := m.lastSegments(from)
	if slash < 0 {
		return false
	}
	at := slash - first.slash
	if first.slash < 0 {
		at = index(m.s, first, segment, slash, &m.left)
	}
	if at < from || !strings.HasPrefix(m.s[at:], first.text) {
		return false
	}
	m.note(lo, at)
	_, ok := m.fit(lo, last, at)
	return ok
}

// lastSegments returns the slash after which the text has one slash less than the last run, or the
// end of the text if the run has none, and the begin of the segment before it, from from on.
// A slash of -1 means that there are too few.
func (m *search) lastSegments(from int) (segment, slash int) {
	slash = len(m.s)
	for range m.g.tail {
		k := strings.LastIndexByte(m.s[from:slash], '/')
		if k < 0 {
			return 0, -1
		}
		slash = from + k
	}
	segment = from + 1 + strings.LastIndexByte(m.s[from:slash], '/')
	m.left -= Budget(len(m.s) - segment) // byte by byte
	return segment, slash
}
