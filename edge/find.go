package edge

import (
	"errors"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/problem"
)

// found is an entry, and how it was come by.
type found struct {
	entry   *cache.Entry
	aged    bool // it was not made for this request: its Age is told
	outcome outcome
}

// An asker gets the answer to a key from the origin; stale is what is stored of it, for a conditional request.
type asker func(key string, stale *cache.Entry) cache.Landing

// find looks the request's key up, and asks the origin where it must. It leaves in r what the cache did.
func (h *handler) find(r *request, ask asker) (found, error) {
	key := r.target.key
	e := h.cache.Get(key)
	verdict := cachepolicy.Revalidate
	if e != nil {
		h.cache.Touch(e)
		verdict = cachepolicy.Decide(e.Policy, r.now)
	}
	fly := func() (*cache.Flight, bool) {
		return h.cache.Fly(key, e, r.now, func() cache.Landing { return ask(key, e) })
	}
	switch {
	case verdict == cachepolicy.Fresh:
		return r.hit(e, outcomeHit), nil
	case verdict == cachepolicy.StaleWhileRevalidate:
		fly() // behind the client's back
		return r.hit(e, outcomeStale), nil
	case onlyIfCached(r.ctx):
		return found{}, problem.New(http.StatusGatewayTimeout, "only a stored answer was asked for, and none that may be used is there")
	}
	flight, began := fly()
	l := flight.Wait(h.patience)
	if l.Err == nil && !l.Shared && !began {
		l, began = ask(key, nil), true // the other answer was for its caller alone
	}
	if l.Err != nil {
		return r.without(e, verdict, l.Err)
	}
	return r.landed(l, e, began), nil
}

// onlyIfCached is the one directive of clients that counts on icon routes: nobody sends an edge to its origin at will.
func onlyIfCached(ctx *fasthttp.RequestCtx) bool {
	v := ctx.Request.Header.Peek(fasthttp.HeaderCacheControl)
	return len(v) > 0 && cachepolicy.ParseCacheControl(string(v)).OnlyIfCached
}

// hit is a stored answer.
func (r *request) hit(e *cache.Entry, o outcome) found {
	r.status = cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: e.Policy.TTL(r.now)}
	return found{e, true, o}
}

// landed is what a flight brought: the answer to this request, or to another that was under way.
func (r *request) landed(l cache.Landing, stale *cache.Entry, began bool) found {
	if l.Found {
		return r.hit(l.Entry, outcomeHit)
	}
	r.status = cachepolicy.CacheStatus{Forward: forward(stale), Stored: l.Stored && began, Collapsed: !began}
	if l.Stored {
		r.status.HasTTL, r.status.TTL = true, l.Entry.Policy.TTL(r.now)
	}
	if began {
		return found{l.Entry, l.Entry.Policy.AgeAt(r.now) >= time.Second, outcomeMiss}
	}
	return found{l.Entry, true, outcomeCollapsed}
}

// without answers when the origin does not: with a stale copy where one may be used (RFC 5861, section 4), else with the problem.
func (r *request) without(e *cache.Entry, v cachepolicy.Verdict, err error) (found, error) {
	if v == cachepolicy.StaleIfError {
		f := r.hit(e, outcomeStale)
		r.status.Detail = "the origin failed"
		return f, nil
	}
	r.status = cachepolicy.CacheStatus{Forward: forward(e)}
	if errors.Is(err, cache.ErrLate) {
		err = problem.New(http.StatusGatewayTimeout, "the origin did not answer in time; trying again in a moment may help").
			With("Retry-After", "1").Because(err)
	}
	return found{}, err
}

// forward is why the origin was asked.
func forward(stale *cache.Entry) cachepolicy.Forward {
	if stale != nil {
		return cachepolicy.ForwardStale
	}
	return cachepolicy.ForwardURIMiss
}
