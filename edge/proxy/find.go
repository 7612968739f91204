package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
)

// A found is the response to a request, and how the edge got it.
type found struct {
	entry   *cache.Entry
	stream  io.ReadCloser // of the body, while it still arrives; nil: the entry has the body
	length  int64         // of stream; -1: unknown
	relayed bool          // the origin has evaluated the request's conditions and ranges
	aged    bool          // not made for this request: sent with an Age
	outcome exchange.Outcome
}

// fetchFunc is the type of the functions that fetch the response to a fetch request from the
// origin; stale is the stored response, if any, for a conditional request.
type fetchFunc func(q *fetchRequest, stale *cache.Entry) cache.Result

// find looks a fetch request up in the cache, and sends a request to the origin if it must. It
// records in r what the cache did.
//
// Requests for the same response collapse into one fetch. If a request may not use the response of
// that fetch, it is sent by itself at once, or joins one more fetch: of its own variant, or of
// requests without credentials. It never waits for a third.
func (h *Proxy) find(r *request, q *fetchRequest, ask fetchFunc) (f found, err error) {
	w := &waiter{came: h.Options.Cache.Generation()}
	for {
		s := h.lookup(q)
		e := s.entry
		r.forward = s.why
		verdict := cachepolicy.Revalidate
		if e != nil {
			verdict = cachepolicy.Decide(e.Freshness(), q.policy, r.now)
		} else if p := h.Options.Library.Absent(q.name, r.now); p != nil {
			return found{outcome: exchange.Refused}, p
		}
		switch {
		case verdict == cachepolicy.Fresh:
			return r.hit(e, exchange.Hit), nil
		case verdict == cachepolicy.StaleWhileRevalidate:
			h.refresh(q, s, r.now, ask)
			return r.hit(e, exchange.Stale), nil
		case q.policy.Directives.OnlyIfCached:
			return found{outcome: exchange.Refused}, notStored()
		}
		if e != nil && e.Freshness().Fresh(r.now) {
			r.forward = cachepolicy.ForwardRequest // the client's own directives require it
		}
		if f, ok, err := h.collapse(r, q, s, w, ask); ok || err != nil {
			return f, err
		}
		// The request has waited, so that any response must be fresh at this later time.
		r.now = time.Now()
	}
}

// collapse gets the response to one request from the origin, by another request's fetch if it may.
// If ok is false the request must look again, as w says.
func (h *Proxy) collapse(r *request, q *fetchRequest, s lookupResult, w *waiter, ask fetchFunc) (f found, ok bool, err error) {
	key := q.collapseKey(s, w)
	if w.pass || q.policy.Directives.NoStore || h.Options.Cache.IsHitForPass(q.passKey(key), r.now) {
		l := ask(q, s.entry)
		if !q.policy.Directives.NoStore {
			h.markHitForPass(q, key, s.entry, &l)
		}
		f, err = r.uncollapsedOrStale(q, s.entry, l)
		return f, true, err
	}
	slot, err := h.Options.Origin.limiter.acquire(r.Conn, r.now)
	if err != nil {
		f, err = r.staleOrProblem(q, s.entry, err)
		return f, true, err
	}
	defer h.Options.Origin.limiter.release(slot)
	fetch, began := h.join(q, s.entry, key, r.now, ask, !cachepolicy.MayShareError(q.policy))
	l := fetch.Wait(h.waits(r, q, s.entry, fetch), slot.clientGone)
	switch {
	case l.Found:
		return r.hit(l.Entry, exchange.Hit), true, nil
	case began, l.Err != nil && r.endsWait(q, s.entry, l.Err):
		f, err = r.uncollapsedOrStale(q, s.entry, l)
		return f, true, err
	case l.Err == nil && !h.Options.Cache.InvalidatedSince(fetch, l.ForOthers(), w.came):
		if f, ok := r.collapsed(q, l); ok {
			return f, true, nil
		}
	}
	w.next(q, &l)
	return found{}, false, nil
}

// uncollapsedOrStale returns the response to the request that was sent for this client. If there is
// none, it returns a stale response or the problem.
func (r *request) uncollapsedOrStale(q *fetchRequest, e *cache.Entry, l cache.Result) (found, error) {
	if l.Err != nil {
		return r.staleOrProblem(q, e, l.Err)
	}
	return r.uncollapsed(l)
}

