package fetch

import (
	"errors"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
)

// A state says what find does next for a request. The functions of this file decide which state
// follows. They are pure: they depend on their arguments alone, and change nothing.
//
// Requests for the same response collapse into one fetch. If a request may not use the response of
// that fetch, it is sent by itself at once, or joins one more fetch: of its own variant, or of
// requests without credentials. It never waits for a third.
type state uint8

const (
	// stateLookup looks the key up in the cache. A request begins with it.
	stateLookup state = iota
	// stateMiss looks for a hit-for-pass marker, because no stored response can be used as it is.
	stateMiss
	// stateJoin joins the collapsed fetch of the key, or begins it, and waits for the result.
	stateJoin
	// stateHitForPass sends the request by itself. It collapses with no other request.
	stateHitForPass
	// stateRetry looks the key up again, because the request has joined a fetch whose result it may
	// not use.
	stateRetry
	// stateCollapsed delivers the response to another client's request, or goes on to stateRetry if
	// the beginning of its body is no longer held.
	stateCollapsed

	// Every state from here on is the last one.

	// stateFetch delivers the response to the request that was sent for this client.
	stateFetch
	// stateDeliver delivers the stored response.
	stateDeliver
	// stateRevalidate begins a fetch in the background, and delivers the stored response, which is
	// stale.
	stateRevalidate
	// stateStale delivers the stale response, because the origin failed.
	stateStale
	// stateAbsent refuses the request, because the list of names does not have its name.
	stateAbsent
	// stateOnlyIfCached refuses the request, which accepts only a stored response.
	stateOnlyIfCached
	// StateFail returns the error of the fetch.
	StateFail
)

// afterLookup returns the state that follows a lookup. absent reports that the list of names does
// not have the name of the request.
func afterLookup(e *cache.Entry, absent bool, p cachepolicy.Request, now time.Time) state {
	verdict := cachepolicy.Revalidate
	if e != nil {
		verdict = cachepolicy.Decide(e.Freshness(), p, now)
	}
	switch {
	case e == nil && absent:
		return stateAbsent
	case verdict == cachepolicy.Fresh:
		return stateDeliver
	case verdict == cachepolicy.StaleWhileRevalidate:
		return stateRevalidate
	case p.Directives.OnlyIfCached:
		return stateOnlyIfCached
	}
	return stateMiss
}

// afterMiss returns the state that follows a miss. marked reports that the key has a hit-for-pass
// marker. The response to a request with no-store is for its client alone.
func afterMiss(w waiter, p cachepolicy.Request, marked bool) state {
	if marked || p.Directives.NoStore {
		return stateHitForPass
	}
	return w.afterMiss
}

// afterFetch returns the state that follows the fetch that was sent for this request; e is the
// stored response, if there is one.
func afterFetch(e *cache.Entry, l *collapse.Result, p cachepolicy.Request, now time.Time) state {
	if l.Err != nil {
		return AfterFailure(e, l.Err, p, now)
	}
	return stateFetch
}

// A waited is the result of a collapsed fetch that a request has joined or begun.
type waited struct {
	*collapse.Result
	began bool // the request began the fetch
	// invalidated reports that a purge invalidated the result before the request arrived.
	invalidated bool
}

// afterJoin returns the state that follows the wait for a collapsed fetch. asked is the time of the
// lookup, which decides about the stored response e. now is the time at which the response to the
// request begins.
func afterJoin(e *cache.Entry, l waited, q *Request, asked, now time.Time) state {
	switch {
	case l.Found: // it was stored after the lookup
		return stateDeliver
	case l.began, l.Err != nil && endsWait(e, l.Err, q.Policy, asked):
		return afterFetch(e, l.Result, q.Policy, asked)
	case l.Err != nil, l.invalidated, !q.mayJoin(l.ForOthers()):
		return stateRetry
	case !cachepolicy.MayShare(l.Collapsed(), q.Policy, q.secondary(l.ForOthers().Vary), now):
		return stateRetry
	}
	return stateCollapsed
}

// endsWait reports whether the error of another client's fetch ends this request too: it may use
// the error, or a stale response instead, or has waited as long as it may.
func endsWait(e *cache.Entry, err error, p cachepolicy.Request, now time.Time) bool {
	return cachepolicy.MayShareError(p) || errors.Is(err, collapse.ErrWaitTimeout) ||
		errors.Is(err, collapse.ErrClientGone) || AfterFailure(e, err, p, now) == stateStale
}

// AfterFailure returns the state that follows an error of the origin: the request gets the stale
// response e if it may (RFC 9111, section 4.2.4; RFC 5861, section 4), else the error.
func AfterFailure(e *cache.Entry, err error, p cachepolicy.Request, now time.Time) state {
	if e != nil && cachepolicy.MayServeStale(e.Freshness(), p, FailureOf(err), now) {
		return stateStale
	}
	return StateFail
}

// FailureOf returns the kind of the origin's failure.
func FailureOf(err error) cachepolicy.Failure {
	if errors.Is(err, errStatus) {
		return cachepolicy.FailureStatus
	}
	return cachepolicy.FailureDisconnected
}

// A group is the set of requests for the same key with which a request collapses.
type group uint8

const (
	withAll       group = iota
	withVariant         // the requests for the same variant
	withAnonymous       // the requests without credentials
)

// maxJoins is the maximum number of fetches that a request joins: the first, and one more.
const maxJoins = 2

// A waiter holds the knowledge that a request gains while it waits for the fetches of others.
type waiter struct {
	came      cache.Generation // when the request arrived
	joins     int              // fetches whose responses the request could not use
	afterMiss state            // stateJoin, or stateHitForPass if another fetch would not help
	collapses group
	variant   string // secondary key of its own response, for withVariant
}

// afterUnusable returns what a request knows after it could not use another client's response l.
// Another fetch helps if one of many requests would get a response for all of them: the requests
// for the same variant; those without credentials, if the request that was sent had some; and those
// that arrived after a purge of the fetched response.
func (w waiter) afterUnusable(l *collapse.Result, q *Request, now time.Time) waiter {
	w.joins++
	if l.Err != nil || w.joins == maxJoins {
		w.afterMiss = stateHitForPass
		return w
	}
	if !q.mayJoin(l.ForOthers()) { // the response is for another address
		return w
	}
	c := l.Collapsed()
	switch usable := cachepolicy.Usable(c, q.Policy, now); {
	case usable && !cachepolicy.MayShare(c, q.Policy, q.secondary(l.ForOthers().Vary), now):
		w.collapses, w.variant = withVariant, q.variant(l.ForOthers().Vary)
	case usable && l.Stream != nil: // the stream no longer holds the beginning of the body
		w.afterMiss = stateHitForPass
	case usable: // it was purged meanwhile
	case l.Sharing.Again && cachepolicy.MayShareError(q.Policy):
		w.collapses = withAnonymous
	default:
		w.afterMiss = stateHitForPass
	}
	return w
}
