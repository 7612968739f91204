package lexicon

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// A learner numbers words and phrases, folded. Each list has one entry for each of them.
type learner struct {
	ids     map[string]int32
	texts   []string
	known   []bool // all its words stand in one name
	icons   []tagged
	tagged  [][]int32 // icons that have it as a tag
	halves  [][]int32 // icons that have it as a part of a tag
	named   [][]int32 // icons that have it in their names
	senses  [][]int32 // its synsets
	glossed [][]int32 // synsets whose definition has it
	taught  [][]assoc
	stems   map[string][]int32
	synsets []synset

	names      [][]int32      // words of the names of the library
	nameIn     []int          // by name: the number of packs that have it
	inNames    [][]int32      // by word: its names
	packs      map[string]int // by name: the same as nameIn
	leastPacks int
	alike      *alike
}

type tagged struct {
	words []int32
	whole int32 // the name
	tags  []int32
}

type synset struct {
	*Synset
	words, gloss []int32
	narrower     []int32
}

// An assoc is an association with a word or, as ^to, with a whole name.
type assoc struct {
	to   int32
	sure float32
}

// index returns the word of an association with a word or a whole name.
func index(to int32) int32 {
	if to < 0 {
		return ^to
	}
	return to
}

// styles end names only to give the style of an icon.
var styles = map[string]bool{"outline": true, "outlined": true, "filled": true, "fill": true, "solid": true,
	"rounded": true, "duotone": true}

func newLearner(ctx context.Context, l *Lexicon, names Names) (*learner, error) {
	le := &learner{ids: map[string]int32{}, stems: map[string][]int32{}}
	for _, w := range names.Words {
		le.id(w)
	}
	le.addNames(names.Icons)
	for _, p := range l.Projects {
		for _, icon := range p.Icons {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			le.addIcon(icon)
		}
	}
	if err := le.addSynsets(ctx, l); err != nil {
		return nil, err
	}
	le.known = make([]bool, len(le.texts))
	for t, text := range le.texts {
		le.known[t] = t < len(le.inNames) || strings.Contains(text, " ") && len(le.namesWith(int32(t))) > 0
		if len(text) > 3 && !strings.Contains(text, " ") {
			stem := Stem(text)
			le.stems[stem] = append(le.stems[stem], int32(t))
		}
	}
	return le, ctx.Err()
}

// id returns the number of a word, and makes room in the lists for a new one.
func (le *learner) id(text string) int32 {
	id, ok := le.ids[text]
	if ok {
		return id
	}
	id = int32(len(le.texts))
	le.ids[text] = id
	le.texts = append(le.texts, text)
	for _, lists := range []*[][]int32{&le.tagged, &le.halves, &le.named, &le.senses, &le.glossed} {
		*lists = append(*lists, nil)
	}
	return id
}

// put appends v to a list unless it is the last element.
func put(list *[]int32, v int32) {
	if n := len(*list); n == 0 || (*list)[n-1] != v {
		*list = append(*list, v)
	}
}

func (le *learner) addIcon(icon Tagged) {
	name := words(icon.Name)
	for len(name) > 1 && styles[name[len(name)-1]] {
		name = name[:len(name)-1]
	}
	n, t := int32(len(le.icons)), tagged{whole: le.id(strings.Join(name, " "))}
	for _, w := range name {
		if id := le.id(w); !slices.Contains(t.words, id) {
			t.words = append(t.words, id)
			put(&le.named[id], n)
		}
	}
	for _, tag := range icon.Tags {
		parts := words(tag)
		if id := le.id(strings.Join(parts, " ")); len(parts) > 0 && !slices.Contains(t.tags, id) {
			t.tags = append(t.tags, id)
			put(&le.tagged[id], n)
		}
	}
	le.icons = append(le.icons, t)
	for _, tag := range icon.Tags {
		le.addParts(n, tag)
	}
}

