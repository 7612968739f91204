package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

const (
	// otherRelease is the time for which the edge stores a response from a release that differs
	// from the release that the edge knows. Either the edge or the origin is about to learn of a
	// newer release, and the response may be from the older one.
	otherRelease = 2 * time.Second
	maxOwn       = 16 << 20 // bytes of a response on our own routes, always held whole
	// MaxWhole is the number of bytes of a forwarded response that the edge waits for; a longer
	// response is sent while it arrives.
	MaxWhole = 256 << 10
	// defaultHold is short, because a page that the origin streams must begin at once.
	defaultHold       = 10 * time.Millisecond
	defaultHesitation = 500 * time.Millisecond
)

// fetchAndStore fetches one response from the origin and stores it if it may. It runs in a
// collapsed fetch and goes on when clients leave.
func (h *Proxy) fetchAndStore(q *fetchRequest, stale *cache.Entry) (l collapse.Result) {
	// These are read before the request, so that a purge from here on applies to the response.
	asked, missing := h.Options.Cache.Generation(), h.Options.Library.Negative.Current()
	u := q.upstream(stale)
	// Without a response to serve instead, it may bypass a shield whose own origin has failed.
	u.TryNextGroup = stale == nil || !mayServeStale(stale, h.Options.Clock.Now())
	u.TakesKnown = q.own && stale == nil && q.ruled == nil && hit.IsPlainIcon(q.key)
	a, err := h.request(q, u)
	if err == nil && a.Known != nil {
		if l, ok := h.storeKnown(q, a, asked); ok {
			return l
		}
		known, values := a.Known, a.Values
		a.Fill()
		defer func() { learnHead(known, &values, &l) }()
	}
	if err == nil && a.Status == http.StatusNotModified && stale != nil && !q.confirms(stale, a) {
		a.Body.Close() // the 304 confirms another response
		a, err = h.request(q, q.upstream(nil))
	}
	switch {
	case err != nil:
		return collapse.Result{Err: err}
	// The edge made the request conditional, not the client.
	case a.Status == http.StatusNotModified && stale != nil:
		a.Body.Close()
		return h.storeConfirmed(q, stale, a, asked)
	case q.own && originFailed(a.Status), stale != nil && failing(a.Status) && mayServeStale(stale, a.ResponseTime):
		a.Body.Close()
		return collapse.Result{Err: failed(a)}
	case q.own && mustNotReplace(stale, a):
		a.Body.Close()
		return collapse.Result{Err: failed(a)}
	case q.own:
		return h.storeOwn(q, a, asked, missing)
	case a.Status == http.StatusPartialContent && q.wantsPart():
		return h.storePart(q, stale, a, asked)
	}
	may := a.Status == http.StatusOK || !q.wantsPart() // an error may concern the slices alone
	may = may && !mustNotReplace(stale, a)
	if stale != nil && may && cachepolicy.Supersedes(q.policy, a.Status, a.Header, a.ResponseTime) {
		h.drop(stale)
	}
	return h.storeForwarded(q, a, asked, may)
}

// drop removes a stored response, with its variants, if it is still stored.
func (h *Proxy) drop(e *cache.Entry) { h.dropIf(e, e.SameStored) }

// dropIf removes the response that is stored in the place of e, with its variants, if it is the
// right one. The argument of is may be nil. dropIf reports whether it removed the response.
func (h *Proxy) dropIf(e *cache.Entry, is func(stored *cache.Entry) bool) bool {
	stored, _ := h.Options.Cache.Find(e.Key, func([]string) []string { return []string{e.Secondary} })
	if !is(stored) {
		return false
	}
	h.Options.Cache.Purge(cache.Purge{Keys: []string{e.Key}}, h.Options.Clock.Now())
	return true
}

// confirms reports whether a 304 is about the stored response (RFC 9111, section 4.3.4). Some
// applications' origins send an entity tag strong in a 304 and weak with a body in a coding.
func (q *fetchRequest) confirms(stale *cache.Entry, a *upstream.Response) bool {
	if q.own {
		return cachepolicy.Confirms(stale.Validator, a.Header)
	}
	tag := strings.TrimPrefix(a.Header.Get("Etag"), "W/")
	return tag == "" || stale.Validator == "" || tag == strings.TrimPrefix(stale.Validator, "W/")
}

