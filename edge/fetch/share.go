package fetch

import (
	"cmp"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
)

// Share makes the key of a GET or HEAD the one that its address shares with others, by the last
// No-Vary-Search for its host and path, if a usable response is stored there, or if none is stored
// under the key of the address alone.
func Share(h *Finder, q *Request, now time.Time) {
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
func again(h *Finder, q *Request, l *collapse.Result, now time.Time) *Request {
	if q.shared.address == "" {
		return q
	}
	next := *q // the fetch of another caller may still read q
	next.shared.alone = q.shared.alone || l.Err == nil && !q.mayJoin(l.ForOthers())
	Share(h, &next, now)
	return &next
}
