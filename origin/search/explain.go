package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/iconedge/iconedge/icon"
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
	ByCode     By = "code" // the query is the name of the icon in code
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
	lookups  *lookups
	readings []reading
	units    []unit
	typed    []string // of each unit
	targets  [][]explained
	phrases  map[string]bool // of isPhrase
	left     int             // meanings that may still be compared
	like     string
	code     string // the query, for names in code
}

// explained is a meaning, and its docs once they have been looked up.
type explained struct {
	target
	docs *roaring.Bitmap
}

func (t *explained) has(x *Index, doc uint32) bool {
	if t.docs == nil {
		if t.docs = t.more; t.docs == nil {
			t.docs = x.bitmap(t.offset)
		}
	}
	return t.docs.Contains(doc)
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
	case tier == tierCode, tier == tierGuessedCode:
		ref := icon.Ref{Pack: e.x.packs[e.x.packOf(r.doc())].Key, Name: string(name)}
		return []Match{{e.code, ByCode, ref.String()}}
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
	if _, tried := e.lookups.similar[t.typed]; !tried { // find did not correct it
		return Match{}, false
	}
	for _, n := range e.lookups.near(t.typed) {
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
		for k := range e.targets[i] {
			if e.left--; e.left < 0 {
				break
			}
			if t := &e.targets[i][k]; t.has(e.x, doc) {
				list = append(list, Match{e.typed[i], t.by(), e.through(t, doc, words)})
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
				list = append(list, explained{target: t})
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
func (e *explainer) through(t *explained, doc uint32, words []docWord) string {
	x := e.x
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
	for i := 0; i+t.words <= len(words); i++ {
		if part := words[i : i+t.words]; e.isPhrase(t, part) {
			texts := make([]string, len(part))
			for k, w := range part {
				texts[k] = w.text
			}
			return strings.Join(texts, " ")
		}
	}
	return x.subject(doc, words)
}

// maxPhrases bounds the phrases that are compared with meanings, for one query.
const maxPhrases = 64

// isPhrase reports whether words are a meaning: its docs are those that have all of them.
func (e *explainer) isPhrase(t *explained, words []docWord) bool {
	key := fmt.Sprint(t.offset, words)
	is, known := e.phrases[key]
	if !known && len(e.phrases) < maxPhrases {
		docs := e.lookups.with(words[0].folded).docs
		for _, w := range words[1:] {
			docs = both(docs, e.lookups.with(w.folded).docs)
		}
		is = docs != nil && docs.Equals(t.docs)
		if e.phrases == nil {
			e.phrases = map[string]bool{}
		}
		e.phrases[key] = is
	}
	return is
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
