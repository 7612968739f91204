package cache

import "slices"

// maxAliases is how many an entry may have.
const maxAliases = 4

// A varied is the record of a Vary (RFC 9111, section 4.1), and of the entries under its address, which are never purged from it
// by halves: one that is not there any more is not on the shelf either.
type varied struct {
	key     string
	names   []string
	hashes  []uint64
	aliases map[string]uint64 // secondary keys that lead to the entry of another; nil: none
}

// vary enters an entry in the record of its address.
func (s *shelf) vary(e *Entry) {
	v := s.varied[e.labels[0]]
	if v == nil {
		v = &varied{key: e.Key, names: e.Vary}
		s.varied[e.labels[0]] = v
	}
	delete(v.aliases, e.Secondary) // that key is its own now
	v.hashes = append(v.hashes, e.hash)
}

// unvary strikes it from there, with its aliases.
func (s *shelf) unvary(hash, label uint64) {
	v := s.varied[label]
	v.hashes = slices.DeleteFunc(v.hashes, func(h uint64) bool { return h == hash })
	for _, a := range v.aliasesOf(hash) {
		delete(v.aliases, a)
	}
	if len(v.hashes) == 0 {
		delete(s.varied, label)
	}
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
