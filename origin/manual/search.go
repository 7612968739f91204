package manual

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// MaxResults is the number of results of a search.
const MaxResults = 20

// A section is the text of a page below one heading. The first one has none.
type section struct {
	heading, id string
	text        string
}

// A Result is the part of a page that matches a query best.
type Result struct {
	Page    *Page
	Heading Heading // with an empty ID: the beginning of the page
	Excerpt []Piece
}

// Address returns the address of the part.
func (r Result) Address() string {
	if r.Heading.ID == "" {
		return r.Page.Path
	}
	return r.Page.Path + "#" + r.Heading.ID
}

// A Piece is some text of an excerpt.
type Piece struct {
	Text  string
	Match bool // it is a word of the query
}

// Weights of a word by its place. A title counts most, because a page has one subject.
const (
	inTitle   = 12
	inHeading = 8
	inPath    = 6
	inText    = 1
)

// Constants of BM25: how soon more of a word counts no more, and how much the length of a section
// counts.
const (
	saturation = 1.5
	byLength   = .6
)

// A place is one section that contains a word, with the weight of the word there.
type place struct {
	section int
	weight  float64
}

// An index finds sections by the stems of their words.
type index struct {
	sections []section
	pages    []*Page // of each section
	lengths  []int   // of each section, in words
	average  float64 // of the lengths
	places   map[string][]place
	stems    []string          // all, sorted
	stemOf   map[string]string // of each word, while the index is made
}

func newIndex() *index { return &index{places: map[string][]place{}, stemOf: map[string]string{}} }

// add puts the sections of a page into the index. The list of all pages is left out, because it has
// the words of all of them.
func (x *index) add(page *Page, sections []section) {
	if page.Path == Root {
		return
	}
	title, path := apart(page.Title), apart(page.Path)
	for _, s := range sections {
		weights := map[string]float64{}
		note := func(text string, weight float64) {
			for _, word := range wordsOf(text) {
				s, known := x.stemOf[word.lower]
				if !known {
					s = stem(word.lower)
					x.stemOf[word.lower] = s
				}
				weights[s] += weight
			}
		}
		note(s.text, inText)
		note(s.heading, inHeading)
		if s.heading == "" {
			note(title, inTitle)
			note(path, inPath)
		} else { // so that a query may name the page and a word of any part
			note(title+" "+path, inText)
		}
		n := len(x.sections)
		for word, weight := range weights {
			x.places[word] = append(x.places[word], place{n, weight})
		}
		x.sections, x.pages, x.lengths = append(x.sections, s), append(x.pages, page), append(x.lengths, len(wordsOf(s.text)))
	}
}

