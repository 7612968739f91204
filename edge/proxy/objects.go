package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/slicing"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
)

// Large objects are stored in slices on disk, apart from their entry, which has everything but the
// body. The entry is in the cache as soon as the head of the response has arrived. It alone decides
// whether the object may be used: a purge, a revalidation or a newer response concerns the entry,
// and slices without an entry are unreachable.

// defaultMaxObject is the length of the largest object that is stored in slices, in bytes.
const defaultMaxObject = 1 << 30

// errChanged means that the origin has another version of an object than the stored slices.
var errChanged = errors.New("the origin has another version of the object")

// maxSliced returns the length of the largest body that is stored in slices; 0: none is.
func (h *Proxy) maxSliced() int64 {
	return min(cmp.Or(h.Options.Bounds.MaxObject, defaultMaxObject), h.Options.Cache.MaxSliced())
}

// A rangeRequest is the Range of a client in a request for an object that may not be stored yet.
type rangeRequest struct {
	field, ifRange []string // of the client
	// first is the span of slices that the origin is asked for; empty: the whole object.
	first slicing.Span
}

// takeRange takes Range and If-Range out of a fetch request whose Range the cache may be able to
// answer itself, and reports whether it could. Otherwise the origin has to answer the Range. e is
// the stored response, if there is one.
func (h *Proxy) takeRange(q *fetchRequest, e *cache.Entry, now time.Time) bool {
	if len(q.header["Range"]) != 1 || q.policy.Directives.NoStore {
		return false
	}
	first, what := slicing.ParseRange(q.header["Range"][0])
	switch {
	case e != nil && e.IsObject() && e.Freshness().Fresh(now):
		if _, _, outcome := cachepolicy.ParseRange(q.header["Range"][0], e.Object.Length); outcome == cachepolicy.RangeWhole {
			return false // several ranges
		}
	case what == slicing.Opaque, what == slicing.Part && h.maxSliced() == 0:
		return false
	case q.policy.Authorized: // the client's signature may cover its Range
		return false
	case h.Options.Cache.IsHitForPass(q.passKey(q.key), now), h.Options.Cache.IsHitForPass(unsliceableKey(q), now):
		return false
	}
	q.ranged = &rangeRequest{q.header["Range"], q.header["If-Range"], first}
	delete(q.header, "Range")
	delete(q.header, "If-Range")
	return true
}

// giveRangeBack undoes takeRange.
func (q *fetchRequest) giveRangeBack() {
	q.header["Range"] = q.ranged.field
	if q.ranged.ifRange != nil {
		q.header["If-Range"] = q.ranged.ifRange
	}
	q.ranged = nil
}

// wantsPart reports whether the origin is asked for slices.
func (q *fetchRequest) wantsPart() bool { return q.ranged != nil && q.ranged.first.Len() > 0 }

// unsliceableKey returns the key of the marker that slices of a response can't be combined, so that
// the origin gets the client's own ranges.
func unsliceableKey(q *fetchRequest) string { return q.passKey(q.key) + "\x00slices" }

// unsliceable stands for a 206 whose parts can't be combined with others.
var unsliceable = &cache.Entry{Status: http.StatusPartialContent}

// storeWhole makes a result of a 200 that is too large for the memory: its slices are stored while
// it arrives. ok is false if it can't be stored in slices.
func (h *Proxy) storeWhole(f *forwardedResponse, asked cache.Generation) (l collapse.Result, ok bool) {
	a := f.response
	if a.Status != http.StatusOK || f.q.policy.Method != http.MethodGet || f.q.unsliced || !f.sharing.Storable || a.Length <= h.maxObject() || a.Length > h.maxSliced() {
		return l, false
	}
	object := cache.Object{ID: newObjectID(), Length: a.Length}
	return h.storeObject(f, object, slicing.Span{To: a.Length}, asked)
}

// storePart makes a result of the 206 to a request for slices: an entry for the whole object, some
// of whose slices are arriving. stale is the stored response, if any.
func (h *Proxy) storePart(q *fetchRequest, stale *cache.Entry, a *upstream.Response, asked cache.Generation) collapse.Result {
	got, length, ok := q.ranged.first.Answers(a.Header, a.Length)
	version, strong := slicing.VersionOf(a.Header, length, a.ResponseTime)
	whole := *a
	whole.Status, whole.Header = http.StatusOK, a.Header.Clone()
	whole.Header.Del("Content-Range")
	whole.Header.Del("Content-Length")
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
		h.Options.Cache.MarkHitForPass(unsliceableKey(q), true, h.Options.Clock.Now())
	}
	a.Body.Close()
	return collapse.Result{Entry: unsliceable}
}

