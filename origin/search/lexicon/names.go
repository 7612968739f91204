package lexicon

import (
	"math"
	"slices"
	"strings"
)

// Names are those of a library.
type Names struct {
	Words []string // of all names, folded: those of aliases and words of style too
	Icons []Named  // each name of an icon once; aliases have none of their own
}

// A Named is what one or more icons are called.
type Named struct {
	Text  string // folded words, joined by spaces, without words of style
	Packs int    // number of packs that have an icon of that name
}

const (
	sureNamed   = .5   // a word of the same names, times the strength of the association
	maxNameLong = 6    // words of such a name
	maxSharing  = 2000 // names with a word; those of a more common word say little about it

	// leastNames is the number of names from which a library teaches meanings: in fewer, words
	// meet by chance.
	leastNames = 1000

	// leastPacks is the number of packs that have the name of an inferred meaning, because a name
	// of few packs finds nothing in the others. In a small library it is a packShare-th of the
	// number of packs that have the most common name.
	leastPacks, packShare = 8, 16
)

// addNames records the names of a library under their words.
func (le *learner) addNames(icons []Named) {
	le.inNames, le.packs = make([][]int32, len(le.texts)), make(map[string]int, len(icons))
	most := 0
	for _, name := range icons {
		if le.packs[name.Text] > 0 {
			continue
		}
		le.packs[name.Text] = name.Packs
		most = max(most, name.Packs)
		var ids []int32
		for w := range strings.FieldsSeq(name.Text) {
			if id, ok := le.ids[w]; ok && !slices.Contains(ids, id) {
				ids = append(ids, id)
				le.inNames[id] = append(le.inNames[id], int32(len(le.names)))
			}
		}
		le.names, le.nameIn = append(le.names, ids), append(le.nameIn, name.Packs)
	}
	le.leastPacks = min(leastPacks, most/packShare)
}

// namesWith returns the names that have all words of a text.
func (le *learner) namesWith(t int32) (list []int32) {
	var ids []int32
	for w := range strings.FieldsSeq(le.texts[t]) {
		id, ok := le.ids[w]
		if !ok || int(id) >= len(le.inNames) {
			return nil
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	slices.SortFunc(ids, func(a, b int32) int { return len(le.inNames[a]) - len(le.inNames[b]) })
	for _, n := range le.inNames[ids[0]] {
		if !slices.ContainsFunc(ids[1:], func(id int32) bool { return !slices.Contains(le.names[n], id) }) {
			list = append(list, n)
		}
	}
	return list
}

// byNames adds the words that stand in the same names as t, by the normalised pointwise mutual
// information of both: 1 if one never stands without the other, 0 if they meet by chance.
func (le *learner) byNames(a, counts *gathered, t int32) {
	with := le.namesWith(t)
	if len(with) > maxSharing {
		return
	}
	own := 0 // of those names, the short ones
	for _, n := range with {
		if len(le.names[n]) > maxNameLong {
			continue
		}
		own++
		for _, w := range le.names[n] {
			counts.add(w, 1)
		}
	}
	all := float64(len(le.names))
	part := strings.Fields(le.texts[t])
	counts.drain(1, func(x assoc) {
		n := float64(x.sure)
		information := math.Log(n*all/(float64(own)*float64(len(le.inNames[x.to])))) / -math.Log(n/all)
		if information > 0 && !slices.Contains(part, le.texts[x.to]) {
			a.or(x.to, float32(sureNamed*information*n/(n+1)))
		}
	})
}