// apart separates the words of a name such as EdgeDown.
func apart(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// finish prepares the index for searches.
func (x *index) finish() {
	for word := range x.places {
		x.stems = append(x.stems, word)
	}
	slices.Sort(x.stems)
	x.stemOf = nil
	total := 0
	for _, n := range x.lengths {
		total += n
	}
	x.average = max(1, float64(total)/max(1, float64(len(x.lengths))))
}

// withPrefix returns the stems that begin with a word, at most a hundred.
func (x *index) withPrefix(word string) []string {
	first, _ := slices.BinarySearch(x.stems, word)
	last := first
	for last < len(x.stems) && last < first+100 && strings.HasPrefix(x.stems[last], word) {
		last++
	}
	return x.stems[first:last]
}

// match returns the weight of one word of a query in each section. A word of three letters or more
// also matches the beginning of a longer one, at a part of the weight.
func (x *index) match(word string) map[int]float64 {
	stemmed := stem(word)
	found := map[int]float64{}
	note := func(s string, share float64) {
		rarity := math.Log1p(float64(len(x.sections)) / float64(len(x.places[s])))
		for _, p := range x.places[s] {
			long := 1 - byLength + byLength*float64(x.lengths[p.section])/x.average
			found[p.section] = max(found[p.section], share*rarity*p.weight*(saturation+1)/(p.weight+saturation*long))
		}
	}
	if len(x.places[stemmed]) > 0 {
		note(stemmed, 1)
	}
	if len(word) >= 3 {
		for _, s := range x.withPrefix(word) {
			note(s, .5)
		}
	}
	return found
}

// mostWords is the number of different words of a query that count.
const mostWords = 16

// enough is the number of results from which parts that match far worse than the best are left out.
const enough = 4

// A match is a section that has words of a query.
type match struct {
	section, words int
	weight         float64
}

// rank is higher for a section with more of the words, but not so much that a long section with all
// of them comes before the heading that has the rare ones.
func (m match) rank() float64 { return m.weight * float64(m.words) }

// Search returns the pages that match a query, each by its best part.
func (m *Manual) Search(query string) []Result {
	x := m.index
	ranks := map[int]*match{}
	asked := map[string]bool{}
	for _, word := range wordsOf(query) {
		if asked[word.lower] || ignored[word.lower] || len(asked) == mostWords {
			continue
		}
		asked[word.lower] = true
		for s, weight := range x.match(word.lower) {
			r := ranks[s]
			if r == nil {
				r = &match{section: s}
				ranks[s] = r
			}
			r.words++
			r.weight += weight
		}
	}
	order := make([]*match, 0, len(ranks))
	for _, r := range ranks {
		order = append(order, r)
	}
	slices.SortFunc(order, func(a, b *match) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), cmp.Compare(a.section, b.section))
	})
	var results []Result
	seen := map[*Page]bool{}
	for _, r := range order {
		page, s := x.pages[r.section], x.sections[r.section]
		switch {
		case r.words < order[0].words && len(results) >= enough && r.rank() < order[0].rank()/4, len(results) == MaxResults:
			return results
		case seen[page]:
			continue
		}
		seen[page] = true
		text := s.text
		if strings.TrimSpace(text) == "" {
			text = page.Description
		}
		results = append(results, Result{page, Heading{s.id, s.heading}, excerpt(text, asked)})
	}
	return results
}

// ignored words say nothing about the subject of a question.
var ignored = func() map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq("a an and are as at be by can do does for from how i in is it my of on or " +
		"that the this to what when where which who why with") {
		all[word] = true
	}
	return all
}()

// Sizes of an excerpt in bytes: before the first match, and in all.
const (
	lead = 60
	most = 220
)

// excerpt returns the part of a text around the first word of a query, with its words apart.
func excerpt(text string, asked map[string]bool) (pieces []Piece) {
	stems := map[string]bool{}
	for word := range asked {
		stems[stem(word)] = true
	}
	matches := func(w word) bool { return stems[stem(w.lower)] }
	words := wordsOf(text)
	if len(words) == 0 {
		return nil
	}
	first := max(0, slices.IndexFunc(words, matches))
	from := words[first].start - lead
	words = slices.DeleteFunc(words, func(w word) bool { return w.start < from || w.end > max(from, 0)+most })
	at := words[0].start
	if at > 0 {
		pieces = append(pieces, Piece{Text: "… "})
	}
	for _, w := range words {
		if matches(w) {
			pieces = append(pieces, Piece{Text: text[at:w.start]}, Piece{text[w.start:w.end], true})
			at = w.end
		}
	}
	return append(pieces, Piece{Text: text[at:words[len(words)-1].end] + " …"})
}

// A word of a text, with its place there.
type word struct {
	lower      string
	start, end int
}

// wordsOf returns the words of a text: runs of letters and digits.
func wordsOf(text string) (words []word) {
	start := -1
	for i, r := range text + " " {
		switch is := unicode.IsLetter(r) || unicode.IsDigit(r); {
		case is && start < 0:
			start = i
		case !is && start >= 0:
			words = append(words, word{strings.ToLower(text[start:i]), start, i})
			start = -1
		}
	}
	return words
}

// stem returns the stem of an English word in lower case.
func stem(word string) string {
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}