// storeObject stores the entry of an object, and begins to receive slices of it. ok is false, and
// nothing is received, if the entry can't be stored or too many transfers go on.
func (h *Proxy) storeObject(f *forwardedResponse, object cache.Object, span slicing.Span, asked cache.Generation) (l collapse.Result, ok bool) {
	receipt, ok := h.objects.Receive(object.ID, object.Length, span)
	if !ok {
		return l, false
	}
	shared := f.shared()
	shared.SetIdentity(nil, f.header.Get("Etag"))
	f.entry.SetIdentity(nil, f.etag)
	for _, e := range [...]*cache.Entry{shared, f.entry} {
		e.DisableCodings()
		e.Object = object
	}
	if l = h.store(f.q, shared, f.sharing, asked); !l.Stored {
		receipt.Cancel()
		f.entry.Object = cache.Object{}
		return l, false
	}
	receipt.Begin(f.response.Body, func(err error) { h.objectEnded(f.q, shared, span, err) })
	l.Entry, l.Shared = f.entry, shared
	return l, true
}

// objectEnded is called when a transfer has ended. A whole object that did not arrive or could not
// be stored is dropped. Slices that arrived before a connection broke are good; those of a body
// with a wrong length are not.
func (h *Proxy) objectEnded(q *fetchRequest, e *cache.Entry, span slicing.Span, err error) {
	if err == nil || h.hits.Draining() {
		return
	}
	if whole := span.Len() == e.Object.Length; whole || errors.Is(err, objects.ErrLength) {
		h.dropObject(q, e, err)
	}
}

// dropObject removes the entry of an object, if it is still stored. Then nothing refers to the
// slices any more.
func (h *Proxy) dropObject(q *fetchRequest, e *cache.Entry, why error) {
	if !h.dropIf(e, func(stored *cache.Entry) bool { return stored != nil && stored.Object.ID == e.Object.ID }) {
		return
	}
	h.objects.Drop()
	h.Options.Log.Warn("large object dropped from the cache", "path", string(accesslog.Redacted([]byte(q.target))), "bytes", e.Object.Length, "reason", why)
}

// newObjectID returns a random number for an object. It is never 0.
func newObjectID() uint64 { return rand.Uint64() | 1 }

// versionOf returns the version of a stored object. ok is false if the entry is none, or has no
// strong validator.
func versionOf(e *cache.Entry) (v slicing.Version, ok bool) {
	if e == nil || !e.IsObject() {
		return v, false
	}
	fields := header(e)
	fields.Set("Date", string(e.Date))
	return slicing.VersionOf(fields, e.Object.Length, e.Policy.Stored)
}

