package fetch

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
)

// MaxWhole is the number of bytes of a forwarded response that the edge waits for; a longer
// response is sent while it arrives.
const MaxWhole = 256 << 10

// FetchAndStore fetches one response from the origin and stores it if it may. It runs in a
// collapsed fetch and goes on when clients leave.
func (h *Finder) FetchAndStore(q *Request, stale *cache.Entry) (l collapse.Result) {
	// These are read before the request, so that a purge from here on applies to the response.
	asked, missing := h.Cache.Generation(), h.Library.Negative.Current()
	u := q.Upstream(stale)
	// Without a response to serve instead, it may bypass a shield whose own origin has failed.
	u.TryNextGroup = stale == nil || !mayServeStale(stale, h.Clock.Now())
	u.TakesKnown = q.own && stale == nil && q.Ruled == nil && routes.IsPlainIcon(q.Key)
	a, err := h.Send(q, u)
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
		a, err = h.Send(q, q.Upstream(nil))
	}
	switch {
	case err != nil:
		return collapse.Result{Err: err}
	// The edge made the request conditional, not the client.
	case a.Status == http.StatusNotModified && stale != nil:
		a.Body.Close()
		return h.storeConfirmed(q, stale, a, asked)
	case stale != nil && a.Status >= pastHTTP && mayServeLost(stale, a.ResponseTime):
		a.Body.Close()
		return collapse.Result{Err: upstream.Malformed(fmt.Errorf("status %d", a.Status))}
	case q.own && originFailed(a.Status), stale != nil && failing(a.Status) && mayServeStale(stale, a.ResponseTime):
		a.Body.Close()
		return collapse.Result{Err: Failed(a)}
	case q.own && mustNotReplace(stale, a):
		a.Body.Close()
		return collapse.Result{Err: Failed(a)}
	case q.own:
		return h.storeOwn(q, a, asked, missing)
	case a.Status == http.StatusPartialContent && q.wantsPart():
		return h.storePart(q, stale, a, asked)
	}
	may := a.Status == http.StatusOK || !q.wantsPart() // an error may concern the slices alone
	may = may && !mustNotReplace(stale, a)
	if stale != nil && may && cachepolicy.Supersedes(q.Policy, a.Status, a.Header, a.ResponseTime) {
		h.drop(stale)
	}
	return h.StoreForwarded(q, a, asked, may)
}

