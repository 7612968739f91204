package lexicon

import (
	"context"
	"math"
	"strings"
)

const (
	sureAlike   = 1   // for words with the same contexts, times the cosine
	leastCosine = .03 // of contexts
	maxAlike    = 30
	maxContexts = 150
	sureDefined = .3 // a word of a definition, as a context
	leastSureOf = .03
	// leastShown is the number of times that packs have a word in names for it to be a meaning by
	// its contexts alone.
	leastShown = 6
	// maxShared is the number of words from which a context is too common to tell them apart.
	maxShared = 2000
)

// alike finds words of names with like contexts. The contexts of a word are itself, what tags and
// the dictionary associate with it, and the words of its definitions. Rare contexts count more.
type alike struct {
	having [][]assoc // by context: the words of names that have it, with their part of the cosine
	rarity []float32 // by context
}

// newAlike compares the words of names.
func (le *learner) newAlike(ctx context.Context) *alike {
	shown := make([]int, len(le.texts))
	for n, ids := range le.names {
		for _, id := range ids {
			shown[id] += le.nameIn[n]
		}
	}
	contexts := le.each(ctx, func(_, r *gathered, t int32) []assoc {
		if shown[t] < leastShown || strings.Contains(le.texts[t], " ") {
			return nil
		}
		return le.contexts(r, t)
	})
	al := &alike{having: make([][]assoc, len(le.texts)), rarity: make([]float32, len(le.texts))}
	words := 0
	for _, list := range contexts {
		if len(list) > 0 {
			words++
		}
		for _, x := range list {
			al.rarity[x.to]++
		}
	}
	for c, n := range al.rarity {
		al.rarity[c] = float32(math.Log(float64(words+1) / max(1, float64(n))))
	}
	for t, list := range contexts {
		length := al.length(list)
		for _, x := range list {
			al.having[x.to] = append(al.having[x.to], assoc{int32(t), x.sure * al.rarity[x.to] / length})
		}
	}
	return al
}

// contexts returns those of t.
func (le *learner) contexts(r *gathered, t int32) []assoc {
	le.relate(r, t)
	sure := float32(sureDefined)
	for _, s := range le.senses[t] {
		for _, w := range le.synsets[s].gloss {
			r.max(w, sure)
		}
		if sure *= nextSense; sure < sureDefined*leastSense {
			break
		}
	}
	for _, x := range le.taught[t] {
		if x.to >= 0 {
			r.max(x.to, x.sure)
		}
	}
	r.max(t, 1)
	return r.best(leastSureOf, maxContexts)
}

// length returns that of a vector of contexts.
func (al *alike) length(contexts []assoc) float32 {
	sum := 0.0
	for _, x := range contexts {
		sum += math.Pow(float64(x.sure*al.rarity[x.to]), 2)
	}
	return float32(math.Sqrt(sum))
}

// byContexts adds the words of names whose contexts are like those of t.
func (le *learner) byContexts(a, r *gathered, t int32) {
	al := le.alike
	contexts := le.contexts(r, t)
	length := al.length(contexts)
	for _, x := range contexts {
		if len(al.having[x.to]) > maxShared {
			continue
		}
		for _, w := range al.having[x.to] {
			r.add(w.to, x.sure*al.rarity[x.to]/length*w.sure)
		}
	}
	for _, x := range r.best(leastCosine, maxAlike+1) {
		if x.to != t {
			a.or(x.to, sureAlike*x.sure)
		}
	}
}
