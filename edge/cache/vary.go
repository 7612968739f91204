package cache

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/cache/entry"
)

// maxAliases is the maximum number of aliases of an entry.
const maxAliases = 4

// A variantSet lists the entries of a key whose responses have Vary (RFC 9111, section 4.1). All of
// its members are in the shard.
type variantSet struct {
	key     string
	names   []string
	members []member
	clock   atomic.Uint64     // counts uses
	aliases map[string]uint64 // secondary keys that lead to the entry of another; nil: none
}

// A member is one of the entries.
type member struct {
	hash uint64
	used uint64 // clock at its last use; changes also while the shard is locked for reading
}

// addVariant adds an entry to the set of its key.
func (s *shard) addVariant(e *entry.Entry) {
	v := s.variants[e.Labels[0]]
	if v == nil {
		v = &variantSet{key: e.Key, names: e.Vary}
		s.variants[e.Labels[0]] = v
	}
	delete(v.aliases, e.Secondary) // the key has an entry of its own now
	v.members = append(v.members, member{e.Hash, v.clock.Add(1)})
}

// removeVariant removes an entry and its aliases from the set of its key.
func (s *shard) removeVariant(hash, label uint64) {
	v := s.variants[label]
	v.members = slices.DeleteFunc(v.members, func(m member) bool { return m.hash == hash })
	for _, a := range v.aliasesOf(hash) {
		delete(v.aliases, a)
	}
	if len(v.members) == 0 {
		delete(s.variants, label)
	}
}

// use records a use of a variant.
func (v *variantSet) use(hash uint64) {
	for i := range v.members {
		if m := &v.members[i]; m.hash == hash {
			atomic.StoreUint64(&m.used, v.clock.Add(1))
			return
		}
	}
}

// excessVariant returns the least recently used variant, if it must be evicted to make room for e.
// The caller holds the lock of the shard.
func (s *shard) excessVariant(e *entry.Entry) (hash uint64, ok bool) {
	v := s.variantsAt(e.Key, e.Labels[0])
	if e.Secondary == "" || v == nil || len(v.members) < entry.MaxVariants {
		return 0, false
	}
	return slices.MinFunc(v.members, func(a, b member) int { return cmp.Compare(a.used, b.used) }).hash, true
}

func (v *variantSet) aliasesOf(hash uint64) (list []string) {
	for a, h := range v.aliases {
		if h == hash {
			list = append(list, a)
		}
	}
	return list
}

// variantsAt returns the variant set of a key, or nil.
func (s *shard) variantsAt(key string, label uint64) *variantSet {
	if v := s.variants[label]; v != nil && v.key == key {
		return v
	}
	return nil
}

// aliased returns the hash of the entry to which an alias leads.
func (s *shard) aliased(key string, label uint64, secondary string) (hash uint64, ok bool) {
	if v := s.variantsAt(key, label); v != nil {
		hash, ok = v.aliases[secondary]
	}
	return hash, ok
}

// alias makes an entry available under another secondary key, unless that key has an entry of its
// own.
func (s *shard) alias(c *Cache, e *entry.Entry, secondary string) {
	label := c.seeds.LabelOfKey(e.Key)
	l, hash := s.find(c, e.Key, label, e.Secondary)
	v := s.variantsAt(e.Key, label)
	if s.closed || l == nil || l.ID != e.ID || v == nil || len(v.aliasesOf(hash)) >= maxAliases {
		return
	}
	if own := s.at(c.seeds.HashOf(label, secondary)); own != nil && own.Secondary() == secondary && own.Key() == e.Key {
		return
	}
	if v.aliases == nil {
		v.aliases = map[string]uint64{}
	}
	v.aliases[secondary] = hash
}
