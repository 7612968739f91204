package fetch

import (
	"cmp"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/slicing"
	"github.com/iconedge/iconedge/edge/upstream"
)

// Large objects are stored in slices, apart from their entry, which has everything but the body.
// The entry is in the cache as soon as the head of the response has arrived. It alone decides
// whether the object may be used: a purge, a revalidation or a newer response concerns the entry,
// and slices without an entry are unreachable.

// defaultMaxObject is the length of the largest object that is stored in slices, in bytes.
const defaultMaxObject = 1 << 30

// ErrChanged means that the origin has another version of an object than the stored slices.
var ErrChanged = errors.New("the origin has another version of the object")

// maxSliced returns the length of the largest body that is stored in slices; 0: none is.
func (h *Finder) maxSliced() int64 {
	return min(cmp.Or(h.Bounds.MaxObject, defaultMaxObject), h.Cache.SliceStore().MaxObject())
}

// A rangeRequest is the Range of a client in a request for an object that may not be stored yet.
type rangeRequest struct {
	field, ifRange []string // of the client
	// first is the span of slices that the origin is asked for; empty: the whole object.
	first slicing.Span
}

// TakeRange takes Range and If-Range out of a fetch request whose Range the cache may be able to
// answer itself, and reports whether it could. Otherwise the origin has to answer the Range. e is
// the stored response, if there is one.
func (h *Finder) TakeRange(q *Request, e *cache.Entry, now time.Time) bool {
	if len(q.Header["Range"]) != 1 || q.Policy.Directives.NoStore {
		return false
	}
	first, what := slicing.ParseRange(q.Header["Range"][0])
	switch {
	case e != nil && e.IsObject() && e.Freshness().Fresh(now):
		if _, _, outcome := cachepolicy.ParseRange(q.Header["Range"][0], e.Object.Length); outcome == cachepolicy.RangeWhole {
			return false // several ranges
		}
	case what == slicing.Opaque, what == slicing.Part && h.maxSliced() == 0:
		return false
	case q.Policy.Authorized: // the client's signature may cover its Range
		return false
	case h.Cache.IsHitForPass(q.passKey(q.Key), now), h.Cache.IsHitForPass(unsliceableKey(q), now):
		return false
	}
	q.Ranged = &rangeRequest{q.Header["Range"], q.Header["If-Range"], first}
	delete(q.Header, "Range")
	delete(q.Header, "If-Range")
	return true
}

// GiveRangeBack undoes TakeRange.
func (q *Request) GiveRangeBack() {
	q.Header["Range"] = q.Ranged.field
	if q.Ranged.ifRange != nil {
		q.Header["If-Range"] = q.Ranged.ifRange
	}
	q.Ranged = nil
}

// wantsPart reports whether the origin is asked for slices.
func (q *Request) wantsPart() bool { return q.Ranged != nil && q.Ranged.first.Len() > 0 }

// unsliceableKey returns the key of the marker that slices of a response can't be combined, so that
// the origin gets the client's own ranges.
func unsliceableKey(q *Request) string { return q.passKey(q.Key) + "\x00slices" }

// Unsliceable stands for a 206 whose parts can't be combined with others.
var Unsliceable = &cache.Entry{Status: http.StatusPartialContent}

// storeWhole makes a result of a 200 that is too large for the memory: its slices are stored while
// it arrives. ok is false if it can't be stored in slices.
func (h *Finder) storeWhole(f *forwardedResponse, asked cache.Generation) (l collapse.Result, ok bool) {
	a := f.response
	if a.Status != http.StatusOK || f.q.Policy.Method != http.MethodGet || f.q.Unsliced || !f.sharing.Storable {
		return l, false
	}
	if a.Length <= h.maxObject() || a.Length > h.maxSliced() {
		return l, false
	}
	if _, strong := slicing.VersionOf(a.Header, a.Length, a.ResponseTime); !strong && !h.Cache.SliceStore().Lasting() {
		return l, false // a slice that has left could not be fetched again
	}
	object := cache.Object{ID: newObjectID(), Length: a.Length}
	return h.storeObject(f, object, slicing.Span{To: a.Length}, asked)
}

// storePart makes a result of the 206 to a request for slices. A 206 that has all of a small object
// is as good as a 200. Otherwise the result is an entry for the whole object, some of whose slices
// are arriving. stale is the stored response, if any.
func (h *Finder) storePart(q *Request, stale *cache.Entry, a *upstream.Response, asked cache.Generation) collapse.Result {
	got, length, ok := q.Ranged.first.Answers(a.Header, a.Length)
	version, strong := slicing.VersionOf(a.Header, length, a.ResponseTime)
	whole := *a
	whole.Status, whole.Header = http.StatusOK, a.Header.Clone()
	whole.Header.Del("Content-Range")
	whole.Header.Del("Content-Length")
	if ok && got.Len() == length && a.Length == length && length <= h.maxObject() {
		return h.StoreForwarded(q, &whole, asked, true)
	}
	f := h.newForwardedResponse(q, &whole, true)
	if ok && strong && f.sharing.Storable && length <= h.maxSliced() {
		object := cache.Object{ID: newObjectID(), Length: length}
		if stored, ok := versionOf(stale); ok && stored.Same(version) { // its slices are still good
			object = stale.Object
		}
		if l, ok := h.storeObject(f, object, got, asked); ok {
			return l
		}
	} else {
		h.Cache.MarkHitForPass(unsliceableKey(q), true, h.Clock.Now())
	}
	a.Body.Close()
	return collapse.Result{Entry: Unsliceable}
}

