package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// A found is the response to a request, and how the edge got it.
type found struct {
	entry   *cache.Entry
	stream  io.ReadCloser     // of the body, while it still arrives; nil: the entry has the body
	length  int64             // of stream; -1: unknown
	part    string            // the Content-Range of stream; empty: it is the whole body
	trailer *collapse.Trailer // the trailer fields; nil: none
	relayed bool              // the origin has evaluated the request's conditions and ranges
	aged    bool              // not made for this request: sent with an Age
	outcome exchange.Outcome
}

// fetchFunc is the type of the functions that fetch the response to a fetch request from the
// origin; stale is the stored response, if any, for a conditional request.
type fetchFunc func(q *fetchRequest, stale *cache.Entry) collapse.Result

// A finding is the record of one call of find. Each step fills it for the steps after it.
type finding struct {
	*request
	waiter
	q       *fetchRequest
	ask     fetchFunc
	stored  lookupResult // of the last lookup
	absent  *problem.Problem
	key     string          // under which the request collapses
	result  collapse.Result // of the last fetch
	arrived time.Time       // of result
}

// find looks a fetch request up in the cache, and sends a request to the origin if it must. It
// records in r what the cache did. It runs the states of states.go until one of them is the last.
func (h *Proxy) find(r *request, q *fetchRequest, ask fetchFunc) (found, error) {
	x := finding{request: r, q: q, ask: ask, waiter: waiter{came: h.Options.Cache.Generation(), afterMiss: stateJoin}}
	next := stateLookup
	if m, ok := r.Fetched.(*fastMiss); ok && m.q.key == q.key {
		r.Fetched = nil
		next = x.take(h, m)
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
			next = x.retry(h.Options.Clock.Now())
		case stateCollapsed:
			if f, ok := x.collapsed(x.result, x.arrived); ok {
				return f, nil
			}
			next = stateRetry
		case stateFetch:
			return x.uncollapsed(x.result)
		case stateDeliver:
			return x.hit(x.stored.entry, exchange.Hit), nil
		case stateRevalidate:
			h.refresh(q, x.stored, r.now, ask)
			return x.hit(x.stored.entry, exchange.Stale), nil
		case stateStale:
			return x.stale(x.stored.entry), nil
		case stateAbsent:
			return found{outcome: exchange.Refused}, x.absent
		case stateOnlyIfCached:
			return found{outcome: exchange.Refused}, notStored()
		case stateFail:
			return found{}, x.failed(x.result.Err)
		}
	}
}

// lookupStored looks the key up in the cache, and in the list of names.
func (h *Proxy) lookupStored(x *finding) state {
	x.stored = h.lookup(x.q)
	x.forward = x.stored.why
	if x.stored.entry == nil {
		x.absent = h.Options.Library.Absent(x.q.name, x.now)
	}
	return afterLookup(x.stored.entry, x.absent != nil, x.q.policy, x.now)
}

// miss looks for the hit-for-pass marker of the key.
func (h *Proxy) miss(x *finding) state {
	if e := x.stored.entry; e != nil && e.Freshness().Fresh(x.now) {
		x.forward = cachepolicy.ForwardRequest // the client's own directives require it
	}
	x.key = x.q.collapseKey(x.stored, x.waiter)
	return afterMiss(x.waiter, x.q.policy, h.Options.Cache.IsHitForPass(x.q.passKey(x.key), x.now))
}

// fetchAlone sends the request by itself.
func (h *Proxy) fetchAlone(x *finding) state {
	x.result = x.ask(x.q, x.stored.entry)
	if !x.q.policy.Directives.NoStore {
		h.markHitForPass(x.q, x.key, x.stored.entry, &x.result)
	}
	return afterFetch(x.stored.entry, &x.result, x.q.policy, x.now)
}

// fetchCollapsed joins the collapsed fetch of the key, or begins it, and waits for the result.
func (h *Proxy) fetchCollapsed(x *finding) state {
	e := x.stored.entry
	slot, err := h.Options.Origin.limiter.acquire(x.Conn, x.now)
	if err != nil {
		x.result = collapse.Result{Err: err}
		return afterFailure(e, err, x.q.policy, x.now)
	}
	defer h.Options.Origin.limiter.release(slot)
	fetch, began := h.join(x.q, e, x.key, x.came, x.now, x.ask, !cachepolicy.MayShareError(x.q.policy))
	x.result = fetch.Wait(h.waits(x.request, x.q, e, fetch), slot.clientGone)
	if x.result.Found {
		x.stored.entry = x.result.Entry
	}
	x.arrived = h.Options.Clock.Now()
	l := waited{Result: &x.result, began: began, invalidated: h.Options.Cache.InvalidatedSince(fetch, x.result.ForOthers(), x.came)}
	return afterJoin(e, l, x.q, x.now, x.arrived)
}

