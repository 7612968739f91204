package cache

import (
	"slices"
	"time"
)

// A purgeSpec specifies what one drop or purge invalidates.
type purgeSpec struct {
	all      bool
	labels   []uint64
	prefixes []string
	soft     bool
	when     time.Time
}

func specOf(seeds *seeds, p *Purge, now time.Time) *purgeSpec {
	s := &purgeSpec{all: p.All, prefixes: p.Prefixes, soft: p.Soft, when: now}
	for _, k := range p.Keys {
		s.labels = append(s.labels, seeds.labelOfKey(k))
	}
	for _, t := range p.Tags {
		s.labels = append(s.labels, seeds.labelOfTag(t))
	}
	return s
}

// matches returns a function that reports whether the purge concerns the entry in a slot.
func (s *purgeSpec) matches() func(*slot) bool {
	labelsMatch, keyMatches := s.matchesLabels(), s.matchesPrefixes()
	if s.all || len(s.prefixes) == 0 {
		return func(l *slot) bool { return labelsMatch(l.labels()) }
	}
	return func(l *slot) bool { return labelsMatch(l.labels()) || keyMatches(l.keyText()) }
}

// matchesLabels returns a function that reports whether the purge concerns an entry with some
// labels.
func (s *purgeSpec) matchesLabels() func(labels []uint64) bool {
	switch {
	case s.all:
		return func([]uint64) bool { return true }
	case len(s.labels) == 1:
		label := s.labels[0]
		return func(labels []uint64) bool { return slices.Contains(labels, label) }
	}
	named := make(map[uint64]bool, len(s.labels))
	for _, l := range s.labels {
		named[l] = true
	}
	return func(labels []uint64) bool {
		return slices.ContainsFunc(labels, func(l uint64) bool { return named[l] })
	}
}

// matchesPrefixes returns a function that reports whether a key has one of the prefixes.
func (s *purgeSpec) matchesPrefixes() func(key string) bool {
	var tree prefixes
	for _, p := range s.prefixes {
		tree.add(p, invalidation{hard: 1})
	}
	return func(key string) bool { return tree.matchKey(key).hard > 0 }
}
