package search

import "strings"

// Words by which packs distinguish styles and sizes of one icon.
var (
	// alwaysStyle lists words that end a name only to give its style, in every pack.
	alwaysStyle = wordSet("outline outlined fill filled solid rounded duotone")
	// oftenStyle lists words that do so in packs that use them throughout. Elsewhere they may mean
	// something ("traffic-light", "line-chart").
	oftenStyle = wordSet("sharp round bold thin light line linear regular broken twotone two tone baseline " +
		"remix flat color colored monochrome 10 12 16 20 24 28 32 48")
)

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// A word of oftenStyle is a style of a pack if at least one name in styleShare, and at least
// styleLeast names, end with it (or begin with it: "baseline-home"). Any other word is a style if
// it ends at least one name in habitShare, and at least habitLeast names ("-icon" of logos).
const (
	styleShare, styleLeast = 20, 10
	habitShare, habitLeast = 5, 50
)

// A shape separates the words of a name that describe the subject from style words: the first lead
// words and the last tail words are style.
type shape struct{ lead, words, tail int }

// styles holds the style words of one pack.
type styles struct{ first, last map[string]bool }

// learnStyles finds the style words of a pack from all of its names.
func learnStyles(names [][]string) styles {
	first, last := map[string]int{}, map[string]int{}
	for _, words := range names {
		// Continues through several style words, such as "two-tone" or "24-filled".
		for i := len(words) - 1; i > 0; i-- {
			last[words[i]]++
			if !alwaysStyle[words[i]] && !oftenStyle[words[i]] {
				break
			}
		}
		if len(words) > 1 {
			first[words[0]]++
		}
	}
	s := styles{map[string]bool{}, map[string]bool{}}
	often := func(n, share, least int) bool { return n >= least && n*share >= len(names) }
	for w, n := range last {
		s.last[w] = alwaysStyle[w] || oftenStyle[w] && often(n, styleShare, styleLeast) || often(n, habitShare, habitLeast)
	}
	for w, n := range first {
		s.first[w] = (alwaysStyle[w] || oftenStyle[w]) && often(n, styleShare, styleLeast)
	}
	return s
}

// Subjects returns the names of all icons of a pack without words of style, as folded words joined
// by spaces.
func Subjects(names []string) []string {
	words := make([][]string, len(names))
	for i, name := range names {
		words[i] = nameWords(nil, name)
	}
	styles, subjects := learnStyles(words), make([]string, len(names))
	for i, w := range words {
		s := styles.shape(w)
		subjects[i] = strings.Join(w[s.lead:len(w)-s.tail], " ")
	}
	return subjects
}

// shape leaves at least one word that is not a style.
func (s styles) shape(words []string) shape {
	from, to := 0, len(words)
	for to > 1 && s.last[words[to-1]] {
		to--
	}
	for from < to-1 && s.first[words[from]] {
		from++
	}
	return shape{from, to - from, len(words) - to}
}
