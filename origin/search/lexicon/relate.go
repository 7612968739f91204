package lexicon

import "strings"

// relate gathers the words that the dictionary relates to t. Rarer senses count less.
func (le *learner) relate(r *gathered, t int32) {
	sure := float32(1)
	for _, s := range le.senses[t] {
		if sure < leastSense {
			break
		}
		le.relateSense(r, t, s, sure)
		sure *= nextSense
	}
	le.relateGlosses(r, t)
	if text := le.texts[t]; len(text) > 3 && !strings.Contains(text, " ") {
		for _, other := range le.stems[Stem(text)] {
			if other != t {
				r.max(other, sureStem)
			}
		}
	}
}

// relateSense follows the links of one synset.
func (le *learner) relateSense(r *gathered, t, s int32, sure float32) {
	set := &le.synsets[s]
	le.relateSet(r, t, s, sureSynonym*sure)
	for _, b := range set.Broader {
		le.relateSet(r, t, b, sureBroader*sure)
		if siblings := le.synsets[b].narrower; len(siblings) < maxSiblings {
			for _, n := range siblings {
				le.relateSet(r, t, n, sureSibling*sure)
			}
		}
	}
	if len(set.narrower) < maxNarrower {
		for _, n := range set.narrower {
			le.relateSet(r, t, n, sureNarrower*sure)
			for _, nn := range le.synsets[n].narrower {
				le.relateSet(r, t, nn, sureNarrower*sure*.6)
			}
		}
	}
	for _, n := range set.Near {
		le.relateSet(r, t, n, sureNear*sure)
	}
	for _, n := range set.Part {
		le.relateSet(r, t, n, sureWhole*sure)
	}
	for _, w := range set.gloss {
		if w != t {
			r.max(w, sureGloss*sure)
		}
	}
}

// relateSet gathers the words of a synset, and the words of its phrases.
func (le *learner) relateSet(r *gathered, t, s int32, sure float32) {
	if sure < leastRelated {
		return
	}
	for _, w := range le.synsets[s].words {
		if w == t {
			continue
		}
		r.max(w, sure)
		if !strings.Contains(le.texts[w], " ") {
			continue
		}
		for part := range strings.SplitSeq(le.texts[w], " ") {
			if id, ok := le.ids[part]; ok && id != t && le.known[id] && !stop[part] {
				r.max(id, sure*surePart)
			}
		}
	}
}

// relateGlosses gathers words with t in the definition of their first sense. The shorter a
// definition, the more each of its words counts.
func (le *learner) relateGlosses(r *gathered, t int32) {
	if len(le.glossed[t]) >= maxGlossed {
		return
	}
	for _, s := range le.glossed[t] {
		set := &le.synsets[s]
		for _, w := range set.words {
			if w != t && len(le.senses[w]) > 0 && le.senses[w][0] == s {
				r.max(w, sureGlossed*min(1, 8/float32(len(set.gloss))))
			}
		}
	}
}
