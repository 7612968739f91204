package edge

import (
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
)

const (
	// otherRelease is how long an answer is kept that was made from another release than the one that the edge knows: either the
	// edge or the origin is about to learn of a newer one, and the answer may be of the older.
	otherRelease = 2 * time.Second
	maxOwn       = 16 << 20               // bytes of an answer on our own routes: they are always held whole
	held         = 256 << 10              // bytes of a forwarded answer that are waited for; a longer one goes out while it comes
	patience     = 200 * time.Millisecond // for the end of one whose length is unknown
)

// ask gets one response from the origin and stores it, if it may. It runs in a collapsed fetch, whichever clients have gone away
// meanwhile.
func (h *handler) ask(q *inquiry, stale *cache.Entry) cache.Result {
	asked, missing := h.cache.Now(), h.missing.table.Load() // before the request: what is dropped from here on may concern the answer
	a, err := h.fetch(q.followed, q.upstream(stale))
	if err == nil && a.Status == http.StatusNotModified && q.own && stale != nil && !cachepolicy.Confirms(stale.Validator, a.Header) {
		a.Body.Close() // it is about some other answer
		a, err = h.fetch(q.followed, q.upstream(nil))
	}
	switch {
	case err != nil:
		return cache.Result{Err: err}
	case a.Status == http.StatusNotModified && stale != nil: // asked for by nobody else
		a.Body.Close()
		return h.keep(q, confirmed(q, stale, a), sharingOfConfirmed(q, stale, a), asked)
	case q.own && originFailed(a.Status), stale != nil && failing(a.Status) && mayServeStale(stale, a.ResponseTime):
		a.Body.Close()
		return cache.Result{Err: failed(a)}
	case q.own && spoils(stale, a):
		a.Body.Close()
		return cache.Result{Err: failed(a)}
	case q.own:
		return h.landOwn(q, a, asked, missing)
	}
	return h.landForwarded(q, a, asked, !spoils(stale, a))
}

// spoils reports whether an answer is an error that must not take the place of what is stored, as long as that is of use: whoever
// can make an origin fail, with a field that it chokes on or at a bad moment, would take the good answer from everybody. That
// something is gone is no such error, unless it was an origin of ours that said that it is there, and another one says that it is not:
// ours names its release in every answer.
func spoils(stored *cache.Entry, a *upstream.Answer) bool {
	switch a.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusUnavailableForLegalReasons:
		if stored == nil || stored.Release == "" || a.Header.Get(icon.FieldRelease) != "" {
			return false
		}
	}
	return a.Status >= http.StatusBadRequest && stored != nil && stored.Status < http.StatusBadRequest &&
		cachepolicy.MayServeStale(stored.Freshness(), cachepolicy.Request{}, cachepolicy.FailureLost, a.ResponseTime)
}

// An ownAnswer is an answer on one of our own routes, with its whole body.
type ownAnswer struct {
	*upstream.Answer
	body []byte
}

// fetchOwn asks the origin for the whole of an answer.
func (h *handler) fetchOwn(f *followed, r upstream.Request) (*ownAnswer, error) {
	a, err := h.fetch(f, r)
	if err != nil {
		return nil, err
	}
	body, err := a.Whole(maxOwn)
	return &ownAnswer{a, body}, err
}

// landOwn makes a response ours: whole, with a strong entity tag, in its codings. One that the cache does not admit is for the
// requests that wait for it now.
func (h *handler) landOwn(q *inquiry, a *upstream.Answer, asked cache.Mark, missing *missingTable) cache.Result {
	body, err := a.Whole(maxOwn)
	if err != nil {
		return cache.Result{Err: err}
	}
	if a.Status >= http.StatusBadRequest {
		body = clientError(a, body)
	}
	there := h.cache.Get(q.key) != nil
	sharing := cachepolicy.SharingOf(q.asks, a.Status, a.Header, a.ResponseTime)
	e := newOwn(q.key, a, body)
	if a.Endless { // requests that wait may have it, by what its fields say; no cache may
		e = endless(e, a)
	}
	l := h.keep(q, e, cachepolicy.Sharing{}, asked)
	l.Sharing = sharing
	switch ok := sharing.Storable && !a.Endless; {
	case ok && !there && missing.keep(l.Entry):
		l.Stored = true
	case ok && (there || h.doors.admits(q.key)):
		l.Stored = h.cache.Put(l.Entry, asked)
	}
	return l
}