// addParts records an icon under the words of a tag of several words.
func (le *learner) addParts(icon int32, tag string) {
	parts := words(tag)
	for _, w := range parts {
		if id := le.id(w); len(parts) > 1 && !stop[w] && !slices.Contains(le.icons[icon].tags, id) {
			put(&le.halves[id], icon)
		}
	}
}

func (le *learner) addSynsets(ctx context.Context, l *Lexicon) error {
	le.synsets = make([]synset, len(l.Synsets))
	for i := range l.Synsets {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &le.synsets[i]
		s.Synset = &l.Synsets[i]
		for _, w := range s.Words {
			s.words = append(s.words, le.id(key(w)))
		}
		for _, b := range s.Broader {
			put(&le.synsets[b].narrower, int32(i))
		}
	}
	for _, word := range wordsOf(l.Senses) {
		if err := ctx.Err(); err != nil {
			return err
		}
		id := le.id(key(word))
		for _, s := range l.Senses[word] {
			if !slices.Contains(le.senses[id], s) {
				le.senses[id] = append(le.senses[id], s)
			}
		}
	}
	for i := range le.synsets {
		if err := ctx.Err(); err != nil {
			return err
		}
		le.addGloss(int32(i))
	}
	return nil
}

// addGloss records a synset under the words of its definition, without the examples after it.
func (le *learner) addGloss(i int32) {
	s := &le.synsets[i]
	gloss, _, _ := strings.Cut(s.Gloss, "; \"")
	for _, w := range words(gloss) {
		if id, ok := le.ids[w]; ok && len(w) > 2 && !stop[w] {
			s.gloss = append(s.gloss, id)
			put(&le.glossed[id], i)
		}
	}
}

// gathered collects the associations of one word.
type gathered struct {
	word, whole []float32
	touched     []int32
}

func newGathered(n int) *gathered {
	return &gathered{word: make([]float32, n), whole: make([]float32, n)}
}

func (g *gathered) at(to int32) *float32 {
	v := &g.word
	if to < 0 {
		v = &g.whole
	}
	return &(*v)[index(to)]
}

func (g *gathered) touch(to int32) *float32 {
	v := g.at(to)
	if *v == 0 {
		g.touched = append(g.touched, to)
	}
	return v
}

func (g *gathered) add(to int32, n float32) { *g.touch(to) += n }

func (g *gathered) max(to int32, p float32) { v := g.touch(to); *v = max(*v, p) }

// or combines p with the previous value as independent evidence.
func (g *gathered) or(to int32, p float32) { v := g.touch(to); *v = 1 - (1-*v)*(1-min(p, .98)) }

// drain passes the associations of at least a value to each, in the order in which they were added,
// and resets g.
func (g *gathered) drain(least float32, each func(assoc)) {
	for _, to := range g.touched {
		v := g.at(to)
		if *v >= least {
			each(assoc{to, *v})
		}
		*v = 0
	}
	g.touched = g.touched[:0]
}

// forget removes associations for which unwanted returns true.
func (g *gathered) forget(unwanted func(to int32) bool) {
	g.touched = slices.DeleteFunc(g.touched, func(to int32) bool {
		if !unwanted(to) {
			return false
		}
		*g.at(to) = 0
		return true
	})
}

// best returns the most certain associations, in descending order, and resets g.
func (g *gathered) best(least float32, most int) []assoc {
	list := make([]assoc, 0, len(g.touched))
	g.drain(least, func(x assoc) { list = append(list, x) })
	slices.SortFunc(list, func(a, b assoc) int { return cmp.Or(cmp.Compare(b.sure, a.sure), cmp.Compare(a.to, b.to)) })
	return slices.Clone(list[:min(len(list), most)])
}

// stop lists words without a meaning of their own: those of grammar and of definitions.
var stop = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`the of and for with that this from are was has have had been being any all who whom which used use using into
		onto upon than then them their its his her not one two some such very more most other another especially usually often made make makes
		having something someone person act type kind form etc where when while can may also each between without within during about what how
		over under out you your in on off up down at by to a an as or no it be do so if`) {
		set[w] = true
	}
	return set
}()