// storeObject stores the entry of an object, and begins to receive slices of it. ok is false, and
// nothing is received, if the entry can't be stored or too many transfers go on.
func (h *Finder) storeObject(f *forwardedResponse, object cache.Object, span slicing.Span,
	asked cache.Generation) (l collapse.Result, ok bool) {
	receipt, ok := h.Objects.Receive(object.ID, object.Length, span)
	if !ok {
		return l, false
	}
	shared := f.shared()
	shared.SetIdentity(nil, f.header.Get("Etag"))
	f.own().SetIdentity(nil, f.etag)
	for _, e := range [...]*cache.Entry{shared, f.entry} {
		e.DisableCodings()
		e.Object = object
	}
	if l = h.StoreEntry(f.q, shared, f.sharing, asked); !l.Stored {
		receipt.Cancel()
		f.entry.Object = cache.Object{}
		return l, false
	}
	receipt.Begin(f.response.Body, func(err error) { h.objectEnded(f.q, shared, span, err) })
	l.Entry, l.Shared = f.entry, shared
	return l, true
}

// objectEnded is called when a transfer has ended. A whole object that did not arrive or could not
// be stored is dropped, unless slices come and go by themselves. Slices that arrived before a
// connection broke are good; those of a body with a wrong length are not.
func (h *Finder) objectEnded(q *Request, e *cache.Entry, span slicing.Span, err error) {
	if err == nil || h.Draining() || errors.Is(err, objects.ErrNotStored) && !h.Cache.SliceStore().Lasting() {
		return
	}
	if whole := span.Len() == e.Object.Length; whole || errors.Is(err, objects.ErrLength) {
		h.DropObject(q, e, err)
	}
}

// DropObject removes the entry of an object, if it is still stored. Then nothing refers to the
// slices any more.
func (h *Finder) DropObject(q *Request, e *cache.Entry, why error) {
	if !h.dropIf(e, func(stored *cache.Entry) bool { return stored != nil && stored.Object.ID == e.Object.ID }) {
		return
	}
	h.Objects.Drop()
	h.Log.Warn("large object dropped from the cache", "path", string(accesslog.Redacted([]byte(q.Target))), "bytes",
		e.Object.Length, "reason", why)
}

// newObjectID returns a random number for an object. It is never 0.
func newObjectID() uint64 { return rand.Uint64() | 1 }

// versionOf returns the version of a stored object. ok is false if the entry is none, or has no
// strong validator.
func versionOf(e *cache.Entry) (v slicing.Version, ok bool) {
	if e == nil || !e.IsObject() {
		return v, false
	}
	fields := pipeline.Header(e)
	fields.Set("Date", string(e.Date))
	return slicing.VersionOf(fields, e.Object.Length, e.Policy.Stored)
}

// FetchSlices returns a function that fetches missing slices of an object with the fields of this
// request, and are going to be stored if mayStore is true. It is nil if slices of this object can't
// be combined.
func (h *Finder) FetchSlices(q *Request, e *cache.Entry, mayStore bool) objects.Fetch {
	version, ok := versionOf(e)
	if !ok {
		return nil
	}
	return func(s slicing.Span) (io.ReadCloser, slicing.Span, error) {
		asked := h.Cache.Generation()
		r := q.Upstream(nil)
		r.Interim = nil // the response may have begun
		r.Header = r.Header.Clone()
		r.Header.Set("Range", s.Field())
		r.Header.Set("If-Range", version.IfRange())
		a, err := h.Send(q, r)
		if err != nil {
			return nil, s, err
		}
		got, length, ok := s.Answers(a.Header, a.Length)
		if a.Status == http.StatusPartialContent && ok && version.Confirms(a.Header, length, a.ResponseTime) &&
			(!mayStore || h.ReplaceConfirmed(q, e, a, asked)) { // RFC 9111, section 3.4
			return a.Body, got, nil
		}
		a.Body.Close()
		if a.Status >= http.StatusBadRequest && !goneOrChanged(a.Status) {
			return nil, s, Failed(a) // it says nothing about the object
		}
		h.DropObject(q, e, ErrChanged)
		return nil, s, ErrChanged
	}
}

// goneOrChanged reports whether an error status says that an object is not the stored one any more.
func goneOrChanged(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusGone, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		return true
	}
	return false
}