// endsWait reports whether the error of another client's fetch ends this request too: it may use
// the error, or a stale response instead, or has waited as long as it may.
func (r *request) endsWait(q *fetchRequest, e *cache.Entry, err error) bool {
	return cachepolicy.MayShareError(q.policy) || errors.Is(err, cache.ErrWaitTimeout) || errors.Is(err, cache.ErrClientGone) ||
		e != nil && cachepolicy.MayServeStale(e.Freshness(), q.policy, failureOf(err), r.now)
}

// maxJoins is the maximum number of fetches that a request joins: the first, and one more.
const maxJoins = 2

// A waiter holds the knowledge that a request gains while it waits for the fetches of others.
type waiter struct {
	came      cache.Generation // when the request arrived
	joined    int              // fetches whose responses the request could not use
	variant   string           // secondary key of its own response; empty: unknown, or none
	anonymous bool             // the request collapses only with requests without credentials
	pass      bool             // the request is sent by itself
}

// next decides the next step of a request that could not use another client's response. Another
// fetch helps if one of many requests would get a response for all of them: the requests for the
// same variant; those without credentials, if the request that was sent had some; and those that
// arrived after a purge of the fetched response.
func (w *waiter) next(q *fetchRequest, l *cache.Result) {
	w.joined++
	if l.Err != nil || w.joined == maxJoins {
		w.pass = true
		return
	}
	c, now := l.Collapsed(), time.Now()
	switch usable := cachepolicy.Usable(c, q.policy, now); {
	case usable && !cachepolicy.MayShare(c, q.policy, q.secondary(l.ForOthers().Vary), now):
		w.variant = q.variant(l.ForOthers().Vary)
	case usable && l.Stream != nil:
		w.pass = true // the stream no longer holds the beginning of the body
	case usable: // it was purged meanwhile
	case l.Sharing.Again && cachepolicy.MayShareError(q.policy):
		w.anonymous = true
	default:
		w.pass = true
	}
}

// hesitation is the time after which a request that has a stale response considers the origin
// failing.
const hesitation = 500 * time.Millisecond

// waits returns the time that a request waits for a fetch. A request that may use a stale response
// when the origin fails does not wait until the deadline for that (RFC 5861, section 4). The
// response of the fetch is stored for later requests.
func (h *Proxy) waits(r *request, q *fetchRequest, e *cache.Entry, f *cache.Fetch) time.Duration {
	wait := h.Options.WaitTimeout
	if q.patience != nil {
		wait = q.patience.FirstByte + time.Second
	}
	if e == nil || !cachepolicy.MayServeStale(e.Freshness(), q.policy, cachepolicy.FailureStatus, r.now) {
		return wait
	}
	return min(wait, hesitation-f.Age(r.now))
}

// notStored returns the 504 for only-if-cached (RFC 9111, section 5.2.1.7).
func notStored() *problem.Problem {
	return problem.New(http.StatusGatewayTimeout, "only-if-cached accepts only a stored response, and there is no usable one")
}

// refresh revalidates a stored response in the background, once at a time, and not within a second
// of a failure.
func (h *Proxy) refresh(q *fetchRequest, s lookupResult, now time.Time, ask fetchFunc) {
	h.join(q, s.entry, q.collapseKey(s, &waiter{}), now, ask, false)
}

// join begins the collapsed fetch of a key, or joins it. With sendAnyway the request is sent even
// if an earlier failure is remembered.
func (h *Proxy) join(q *fetchRequest, stale *cache.Entry, key string, now time.Time, ask fetchFunc, sendAnyway bool) (*cache.Fetch, bool) {
	return h.Options.Cache.Join(now, cache.Call{
		Key: key, Failures: q.passKey(key), Stale: stale, SendAnyway: sendAnyway,
		Find: func() *cache.Entry {
			e := h.lookup(q).entry
			if e == nil || cachepolicy.Decide(e.Freshness(), q.policy, now) == cachepolicy.Revalidate {
				return nil
			}
			return e
		},
		Usable: func(l *cache.Result) bool { return cachepolicy.Usable(l.Collapsed(), q.policy, now) },
		Fetch: func() cache.Result {
			defer h.logPanic(q)
			l := ask(q, stale)
			h.markHitForPass(q, key, stale, &l)
			return l
		},
	})
}

