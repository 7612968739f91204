package fetch

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/internal/problem"
)

// Func is the type of the functions that fetch the response to a fetch request from the
// origin; stale is the stored response, if any, for a conditional request.
type Func func(q *Request, stale *cache.Entry) collapse.Result

// A finding is the record of one call of find. Each step fills it for the steps after it.
type finding struct {
	*pipeline.Request
	waiter
	q       *Request
	ask     Func
	stored  lookupResult // of the last lookup
	absent  *problem.Problem
	key     string          // under which the request collapses
	result  collapse.Result // of the last fetch
	arrived time.Time       // of result
}

// Find looks a fetch request up in the cache, and sends a request to the origin if it must. It
// records in r what the cache did. It runs the states of states.go until one of them is the last.
func (h *Finder) Find(r *pipeline.Request, q *Request, ask Func) (pipeline.Response, error) {
	x := finding{Request: r, q: q, ask: ask, waiter: waiter{came: h.Cache.Generation(), afterMiss: stateJoin}}
	next := stateLookup
	if b, ok := r.Fetched.(*Begun); ok && b.q.Key == q.Key {
		r.Fetched = nil
		next = x.take(b)
	}
	for {
		switch next {
		case stateLookup:
			next = h.lookupStored(&x)
		case stateMiss:
			next = h.miss(&x)
		case stateJoin:
			next = h.fetchCollapsed(&x)
		case stateHitForPass:
			next = h.fetchAlone(&x)
		case stateRetry:
			next = x.retry(h)
		case stateCollapsed:
			if f, ok := x.Collapsed(x.result, x.arrived); ok {
				return f, nil
			}
			next = stateRetry
		case stateFetch:
			return x.Uncollapsed(x.result)
		case stateDeliver:
			return x.Hit(x.stored.Entry, exchange.Hit), nil
		case stateRevalidate:
			h.refresh(q, x.stored, r.Now, ask)
			return x.Hit(x.stored.Entry, exchange.Stale), nil
		case stateStale:
			return x.Stale(x.stored.Entry), nil
		case stateAbsent:
			return pipeline.Response{Outcome: exchange.Refused}, x.absent
		case stateOnlyIfCached:
			return pipeline.Response{Outcome: exchange.Refused}, pipeline.NotStored()
		case StateFail:
			return pipeline.Response{}, x.Failed(x.result.Err)
		}
	}
}

// lookupStored looks the key up in the cache, and in the list of names.
func (h *Finder) lookupStored(x *finding) state {
	x.stored = h.Lookup(x.q)
	x.Forward = x.stored.Why
	if x.stored.Entry == nil {
		x.absent = h.Library.Absent(x.q.name, x.Now)
	}
	return afterLookup(x.stored.Entry, x.absent != nil, x.q.Policy, x.Now)
}

// miss looks for the hit-for-pass marker of the key.
func (h *Finder) miss(x *finding) state {
	if e := x.stored.Entry; e != nil && e.Freshness().Fresh(x.Now) {
		x.Forward = cachepolicy.ForwardRequest // the client's own directives require it
	}
	x.key = x.q.collapseKey(x.stored, x.waiter)
	return afterMiss(x.waiter, x.q.Policy, h.Cache.IsHitForPass(x.q.passKey(x.key), x.Now))
}

// fetchAlone sends the request by itself.
func (h *Finder) fetchAlone(x *finding) state {
	defer x.AddFetching(time.Now())
	x.result = x.ask(x.q, x.stored.Entry)
	if !x.q.Policy.Directives.NoStore {
		h.markHitForPass(x.q, x.key, x.stored.Entry, &x.result)
	}
	return afterFetch(x.stored.Entry, &x.result, x.q.Policy, x.Now)
}

// fetchCollapsed joins the collapsed fetch of the key, or begins it, and waits for the result.
func (h *Finder) fetchCollapsed(x *finding) state {
	e := x.stored.Entry
	slot, err := h.Origin.Acquire(x.Conn, x.Now)
	if err != nil {
		x.result = collapse.Result{Err: err}
		return AfterFailure(e, err, x.q.Policy, x.Now)
	}
	defer h.Origin.Release(slot)
	defer x.AddFetching(time.Now())
	fetch, began := h.Join(Call{Request: x.q, Stale: e, Key: x.key, Came: x.came, Now: x.Now, Ask: x.ask,
		SendAnyway: !cachepolicy.MayShareError(x.q.Policy)})
	x.result = fetch.Wait(h.waits(x.Request, x.q, e, fetch), slot.ClientGone)
	if x.result.Found {
		x.stored.Entry = x.result.Entry
	}
	x.arrived = h.Clock.Now()
	l := waited{Result: &x.result, began: began, invalidated: h.Cache.InvalidatedSince(fetch, x.result.ForOthers(), x.came)}
	return afterJoin(e, l, x.q, x.Now, x.arrived)
}

// retry looks the key up again. The request has waited, so that any response must be fresh at this
// later time.
func (x *finding) retry(h *Finder) state {
	now := h.Clock.Now()
	x.waiter = x.afterUnusable(&x.result, x.q, now)
	x.q = again(h, x.q, &x.result, now)
	x.Now = now
	return stateLookup
}

// waits returns the time that a request waits for a fetch. A request that may use a stale response
// when the origin fails does not wait until the deadline for that (RFC 5861, section 4). The
// response of the fetch is stored for later requests.
func (h *Finder) waits(r *pipeline.Request, q *Request, e *cache.Entry, f *collapse.Fetch) time.Duration {
	wait := h.WaitTimeout
	if q.Patience != nil {
		wait = q.Patience.FirstByte + time.Second
	}
	if e == nil || !cachepolicy.MayServeStale(e.Freshness(), q.Policy, cachepolicy.FailureStatus, r.Now) {
		return wait
	}
	return min(wait, h.Bounds.Hesitation-f.Age(r.Now))
}

