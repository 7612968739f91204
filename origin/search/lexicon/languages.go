package lexicon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Languages are those whose words the embedded lexicon translates: their names as CLDR spells them.
var Languages = []string{"ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "tr", "uk", "zh", "zh-Hant"}

// Annotations are the names and keywords that CLDR has for emoji in one language (Unicode Technical
// Standard 35, part 2, section 14).
type Annotations map[string]Annotation

// An Annotation has the name and the keywords of one emoji, or of one text of a user interface.
type Annotation struct {
	Keywords []string `json:"default"`
	Name     []string `json:"tts"` // one, or none
}

// ReadAnnotations reads one language of the npm package cldr-annotations-full.
func ReadAnnotations(files fs.FS, language string) (Annotations, error) {
	name := annotationsOf(language)
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var file struct {
		Annotations struct{ Annotations Annotations }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return file.Annotations.Annotations, nil
}

func annotationsOf(language string) string { return "annotations/" + language + "/annotations.json" }

// The certainty of translations. An emoji that has a foreign word and an English one is evidence
// that they mean the same; so are the emoji that have neither, for words that are rare.
const (
	sureTranslated = .9  // names of icons that are the English word
	surePartly     = .6  // names that have the English word among others
	sureKeyword    = .9  // for English words that are keywords alone, and no name
	surePlaces     = .7  // things on maps have loose keywords
	sureTitles     = .9  // Chinese titles of icons
	nameShare      = 2   // the weight of an emoji's name, compared with a keyword's
	leastAlike     = .15 // share of the emoji of both words that two words must have in common
	sureTexts      = .99 // for texts of user interfaces
	sureText       = .95 // for a whole text of a user interface
	// A part of a text of a user interface is the translation of another if they share so many
	// texts, and are so much alike.
	leastTexts, leastAlikeParts = 2, .3

	// A keyword of an emoji that is also a whole text of user interfaces rather means that text: 保存
	// stands at the jar, and on buttons that save.
	doubtEmoji = .6
	// If so many texts have a word, the share of them that also have an English word is evidence.
	manyTexts, sureShare = 3, .6

	leastSureTranslated = .2

	maxTranslation = 2 // words of an English term, except of emoji
	maxTranslated  = 3 // English words for one foreign word
	maxWhole       = 2 // of these, words whose icons of that very name are preferred
	// A word is English if so many names have it, or if its meaning in English is so certain.
	manyNames, leastEnglish = 25, .6
	doubtForeign            = .5 // for a foreign word that is also a word in names
)

// A Parallel has annotations in English and the same in another language, by the same keys.
type Parallel struct {
	English, Foreign Annotations
	// Things means that the keys are emoji, or other things that have names and keywords. A word
	// is then the translation of another even if they share one key alone. Otherwise the keys stand
	// for texts of user interfaces, and only whole texts are evidence enough alone.
	Things bool
	// Sure is the certainty of the evidence; 0 stands for 1.
	Sure float64
}

// ReadParallels returns what packages in a node_modules folder have in one language, except emoji.
func ReadParallels(modules fs.FS, packages []InterfacePackage, language string) (all []Parallel, err error) {
	var places [2]Annotations
	for i, l := range []string{"en", language} {
		if places[i], err = ReadPlaces(modules, l); err != nil {
			return nil, err
		}
	}
	all = append(all, Parallel{English: places[0], Foreign: places[1], Things: true, Sure: surePlaces})
	if language == "zh" {
		english, chinese, err := ReadTitles(modules)
		if err != nil {
			return nil, err
		}
		all = append(all, Parallel{English: english, Foreign: chinese, Things: true, Sure: sureTitles})
	}
	interfaces, err := ReadInterfaces(modules, packages, language)
	return append(all, interfaces), err
}

// Translate returns the meanings of foreign words, and of the emoji themselves, in English words of
// the vocabulary. It learns them from annotations in English and in another language: two words
// mean the same to the degree that they stand at the same emoji or texts. It leaves out words that
// have a meaning in English already, because most people mean that. The vocabulary has the words of
// names, with the number of names.
func Translate(texts []Parallel, vocabulary map[string]int, known map[string][]Meaning) map[string][]Meaning {
	t := translator{vocabulary: vocabulary, known: known, english: map[string]bool{}, interfaces: map[string]bool{},
		found: map[string]map[string]float64{}}
	for _, p := range texts {
		if p.Things {
			t.emoji(termsOf(p.English))
		}
	}
	for _, p := range texts {
		if !p.Things {
			t.interfaceTexts(p.Foreign)
		}
	}
	for _, p := range texts {
		t.learn(termsOf(p.English), termsOf(p.Foreign), p)
	}
	return t.meanings()
}

type translator struct {
	vocabulary map[string]int
	known      map[string][]Meaning
	english    map[string]bool               // the terms of emoji
	interfaces map[string]bool               // whole texts of user interfaces
	found      map[string]map[string]float64 // by foreign term and English term: certainty
}

// emoji adds the emoji themselves.
func (t *translator) emoji(english map[string]map[string]float64) {
	for emoji, terms := range english {
		k := emojiKey(emoji)
		for term, share := range terms {
			t.english[term] = true
			if k != "" {
				t.add(k, term, math.Sqrt(share/nameShare))
			}
		}
	}
}

// interfaceTexts adds the texts of user interfaces in one language that are terms.
func (t *translator) interfaceTexts(foreign Annotations) {
	for _, of := range foreign {
		for _, text := range of.Name {
			t.interfaces[key(norm.NFC.String(text))] = true
		}
	}
}

// termsOf returns the names and keywords of each emoji, in the form of look-ups.
func termsOf(a Annotations) map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	for emoji, of := range a {
		terms := map[string]float64{}
		for share, texts := range map[float64][]string{1: of.Keywords, nameShare: of.Name} {
			for _, text := range texts {
				if k := key(norm.NFC.String(text)); k != "" && len(strings.Fields(k)) <= maxTerm {
					terms[k] = max(terms[k], share)
				}
			}
		}
		all[emoji] = terms
	}
	return all
}

const maxTerm = 4 // words of a term

func inverted(m map[string]map[string]float64) map[string]map[string]float64 {
	inv := map[string]map[string]float64{}
	for a, of := range m {
		for b, v := range of {
			if inv[b] == nil {
				inv[b] = map[string]float64{}
			}
			inv[b][a] = v
		}
	}
	return inv
}

// learn adds the words of one language.
func (t *translator) learn(english, foreign map[string]map[string]float64, p Parallel) {
	things, sure := p.Things, cmp.Or(p.Sure, 1)
	if !things {
		sure = min(sure, sureTexts)
	}
	textsOf := inverted(english)
	for word, texts := range inverted(foreign) {
		if t.isEnglish(word, things) || things && sure < 1 && strings.Count(word, " ") >= maxTranslation {
			continue
		}
		found := map[string]*shared{}
		wholes := 0.0 // texts that are the word
		for e, own := range texts {
			if own == nameShare {
				wholes++
			}
			for term, share := range english[e] {
				more := strings.Count(term, " ")
				if !things && own != nameShare && more > 0 || more >= maxTranslation && sure < 1 {
					continue // a part of a text says nothing about the whole of another
				}
				if found[term] == nil {
					found[term] = &shared{}
				}
				found[term].add(own, share)
			}
		}
		size := total(texts)
		for term, s := range found {
			certainty := sure * s.certainty(size*total(textsOf[term]), wholes, things)
			if !things && s.times >= manyTexts {
				certainty = max(certainty, sureShare*float64(s.times)/float64(len(texts)))
			}
			if things && wholes == 0 && t.interfaces[word] {
				certainty *= doubtEmoji
			}
			if certainty < leastSureTranslated {
				continue
			}
			t.add(word, term, certainty)
			if plain := withoutMarks(word); plain != word && !t.isEnglish(plain, things) {
				t.add(plain, term, certainty)
			}
		}
	}
}

// shared counts what a foreign and an English term have in common.
type shared struct {
	times  int     // things or texts of both
	owns   int     // of these, those whose name is the foreign term
	names  int     // those whose name is the English term
	wholes float64 // those whose names are both
}

func (s *shared) add(own, share float64) {
	s.times++
	if own == nameShare {
		s.owns++
	}
	if share == nameShare {
		s.names++
	}
	if own == nameShare && share == nameShare {
		s.wholes++
	}
}

// together returns the sum of the weights of the things or texts of both. Sums of counts do not
// depend on the order.
func (s *shared) together() float64 {
	one := float64(s.owns+s.names) - 2*s.wholes
	return float64(s.times) - one - s.wholes + one*math.Sqrt(nameShare) + s.wholes*nameShare
}

// certainty returns how sure it is that two terms mean the same, 0 for too little evidence: the
// cosine of both, as vectors over the things or texts, or the share of the foreign term's whole
// texts that are the English term.
func (s *shared) certainty(sizes, wholes float64, things bool) float64 {
	alike := s.together() * s.together() / sizes
	certainty := min(1, math.Sqrt(alike))
	switch {
	case things && alike < leastAlike, !things && s.wholes == 0 && (s.times < leastTexts || alike < leastAlikeParts):
		return 0
	case !things && s.wholes > 0:
		return max(certainty, sureText*s.wholes/wholes)
	case s.names == 0:
		return certainty * sureKeyword
	}
	return certainty
}

func total(of map[string]float64) (sum float64) {
	for _, v := range of {
		sum += v
	}
	return sum
}

// isEnglish reports whether a term means something in English: it stands at emoji, many names
// have it, or its meaning is certain and it is no text of user interfaces in another language. A
// word that only the dictionary knows does not count: "Geld" is rather German.
func (t *translator) isEnglish(term string, things bool) bool {
	known := t.known[term]
	return t.english[term] || len(known) > 0 && (t.vocabulary[term] >= manyNames || things && known[0].Weight >= leastEnglish)
}

func (t *translator) add(term, english string, certainty float64) {
	for w := range strings.FieldsSeq(english) {
		if t.vocabulary[w] == 0 {
			return
		}
	}
	if t.vocabulary[term] > 0 {
		certainty *= doubtForeign
	}
	if t.found[term] == nil {
		t.found[term] = map[string]float64{}
	}
	t.found[term][english] = max(t.found[term][english], certainty)
}

func (t *translator) meanings() map[string][]Meaning {
	all := map[string][]Meaning{}
	for term, found := range t.found {
		best := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
			return cmp.Or(cmp.Compare(found[b], found[a]), cmp.Compare(t.names(b), t.names(a)), strings.Compare(a, b))
		})
		var list []Meaning
		for i, english := range best[:min(len(best), maxTranslated)] {
			if i < maxWhole {
				list = append(list, Meaning{Text: english, Whole: true, Weight: sureTranslated * found[english], Foreign: true})
			}
			list = append(list, Meaning{Text: english, Weight: surePartly * found[english], Foreign: true})
		}
		slices.SortStableFunc(list, func(a, b Meaning) int { return cmp.Compare(b.Weight, a.Weight) })
		all[term] = list
	}
	return all
}

// names returns an upper bound of the number of names that have an English term.
func (t *translator) names(english string) int {
	most := math.MaxInt
	for w := range strings.FieldsSeq(english) {
		most = min(most, t.vocabulary[w])
	}
	return most
}

// emojiKey returns the look-up form of an emoji of one character, or "".
func emojiKey(emoji string) string {
	var only []rune
	for _, r := range emoji {
		if r != '\uFE0F' { // the variation selector for emoji
			only = append(only, r)
		}
	}
	if len(only) != 1 || !IsPictograph(only[0]) {
		return ""
	}
	return string(only)
}

// IsPictograph reports whether a character is a word by itself: an emoji, an arrow or another
// symbol that people search for.
func IsPictograph(r rune) bool {
	return unicode.Is(unicode.So, r) && r != unicode.ReplacementChar || '\u2190' <= r && r <= '\u21FF'
}

// withoutMarks removes accents and other marks from Latin letters, because not every keyboard has
// them. Other scripts keep theirs.
func withoutMarks(term string) string {
	for _, r := range term {
		if unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
			return term
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(term))
}
