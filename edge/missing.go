package edge

import (
	"hash/maphash"
	"net/http"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/cache"
)

const (
	missingPart = 16      // of the cache's bytes, what is remembered of names that are not there may take one part in so many more
	maxMissing  = 2 << 10 // bytes of such an answer; a larger one takes its chances with the others
	leastPlaces = 1 << 9  // of a table
	ways        = 4       // places that a key may take, side by side
	mostPlaces  = 1 << 14 // 16,384 names in the seconds that one is remembered: more ask the origin, however many are invented
)

// missing remembers, apart from the cache, what the origin said about names of our own routes that are not there. There are more of them
// than of icons, and whoever invents them must push out no icon.
type missing struct {
	seed  maphash.Seed
	count int
	table atomic.Pointer[missingTable]
}

// A missingTable is what is remembered since the last time that all was forgotten. An answer that was asked for before that goes to
// the table that was there then, where nobody looks any more: it may be what was to be forgotten.
type missingTable struct {
	seed   maphash.Seed
	places []atomic.Pointer[cache.Entry]
}

func (m *missing) init(cacheBytes int64) {
	m.seed = maphash.MakeSeed()
	m.count = int(min(max(cacheBytes/missingPart/maxMissing, leastPlaces), mostPlaces)) &^ (ways - 1)
	m.forget()
}

// forget is for all that may be there now: a new release, a purge.
func (m *missing) forget() {
	m.table.Store(&missingTable{m.seed, make([]atomic.Pointer[cache.Entry], m.count)})
}

// bucket are the places for a key, and the one that it takes from another if all are taken.
func (t *missingTable) bucket(key string) (places []atomic.Pointer[cache.Entry], last *atomic.Pointer[cache.Entry]) {
	sum := maphash.String(t.seed, key)
	i := sum % uint64(len(t.places)/ways) * ways
	return t.places[i : i+ways], &t.places[i+sum>>32%ways]
}

// find is what is remembered about a key; nil: nothing.
func (t *missingTable) find(key string) *cache.Entry {
	places, _ := t.bucket(key)
	for i := range places {
		if e := places[i].Load(); e != nil && e.Key == key {
			return e
		}
	}
	return nil
}

// keep remembers an answer, if it is one that says that a name is not there, in the place of the last about its key, or in an empty
// one, or in that of another key.
func (t *missingTable) keep(e *cache.Entry) bool {
	if e.Status != http.StatusNotFound || len(e.Identity().Body) > maxMissing {
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
