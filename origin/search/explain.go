package search

import (
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// A Match says by which word of the query a hit was found, how, and through which word of the icon.
type Match struct {
	Word    string
	By      By
	Through string
}

// By is the way in which a word matches.
type By string

// The ways. A pack that the query names counts as a name, through its key.
const (
	ByName     By = "name"
	ByAlias    By = "alias"
	ByTag      By = "tag" // of an icon project: icons of that name have it
	ByTypo     By = "typo"
	ByPrefix   By = "prefix"
	BySynonym  By = "synonym"
	ByLanguage By = "language" // a word of another language, or an emoji
	ByShape    By = "shape"
)

const (
	// tagWeight is the least weight of a meaning by a tag. Few other meanings of a whole name reach
	// it.
	tagWeight = .69
	// maxExplained bounds the meanings that are compared with hits, for one query.
	maxExplained = 20_000
	// maxTargets bounds those that are compared for one word of a hit.
	maxTargets = 400
)

// An explainer finds the matches of the hits of one query.
type explainer struct {
	x        *Index
	readings []reading
	units    []unit
	typed    []string // of each unit
	targets  [][]explained
	near     map[string][]nearWord
	left     int // meanings that may still be compared
	like     string
}

// explained is a meaning with its docs.
type explained struct {
	target
	docs *roaring.Bitmap
}

func (x *Index) explainer(readings []reading) *explainer {
	return &explainer{x: x, readings: readings, left: maxExplained}
}

// A docWord is a word of a name, as it is and folded.
type docWord struct{ text, folded string }

func docWords(name string) (words []docWord) {
	for w := range strings.SplitSeq(name, "-") {
		if w != "" {
			words = append(words, docWord{w, fold(w)})
		}
	}
	return words
}

// matches returns the matches of a hit, by the kind of its tier.
func (e *explainer) matches(r rank) []Match {
	name, aliasOf := e.x.names(r.doc())
	words, by := docWords(string(name)), ByName
	if len(aliasOf) > 0 {
		by = ByAlias
	}
	find := e.literal
	switch tier := r.tier(); {
	case e.like != "":
		return e.similar(r, by)
	case tier == tierTypoName, tier == tierTypoWords, tier >= tierKnownTypoName:
		find = e.corrected
	case tier == tierMeant, tier == tierSemantic, tier == tierLessSemantic:
		return e.meant(r.doc(), words, by)
	}
	for _, reading := range e.readings {
		if reading.within != nil && !reading.within.Contains(r.doc()) {
			continue
		}
		if list, ok := find(reading, words, by); ok {
			return append(list, e.named(reading, r.doc())...)
		}
	}
	return []Match{}
}

// literal returns the matches of a reading whose words are all in a name, or begin a word of it.
func (e *explainer) literal(r reading, words []docWord, by By) ([]Match, bool) {
	list := make([]Match, 0, len(r.terms))
	for _, t := range r.terms {
		m, ok := wholeMatch(t, words, by)
		if !ok {
			i := slices.IndexFunc(words, func(w docWord) bool {
				return strings.HasPrefix(w.folded, t.typed) || strings.HasPrefix(w.text, t.typed)
			})
			if i < 0 {
				return nil, false
			}
			m = Match{t.typed, ByPrefix, words[i].text}
		}
		list = append(list, m)
	}
	return list, true
}

func wholeMatch(t term, words []docWord, by By) (Match, bool) {
	i := slices.IndexFunc(words, func(w docWord) bool { return w.folded == t.folded })
	if i < 0 {
		return Match{}, false
	}
	return Match{t.typed, by, words[i].text}, true
}

// corrected returns the matches of a reading with a typo in one word.
func (e *explainer) corrected(r reading, words []docWord, by By) ([]Match, bool) {
	list, typos := make([]Match, 0, len(r.terms)), 0
	for _, t := range r.terms {
		m, ok := wholeMatch(t, words, by)
		if !ok {
			if typos++; typos > 1 {
				return nil, false
			}
			if m, ok = e.typo(t, words); !ok {
				return nil, false
			}
		}
		list = append(list, m)
	}
	return list, true
}

func (e *explainer) typo(t term, words []docWord) (Match, bool) {
	near, known := e.near[t.typed]
	if !known {
		if len(e.near) >= maxTypoWords {
			return Match{}, false
		}
		near = e.x.near(t.typed)
		if e.near == nil {
			e.near = map[string][]nearWord{}
		}
		e.near[t.typed] = near
	}
	for _, n := range near {
		if i := slices.IndexFunc(words, func(w docWord) bool { return w.folded == n.text }); i >= 0 {
			return Match{t.typed, ByTypo, words[i].text}, true
		}
	}
	return Match{}, false
}

// named returns the match of the words by which a reading names a pack: those that its terms lack.
func (e *explainer) named(r reading, doc uint32) []Match {
	plain := e.readings[0].terms
	cut := len(plain) - len(r.terms)
	if !r.guessed || r.within == nil || cut <= 0 {
		return nil
	}
	words, key := plain[:cut], e.x.packs[e.x.packOf(doc)].Key
	if !slices.Equal(plain[cut:], r.terms) {
		words = plain[len(plain)-cut:]
	}
	if !slices.ContainsFunc(e.x.named[strings.Join(folded(words), " ")], func(p int) bool { return e.x.packs[p].Key == key }) {
		return nil
	}
	return []Match{{typed(words), ByName, key}}
}

func typed(terms []term) string {
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.typed
	}
	return strings.Join(words, " ")
}

