package fetch

import (
	"cmp"
	"math"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
)

// A sharing says by which rule about queries the key of a request is that of other addresses too.
type sharing struct {
	address string           // the key of the address alone; empty: the key is that, or there is no other
	rule    *cache.QueryRule // nil: the key is of one address
	alone   bool             // the request joins no fetches for other addresses
}

// Share makes the key of a GET or HEAD the one that its address shares with others, by the last
// No-Vary-Search for its host and path, if a usable response is stored there, or if none is stored
// under the key of the address alone.
func (h *Finder) Share(q *Request, now time.Time) {
	if q.Site == nil || q.Bypasses || q.Policy.Method != http.MethodGet && q.Policy.Method != http.MethodHead {
		return
	}
	if q.shared.address == "" {
		q.shared.address = q.Key
	}
	address := q.shared.address
	q.Key, q.shared.rule = address, nil
	rules := h.Cache.Queries.Site(q.Site.Name).Of(address)
	if len(rules) == 0 {
		return
	}
	usable := func(e *cache.Entry) bool {
		return e != nil && cachepolicy.Decide(e.Freshness(), q.Policy, now) != cachepolicy.Revalidate
	}
	own, stale := h.Lookup(q).Entry, (*cache.QueryRule)(nil)
	for _, r := range rules {
		q.Key, q.shared.rule = r.Key(address), r
		switch e := h.Lookup(q).Entry; {
		case usable(e):
			return
		case e != nil && stale == nil:
			stale = r
		}
	}
	q.Key, q.shared.rule = address, nil
	if q.shared.alone || !cachepolicy.MayShareError(q.Policy) || usable(own) || own != nil && stale == nil {
		return
	}
	q.shared.rule = cmp.Or(stale, rules[0])
	q.Key = q.shared.rule.Key(address)
}

// again returns a request to look up once more after it could not use another client's response l.
func (h *Finder) again(q *Request, l *collapse.Result, now time.Time) *Request {
	if q.shared.address == "" {
		return q
	}
	next := *q // the fetch of another caller may still read q
	next.shared.alone = q.shared.alone || l.Err == nil && !q.mayJoin(l.ForOthers())
	h.Share(&next, now)
	return &next
}

// mayShare reports whether a request may have a stored response under its key.
func (q *Request) mayShare(e *cache.Entry) bool {
	r := q.shared.rule
	return r == nil || r.Answers(e, e.Generation, q.Policy)
}

// mayJoin reports whether the response of a collapsed fetch may be for the address of a request that
// has joined it. All addresses with the key may have the failure of an origin.
func (q *Request) mayJoin(e *cache.Entry) bool {
	r, now := q.shared.rule, cache.Generation(math.MaxUint64)
	if r == nil || e.Status >= http.StatusInternalServerError {
		return true
	}
	return e.Key == q.Key && r.Answers(e, now, q.Policy)
}

// keepsRule reports whether a response with the fields h, which updates the stored one, leaves it
// the rule by which it is found.
func (q *Request) keepsRule(h http.Header) bool {
	lines := h["No-Vary-Search"]
	return q.shared.rule == nil || len(lines) == 0 || q.shared.rule.Is(lines)
}

// storedKey returns the key under which the response of f is stored: by its own No-Vary-Search that
// of all addresses that share it, and the rule for them.
func (h *Finder) storedKey(f *forwardedResponse) (string, *cache.QueryRule) {
	q, lines := f.q, f.header["No-Vary-Search"]
	address := cmp.Or(q.shared.address, q.Key)
	if !f.sharing.Storable || len(lines) == 0 || q.Site == nil {
		return address, nil
	}
	if !cachepolicy.MayShareError(q.Policy) && !cachepolicy.ParseCacheControl(f.header["Cache-Control"]...).Public {
		return address, nil // its query may name the user
	}
	r := h.Cache.Queries.Site(q.Site.Name).Learn(address, lines)
	if r == nil {
		return address, nil
	}
	return r.Key(address), r
}
