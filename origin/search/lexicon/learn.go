package lexicon

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A Meaning is one meaning of a word or phrase: icons named Text if Whole is set, otherwise icons
// whose names have the words of Text.
type Meaning struct {
	Text   string // folded words, joined by spaces
	Whole  bool
	Weight float64 // certainty, 0 to 1
	// Foreign means that the word belongs to another language, or is an emoji.
	Foreign bool
	// Form is the result of the function that was passed to Meanings, if that was called.
	Form string
}

// The certainty of each step from a word to its meanings. The values were chosen by learning from
// two of three projects and querying for the tags of the third; docs/explain/search.md has the
// figures. Most values may be a third larger or smaller with little effect.
const (
	sureTag = .7 // the icon has the tag
	// sureWord is for a word in names of icons with the tag, times their share of all with the
	// word.
	sureWord  = .9
	sureCoTag = .35 // names equal to another tag of icons with the tag, times their share
	// sureNameTag is for names equal to a tag of icons with the word in their names, times their
	// share.
	sureNameTag  = .35
	sureHop      = 1  // the meanings of another tag of the same icons, times both shares
	sureHalf     = .3 // the word is a part of the tag
	sureSynonym  = .5
	sureBroader  = .1
	sureNarrower = .25
	sureSibling  = .1
	sureNear     = .35
	sureWhole    = .15
	sureGloss    = .08 // a word of the definition
	sureGlossed  = .2  // the definition has the word
	sureStem     = .6
	surePart     = .5 // a word of a phrase
	sureTaught   = .5 // the meanings of a related word by tags
	nextSense    = .7 // for each more common sense of the word
	doubt        = 2  // added to the divisor of a share, so that one icon alone proves little
)

// Bounds of the meanings of one word.
const (
	leastSure    = .015
	leastHop     = .003
	leastSense   = .1
	leastRelated = .03
	leastTaught  = .15
	maxTaught    = 250 // associations by tags
	maxRelated   = 100 // words of the dictionary
	maxInferred  = 40  // meanings, except the names of icons with the tag
	maxTagged    = 200 // names of icons with the tag
	maxNarrower  = 200 // a sense with more narrower ones is too broad to search for
	maxSiblings  = 30
	maxGlossed   = 400
	maxNamed     = 300
	maxHops      = 30
	maxLemma     = 2 // words of a phrase that is only in the dictionary
)

// Learn returns the meanings, the most certain first, of all tags, of the dictionary's words, and
// of the words of names. A meaning consists only of words that stand together in a name. The error
// is that of ctx, which ends Learn.
func (l *Lexicon) Learn(ctx context.Context, names Names) (map[string][]Meaning, error) {
	le, err := newLearner(ctx, l, names)
	if err != nil {
		return nil, err
	}
	once := le.each(ctx, le.byTags)
	le.taught = once
	le.taught = le.each(ctx, func(a, r *gathered, t int32) []assoc { return le.byOtherTags(a, r, t, once) })
	le.alike = le.newAlike(ctx)
	meanings := map[string][]Meaning{}
	for t, list := range le.each(ctx, le.learn) {
		for _, x := range list {
			m := Meaning{Weight: float64(x.sure), Whole: x.to < 0}
			m.Text = le.texts[index(x.to)]
			meanings[le.texts[t]] = append(meanings[le.texts[t]], m)
		}
	}
	return meanings, ctx.Err()
}

// each calls do for all words, on all processors, until ctx ends.
func (le *learner) each(ctx context.Context, do func(a, r *gathered, t int32) []assoc) [][]assoc {
	out := make([][]assoc, len(le.texts))
	var wg sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for g := range cores {
		wg.Go(func() {
			a, r := newGathered(len(le.texts)), newGathered(len(le.texts))
			for t := g; t < len(le.texts) && ctx.Err() == nil; t += cores {
				out[t] = do(a, r, int32(t))
			}
		})
	}
	wg.Wait()
	return out
}

