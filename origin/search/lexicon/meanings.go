package lexicon

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
)

// Meanings passes the words and phrases that have meanings, in ascending order, each with its
// meanings, the most certain first: those of Base, and those learned from the sources. It learns
// nothing if there are no sources. The names are those of the library, as for Learn. Meanings calls
// form for those of Base, as All does. A list of meanings is valid until the next word. The
// error is that of ctx.
func (l *Lexicon) Meanings(ctx context.Context, names func() Names, form func(Meaning) string) (iter.Seq2[string, []Meaning], error) {
	base := iter.Seq2[string, []Meaning](func(func(string, []Meaning) bool) {})
	if l.Base != nil {
		base = l.Base.All(form)
	}
	if len(l.Projects) == 0 && len(l.Synsets) == 0 {
		return base, ctx.Err()
	}
	learned, err := l.Learn(ctx, names())
	if err != nil {
		return nil, err
	}
	return merged(base, learned), nil
}

// merged passes the meanings of base and of more. If both have a meaning, the larger weight counts.
func merged(base iter.Seq2[string, []Meaning], more map[string][]Meaning) iter.Seq2[string, []Meaning] {
	return func(yield func(string, []Meaning) bool) {
		keys := slices.Sorted(maps.Keys(more))
		for key, list := range base {
			for len(keys) > 0 && keys[0] < key {
				if !yield(keys[0], more[keys[0]]) {
					return
				}
				keys = keys[1:]
			}
			if len(keys) > 0 && keys[0] == key {
				list, keys = union(list, more[key]), keys[1:]
			}
			if !yield(key, list) {
				return
			}
		}
		for _, key := range keys {
			if !yield(key, more[key]) {
				return
			}
		}
	}
}

// Add adds the meanings of more to all. If both have a meaning, the larger weight counts.
func Add(all, more map[string][]Meaning) {
	for word, list := range more {
		all[word] = union(all[word], list)
	}
}

// union returns the meanings of both lists, the most certain first.
func union(a, b []Meaning) []Meaning {
	type meant struct {
		text  string
		whole bool
	}
	all, at := slices.Clone(a), map[meant]int{}
	for i, m := range a {
		at[meant{m.Text, m.Whole}] = i
	}
	for _, m := range b {
		if i, ok := at[meant{m.Text, m.Whole}]; ok {
			all[i].Weight = max(all[i].Weight, m.Weight)
		} else {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Meaning) int { return cmp.Compare(b.Weight, a.Weight) })
	return all
}