// endless makes an entry one that no cache stores, with the policy of the origin's own fields.
func endless(e *cache.Entry, a *upstream.Answer) *cache.Entry {
	policy := e.Policy
	uncertain(a.Header)
	describe(e, a.Header, a, true)
	e.Policy = policy
	return e
}

// uncertain makes an answer one for those who wait for it now: nobody can tell whether all of it has come, and a drawing that was cut
// must not stay a day here or in browsers.
func uncertain(h http.Header) {
	for _, name := range lives {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
}

// lives are the fields by which caches decide how long they keep an answer, beside Cache-Control.
var lives = []string{"Cdn-Cache-Control", "Iconedge-Cache-Control", "Surrogate-Control", "Expires"}

// landForwarded takes an answer as it is. A short one is held until it is whole, so that a cut one is a clean 502; one that is
// long, or slow to end, goes out while it comes, and is stored when all of it has, if it may be.
func (h *handler) landForwarded(q *inquiry, a *upstream.Answer, asked cache.Mark, may bool) cache.Result {
	f := h.forwardedAnswer(q, a, may)
	if 0 <= a.Length && a.Length < held {
		body, err := a.Whole(held)
		if err != nil {
			return cache.Result{Err: err}
		}
		return f.whole(body, f.store(body, asked))
	}
	room := int64(0)
	if f.sharing.Storable && a.Length <= h.maxObject {
		room = h.maxObject
	}
	var stored cache.Result
	spool := cache.NewSpool(a.Body, nil, a.Length, room)
	go spool.Keep(func(body []byte) { stored = f.store(body, asked) }) // its error is its readers'
	body, whole, err := spool.Hold(held, holdFor(a))
	switch {
	case err != nil:
		return cache.Result{Err: err}
	case whole:
		return f.whole(body, stored)
	}
	f.entry.SetIdentity(nil, f.etag) // the body is the stream's
	l := cache.Result{Entry: f.entry, Common: f.common(), Sharing: f.sharing, Stream: spool}
	l.Common.SetIdentity(nil, f.etag)
	l.Sharing.Storable = room > 0
	return l
}

// holdFor is how long the end of an answer is waited for. What comes event by event is not to be held at all, nor what is long anyway.
func holdFor(a *upstream.Answer) time.Duration {
	if a.Length >= held || strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		return 0
	}
	return patience
}

// A forwarded answer, without its body.
type forwarded struct {
	h       *handler
	q       *inquiry
	etag    string
	entry   *cache.Entry // for the client that asked
	header  http.Header  // of what is kept
	answer  *upstream.Answer
	sharing cachepolicy.Sharing
}

// forwardedAnswer takes the head of a response. If may is false, the response is not stored, whatever its fields say.
func (h *handler) forwardedAnswer(q *inquiry, a *upstream.Answer, may bool) *forwarded {
	f := &forwarded{h: h, q: q, etag: a.Header.Get("Etag"), entry: newForwarded(q, a, a.Header), header: cachepolicy.StoredHeader(a.Header), answer: a}
	f.sharing = cachepolicy.SharingOf(q.asks, a.Status, a.Header, a.ResponseTime)
	f.sharing.Storable = f.sharing.Storable && may
	return f
}

// common is the entry for other clients, without the fields that are for the client that asked alone. Its body is for the caller
// to set.
func (f *forwarded) common() *cache.Entry { return newForwarded(f.q, f.answer, f.header) }

