package cache

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// maxAliases is how many an entry may have.
const maxAliases = 4

// maxVariants is how many entries an address may have in memory, and as many on disk: the least recently used goes first.
const maxVariants = 256

// A varied is the record of a Vary (RFC 9111, section 4.1), and of the entries under its address, which are never purged from it
// by halves: one that is not there any more is not on the shelf either.
type varied struct {
	key     string
	names   []string
	members []member
	clock   atomic.Uint64     // counts uses
	aliases map[string]uint64 // secondary keys that lead to the entry of another; nil: none
}

// A member is one of the entries.
type member struct {
	hash uint64
	used uint64 // what the clock said; changes also while the shelf is locked for reading
}

// vary enters an entry in the record of its address.
func (s *shelf) vary(e *Entry) {
	v := s.varied[e.labels[0]]
	if v == nil {
		v = &varied{key: e.Key, names: e.Vary}
		s.varied[e.labels[0]] = v
	}
	delete(v.aliases, e.Secondary) // that key is its own now
	v.members = append(v.members, member{e.hash, v.clock.Add(1)})
}

// unvary strikes it from there, with its aliases.
func (s *shelf) unvary(hash, label uint64) {
	v := s.varied[label]
	v.members = slices.DeleteFunc(v.members, func(m member) bool { return m.hash == hash })
	for _, a := range v.aliasesOf(hash) {
		delete(v.aliases, a)
	}
	if len(v.members) == 0 {
		delete(s.varied, label)
	}
}

// use notes that a variant was used.
func (v *varied) use(hash uint64) {
	for i := range v.members {
		if m := &v.members[i]; m.hash == hash {
			atomic.StoreUint64(&m.used, v.clock.Add(1))
			return
		}
	}
}

// surplus is the variant that must go for another to come: the least recently used, where there are as many as may be. The shelf
// is locked.
func (s *shelf) surplus(e *Entry) (hash uint64, ok bool) {
	v := s.variedAt(e.Key, e.labels[0])
	if e.Secondary == "" || v == nil || len(v.members) < maxVariants {
		return 0, false
	}
	return slices.MinFunc(v.members, func(a, b member) int { return cmp.Compare(a.used, b.used) }).hash, true
}

func (v *varied) aliasesOf(hash uint64) (list []string) {
	for a, h := range v.aliases {
		if h == hash {
			list = append(list, a)
		}
	}
	return list
}

// variedAt is the record of a Vary at an address.
func (s *shelf) variedAt(key string, label uint64) *varied {
	if v := s.varied[label]; v != nil && v.key == key {
		return v
	}
	return nil
}

// aliased is the hash of the entry to which an alias leads.
func (s *shelf) aliased(key string, label uint64, secondary string) (hash uint64, ok bool) {
	if v := s.variedAt(key, label); v != nil {
		hash, ok = v.aliases[secondary]
	}
	return hash, ok
}

// alias makes an entry found under another secondary key too, unless an entry of its own is there.
func (s *shelf) alias(c *Cache, e *Entry, secondary string) {
	label := c.seeds.labelOfURL(e.Key)
	l, hash := s.find(c, e.Key, label, e.Secondary)
	v := s.variedAt(e.Key, label)
	if s.closed || l == nil || l.id != e.id || v == nil || len(v.aliasesOf(hash)) >= maxAliases {
		return
	}
	if own := s.at(c.seeds.hashOf(label, secondary)); own != nil && own.secondaryText() == secondary && own.keyText() == e.Key {
		return
	}
	if v.aliases == nil {
		v.aliases = map[string]uint64{}
	}
	v.aliases[secondary] = hash
}