// byTags returns the associations of t by tags alone.
func (le *learner) byTags(a, counts *gathered, t int32) []assoc {
	le.shares(a, counts, t)
	if named := le.named[t]; len(named) < maxNamed {
		for _, icon := range named {
			for _, u := range le.icons[icon].tags {
				if u != t && le.known[u] {
					counts.add(u, 1)
				}
			}
		}
		counts.drain(0, func(x assoc) { a.or(x.to, sureNameTag*x.sure/(float32(len(named))+doubt)) })
	}
	for _, icon := range le.tagged[t] {
		a.or(^le.icons[icon].whole, sureTag)
	}
	for _, icon := range le.halves[t] {
		a.or(^le.icons[icon].whole, sureTag*sureHalf)
		for _, w := range le.icons[icon].words {
			a.or(w, sureWord*sureHalf/(float32(len(le.named[w]))+doubt))
		}
	}
	return a.best(.01, maxTaught)
}

// shares adds the words in the names of icons with the tag t, and their other tags.
func (le *learner) shares(a, counts *gathered, t int32) {
	for _, icon := range le.tagged[t] {
		for _, w := range le.icons[icon].words {
			counts.add(w, 1)
		}
		for _, u := range le.icons[icon].tags {
			if u != t && le.known[u] {
				counts.add(^u, 1)
			}
		}
	}
	counts.drain(0, func(x assoc) {
		if x.to >= 0 {
			a.or(x.to, sureWord*x.sure/(float32(len(le.named[x.to]))+doubt))
		} else {
			a.or(^x.to, sureCoTag*x.sure/(float32(len(le.tagged[^x.to]))+doubt))
		}
	})
}

// byOtherTags adds the associations of the other tags of the same icons.
func (le *learner) byOtherTags(a, counts *gathered, t int32, once [][]assoc) []assoc {
	icons := len(le.tagged[t]) + len(le.named[t])
	if len(once[t]) == 0 || len(le.tagged[t]) > maxTaught {
		return once[t]
	}
	for _, list := range [][]int32{le.tagged[t], le.named[t]} {
		for _, icon := range list {
			for _, u := range le.icons[icon].tags {
				if u != t {
					counts.add(u, 1)
				}
			}
		}
	}
	for _, x := range once[t] {
		a.or(x.to, x.sure)
	}
	for _, u := range counts.best(0, maxHops) {
		share := sureHop * u.sure / (float32(icons) + doubt) * u.sure / (float32(len(le.tagged[u.to])) + doubt)
		for _, x := range once[u.to] {
			if p := share * x.sure; p > leastHop {
				a.or(x.to, p)
			}
		}
	}
	return a.best(.01, maxTaught)
}

// learn returns all meanings of t.
func (le *learner) learn(a, related *gathered, t int32) []assoc {
	if strings.Count(le.texts[t], " ") >= maxLemma && len(le.tagged[t]) == 0 {
		return nil
	}
	for _, x := range le.taught[t] {
		a.or(x.to, x.sure)
	}
	le.relate(related, t)
	for _, r := range related.best(0, maxRelated) {
		if stop[le.texts[r.to]] {
			continue
		}
		if le.known[r.to] {
			a.or(r.to, r.sure)
		}
		if r.sure < leastTaught {
			continue
		}
		for _, x := range le.taught[r.to] {
			if p := x.sure * r.sure * sureTaught; p >= .01 {
				a.or(x.to, p)
			}
		}
	}
	if len(le.names) >= leastNames {
		le.byContexts(a, related, t)
		le.byNames(a, related, t)
	}
	a.forget(func(to int32) bool { return to == t || !le.known[index(to)] })
	return le.kept(t, a.best(leastSure, len(a.touched)))
}

// kept selects the meanings to keep: names of icons with the tag, and a number of others. Of these,
// a name must be that of icons in several packs.
func (le *learner) kept(t int32, all []assoc) (list []assoc) {
	tagged, inferred := 0, 0
	for _, x := range all {
		whole := index(x.to)
		n, most := &inferred, maxInferred
		if x.to < 0 && slices.ContainsFunc(le.tagged[t], func(icon int32) bool { return le.icons[icon].whole == whole }) {
			n, most = &tagged, maxTagged
		}
		if *n == most || n == &inferred && x.to < 0 && le.packs[le.texts[whole]] < le.leastPacks {
			continue
		}
		*n++
		list = append(list, x)
	}
	return list
}

// wordsOf returns the keys of a map in order.
func wordsOf(m map[string][]int32) []string { return slices.Sorted(maps.Keys(m)) }
