package cache

import (
	"slices"
	"strings"
	"time"
)

// A sentence is what one drop or purge rules.
type sentence struct {
	all      bool
	labels   []uint64
	prefixes []string
	soft     bool
	when     time.Time
}

func sentenceOf(seeds *seeds, p *Purge, now time.Time) sentence {
	s := sentence{all: p.All, prefixes: p.Prefixes, soft: p.Soft, when: now}
	for _, k := range p.Keys {
		s.labels = append(s.labels, seeds.labelOfURL(k))
	}
	for _, t := range p.Tags {
		s.labels = append(s.labels, seeds.labelOfTag(t))
	}
	return s
}

// concerns is a function that reports whether the sentence is about the entry of a cell.
func (s *sentence) concerns() func(*cell) bool {
	about := s.aboutLabels()
	if s.all || len(s.prefixes) == 0 {
		return func(l *cell) bool { return about(l.labels()) }
	}
	return func(l *cell) bool { return about(l.labels()) || s.begins(l.keyText()) }
}

// aboutLabels is a function that reports whether the sentence is about whatever has such labels.
func (s *sentence) aboutLabels() func(labels []uint64) bool {
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

// begins reports whether a key has one of the sentence's prefixes.
func (s *sentence) begins(key string) bool {
	return slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}
