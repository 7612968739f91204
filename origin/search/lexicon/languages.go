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
type Annotations map[string]struct {
	Keywords []string `json:"default"`
	Name     []string `json:"tts"` // one, or none
}

// ReadAnnotations reads one language of the npm package cldr-annotations-full.
func ReadAnnotations(files fs.FS, language string) (Annotations, error) {
	name := "annotations/" + language + "/annotations.json"
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

// The certainty of translations. An emoji that has a foreign word and an English one is evidence
// that they mean the same; so are the emoji that have neither, for words that are rare.
const (
	sureTranslated = .9  // names of icons that are the English word
	surePartly     = .6  // names that have the English word among others
	sureKeyword    = .9  // for English words that are keywords alone, and no name
	nameShare      = 2   // the weight of an emoji's name, compared with a keyword's
	leastAlike     = .15 // share of the emoji of both words that two words must have in common
	maxTranslated  = 5   // English words for one foreign word
	maxWhole       = 2   // of these, words whose icons of that very name are preferred
	doubtForeign   = .5  // for a foreign word that is also a word in names
)

// Translate returns the meanings of foreign words, and of the emoji themselves, in English words of
// the vocabulary. It learns them from emoji that have annotations in English and in another
// language: two words mean the same to the degree that they stand at the same emoji. It leaves out
// words that have a meaning in English already, because most people mean that.
func Translate(english Annotations, foreign []Annotations, vocabulary []string, known map[string][]Meaning) map[string][]Meaning {
	t := translator{vocabulary: map[string]bool{}, known: known, english: termsOf(english), found: map[string]map[string]float64{}}
	for _, w := range vocabulary {
		t.vocabulary[w] = true
	}
	t.emojiOf = inverted(t.english)
	for emoji, terms := range t.english {
		if k := emojiKey(emoji); k != "" {
			for term, share := range terms {
				t.add(k, term, math.Sqrt(share/nameShare))
			}
		}
	}
	for _, language := range foreign {
		t.language(termsOf(language))
	}
	return t.meanings()
}

type translator struct {
	vocabulary map[string]bool
	known      map[string][]Meaning
	english    map[string]map[string]float64 // the terms of an emoji
	emojiOf    map[string]map[string]float64 // the emoji of a term
	found      map[string]map[string]float64 // by foreign term and English term: certainty
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

// language adds the words of one language.
func (t *translator) language(terms map[string]map[string]float64) {
	for word, emoji := range inverted(terms) {
		if t.isEnglish(word) {
			continue
		}
		together, named := map[string]float64{}, map[string]bool{}
		for e, own := range emoji {
			for english, share := range t.english[e] {
				together[english] += math.Sqrt(own * share)
				named[english] = named[english] || share == nameShare
			}
		}
		size := total(emoji)
		for english, both := range together {
			// The cosine of two words, as vectors over the emoji.
			if alike := both * both / (size * total(t.emojiOf[english])); alike >= leastAlike {
				certainty := min(1, math.Sqrt(alike))
				if !named[english] {
					certainty *= sureKeyword
				}
				t.add(word, english, certainty)
				if plain := withoutMarks(word); plain != word && !t.isEnglish(plain) {
					t.add(plain, english, certainty)
				}
			}
		}
	}
}

func total(of map[string]float64) (sum float64) {
	for _, v := range of {
		sum += v
	}
	return sum
}

// isEnglish reports whether a term means something in English.
func (t *translator) isEnglish(term string) bool {
	return t.emojiOf[term] != nil || len(t.known[term]) > 0
}

func (t *translator) add(term, english string, certainty float64) {
	for w := range strings.FieldsSeq(english) {
		if !t.vocabulary[w] {
			return
		}
	}
	if t.vocabulary[term] {
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
			return cmp.Or(cmp.Compare(found[b], found[a]), strings.Compare(a, b))
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
