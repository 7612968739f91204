package client

import (
	"net/http"
	"time"

	"github.com/jellydator/ttlcache/v3"

	"github.com/iconedge/iconedge/cachepolicy"
)

const (
	maxCached     = 4 << 20       // bytes of responses, as they were received
	maxCachedBody = maxCached / 4 // of one response

	// heuristic is the freshness lifetime of a response without one (RFC 9111, section 4.2.2).
	heuristic = time.Minute
)

// A cache stores the responses of the API by request target and evicts the least recently used. It
// serves one client, so it may store private responses (RFC 9111, section 5.2.2.7).
type cache struct {
	lru *ttlcache.Cache[string, entry]
}

// An entry is a stored response. Stale entries stay in the cache: their ETags revalidate them.
type entry struct {
	target     string
	answer     any
	size       int
	etag       string
	freshUntil time.Time
}

func newCache() *cache {
	return &cache{ttlcache.New(ttlcache.WithMaxCost(maxCached, func(e ttlcache.CostItem[string, entry]) uint64 {
		return uint64(e.Value.size)
	}))}
}

// find returns the entry of a target, fresh or stale.
func (c *cache) find(target string) (entry, bool) {
	if e := c.lru.Get(target); e != nil {
		return e.Value(), true
	}
	return entry{}, false
}

// store replaces the entry of the same target. Responses that would evict too many others are not
// stored.
func (c *cache) store(e entry) {
	if e.size > maxCachedBody {
		c.lru.Delete(e.target)
		return
	}
	c.lru.Set(e.target, e, ttlcache.NoTTL)
}

// freshness returns the time until which a response is fresh (RFC 9111, section 4.2), and whether
// it may be stored. It reads Age but not Date: the clock of a user's machine is often wrong.
func freshness(h http.Header, now time.Time) (until time.Time, storable bool) {
	d := cachepolicy.ParseCacheControl(h["Cache-Control"]...)
	switch {
	case d.NoStore:
		return time.Time{}, false
	// RFC 9111, section 5.2.2.4: the qualified form may be read as the other
	case d.NoCache, len(d.NoCacheFields) > 0:
		return now, true
	case d.HasMaxAge:
		age := cachepolicy.Age(http.Header{"Age": h["Age"]}, now, now, now)
		return now.Add(max(0, d.MaxAge-age)), true
	}
	return now.Add(heuristic), true
}
