package invalidation

import (
	"slices"
	"time"

	"github.com/iconedge/iconedge/edge/cache/hashes"
)

// A Purge specifies entries: all to which any of its fields applies.
type Purge struct {
	Keys     []string // exact keys; all variants of a key are included
	Prefixes []string // of keys
	Tags     []string // surrogate keys
	All      bool
	Soft     bool // make the entries stale, instead of removing them
}

// Scans reports whether a purge has to check all entries. Only keys lead directly to their entries.
func (p *Purge) Scans() bool { return p.All || len(p.Prefixes)+len(p.Tags) > 0 }

// A Spec specifies what one drop or purge invalidates.
type Spec struct {
	All      bool
	Labels   []uint64
	Prefixes []string
	Soft     bool
	When     time.Time
}

// SpecOf returns what a purge at a moment invalidates.
func SpecOf(seeds *hashes.Seeds, p *Purge, now time.Time) *Spec {
	s := &Spec{All: p.All, Prefixes: p.Prefixes, Soft: p.Soft, When: now}
	for _, k := range p.Keys {
		s.Labels = append(s.Labels, seeds.LabelOfKey(k))
	}
	for _, t := range p.Tags {
		s.Labels = append(s.Labels, seeds.LabelOfTag(t))
	}
	return s
}

// MatchesLabels returns a function that reports whether the purge concerns an entry with some
// labels.
func (s *Spec) MatchesLabels() func(labels []uint64) bool {
	switch {
	case s.All:
		return func([]uint64) bool { return true }
	case len(s.Labels) == 1:
		label := s.Labels[0]
		return func(labels []uint64) bool { return slices.Contains(labels, label) }
	}
	named := make(map[uint64]bool, len(s.Labels))
	for _, l := range s.Labels {
		named[l] = true
	}
	return func(labels []uint64) bool {
		return slices.ContainsFunc(labels, func(l uint64) bool { return named[l] })
	}
}

// MatchesPrefixes returns a function that reports whether a key has one of the prefixes.
func (s *Spec) MatchesPrefixes() func(key string) bool {
	var tree prefixes
	for _, p := range s.Prefixes {
		tree.add(p, Latest{Hard: 1})
	}
	return func(key string) bool {
		v, _ := tree.match(key)
		return v.Hard > 0
	}
}
