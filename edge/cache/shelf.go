package cache

import (
	"slices"
	"sync"
)

const (
	shelves    = 64
	frontSlots = 32 // entries of the front on each shelf
	maxAliases = 4  // of one entry
)

// A shelf holds a part of all entries by their address, and those of them that came last in a ring of its own: they stay,
// whatever ristretto says of them.
type shelf struct {
	load   sync.Mutex // held while something is brought from disk, so that it is read once; taken before turn
	turn   sync.Mutex // held by whoever changes what is under a key, until ristretto was told as well; taken before mu
	mu     sync.RWMutex
	books  map[string]resource
	ring   [frontSlots]*Entry
	next   int
	closed bool
}

// A resource is what is stored under one address: an answer, or answers that differ by request (RFC 9111, section 4.1).
type resource struct {
	plain  *Entry
	varied *varied
}

// varied is the record of a Vary, and the answers that have it, by their secondary key.
type varied struct {
	names   []string
	entries map[string]*Entry // an alias leads to the same entry as its own key
}

// shelved is where an entry stands. The lock of its shelf guards it.
type shelved struct {
	on, inFront bool // the shelf, and not purged; its ring
	kept        bool // by ristretto, or on its way there
	slot        uint32
	aliases     []string
}

func (c *Cache) shelf(label uint64) *shelf { return &c.shelves[label>>32%shelves] }

// find returns what is stored under a key and a secondary one.
func (s *shelf) find(key, secondary string) *Entry {
	r := s.books[key]
	e := r.plain
	if secondary != "" {
		if r.varied == nil {
			return nil
		}
		e = r.varied.entries[secondary]
	}
	if e == nil || !e.place.on {
		return nil
	}
	return e
}

// rivals are the entries that must go when e comes: the one with the same keys, and everything under the address that varies by
// other names, or not as this one does.
func (s *shelf) rivals(e *Entry) (rivals []*Entry) {
	r := s.books[e.Key]
	for old := range r.all() {
		if e.Secondary == "" || old.Secondary == "" || old.Secondary == e.Secondary || !slices.Equal(r.varied.names, e.Vary) {
			rivals = append(rivals, old)
		}
	}
	return rivals
}

// put stores an entry that has no rivals.
func (s *shelf) put(e *Entry) {
	r := s.books[e.Key]
	if e.Secondary == "" {
		r.plain = e
	} else {
		if r.varied == nil {
			r.varied = &varied{names: e.Vary, entries: map[string]*Entry{}}
		}
		r.varied.bump(e.Secondary)
		r.varied.entries[e.Secondary] = e
	}
	s.books[e.Key] = r
	e.place.on = true
}

// bump makes room for an entry where another's alias is.
func (v *varied) bump(secondary string) {
	if other := v.entries[secondary]; other != nil {
		other.place.aliases = slices.DeleteFunc(other.place.aliases, func(a string) bool { return a == secondary })
	}
}

// alias makes an entry found under another secondary key too, unless an entry of its own is there.
func (s *shelf) alias(e *Entry, secondary string) {
	v := s.books[e.Key].varied
	if s.closed || !e.place.on || v == nil || len(e.place.aliases) >= maxAliases {
		return
	}
	if other := v.entries[secondary]; other == e || other != nil && other.Secondary == secondary {
		return
	}
	v.bump(secondary)
	v.entries[secondary] = e
	e.place.aliases = append(e.place.aliases, secondary)
}

// take takes an entry off its shelf, and its aliases, if it is there.
func (s *shelf) take(e *Entry) {
	r := s.books[e.Key]
	switch {
	case r.plain == e:
		r.plain = nil
	case r.varied == nil || r.varied.entries[e.Secondary] != e:
		return
	default:
		delete(r.varied.entries, e.Secondary)
		for _, a := range e.place.aliases {
			delete(r.varied.entries, a)
		}
		if len(r.varied.entries) == 0 {
			r.varied = nil
		}
	}
	if r == (resource{}) {
		delete(s.books, e.Key)
	} else {
		s.books[e.Key] = r
	}
}

// all are the entries of a resource, each once, those that were purged and not yet taken away among them.
func (r resource) all() func(yield func(*Entry) bool) {
	return func(yield func(*Entry) bool) {
		if r.plain != nil && !yield(r.plain) || r.varied == nil {
			return
		}
		for secondary, e := range r.varied.entries {
			if e.Secondary == secondary && !yield(e) {
				return
			}
		}
	}
}

func (s *shelf) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