// mustNotReplace reports whether a response is an error that must not replace a stored response
// that is still usable. Otherwise a client that makes the origin fail, by a field that it cannot
// handle or at a bad moment, would take the good response from every other client. A 404, 410 or
// 451 is no such error, unless the stored response came from an origin of ours and the new one did
// not: ours names its release in every response.
func mustNotReplace(stored *cache.Entry, a *upstream.Response) bool {
	switch a.Status {
	case http.StatusNotFound, http.StatusGone, http.StatusUnavailableForLegalReasons:
		if stored == nil || stored.Release == "" || a.Header.Get(icon.FieldRelease) != "" {
			return false
		}
	}
	return a.Status >= http.StatusBadRequest && stored != nil && stored.Status < http.StatusBadRequest &&
		cachepolicy.MayServeStale(stored.Freshness(), cachepolicy.Request{}, cachepolicy.FailureDisconnected, a.ResponseTime)
}

// storeOwn makes an entry of a response on our own routes: whole, with a strong entity tag and its
// content codings. If the cache does not admit the entry, only the requests that wait for it now
// get it.
func (h *Proxy) storeOwn(q *fetchRequest, a *upstream.Response, asked cache.Generation, missing *library.NegativeTable) collapse.Result {
	body, err := a.Whole(maxOwn)
	if err != nil {
		return collapse.Result{Err: err}
	}
	if a.Status >= http.StatusBadRequest {
		body = clientError(a, body, isPage(q.key, a.Header))
	}
	coded, err := q.inflate(a, &body)
	if err != nil {
		return collapse.Result{Err: err}
	}
	there := h.Options.Cache.Get(q.key) != nil
	sharing := cachepolicy.SharingOf(q.policy, a.Status, a.Header, a.ResponseTime)
	e := newOwn(q.key, a, body, coded)
	if a.UntilClose { // waiting requests may share it, by its own fields; no cache may store it
		e = unstorable(e, a)
	}
	l := h.store(q, e, cachepolicy.Sharing{}, asked)
	l.Sharing = sharing
	switch ok := sharing.Storable && !a.UntilClose; {
	case ok && !there && missing.Put(l.Entry):
		l.Stored = true
	case ok && (there || h.doors.admits(q.key, a.Status >= http.StatusBadRequest && isPage(q.key, a.Header))):
		l.Stored = h.Options.Cache.Put(l.Entry, asked)
	}
	return l
}

// inflate inflates the body of a response in gzip, if the request has asked for it, and makes the
// fields of the response those of its identity. coded is the body in gzip; nil: it is unchanged.
func (q *fetchRequest) inflate(a *upstream.Response, body *[]byte) (coded []byte, err error) {
	if a.Status != http.StatusOK || a.Header.Get("Content-Encoding") != cachepolicy.Gzip || q.header.Get("Accept-Encoding") != cachepolicy.Gzip {
		return nil, nil
	}
	coded = bytes.Clone(*body) // without the spare capacity left by reading
	if *body, err = entry.Inflate(coded, maxOwn); err != nil {
		return nil, upstream.Malformed(err)
	}
	delete(a.Header, "Content-Encoding")
	return coded, nil
}

// unstorable makes e an entry that no cache stores. It keeps the policy of the origin's own fields.
func unstorable(e *cache.Entry, a *upstream.Response) *cache.Entry {
	policy := e.Policy
	forbidStoring(a.Header)
	describe(e, a.Header, a, nil, cachepolicy.Request{})
	e.Policy = policy
	return e
}

// forbidStoring limits a response to the requests that wait for it now. Nobody can know whether all
// of it has arrived, and a truncated icon must not stay for a day here or in browsers.
func forbidStoring(h http.Header) {
	for _, name := range lifetimeFields {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
}

// lifetimeFields are the fields, beside Cache-Control, that set the freshness lifetime of a
// response in caches.
var lifetimeFields = []string{"Cdn-Cache-Control", "Iconedge-Cache-Control", "Surrogate-Control", "Expires"}

// storeForwarded makes a result of a response without changing it. A short response is held for a
// moment, so that a truncated one usually becomes a clean 502. One that is long, or slow to end, is
// sent to clients while it arrives. It is stored when it is whole, if it may be.
func (h *Proxy) storeForwarded(q *fetchRequest, a *upstream.Response, asked cache.Generation, may bool) collapse.Result {
	f := h.newForwardedResponse(q, a, may)
	if a.Length == 0 {
		body, err := a.Whole(MaxWhole)
		if err != nil {
			return collapse.Result{Err: err}
		}
		return f.whole(body, f.store(body, asked))
	}
	if l, ok := h.storeWhole(f, asked); ok {
		return l
	}
	room := int64(0)
	if f.sharing.Storable && a.Length <= h.maxObject() {
		room = h.maxObject()
	}
	var stored collapse.Result
	spool := collapse.NewSpool(a.Body, bufferFor(a), a.Length, room)
	if room == 0 && a.Status < http.StatusInternalServerError {
		spool.ForOne() // of such responses, waiting requests share only failures
	}
	// The readers of the spool report its error.
	go spool.RunAndStore(func(body []byte) { stored = f.store(body, asked) })
	body, whole, err := spool.ReadAll(MaxWhole, h.holdFor(a))
	switch {
	case err != nil:
		return collapse.Result{Err: err}
	case whole:
		return f.whole(body, stored)
	}
	f.entry.SetIdentity(nil, f.etag) // clients read the body from the stream
	f.negotiate(f.entry, a.Length)
	l := collapse.Result{Entry: f.entry, Shared: f.shared(), Sharing: f.sharing, Stream: spool, Trailer: trailerOf(a)}
	f.negotiate(l.Shared, a.Length)
	l.Shared.SetIdentity(nil, f.header.Get("Etag"))
	l.Sharing.Storable = room > 0
	return l
}

// bufferFor returns the memory for a short body of known length; nil: the body is none.
func bufferFor(a *upstream.Response) []byte {
	if a.Length < 0 || a.Length >= MaxWhole {
		return nil
	}
	return make([]byte, 0, a.Length)
}

// holdFor returns the time to wait for the end of a response. A stream of events and a response
// that is known to be long are not held at all.
func (h *Proxy) holdFor(a *upstream.Response) time.Duration {
	if a.Length >= MaxWhole || strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		return 0
	}
	return h.Options.Bounds.Hold
}

