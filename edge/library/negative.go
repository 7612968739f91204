package library

import (
	"hash/maphash"
	"net/http"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/cache"
)

const (
	negativePart = 16      // the table may take one part in so many of the cache's bytes, on top
	maxNegative  = 2 << 10 // bytes of a response in the table; a longer one may go into the cache
	leastPlaces  = 1 << 9  // of a table
	ways         = 4       // places that a key may take, side by side
	mostPlaces   = 1 << 14 // of a table; more invented names reach the origin again
)

// NegativeCache is the negative cache: it holds, apart from the cache, the origin's 404 responses
// about names of our own routes. There are more invented names than icons, and a client that
// invents them must evict no icon.
type NegativeCache struct {
	seed  maphash.Seed
	count int
	table atomic.Pointer[NegativeTable]
}

// A NegativeTable holds the responses since the negative cache was last emptied. A fetch that began
// before that stores its response in the table of its time, which nothing reads any more, because
// the response may be outdated.
type NegativeTable struct {
	seed   maphash.Seed
	places []atomic.Pointer[cache.Entry]
}

// NewNegative returns an empty negative cache beside a cache of cacheBytes.
func NewNegative(cacheBytes int64) *NegativeCache {
	m := &NegativeCache{seed: maphash.MakeSeed(), count: int(
		min(max(cacheBytes/negativePart/maxNegative, leastPlaces), mostPlaces)) &^ (ways - 1)}
	m.Clear()
	return m
}

// Current returns the table that is in use.
func (m *NegativeCache) Current() *NegativeTable { return m.table.Load() }

// Clear empties the negative cache, because a new release or a purge may have made the names
// exist.
func (m *NegativeCache) Clear() {
	m.table.Store(&NegativeTable{m.seed, make([]atomic.Pointer[cache.Entry], m.count)})
}

// bucket returns the places for a key, and the one that the key takes over if all are taken.
func (t *NegativeTable) bucket(key string) (places []atomic.Pointer[cache.Entry], last *atomic.Pointer[cache.Entry]) {
	sum := maphash.String(t.seed, key)
	i := sum % uint64(len(t.places)/ways) * ways
	return t.places[i : i+ways], &t.places[i+sum>>32%ways]
}

// Find returns the response for a key; nil, if the table has none.
func (t *NegativeTable) Find(key string) *cache.Entry {
	places, _ := t.bucket(key)
	for i := range places {
		if e := places[i].Load(); e != nil && e.Key == key {
			return e
		}
	}
	return nil
}

// Put stores a response if it is a short 404, and reports whether it did. The response replaces
// the last one for its key, or takes an empty place, or replaces one for another key.
func (t *NegativeTable) Put(e *cache.Entry) bool {
	if e.Status != http.StatusNotFound || len(e.Identity().Body) > maxNegative {
		return false
	}
	places, last := t.bucket(e.Key)
	for i := range places {
		if old := places[i].Load(); old == nil || old.Key == e.Key {
			last = &places[i]
			break
		}
	}
	last.Store(e)
	return true
}