// retry looks the key up again. The request has waited, so that any response must be fresh at this
// later time.
func (x *finding) retry(now time.Time) state {
	x.waiter = x.afterUnusable(&x.result, x.q, now)
	x.now = now
	return stateLookup
}

// waits returns the time that a request waits for a fetch. A request that may use a stale response
// when the origin fails does not wait until the deadline for that (RFC 5861, section 4). The
// response of the fetch is stored for later requests.
func (h *Proxy) waits(r *request, q *fetchRequest, e *cache.Entry, f *collapse.Fetch) time.Duration {
	wait := h.Options.WaitTimeout
	if q.patience != nil {
		wait = q.patience.FirstByte + time.Second
	}
	if e == nil || !cachepolicy.MayServeStale(e.Freshness(), q.policy, cachepolicy.FailureStatus, r.now) {
		return wait
	}
	return min(wait, h.Options.Bounds.Hesitation-f.Age(r.now))
}

// notStored returns the 504 for only-if-cached (RFC 9111, section 5.2.1.7).
func notStored() *problem.Problem {
	return problem.New(http.StatusGatewayTimeout, "only-if-cached accepts only a stored response, and there is no usable one")
}

// refresh revalidates a stored response in the background, once at a time, and not within a second
// of a failure.
func (h *Proxy) refresh(q *fetchRequest, s lookupResult, now time.Time, ask fetchFunc) {
	h.join(q, s.entry, q.collapseKey(s, waiter{}), h.Options.Cache.Generation(), now, ask, false)
}

// join begins the collapsed fetch of a key, or joins it. With sendAnyway the request is sent even
// if an earlier failure is remembered.
func (h *Proxy) join(q *fetchRequest, stale *cache.Entry, key string, came cache.Generation, now time.Time, ask fetchFunc, sendAnyway bool) (*collapse.Fetch, bool) {
	return h.Options.Cache.Join(now, collapse.Call{
		Key: key, Stored: q.key, Failures: q.passKey(key), Stale: stale, Came: came, SendAnyway: sendAnyway,
		Find: func() *cache.Entry {
			e := h.lookup(q).entry
			if e == nil || cachepolicy.Decide(e.Freshness(), q.policy, now) == cachepolicy.Revalidate {
				return nil
			}
			return e
		},
		Usable: func(l *collapse.Result) bool { return cachepolicy.Usable(l.Collapsed(), q.policy, now) },
		Fetch:  func() collapse.Result { return h.fetchOnce(q, key, stale, ask) },
		Refuse: func() error { return h.Options.Origin.refusal(h.clientFor(q)) },
	})
}

// fetchOnce sends the request of a collapsed fetch.
func (h *Proxy) fetchOnce(q *fetchRequest, key string, stale *cache.Entry, ask fetchFunc) collapse.Result {
	defer h.logPanic(q)
	l := ask(q, stale)
	h.markHitForPass(q, key, stale, &l)
	return l
}

