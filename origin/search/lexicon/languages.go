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
	nameShare      = 2   // the weight of an emoji's name, compared with a keyword's
	leastAlike     = .15 // share of the emoji of both words that two words must have in common
	// A part of a text of a user interface is the translation of another if they share so many
	// texts, and are so much alike.
	leastTexts, leastAlikeParts = 2, .3

	// A keyword of an emoji that is also a whole text of user interfaces rather means that text: 保存
	// stands at the jar, and on buttons that save.
	doubtEmoji = .6

	maxTranslated = 4  // English words for one foreign word
	maxWhole      = 2  // of these, words whose icons of that very name are preferred
	doubtForeign  = .5 // for a foreign word that is also a word in names
)

// A Parallel has annotations in English and the same in another language, by the same keys.
type Parallel struct {
	English, Foreign Annotations
	// Emoji means that the keys are emoji. A word is then the translation of another even if they
	// share one key alone. Otherwise the keys stand for texts of user interfaces, and only whole
	// texts are evidence enough alone.
	Emoji bool
}

// Translate returns the meanings of foreign words, and of the emoji themselves, in English words of
// the vocabulary. It learns them from annotations in English and in another language: two words
// mean the same to the degree that they stand at the same emoji or texts. It leaves out words that
// have a meaning in English already, because most people mean that.
func Translate(texts []Parallel, vocabulary []string, known map[string][]Meaning) map[string][]Meaning {
	t := translator{vocabulary: map[string]bool{}, known: known, english: map[string]bool{}, interfaces: map[string]bool{}, found: map[string]map[string]float64{}}
	for _, w := range vocabulary {
		t.vocabulary[w] = true
	}
	for _, p := range texts {
		if p.Emoji {
			t.emoji(termsOf(p.English))
		}
	}
	for _, p := range texts {
		if !p.Emoji {
			t.interfaceTexts(p.Foreign)
		}
	}
	for _, p := range texts {
		t.learn(termsOf(p.English), termsOf(p.Foreign), p.Emoji)
	}
	return t.meanings()
}

type translator struct {
	vocabulary map[string]bool
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
func (t *translator) learn(english, foreign map[string]map[string]float64, emoji bool) {
	textsOf := inverted(english)
	for word, texts := range inverted(foreign) {
		if t.isEnglish(word, emoji) {
			continue
		}
		together, times := map[string]float64{}, map[string]int{}
		named, isName := map[string]bool{}, false // the English term is a name; the foreign one is
		for e, own := range texts {
			isName = isName || own == nameShare
			for term, share := range english[e] {
				together[term] += math.Sqrt(own * share)
				times[term]++
				if share == nameShare && (emoji || own == nameShare) {
					named[term] = true
				}
			}
		}
		size := total(texts)
		for term, both := range together {
			// The cosine of two words, as vectors over the emoji or texts.
			alike := both * both / (size * total(textsOf[term]))
			if alike < leastAlike || !emoji && !named[term] && (times[term] < leastTexts || alike < leastAlikeParts) {
				continue
			}
			certainty := min(1, math.Sqrt(alike))
			if !named[term] {
				certainty *= sureKeyword
			}
			if emoji && !isName && t.interfaces[word] {
				certainty *= doubtEmoji
			}
			t.add(word, term, certainty)
			if plain := withoutMarks(word); plain != word && !t.isEnglish(plain, emoji) {
				t.add(plain, term, certainty)
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

// isEnglish reports whether a term means something in English. A word that no name has does not
// count if it is a word of user interfaces in another language: "recherche" is rather French.
func (t *translator) isEnglish(term string, emoji bool) bool {
	return t.english[term] || len(t.known[term]) > 0 && (emoji || t.vocabulary[term])
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