// fetchSlices returns a function that fetches missing slices of an object with the fields of this
// request, and are going to be stored if mayStore is true. It is nil if slices of this object can't
// be combined.
func (h *Proxy) fetchSlices(q *fetchRequest, e *cache.Entry, mayStore bool) objects.Fetch {
	version, ok := versionOf(e)
	if !ok {
		return nil
	}
	return func(s slicing.Span) (io.ReadCloser, slicing.Span, error) {
		asked := h.Options.Cache.Generation()
		r := q.upstream(nil)
		r.Interim = nil // the response may have begun
		r.Header = r.Header.Clone()
		r.Header.Set("Range", s.Field())
		r.Header.Set("If-Range", version.IfRange())
		a, err := h.request(q, r)
		if err != nil {
			return nil, s, err
		}
		got, length, ok := s.Answers(a.Header, a.Length)
		if a.Status == http.StatusPartialContent && ok && version.Confirms(a.Header, length, a.ResponseTime) &&
			(!mayStore || h.replaceConfirmed(q, e, a, asked)) { // RFC 9111, section 3.4
			return a.Body, got, nil
		}
		a.Body.Close()
		if a.Status >= http.StatusBadRequest && !goneOrChanged(a.Status) {
			return nil, s, failed(a) // it says nothing about the object
		}
		h.dropObject(q, e, errChanged)
		return nil, s, errChanged
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

// serveObject answers a request with a stored object: with all of it or the part that the client
// asked for. It fetches the slices that are missing.
func (h *Proxy) serveObject(r *request, q *fetchRequest, f found) (exchange.Outcome, error) {
	e := f.entry
	length := e.Object.Length
	if r.ctx.IsHead() || conditional(r, e.Identity().ETag, e) != http.StatusOK {
		h.finish(r, f) // without the body
		return f.outcome, nil
	}
	span, part, err := requestedPart(r, e, length)
	if err != nil {
		return f.outcome, err
	}
	if state := h.objects.State(e.Object.ID, length, span); f.outcome == exchange.Hit && state != objects.Stored {
		if q.policy.Directives.OnlyIfCached {
			return exchange.Refused, notStored()
		}
		r.status = cachepolicy.CacheStatus{Forward: cachepolicy.ForwardPartial, Stored: true}
		if f.outcome = exchange.Miss; state == objects.Arriving {
			f.outcome, r.status.Stored, r.status.Collapsed = exchange.Collapsed, false, true
		}
	}
	// A cache may answer a request with Authorization from a stored response, whose other parts it
	// may not store with these credentials (RFC 9111, section 3.5).
	mayStore := cachepolicy.Storable(q.policy, e.Status, header(e), r.now)
	reader := h.objects.Open(e.Object.ID, length, span, h.fetchSlices(q, e, mayStore), mayStore)
	if err := reader.Prepare(); err != nil {
		reader.Close()
		if errors.Is(err, objects.ErrMissing) {
			h.dropObject(q, e, err)
			err = errChanged
		}
		return exchange.Failed, upstreamProblem(err)
	}
	f.stream, f.length, f.part = reader, span.Len(), part
	h.finish(r, f)
	return f.outcome, nil
}

// upstreamProblem returns an error of a transfer as a problem. errChanged stays as it is, because
// the caller then starts again.
func upstreamProblem(err error) error {
	if p := (*problem.Problem)(nil); errors.Is(err, errChanged) || errors.As(err, &p) {
		return err
	}
	return problem.New(http.StatusBadGateway, "the origin's response was incomplete; trying again in a moment may help").
		With("Retry-After", "1").Because(err)
}

// requestedPart returns the span of a body of a length that a client asked for, and its
// Content-Range; empty: the client gets the whole body. The error is a 416.
func requestedPart(r *request, e *cache.Entry, length int64) (s slicing.Span, field string, err error) {
	whole := slicing.Span{To: length}
	asked := r.ctx.Request.Header.PeekAll(fasthttp.HeaderRange)
	if len(asked) != 1 || !r.ctx.IsGet() || !r.joins(e, e.Identity().ETag) {
		return whole, "", nil
	}
	off, n, what := cachepolicy.ParseRange(string(asked[0]), length)
	switch what {
	case cachepolicy.RangePart:
		return slicing.Span{From: off, To: off + n}, contentRange(off, n, length), nil
	case cachepolicy.RangeUnsatisfiable:
		return s, "", problem.New(http.StatusRequestedRangeNotSatisfiable, "the range lies outside the body").
			With(fasthttp.HeaderContentRange, "bytes */"+strconv.FormatInt(length, 10))
	}
	return whole, "", nil
}

// cutStream makes a 206 of a 200 whose body is still arriving and whose range the client asked for.
func cutStream(r *request, f *found) error {
	if f.stream == nil || f.length <= 0 || f.entry.Status != http.StatusOK || f.relayed {
		return nil
	}
	span, part, err := requestedPart(r, f.entry, f.length)
	if err != nil || part == "" {
		return err
	}
	f.stream, f.length, f.part = &cutBody{f.stream, span.From, span.Len()}, span.Len(), part
	return nil
}

// A cutBody is a part of a body: left bytes after the first skip bytes.
type cutBody struct {
	io.ReadCloser
	skip, left int64
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.skip > 0 {
		n, err := io.CopyN(io.Discard, b.ReadCloser, b.skip)
		if b.skip -= n; err != nil {
			return 0, fmt.Errorf("skipping to the range: %w", cmp.Or(err, io.ErrUnexpectedEOF))
		}
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