// logPanic logs a panic of a collapsed fetch with its stack and panics again. The cache makes the
// panic the error of the fetch, whose callers log only the error.
func (h *Proxy) logPanic(q *fetchRequest) {
	if p := recover(); p != nil {
		h.Options.Log.Error("panic while fetching", "method", q.policy.Method, "path", string(accesslog.Redacted([]byte(q.key))), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		panic(p)
	}
}

// markHitForPass marks a key whose response no other client may use, so that requests do not wait
// in vain for each other's. It removes the marker when the response is one that others may use. An
// error changes nothing.
func (h *Proxy) markHitForPass(q *fetchRequest, key string, stale *cache.Entry, l *cache.Result) {
	if l.Err != nil || l.Entry.Status >= http.StatusInternalServerError || stale != nil && l.Entry.Status >= http.StatusBadRequest {
		return
	}
	plain := q.policy
	plain.Directives = cachepolicy.Directives{}
	now := time.Now()
	h.Options.Cache.MarkHitForPass(q.passKey(key), !cachepolicy.Usable(l.Collapsed(), plain, now), now)
}

// collapseKey returns the key under which requests for the same response collapse. Requests for
// variants that are known to differ do not wait for each other.
func (q *fetchRequest) collapseKey(s lookupResult, w *waiter) string {
	key := q.key
	if variant := cmp.Or(s.variant, w.variant); variant != "" {
		key += "\x00" + variant
	}
	if w.anonymous {
		key += "\x00anonymous"
	}
	return key
}

// passKey returns the key of the hit-for-pass markers and failures of a key. Markers and failures
// from a request with credentials do not count for requests without.
func (q *fetchRequest) passKey(key string) string {
	if cachepolicy.MayShareError(q.policy) {
		return key
	}
	return key + "\x00credentials"
}

// onlyIfCached reports whether a request has only-if-cached, the one directive of clients that
// counts on our own routes.
func onlyIfCached(ctx *fasthttp.RequestCtx) bool {
	v := ctx.Request.Header.Peek(fasthttp.HeaderCacheControl)
	return len(v) > 0 && cachepolicy.ParseCacheControl(string(v)).OnlyIfCached
}

// hit returns a stored response.
func (r *request) hit(e *cache.Entry, o exchange.Outcome) found {
	e.Hit()
	r.status = cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: e.Freshness().TTL(r.now)}
	return found{entry: e, aged: true, outcome: o}
}

// collapsed returns the response to another client's request, if this one may use it.
func (r *request) collapsed(q *fetchRequest, l cache.Result) (f found, ok bool) {
	now, e := time.Now(), l.ForOthers()
	if !cachepolicy.MayShare(l.Collapsed(), q.policy, q.secondary(e.Vary), now) {
		return found{}, false
	}
	f = found{entry: e, aged: true, outcome: exchange.Collapsed}
	if l.Stream != nil {
		stream, err := l.Stream.Reader()
		if err != nil {
			return found{}, false // the stream no longer holds its beginning
		}
		f.stream, f.length = stream, l.Stream.Length()
	}
	r.now = now
	r.status = cachepolicy.CacheStatus{Forward: r.forward, Collapsed: true}
	return f, true
}

// uncollapsed returns the response to the request that was sent for this client alone.
func (r *request) uncollapsed(l cache.Result) (found, error) {
	r.status = cachepolicy.CacheStatus{Forward: r.forward, Stored: l.Stored}
	if l.Err != nil {
		return found{}, l.Err
	}
	f := found{entry: l.Entry, aged: l.Entry.Policy.AgeAt(r.now) >= time.Second, outcome: exchange.Miss}
	if l.Stored {
		r.status.HasTTL, r.status.TTL = true, l.Entry.Freshness().TTL(r.now)
	}
	if l.Stream == nil {
		return f, nil
	}
	var err error
	f.length = l.Stream.Length()
	f.stream, err = l.Stream.Reader()
	return f, err
}

// staleOrProblem answers a request when the origin does not: with a stale response if one may be
// used (RFC 9111, section 4.2.4; RFC 5861, section 4), else with the problem.
func (r *request) staleOrProblem(q *fetchRequest, e *cache.Entry, err error) (found, error) {
	if e != nil && cachepolicy.MayServeStale(e.Freshness(), q.policy, failureOf(err), r.now) {
		f := r.hit(e, exchange.Stale)
		r.status.Detail = "the origin failed"
		return f, nil
	}
	r.status = cachepolicy.CacheStatus{Forward: r.forward}
	if errors.Is(err, cache.ErrWaitTimeout) {
		err = upstream.TimedOut().Because(err)
	}
	if errors.Is(err, cache.ErrClientGone) {
		err = overloaded() // the client may have closed one direction only
	}
	return found{}, err
}

// failureOf returns the kind of the origin's failure.
func failureOf(err error) cachepolicy.Failure {
	if errors.Is(err, errStatus) {
		return cachepolicy.FailureStatus
	}
	return cachepolicy.FailureDisconnected
}