// refresh revalidates a stored response in the background, once at a time, and not within a second
// of a failure.
func (h *Finder) refresh(q *Request, s lookupResult, now time.Time, ask Func) {
	h.Join(Call{Request: q, Stale: s.Entry, Key: q.collapseKey(s, waiter{}), Came: h.Cache.Generation(), Now: now, Ask: ask})
}

// A Call is one caller of a collapsed fetch.
type Call struct {
	Request    *Request
	Stale      *cache.Entry     // the stored response, which the fetch may revalidate; nil: none
	Key        string           // under which requests collapse
	Came       cache.Generation // when the request arrived
	Now        time.Time
	Ask        Func
	SendAnyway bool // even if an earlier failure is remembered
}

// Join begins the collapsed fetch of a key, or joins it.
func (h *Finder) Join(c Call) (f *collapse.Fetch, began bool) {
	q := c.Request
	return h.Cache.Join(c.Now, collapse.Call{
		Key: c.Key, Stored: q.Key, Failures: q.passKey(c.Key), Stale: c.Stale, Came: c.Came, SendAnyway: c.SendAnyway,
		Find: func() *cache.Entry {
			e := h.Lookup(q).Entry
			if e == nil || cachepolicy.Decide(e.Freshness(), q.Policy, c.Now) == cachepolicy.Revalidate {
				return nil
			}
			return e
		},
		Usable: func(l *collapse.Result) bool {
			return q.mayJoin(l.ForOthers()) && cachepolicy.Usable(l.Collapsed(), q.Policy, c.Now)
		},
		Fetch:  func() collapse.Result { return h.fetchOnce(q, c.Key, c.Stale, c.Ask) },
		Refuse: func() error { return h.Origin.refusal(h.clientFor(q)) },
	})
}

// fetchOnce sends the request of a collapsed fetch.
func (h *Finder) fetchOnce(q *Request, key string, stale *cache.Entry, ask Func) collapse.Result {
	defer h.logPanic(q)
	l := ask(q, stale)
	h.markHitForPass(q, key, stale, &l)
	return l
}

// logPanic logs a panic of a collapsed fetch with its stack and panics again. The cache makes the
// panic the error of the fetch, whose callers log only the error.
func (h *Finder) logPanic(q *Request) {
	if p := recover(); p != nil {
		h.Log.Error("panic while fetching", "method", q.Policy.Method, "path",
			string(accesslog.Redacted([]byte(q.Target))), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		panic(p)
	}
}

// markHitForPass marks a key whose response no other client may use, so that requests do not wait
// in vain for each other's. It removes the marker when the response is one that others may use. An
// error changes nothing.
func (h *Finder) markHitForPass(q *Request, key string, stale *cache.Entry, l *collapse.Result) {
	if l.Err != nil || l.Entry.Status >= http.StatusInternalServerError || stale != nil && l.Entry.Status >= http.StatusBadRequest {
		return
	}
	plain := q.Policy
	plain.Directives = cachepolicy.Directives{}
	now := h.Clock.Now()
	h.Cache.MarkHitForPass(q.passKey(key), !cachepolicy.Usable(l.Collapsed(), plain, now), now)
}

// collapseKey returns the key under which requests for the same response collapse. Requests for
// variants that are known to differ do not wait for each other, nor do those with fields of scripts
// for those without.
func (q *Request) collapseKey(s lookupResult, w waiter) string {
	key := q.Key
	if variant := cmp.Or(s.variant, w.variant); variant != "" {
		key += "\x00" + variant
	}
	if len(q.Policy.Scripted) > 0 {
		key += "\x00" + strings.Join(q.Policy.Scripted, ",")
	}
	if w.collapses == withAnonymous {
		key += "\x00anonymous"
	}
	return key
}

// passKey returns the key of the hit-for-pass markers and failures of a key. Markers and failures
// from a request with credentials do not count for requests without.
func (q *Request) passKey(key string) string {
	if cachepolicy.MayShareError(q.Policy) {
		return key
	}
	return key + cache.WithCredentials
}

// onlyIfCached reports whether a request has only-if-cached, the one directive of clients that
// counts on our own routes.
func onlyIfCached(ctx *fasthttp.RequestCtx) bool {
	v := ctx.Request.Header.Peek(fasthttp.HeaderCacheControl)
	return len(v) > 0 && cachepolicy.ParseCacheControl(string(v)).OnlyIfCached
}

// maxObject returns the length of the largest body that is stored in one piece, in bytes.
func (h *Finder) maxObject() int64 {
	return min(h.CacheBytes/objectPart, cmp.Or(h.Bounds.MaxObject, maxObject), maxObject)
}

const (
	objectPart = 16       // a body may take at most one part in objectPart of the cache
	maxObject  = 64 << 20 // bytes
)

// take makes the result of a fetch that was begun on an event loop that of the request, and returns
// the state that follows it.
func (x *finding) take(b *Begun) state {
	h := b.h
	x.Forward, x.key, x.came, x.result, x.arrived = cachepolicy.ForwardURIMiss, b.q.Key, b.came, b.result, h.Clock.Now()
	switch {
	case b.result.Found:
		x.stored.Entry = b.result.Entry
	case b.result.Err != nil: // a response may have been stored meanwhile
		x.stored = h.Lookup(x.q)
	}
	return afterJoin(x.stored.Entry, b.waited(), x.q, x.Now, x.arrived)
}