// A forwardedResponse is a forwarded response without its body.
type forwardedResponse struct {
	h        *Proxy
	q        *fetchRequest
	etag     string
	entry    *cache.Entry // for the client that sent the request
	header   http.Header  // the fields to store
	response *upstream.Response
	sharing  cachepolicy.Sharing
}

// newForwardedResponse reads the head of a response. If may is false, the response is not stored,
// whatever its fields permit.
func (h *Proxy) newForwardedResponse(q *fetchRequest, a *upstream.Response, may bool) *forwardedResponse {
	f := &forwardedResponse{h: h, q: q, etag: a.Header.Get("Etag"), entry: newForwarded(q, a, a.Header), header: cachepolicy.StoredHeader(a.Header), response: a}
	f.sharing = cachepolicy.SharingOf(q.policy, a.Status, a.Header, a.ResponseTime)
	f.sharing.Storable = f.sharing.Storable && may
	return f
}

// shared returns the entry for other clients, without the fields that are meant only for the client
// that sent the request. The caller sets its body.
func (f *forwardedResponse) shared() *cache.Entry { return newForwarded(f.q, f.response, f.header) }

// negotiate permits content codings of the response, if it may be stored; see
// fetchRequest.negotiate.
func (f *forwardedResponse) negotiate(e *cache.Entry, length int64) {
	if f.sharing.Storable {
		f.q.negotiate(e, f.header, length)
	}
}

// store stores the response with its whole body, if it may. Otherwise the result has no Entry.
func (f *forwardedResponse) store(body []byte, asked cache.Generation) collapse.Result {
	if !f.sharing.Storable {
		return collapse.Result{}
	}
	e := f.shared()
	e.SetIdentity(body, f.header.Get("Etag"))
	f.negotiate(e, int64(len(body)))
	return f.h.store(f.q, e, f.sharing, asked)
}

// whole returns the result for a response with its whole body; stored is the result of store.
func (f *forwardedResponse) whole(body []byte, stored collapse.Result) collapse.Result {
	f.entry.SetIdentity(body, f.etag)
	f.negotiate(f.entry, int64(len(body)))
	return collapse.Result{Entry: f.entry, Shared: stored.Entry, Sharing: f.sharing, Variants: stored.Variants, Stored: stored.Stored, Trailer: trailerOf(f.response)}
}

// store stores an entry if its Sharing permits.
func (h *Proxy) store(q *fetchRequest, e *cache.Entry, sharing cachepolicy.Sharing, asked cache.Generation) collapse.Result {
	h.shorten(e)
	if q.own {
		e.AddCoding(entry.Gzip)
		if isSite(e.Key) || isIconifyList(e.Key) { // people wait for each kB
			e.AddCoding(entry.Brotli)
		}
		respond.Prebuild(e)
	}
	l := collapse.Result{Entry: e, Sharing: sharing}
	if !sharing.Storable {
		return l
	}
	l.Stored = h.Options.Cache.Put(e, asked)
	if key := byLanguage(q, e); key != "" {
		l.Variants = []string{key}
		if l.Stored {
			h.Options.Cache.Alias(e, key)
		}
	}
	return l
}

// shorten makes the cache store a response of another release for moments only.
func (h *Proxy) shorten(e *cache.Entry) {
	if known := h.Options.Library.Known(); e.Release != "" && e.Release != known {
		e.Policy.Lifetime = min(e.Policy.Lifetime, e.Policy.Age+otherRelease)
		e.Policy.StaleWhileRevalidate = 0
	}
}

