package edge

import (
	"fmt"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
)

// otherRelease is how long an answer is kept that was made from another release than the one that the edge knows: either the
// edge or the origin is about to learn of a newer one, and the answer may be of the older.
const otherRelease = 2 * time.Second

// ask gets one answer from the origin and stores it, if it may. It runs in a flight, whoever has gone away meanwhile.
func (h *handler) ask(key string, stale *cache.Entry) cache.Landing {
	asked := h.cache.Now() // before the request: what is dropped from here on may concern the answer
	head := http.Header{"Accept-Encoding": {"identity"}}
	if stale != nil && stale.Validator != "" {
		head.Set("If-None-Match", stale.Validator)
	}
	a, err := h.fetch(upstream.Request{Method: http.MethodGet, Target: key, Header: head})
	if err == nil {
		err = failed(a)
	}
	if err != nil {
		return cache.Landing{Err: err}
	}
	e, storable := h.entryOf(key, stale, a)
	if known := h.watch.known(); e.Release != "" && e.Release != known {
		e.Policy.Lifetime = min(e.Policy.Lifetime, e.Policy.Age+otherRelease)
		e.Policy.StaleWhileRevalidate = 0
	}
	if !storable {
		return cache.Landing{Entry: e}
	}
	return cache.Landing{Entry: e, Shared: true, Stored: h.cache.Put(e, asked)}
}

// entryOf makes an entry of an answer, and says whether others may have it.
func (h *handler) entryOf(key string, stale *cache.Entry, a *upstream.Answer) (e *cache.Entry, storable bool) {
	if a.Status == http.StatusNotModified { // asked for only where something was stored
		return confirmed(stale, a), true
	}
	e = newEntry(key, a)
	return e, cachepolicy.Storable(http.MethodGet, a.Status, nil, a.Header)
}

// fetch asks the origin, within the edge's life. Its errors are problems.
func (h *handler) fetch(r upstream.Request) (*upstream.Answer, error) {
	start := time.Now()
	a, err := h.origin.Fetch(h.life, r)
	h.metrics.asked(time.Since(start), err)
	if err == nil && a.Status < http.StatusInternalServerError {
		h.reached.Store(true)
	}
	return a, err
}

// failed makes an error of an origin's 5xx: its body is never passed on.
func failed(a *upstream.Answer) error {
	if a.Status < http.StatusInternalServerError {
		return nil
	}
	return problem.New(http.StatusBadGateway, "the origin failed; trying again in a moment may help").
		With("Retry-After", "1").Because(fmt.Errorf("the origin answered %d", a.Status))
}
