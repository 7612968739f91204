package fetch

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
)

// A Begun is a collapsed fetch of an icon that a request on an event loop has begun or joined. If
// the request goes on in the pipeline, find takes the result from there.
type Begun struct {
	h      *Finder
	q      *Request
	slot   *slot
	fetch  *collapse.Fetch
	Began  bool // the request began it
	came   cache.Generation
	now    time.Time   // of the lookup
	ended  atomic.Bool // the wait for it has
	result collapse.Result
	end    func()
}

// BeginIcon begins the collapsed fetch of an icon that is not stored, or joins it. It returns nil
// if the pipeline has to decide, and never blocks. The caller must call then.
func (h *Finder) BeginIcon(key, name string, now time.Time, client interface{ ClientGone() bool }) *Begun {
	b := &Begun{h: h, now: now, came: h.Cache.Generation()}
	b.q = &Request{Key: key, Target: key, own: true, SendsTierSecret: h.Library.MayGetSecret(true), name: name,
		Header: h.fieldsFor(key), Policy: cachepolicy.Request{Method: http.MethodGet, Target: key}}
	// The pipeline decides about a stored response: it may serve a stale one at once.
	if h.Cache.Reads(key) || h.Cache.IsHitForPass(key, now) || h.Lookup(b.q).Entry != nil {
		return nil
	}
	if b.slot = h.Origin.limiter.tryAcquire(client); b.slot == nil {
		return nil
	}
	b.fetch, b.Began = h.Cache.Join(now, collapse.Call{
		Key: key, Stored: key, Failures: b.q.passKey(key), Came: b.came,
		Find:   func() *cache.Entry { return h.Lookup(b.q).Entry }, // the pipeline decides about it
		Fetch:  func() collapse.Result { return h.fetchOnce(b.q, key, nil, h.FetchAndStore) },
		Refuse: func() error { return h.Origin.refusal(h.clientFor(b.q)) },
	})
	return b
}

// Then has end called when the wait for the fetch has ended.
func (b *Begun) Then(end func()) {
	b.end = end
	b.h.Cache.Then(b.fetch, b.q.Key, b.finish)
}

// Expire ends the wait. The fetch goes on, and stores its response.
func (b *Begun) Expire() { b.finish(collapse.Result{Err: collapse.ErrWaitTimeout}) }

// finish ends the wait with a result, unless it has ended.
func (b *Begun) finish(l collapse.Result) {
	if !b.ended.CompareAndSwap(false, true) {
		return
	}
	b.h.Origin.Release(b.slot)
	b.result = l
	b.end()
}

func (b *Begun) waited() waited {
	return waited{Result: &b.result, began: b.Began, invalidated: b.h.Cache.InvalidatedSince(b.fetch, b.result.ForOthers(), b.came)}
}

// Icon returns the icon that was fetched and stored, and the time at which its response begins. It
// is not ok if the request has to go on in the pipeline.
func (b *Begun) Icon(arrived time.Time) (e *cache.Entry, now time.Time, ok bool) {
	l := &b.result
	if l.Err != nil || l.Found || l.Stream != nil || !l.Stored || l.Entry.Status != http.StatusOK {
		return nil, now, false
	}
	switch afterJoin(nil, b.waited(), b.q, b.now, arrived) {
	case stateFetch:
		return l.Entry, b.now, true
	case stateCollapsed:
		return l.Entry, arrived, true
	}
	return nil, now, false
}
