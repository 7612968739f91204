package withdrawal

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// A Set is the icons and packs that are withdrawn at one time. It never changes. A nil Set is
// empty.
type Set struct {
	packs map[string]bool
	icons map[string][]string // names by pack, sorted
	sum   string
}

// setOf returns the set of the items that are in force, or nil if there are none.
func setOf(items []Item) *Set {
	s := &Set{packs: map[string]bool{}, icons: map[string][]string{}}
	var targets []string
	for _, i := range items {
		if i.UndoneAt != nil {
			continue
		}
		targets = append(targets, i.Target())
		if i.Name == "" {
			s.packs[i.Pack] = true
		} else {
			s.icons[i.Pack] = append(s.icons[i.Pack], i.Name)
		}
	}
	if len(targets) == 0 {
		return nil
	}
	for _, names := range s.icons {
		slices.Sort(names)
	}
	slices.Sort(targets)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(targets), "\n")))
	s.sum = hex.EncodeToString(sum[:8])
	return s
}

// Sum identifies the content of the set: 16 hexadecimal digits, or "" for an empty set.
func (s *Set) Sum() string {
	if s == nil {
		return ""
	}
	return s.sum
}

// Pack reports whether a whole pack is withdrawn.
func (s *Set) Pack(key string) bool { return s != nil && s.packs[key] }

// Targets returns the withdrawn packs, and the icons that are withdrawn one by one from other
// packs: PACK or PACK/NAME, in no order.
func (s *Set) Targets() (all []string) {
	if s == nil {
		return nil
	}
	for key := range s.packs {
		all = append(all, key)
	}
	for key, names := range s.icons {
		if s.packs[key] {
			continue
		}
		for _, name := range names {
			all = append(all, icon.Ref{Pack: key, Name: name}.String())
		}
	}
	return all
}

// Names returns the names that are withdrawn one by one from a pack, sorted.
func (s *Set) Names(pack string) []string {
	if s == nil {
		return nil
	}
	return s.icons[pack]
}

// Icon reports whether an icon is withdrawn, by its name or with its pack. The aliases of a
// withdrawn icon are withdrawn too, but a Set does not know them; see catalog.Release.Withdrawn.
func (s *Set) Icon(ref icon.Ref) bool {
	if s == nil {
		return false
	}
	_, found := slices.BinarySearch(s.icons[ref.Pack], ref.Name)
	return found || s.packs[ref.Pack]
}

// Changed returns the keys of the packs in which two sets differ, sorted.
func Changed(a, b *Set) (packs []string) {
	keys := map[string]bool{}
	for _, s := range []*Set{a, b} {
		if s == nil {
			continue
		}
		for key := range s.packs {
			keys[key] = true
		}
		for key := range s.icons {
			keys[key] = true
		}
	}
	for key := range keys {
		if a.Pack(key) != b.Pack(key) || !slices.Equal(a.Names(key), b.Names(key)) {
			packs = append(packs, key)
		}
	}
	slices.Sort(packs)
	return packs
}