// meant returns the matches of a semantic hit: the most certain meaning of each word, and of the
// phrase, that the icon has.
func (e *explainer) meant(doc uint32, words []docWord, by By) []Match {
	e.readMeanings()
	list := []Match{}
	for i, u := range e.units {
		if u.literal {
			if m, ok := wholeMatch(term{e.typed[i], u.text}, words, by); ok {
				list = append(list, m)
				continue
			}
		}
		for _, t := range e.targets[i] {
			if e.left--; e.left < 0 {
				break
			}
			if t.docs.Contains(doc) {
				list = append(list, Match{e.typed[i], t.by(), e.x.through(t, doc, words)})
				break
			}
		}
	}
	return list
}

// readMeanings finds the meanings of the plain reading, once.
func (e *explainer) readMeanings() {
	if e.units != nil {
		return
	}
	terms := e.readings[0].terms
	e.units = e.x.units(folded(terms))
	for i, u := range e.units {
		text := typed(terms)
		if first := len(e.units) - len(terms); i >= first {
			text = terms[i-first].typed
		}
		var list []explained
		e.x.targets(u.text, func(t target) {
			if len(list) < maxTargets {
				docs := t.more
				if docs == nil {
					docs = e.x.bitmap(t.offset)
				}
				list = append(list, explained{t, docs})
			}
		})
		e.typed, e.targets = append(e.typed, text), append(e.targets, list)
	}
}

func (t target) by() By {
	switch {
	case t.foreign:
		return ByLanguage
	case t.whole && t.weight >= tagWeight:
		return ByTag
	}
	return BySynonym
}

// through returns the words of a name that are a meaning.
func (x *Index) through(t explained, doc uint32, words []docWord) string {
	if t.whole {
		return x.subject(doc, words)
	}
	if t.words == 1 {
		for _, w := range words {
			if offset, ok, err := x.words.Get([]byte(w.folded)); err == nil && ok && offset == t.offset {
				return w.text
			}
		}
	}
	// The docs of a phrase are those that have all of its words.
	for i := 0; i+t.words <= len(words); i++ {
		docs, part := x.docsWith(words[i].folded), []string{words[i].text}
		for _, w := range words[i+1 : i+t.words] {
			docs, part = both(docs, x.docsWith(w.folded)), append(part, w.text)
		}
		if docs != nil && docs.Equals(t.docs) {
			return strings.Join(part, " ")
		}
	}
	return x.subject(doc, words)
}

// subject returns the words of a name without those of its style.
func (x *Index) subject(doc uint32, words []docWord) string {
	lead := int(x.flags(doc) & leadMask)
	var texts []string
	for _, w := range words[min(lead, len(words)):min(len(words), lead+int(x.cost(doc)>>4))] {
		texts = append(texts, w.text)
	}
	return strings.Join(texts, " ")
}

// similar returns the match of an icon that is similar to another.
func (e *explainer) similar(r rank, by By) []Match {
	name, _ := e.x.names(r.doc())
	if r.tier() == tierSemantic {
		return []Match{{e.like, ByShape, string(name)}}
	}
	return []Match{{e.like, by, e.x.subject(r.doc(), docWords(string(name)))}}
}
