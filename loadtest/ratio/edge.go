package ratio

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
)

// An edgeCache is the cache of an edge.
type edgeCache struct {
	trace    *Trace
	cache    *cache.Cache
	keys     []string
	body     []byte
	costs    costs // of the objects that were stored once
	requests int
}

func newEdgeCache(t *Trace, maxBytes int64) (*edgeCache, error) {
	c, err := cache.New(cache.Options{MaxBytes: maxBytes})
	if err != nil {
		return nil, err
	}
	e := &edgeCache{trace: t, cache: c, keys: make([]string, t.Objects), costs: make(costs, t.Objects)}
	longest := 0
	for object := range e.keys {
		e.keys[object] = fmt.Sprintf("https://cdn.example.com/object/%d", object)
		longest = max(longest, t.size(uint32(object)))
	}
	e.body = []byte(strings.Repeat("x", longest))
	return e, nil
}

var head = &cache.Head{
	Type:   []byte("Content-Type: image/svg+xml\r\n"),
	Always: []byte("Access-Control-Allow-Origin: *\r\nCache-Control: public, max-age=86400\r\n"),
}

func (e *edgeCache) entry(object uint32) *cache.Entry {
	n := &cache.Entry{Key: e.keys[object], Status: 200, ContentType: []byte("image/svg+xml"), Validator: `"tag"`, Head: head,
		Policy: cachepolicy.Entry{Stored: time.Now(), Lifetime: 24 * time.Hour}}
	n.SetIdentity(e.body[:e.trace.size(object):e.trace.size(object)], `"tag"`)
	return n
}

// request does what an edge does for a request: it looks on the hit path first, then again, and
// stores what it fetched.
func (e *edgeCache) request(object uint32) bool {
	if e.requests++; e.requests%yieldEvery == 0 {
		runtime.Gosched()
	}
	var v cache.View
	if e.cache.View(e.keys[object], &v) {
		v.Hit()
		v.Release()
		return true
	}
	if found, _ := e.cache.Find(e.keys[object], nil); found != nil {
		return true
	}
	n := e.entry(object)
	e.cache.Put(n, e.cache.Generation())
	e.costs[object] = n.Charged
	return false
}

// yieldEvery is the number of requests between which other goroutines run. Ristretto counts uses on
// one of its own, and loses them if that has no time: at 50,000 misses a second, more than any edge
// on two cores can fetch, one to three hits of a hundred were lost.
const yieldEvery = 16

// stored returns how many of the objects are stored, and what they cost.
func (e *edgeCache) stored() (entries int, bytes int64) {
	for object, key := range e.keys {
		if e.cache.Get(key) != nil {
			entries++
			bytes += e.costs[object]
		}
	}
	return entries, bytes
}

const (
	// overhead is the cost of an object in the cache besides its body, in bytes.
	overhead = 470
	// room is the share of an edge's ceiling that is left for entries. The rest is for entries on
	// their way to ristretto and the disk, and for counters.
	room = .78
)

// ceilingFor returns the size of a cache with room for a share of the objects.
func ceilingFor(t *Trace, share float64) int64 {
	bytes := 0.0
	for object := range uint32(t.Objects) {
		bytes += float64(t.size(object) + overhead)
	}
	return int64(bytes * share / room)
}