// logPanic logs a panic of a collapsed fetch with its stack and panics again. The cache makes the
// panic the error of the fetch, whose callers log only the error.
func (h *Proxy) logPanic(q *fetchRequest) {
	if p := recover(); p != nil {
		h.Options.Log.Error("panic while fetching", "method", q.policy.Method, "path", string(accesslog.Redacted([]byte(q.target))), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		panic(p)
	}
}

// markHitForPass marks a key whose response no other client may use, so that requests do not wait
// in vain for each other's. It removes the marker when the response is one that others may use. An
// error changes nothing.
func (h *Proxy) markHitForPass(q *fetchRequest, key string, stale *cache.Entry, l *collapse.Result) {
	if l.Err != nil || l.Entry.Status >= http.StatusInternalServerError || stale != nil && l.Entry.Status >= http.StatusBadRequest {
		return
	}
	plain := q.policy
	plain.Directives = cachepolicy.Directives{}
	now := h.Options.Clock.Now()
	h.Options.Cache.MarkHitForPass(q.passKey(key), !cachepolicy.Usable(l.Collapsed(), plain, now), now)
}

// collapseKey returns the key under which requests for the same response collapse. Requests for
// variants that are known to differ do not wait for each other, nor do those with fields of scripts
// for those without.
func (q *fetchRequest) collapseKey(s lookupResult, w waiter) string {
	key := q.key
	if variant := cmp.Or(s.variant, w.variant); variant != "" {
		key += "\x00" + variant
	}
	if len(q.policy.Scripted) > 0 {
		key += "\x00" + strings.Join(q.policy.Scripted, ",")
	}
	if w.collapses == withAnonymous {
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
	return key + hit.WithCredentials
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

// collapsed returns the response to another client's request, which arrived at now, unless the
// stream of its body no longer holds the beginning.
func (r *request) collapsed(l collapse.Result, now time.Time) (f found, ok bool) {
	f = found{entry: l.ForOthers(), trailer: l.Trailer, aged: true, outcome: exchange.Collapsed}
	if l.Stream != nil {
		stream, err := l.Stream.Reader()
		if err != nil {
			return found{}, false
		}
		f.stream, f.length = stream, l.Stream.Length()
	}
	r.now = now
	r.status = cachepolicy.CacheStatus{Forward: r.forward, Collapsed: true}
	return f, true
}

// uncollapsed returns the response to the request that was sent for this client alone.
func (r *request) uncollapsed(l collapse.Result) (found, error) {
	r.status = cachepolicy.CacheStatus{Forward: r.forward, Stored: l.Stored}
	if l.Err != nil {
		return found{}, l.Err
	}
	f := found{entry: l.Entry, trailer: l.Trailer, aged: l.Entry.Policy.AgeAt(r.now) >= time.Second, outcome: exchange.Miss}
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

// stale returns a stored response because the origin failed.
func (r *request) stale(e *cache.Entry) found {
	f := r.hit(e, exchange.Stale)
	r.status.Detail = "the origin failed"
	return f
}

// failed returns the problem for an error of the origin.
func (r *request) failed(err error) error {
	r.status = cachepolicy.CacheStatus{Forward: r.forward}
	if errors.Is(err, collapse.ErrWaitTimeout) {
		return upstream.TimedOut().Because(err)
	}
	if errors.Is(err, collapse.ErrClientGone) {
		return overloaded() // the client may have closed one direction only
	}
	return err
}

// A fastMiss is a request for an icon that is not stored, on the fast path. The collapsed fetch is
// that of the pipeline, and so are the bytes of the response; where another response than the icon
// is due, the pipeline answers.
type fastMiss struct {
	h       *Proxy
	q       *fetchRequest
	accept  string
	secure  bool
	arrived time.Time
	now     time.Time                             // the same by the clock of ages
	top     func(now time.Time, status, body int) // counts the response; nil: not in the sample
	slot    *slot
	ready   func(append func([]byte) []byte, result any)

	fetch  *collapse.Fetch
	began  bool // the request began it
	came   cache.Generation
	ended  atomic.Bool // the wait for it has
	result collapse.Result
}

// Fetch begins to fetch the icon that a request asks for; see h1.Fetcher. It returns nil if the
// pipeline has to answer.
func (h *Proxy) Fetch(q *eligible.Request, client interface{ ClientGone() bool }, ready func(func([]byte) []byte, any)) eligible.Pending {
	sites := h.current.Load()
	if h.hits.Draining() || h.Options.Redirect != "" && !q.Secure || q.Tier || q.Head || q.Authorization || q.Conditions.Any() || sites.Icons == nil || sites.Icons.Name != "" || h.Options.Reports.Tracer != nil || h.Options.Reports.Lines != nil {
		return nil
	}
	key := string(q.Target)
	if !hit.IsPlainIcon(key) || !h.hits.Knows(q.Host) || h.Options.Library.Known() == "" ||
		q.Fields.Line("cache-control", 0) != nil || q.Fields.Line("traceparent", 0) != nil || h.Options.Admission.Counts(routes.ClassCDN) {
		return nil
	}
	if _, ok := h.Options.Admission.AdmitFast(h.Options.Clients.OfEligible(q), h.Options.Clock.At(q.Now), routes.ClassCDN); !ok {
		return nil
	}
	name := strings.TrimSuffix(key[1:], ".svg")
	// Another path of this form, and a name that the origin lacks, are for the pipeline.
	if ref, err := icon.ParseRef(name); err != nil || !h.Options.Library.Has(ref) {
		return nil
	}
	m := &fastMiss{h: h, accept: string(q.AcceptEncoding), secure: q.Secure, arrived: q.Now, now: h.Options.Clock.At(q.Now), ready: ready}
	m.q = &fetchRequest{key: key, target: key, own: true, sendsTierSecret: h.Options.Library.MayGetSecret(true), name: name, header: h.fieldsFor(key), policy: cachepolicy.Request{Method: http.MethodGet, Target: key}}
	m.came = h.Options.Cache.Generation()
	if h.Options.Cache.Reads(key) {
		return nil // an event loop must not block
	}
	// The pipeline decides about a stored response: it may serve a stale one at once.
	if h.Options.Cache.IsHitForPass(key, m.now) || h.lookup(m.q).entry != nil {
		return nil
	}
	if m.slot = h.Options.Origin.limiter.tryAcquire(client); m.slot == nil {
		return nil
	}
	m.fetch, m.began = h.Options.Cache.Join(m.now, collapse.Call{
		Key: key, Stored: key, Failures: m.q.passKey(key), Came: m.came,
		Find:   func() *cache.Entry { return h.lookup(m.q).entry }, // the pipeline decides about it
		Fetch:  func() collapse.Result { return h.fetchOnce(m.q, key, nil, h.fetchAndStore) },
		Refuse: func() error { return h.Options.Origin.refusal(h.clientFor(m.q)) },
	})
	m.top = h.Options.Reports.CountLater(q)
	h.Options.Cache.Then(m.fetch, key, m.end)
	return m
}

// Due returns until when the client waits, as in the pipeline.
func (m *fastMiss) Due() time.Time { return m.arrived.Add(m.h.Options.WaitTimeout) }

// Expire ends the wait. The fetch goes on, and stores its response.
func (m *fastMiss) Expire() { m.end(collapse.Result{Err: collapse.ErrWaitTimeout}) }

// end ends the wait with a result, unless it has ended.
func (m *fastMiss) end(l collapse.Result) {
	if !m.ended.CompareAndSwap(false, true) {
		return
	}
	m.h.Options.Origin.limiter.release(m.slot)
	m.result = l
	m.ready(m.h.appendMiss(m), m)
}

// take makes the result of a fetch on the fast path that of the request, and returns the state that
// follows it.
func (x *finding) take(h *Proxy, m *fastMiss) state {
	x.forward, x.key, x.came, x.result, x.arrived = cachepolicy.ForwardURIMiss, m.q.key, m.came, m.result, h.Options.Clock.Now()
	switch {
	case m.result.Found:
		x.stored.entry = m.result.Entry
	case m.result.Err != nil: // a response may have been stored meanwhile
		x.stored = h.lookup(x.q)
	}
	return afterJoin(x.stored.entry, m.waited(h), x.q, x.now, x.arrived)
}

func (m *fastMiss) waited(h *Proxy) waited {
	return waited{Result: &m.result, began: m.began, invalidated: h.Options.Cache.InvalidatedSince(m.fetch, m.result.ForOthers(), m.came)}
}

// appendMiss returns the function that appends the response; nil: the pipeline has to answer.
func (h *Proxy) appendMiss(m *fastMiss) func([]byte) []byte {
	l, now := &m.result, h.Options.Clock.Now()
	e := l.Entry
	if l.Err != nil || l.Found || l.Stream != nil || !l.Stored || e.Status != http.StatusOK || e.Head == nil || h.hits.Draining() {
		return nil
	}
	switch afterJoin(nil, m.waited(h), m.q, m.now, now) {
	case stateFetch:
		now = m.now
	case stateCollapsed:
	default:
		return nil
	}
	v, coding := e.Choose(m.accept)
	if len(v.Body) > hit.MaxPrebuilt {
		return nil
	}
	t := respond.Head{Coding: coding, Length: len(v.Body), ETag: []byte(v.ETag), Ranges: coding == entry.Identity, Count: &access.Count{}}
	t.Status = cachepolicy.CacheStatus{Forward: cachepolicy.ForwardURIMiss, Collapsed: !m.began}
	outcome := exchange.Collapsed
	if m.began {
		outcome = exchange.Miss
		t.Status.Stored, t.Status.HasTTL, t.Status.TTL = true, true, e.Freshness().TTL(now)
	}
	if t.Aged = !m.began || e.Policy.AgeAt(now) >= time.Second || e.Freshness().SoftPurged; t.Aged {
		t.Age = ageToSend(e, now)
	}
	if m.secure {
		t.AltSvc = h.Options.AltSvc
	}
	return func(dst []byte) []byte {
		w := respond.Writer{Prebuilt: e.Head}
		dst = append(w.Append(append(dst, "HTTP/1.1 200 OK\r\n"...), &t), "\r\n"...)
		h.Options.Metrics.Answered(exchange.H1, routes.CDN, outcome, http.StatusOK, time.Since(m.arrived)).Send(len(v.Body))
		if m.top != nil {
			m.top(now, http.StatusOK, len(v.Body))
		}
		return append(dst, v.Body...)
	}
}