// store keeps the answer with its whole body, if it may be kept. It returns no Entry otherwise.
func (f *forwarded) store(body []byte, asked cache.Mark) cache.Result {
	if !f.sharing.Storable {
		return cache.Result{}
	}
	e := f.common()
	e.SetIdentity(body, f.etag)
	return f.h.keep(f.q, e, f.sharing, asked)
}

// whole is the result for a response with its whole body; stored is what store made of it.
func (f *forwarded) whole(body []byte, stored cache.Result) cache.Result {
	f.entry.SetIdentity(body, f.etag)
	return cache.Result{Entry: f.entry, Common: stored.Entry, Sharing: f.sharing, Variants: stored.Variants, Stored: stored.Stored}
}

// keep stores an entry where its Sharing lets it.
func (h *handler) keep(q *inquiry, e *cache.Entry, sharing cachepolicy.Sharing, asked cache.Mark) cache.Result {
	if known := h.watch.known(); e.Release != "" && e.Release != known {
		e.Policy.Lifetime = min(e.Policy.Lifetime, e.Policy.Age+otherRelease)
		e.Policy.StaleWhileRevalidate = 0
	}
	e.AddCodings()
	if q.own {
		serialise(e)
	}
	l := cache.Result{Entry: e, Sharing: sharing}
	if !sharing.Storable {
		return l
	}
	l.Stored = h.cache.Put(e, asked)
	if key := byLanguage(q, e); key != "" {
		l.Variants = []string{key}
		if l.Stored {
			h.cache.Alias(e, key)
		}
	}
	return l
}

// momentary reports whether an answer of ours was kept for moments only (keep).
func momentary(e *cache.Entry) bool {
	return e.Release != "" && e.Policy.Lifetime <= e.Policy.Age+otherRelease
}

// storable judges an answer that was confirmed by the fields that it has now.
func storable(q *inquiry, stale *cache.Entry, a *upstream.Answer) bool {
	return cachepolicy.Storable(q.asks, stale.Status, cachepolicy.Freshened(header(stale), a.Header), a.ResponseTime)
}

// sharingOfConfirmed judges a response that was confirmed by the fields that it has now.
func sharingOfConfirmed(q *inquiry, stale *cache.Entry, a *upstream.Answer) cachepolicy.Sharing {
	return cachepolicy.SharingOf(q.asks, stale.Status, cachepolicy.Freshened(header(stale), a.Header), a.ResponseTime)
}

// byLanguage is the second key of a response in one language, by which all clients that like that language best find it; empty:
// there is none.
func byLanguage(q *inquiry, e *cache.Entry) string {
	if e.Secondary == "" {
		return ""
	}
	if language := header(e)["Content-Language"]; len(language) == 1 {
		if key := cachepolicy.VaryLanguageKey(e.Vary, q.lines, language[0]); key != e.Secondary {
			return key
		}
	}
	return ""
}

// fetch asks the origin, within the edge's life, for a request that may be part of a trace. Its errors are problems.
func (h *handler) fetch(f *followed, r upstream.Request) (*upstream.Answer, error) {
	if err := h.waiting.ask(); err != nil {
		return nil, err
	}
	defer h.waiting.answered()
	start := time.Now()
	span := h.follows(f, &r, start)
	a, err := h.origin.Do(h.life, r)
	span.End(time.Now(), asked(r, a, err))
	h.metrics.asked(time.Since(start), err)
	if err == nil {
		h.heard(a)
	}
	return a, err
}

// originFailed reports whether a status on our own routes tells of the origin, and not of what was asked: to a client it would look as if it
// were the one who asks too slowly or too often, and not the edge.
func originFailed(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// failing are the statuses for which a stale answer may be sent instead (RFC 5861, section 4).
func failing(status int) bool {
	switch status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func mayServeStale(e *cache.Entry, now time.Time) bool {
	return cachepolicy.MayServeStale(e.Freshness(), cachepolicy.Request{}, cachepolicy.FailureStatus, now)
}