// storedBriefly reports whether a response of our own origin is stored for moments only (see keep).
func storedBriefly(e *cache.Entry) bool {
	return e.Release != "" && e.Policy.Lifetime <= e.Policy.Age+otherRelease
}

// storeConfirmed stores a stale response that a 304 confirmed, if it may by the fields that it has
// now. Fields that are meant for the client of this request alone go to that client alone.
func (h *Proxy) storeConfirmed(q *fetchRequest, stale *cache.Entry, a *upstream.Response, asked cache.Generation) collapse.Result {
	fields := freshened(stale, a)
	if !q.own && cachepolicy.Supersedes(q.policy, stale.Status, fields, a.ResponseTime) {
		h.drop(stale)
	}
	kept := cachepolicy.StoredHeader(fields)
	l := h.store(q, confirmed(q, stale, a, kept), cachepolicy.SharingOf(q.policy, stale.Status, fields, a.ResponseTime), asked)
	if len(kept) < len(fields) {
		l.Entry, l.Shared = confirmed(q, stale, a, fields), l.Entry
	}
	return l
}

// replaceConfirmed replaces a stored response by itself with the fields of a response to another
// request than a conditional one. It reports false, and does nothing, if by these fields the
// response may not be stored.
func (h *Proxy) replaceConfirmed(q *fetchRequest, e *cache.Entry, a *upstream.Response, asked cache.Generation) bool {
	fields := freshened(e, a)
	if !cachepolicy.Storable(q.policy, e.Status, fields, a.ResponseTime) {
		return false
	}
	h.Options.Cache.Replace(e, confirmed(q, e, a, cachepolicy.StoredHeader(fields)), asked)
	return true
}

// byLanguage returns the second key of a response in one language, under which all clients that
// prefer that language find it; empty: none.
func byLanguage(q *fetchRequest, e *cache.Entry) string {
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

// originFailed reports whether a status on our own routes reports a failure of the origin and not
// of the client's request. A 408 or 429 sent on would blame the client for requests that the edge
// made too slowly or too often.
func originFailed(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// failing reports whether a stale response may be sent in place of a response with this status (RFC
// 5861, section 4).
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

var (
	// errStatus reports that the origin answered with an error status.
	errStatus = errors.New("the origin answered with an error status")
	// errUnready reports that the origin is one of ours and has no release yet.
	errUnready = fmt.Errorf("%w: it has no release yet", errStatus)
)

// failed returns the problem for an origin's error response. Our own routes never pass its body on.
// An origin without a release is a 503 and not a 502, because another call after a second would not
// help.
func failed(a *upstream.Response) error {
	if a.Status == http.StatusServiceUnavailable && library.WithoutRelease(a) {
		return problem.New(http.StatusServiceUnavailable, "not ready: the origin has no release yet, or is still reading it; trying again later may help").
			With("Retry-After", "5").Because(errUnready)
	}
	return problem.New(http.StatusBadGateway, "the origin failed; trying again in a moment may help").
		With("Retry-After", "1").Because(fmt.Errorf("%w: %d", errStatus, a.Status))
}

// writeUnready passes the origin's declaration that it has no release yet on to an edge behind this
// one.
func writeUnready(r *request, p *problem.Problem) {
	if errors.Is(p, errUnready) && r.Tier {
		r.Response.Set(icon.FieldReady, "?0")
	}
}

// fetchRelease fetches the response about the release for other edges. If it names another release
// than this edge knows, the edge first drops the changed entries itself, because the other edge
// will then fetch the new ones from here.
func (h *Proxy) fetchRelease(q *fetchRequest, _ *cache.Entry) collapse.Result {
	asked := h.Options.Cache.Generation()
	told, a, err := h.Options.Library.RequestRelease(q.key, q.header)
	switch {
	case a == nil:
		return collapse.Result{Err: err}
	case a.Status >= http.StatusInternalServerError:
		return collapse.Result{Err: failed(a.Response)}
	case err == nil && told.State != h.Options.Library.Known():
		if err := h.Options.Library.Poll(); err != nil {
			return collapse.Result{Err: err}
		}
		asked = h.Options.Cache.Generation() // the response is newer than the invalidation by look
	}
	e := newOwn(q.key, a.Response, a.Content, nil)
	e.Fields = []cache.Field{respond.NewField("Cache-Control", "no-store")} // in the response
	e.Tags = []string{library.ReleaseTag}
	e.Policy = cachepolicy.Entry{Stored: a.ResponseTime, Lifetime: library.ReleaseLifetime}
	return collapse.Result{Entry: e, Sharing: cachepolicy.Sharing{Storable: true}, Stored: h.Options.Cache.Put(e, asked)}
}