// confirms reports whether a 304 is about the stored response (RFC 9111, section 4.3.4). Some
// applications' origins send an entity tag strong in a 304 and weak with a body in a coding.
func (q *Request) confirms(stale *cache.Entry, a *upstream.Response) bool {
	if q.own {
		return cachepolicy.Confirms(stale.Validator, a.Header)
	}
	if !q.keepsRule(a.Header) {
		return false // the stored response may be for other addresses only
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
		mayServeLost(stored, a.ResponseTime)
}

// pastHTTP is the first status that HTTP does not define (RFC 9110, section 15). A response with
// one counts as none, where a stored one can be served instead.
const pastHTTP = 600

// mayServeLost reports whether a stale response may be served, if none has arrived.
func mayServeLost(stored *cache.Entry, now time.Time) bool {
	return cachepolicy.MayServeStale(stored.Freshness(), cachepolicy.Request{}, cachepolicy.FailureDisconnected, now)
}

// storeOwn makes an entry of a response on our own routes: whole, with a strong entity tag and its
// content codings. If the cache does not admit the entry, only the requests that wait for it now
// get it.
func (h *Finder) storeOwn(q *Request, a *upstream.Response, asked cache.Generation, missing *library.NegativeTable) collapse.Result {
	body, err := a.Whole(MaxOwn)
	if err != nil {
		return collapse.Result{Err: err}
	}
	if a.Status >= http.StatusBadRequest {
		body = ClientError(a, body, isPage(q.Key, a.Header))
	}
	coded, err := q.inflate(a, &body)
	if err != nil {
		return collapse.Result{Err: err}
	}
	there := h.Cache.Get(q.Key) != nil
	sharing := cachepolicy.SharingOf(q.Policy, a.Status, a.Header, a.ResponseTime)
	e := NewOwn(q.Key, a, body, coded)
	if a.UntilClose { // waiting requests may share it, by its own fields; no cache may store it
		e = unstorable(e, a)
	}
	l := h.StoreEntry(q, e, cachepolicy.Sharing{}, asked)
	l.Sharing = sharing
	switch ok := sharing.Storable && !a.UntilClose; {
	case ok && !there && missing.Put(l.Entry):
		l.Stored = true
	case ok && (there || h.doors.admits(q.Key, a.Status >= http.StatusBadRequest && isPage(q.Key, a.Header))):
		l.Stored = h.Cache.Put(l.Entry, asked)
	}
	if l.Stored {
		learn(h, q, l.Entry, asked)
	}
	return l
}

// inflate inflates the body of a response in gzip, if the request has asked for it, and makes the
// fields of the response those of its identity. coded is the body in gzip; nil: it is unchanged.
func (q *Request) inflate(a *upstream.Response, body *[]byte) (coded []byte, err error) {
	if a.Status != http.StatusOK || a.Header.Get("Content-Encoding") != cachepolicy.Gzip ||
		q.Header.Get("Accept-Encoding") != cachepolicy.Gzip {
		return nil, nil
	}
	coded = bytes.Clone(*body) // without the spare capacity left by reading
	if *body, err = entry.Inflate(coded, MaxOwn); err != nil {
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

// StoreForwarded makes a result of a response without changing it. A short response is held for a
// moment, so that a truncated one usually becomes a clean 502. One that is long, or slow to end, is
// sent to clients while it arrives. It is stored when it is whole, if it may be.
func (h *Finder) StoreForwarded(q *Request, a *upstream.Response, asked cache.Generation, may bool) collapse.Result {
	f := h.newForwardedResponse(q, a, may)
	if a.Length == 0 || a.HasArrived() && a.Length <= MaxWhole {
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
	f.own().SetIdentity(nil, f.etag) // clients read the body from the stream
	f.negotiate(f.entry, a.Length)
	l := collapse.Result{Entry: f.entry, Shared: f.shared(), Sharing: f.sharing, Stream: spool, Trailer: pipeline.TrailerOf(a)}
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
func (h *Finder) holdFor(a *upstream.Response) time.Duration {
	if a.Length >= MaxWhole || strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		return 0
	}
	return h.Bounds.Hold
}

// A forwardedResponse is a forwarded response without its body.
type forwardedResponse struct {
	h        *Finder
	q        *Request
	etag     string
	entry    *cache.Entry // for the client that sent the request; nil: not made yet
	header   http.Header  // the fields to store
	response *upstream.Response
	sharing  cachepolicy.Sharing
	key      string           // under which it is stored
	rule     *cache.QueryRule // by which addresses share the key; nil: it is of one address
}

// newForwardedResponse reads the head of a response. If may is false, the response is not stored,
// whatever its fields permit.
func (h *Finder) newForwardedResponse(q *Request, a *upstream.Response, may bool) *forwardedResponse {
	f := &forwardedResponse{h: h, q: q, etag: a.Header.Get("Etag"), header: cachepolicy.StoredHeader(a.Header), response: a}
	f.sharing = cachepolicy.SharingOf(q.Policy, a.Status, a.Header, a.ResponseTime)
	f.sharing.Storable = f.sharing.Storable && may
	f.key, f.rule = f.storedKey()
	if f.sharing.Storable {
		h.Origin.CountGroups(q.groups(a.Header))
	}
	return f
}

// storedKey returns the key under which the response is stored: by its own No-Vary-Search that
// of all addresses that share it, and the rule for them.
func (f *forwardedResponse) storedKey() (string, *cache.QueryRule) {
	q, lines := f.q, f.header["No-Vary-Search"]
	address := cmp.Or(q.shared.address, q.Key)
	if !f.sharing.Storable || len(lines) == 0 || q.Site == nil || q.Policy.ContentKeyed {
		return address, nil
	}
	if !cachepolicy.MayShareError(q.Policy) && !cachepolicy.ParseCacheControl(f.header["Cache-Control"]...).Public {
		return address, nil // its query may name the user
	}
	r := f.h.Cache.Queries.Site(q.Site.Name).Learn(address, lines)
	if r == nil {
		return address, nil
	}
	return r.Key(address), r
}

// shared returns the entry for other clients, without the fields that are meant only for the client
// that sent the request. The caller sets its body.
func (f *forwardedResponse) shared() *cache.Entry { return f.entryWith(f.header) }

// entryWith returns an entry with the fields h.
func (f *forwardedResponse) entryWith(h http.Header) *cache.Entry {
	e := NewForwarded(f.q, f.response, h)
	if e.Key = f.key; f.rule != nil {
		e.Tags = f.rule.AppendTags(e.Tags, cmp.Or(f.q.shared.address, f.q.Key))
	}
	return e
}

// own returns the entry for the client that sent the request.
func (f *forwardedResponse) own() *cache.Entry {
	if f.entry == nil {
		f.entry = f.entryWith(f.response.Header)
	}
	return f.entry
}

// negotiate permits content codings of the response; see Request.Negotiate.
func (f *forwardedResponse) negotiate(e *cache.Entry, length int64) {
	f.q.Negotiate(e, f.header, length, f.sharing.Storable)
	if f.sharing.Storable {
		declare(f.h, f.q, e, f.header, int(length))
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
	l := f.h.StoreEntry(f.q, e, f.sharing, asked)
	if l.Stored {
		learn(f.h, f.q, e, asked)
	}
	return l
}

// whole returns the result for a response with its whole body; stored is the result of store.
func (f *forwardedResponse) whole(body []byte, stored collapse.Result) collapse.Result {
	if stored.Entry != nil && len(f.header) == len(f.response.Header) { // it has the same fields
		f.entry = stored.Entry
	} else {
		f.own().SetIdentity(body, f.etag)
		f.negotiate(f.entry, int64(len(body)))
	}
	return collapse.Result{Entry: f.entry, Shared: stored.Entry, Sharing: f.sharing, Variants: stored.Variants,
		Stored: stored.Stored, Trailer: pipeline.TrailerOf(f.response)}
}

// StoreEntry stores an entry if its Sharing permits.
func (h *Finder) StoreEntry(q *Request, e *cache.Entry, sharing cachepolicy.Sharing, asked cache.Generation) collapse.Result {
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
	l.Stored = h.Cache.Put(e, asked)
	if key := byLanguage(q, e); key != "" {
		l.Variants = []string{key}
		if l.Stored {
			h.Cache.Alias(e, key)
		}
	}
	return l
}

// shorten makes the cache store a response of another release for moments only.
func (h *Finder) shorten(e *cache.Entry) {
	if e.Release != "" && e.Release != h.Library.Newest() {
		e.Policy.Lifetime = min(e.Policy.Lifetime, e.Policy.Age+pipeline.OtherRelease)
		e.Policy.StaleWhileRevalidate = 0
	}
}

// storeConfirmed stores a stale response that a 304 confirmed, if it may by the fields that it has
// now. Fields that are meant for the client of this request alone go to that client alone.
func (h *Finder) storeConfirmed(q *Request, stale *cache.Entry, a *upstream.Response, asked cache.Generation) collapse.Result {
	fields := freshened(stale, a)
	if !q.own && cachepolicy.Supersedes(q.Policy, stale.Status, fields, a.ResponseTime) {
		h.drop(stale)
	}
	kept := cachepolicy.StoredHeader(fields)
	l := h.StoreEntry(q, confirmed(h, q, stale, a, kept), cachepolicy.SharingOf(q.Policy, stale.Status, fields, a.ResponseTime), asked)
	if l.Stored {
		learn(h, q, l.Entry, asked)
	}
	if len(kept) < len(fields) {
		l.Entry, l.Shared = confirmed(h, q, stale, a, fields), l.Entry
	}
	return l
}

// ReplaceConfirmed replaces a stored response by itself with the fields of a response to another
// request than a conditional one. It reports false, and does nothing, if by these fields the
// response may not be stored.
func (h *Finder) ReplaceConfirmed(q *Request, e *cache.Entry, a *upstream.Response, asked cache.Generation) bool {
	fields := freshened(e, a)
	if !q.keepsRule(a.Header) || !cachepolicy.Storable(q.Policy, e.Status, fields, a.ResponseTime) {
		return false
	}
	h.Cache.Replace(e, confirmed(h, q, e, a, cachepolicy.StoredHeader(fields)), asked)
	return true
}

// byLanguage returns the second key of a response in one language, under which all clients that
// prefer that language find it; empty: none.
func byLanguage(q *Request, e *cache.Entry) string {
	if e.Secondary == "" {
		return ""
	}
	if language := pipeline.Header(e)["Content-Language"]; len(language) == 1 {
		if key := cachepolicy.VaryLanguageKey(e.Vary, q.lines, language[0]); key != e.Secondary {
			return key
		}
	}
	return ""
}

func mayServeStale(e *cache.Entry, now time.Time) bool {
	return cachepolicy.MayServeStale(e.Freshness(), cachepolicy.Request{}, cachepolicy.FailureStatus, now)
}

// Hold waits for the end of a short body, so that an incomplete one becomes a clean 502. A body
// that takes longer is sent while it arrives.
func (h *Finder) Hold(f *pipeline.Response, a *upstream.Response) error {
	spool := collapse.NewSpool(a.Body, bufferFor(a), a.Length, 0)
	spool.ForOne()
	go spool.Run() // the readers of the spool report its error
	body, whole, err := spool.ReadAll(MaxWhole, h.holdFor(a))
	switch {
	case err != nil:
		return err
	case whole:
		f.Entry.SetIdentity(body, f.Entry.Identity().ETag)
		f.Stream = nil
	default:
		f.Stream, err = spool.Reader()
	}
	return err
}

// drop removes a stored response, with its variants, if it is still stored.
func (h *Finder) drop(e *cache.Entry) { h.dropIf(e, e.SameStored) }

// dropIf removes the response that is stored in the place of e, with its variants, if it is the
// right one. The argument of is may be nil. dropIf reports whether it removed the response.
func (h *Finder) dropIf(e *cache.Entry, is func(stored *cache.Entry) bool) bool {
	stored, _ := h.Cache.Find(e.Key, func([]string) []string { return []string{e.Secondary} })
	if !is(stored) {
		return false
	}
	h.Cache.Purge(cache.Purge{Keys: []string{e.Key}}, h.Clock.Now())
	return true
}
