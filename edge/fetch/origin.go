package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/observe/accesslog"
	"github.com/iconedge/iconedge/edge/observe/requestid"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/internal/trace"
)

// FetcherOptions configures a fetcher.
type FetcherOptions struct {
	Life       context.Context // ends when the edge has drained
	Client     *upstream.Client
	MaxWaiting int // requests that wait for the origin at a time
	Metrics    *observe.Metrics
	Tracer     *trace.Tracer // nil: no traces
	IDs        requestid.Mode
	State      *library.OriginState
	Clock      clock.Clock // of the times of responses
}

// A Fetcher sends requests to the origin, and records them.
type Fetcher struct {
	options FetcherOptions
	limiter *concurrencyLimiter
}

// NewFetcher returns a fetcher.
func NewFetcher(o FetcherOptions) *Fetcher {
	return &Fetcher{o, newConcurrencyLimiter(o.MaxWaiting)}
}

// RoundTrip sends a request to the origin and records it in the trace, if there is one. It ends
// with the edge, not with a client. Its errors are problems.
func (o *Fetcher) RoundTrip(f *pipeline.Traced, r upstream.Request) (*upstream.Response, error) {
	return o.roundTripTo(o.options.Client, f, r)
}

// roundTripTo is RoundTrip with the client of another origin.
func (o *Fetcher) roundTripTo(c *upstream.Client, f *pipeline.Traced, r upstream.Request) (*upstream.Response, error) {
	if r.Upload == nil { // otherwise the memory for bodies limits them, because they last for long
		if err := o.limiter.beginFetch(); err != nil {
			return nil, err
		}
		defer o.limiter.endFetch()
	}
	start := time.Now()
	sent := o.options.Clock.At(start)
	span := o.traceFetch(f, &r, start)
	a, err := c.Do(o.options.Life, r)
	span.End(time.Now(), fetchAttributes(r, a, err))
	o.options.Metrics.Fetched(time.Since(start), err)
	if err == nil {
		a.RequestTime, a.ResponseTime = sent, o.options.Clock.At(a.ResponseTime)
		o.options.State.Record(a)
		if o.options.IDs.On() { // one request has the id, and the response may be for many
			delete(a.Header, upstream.FieldRequestID)
		}
	}
	return a, err
}

// refusal returns the problem with which roundTripTo would end at once, because the circuit breaker
// of each origin is open, and counts it in the same way; nil: it would not.
func (o *Fetcher) refusal(c *upstream.Client) error {
	p := c.Refusal(time.Now())
	if p == nil {
		return nil
	}
	o.options.Metrics.Fetched(0, p)
	return p
}

// FetchWhole fetches a whole response from the origin.
func (o *Fetcher) FetchWhole(f *pipeline.Traced, r upstream.Request) (*upstream.WholeResponse, error) {
	a, err := o.RoundTrip(f, r)
	if err != nil {
		return nil, err
	}
	body, err := a.Whole(MaxOwn)
	return &upstream.WholeResponse{Response: a, Content: body}, err
}

// FetchUntraced fetches a whole response for no single request.
func (o *Fetcher) FetchUntraced(r upstream.Request) (*upstream.WholeResponse, error) {
	return o.FetchWhole(nil, r)
}

// traceFetch makes a request to the origin part of the trace, by its header fields. If this edge
// exports traces, the origin does not decide which requests are traced.
func (o *Fetcher) traceFetch(f *pipeline.Traced, r *upstream.Request, now time.Time) *trace.Span {
	span, parent := f.Span().Client(now), f.Outgoing()
	switch {
	case span != nil:
		parent = span.Parent()
	case !parent.Valid():
		parent = o.options.Tracer.Untraced()
	}
	if !parent.Valid() {
		return nil
	}
	if r.Header = r.Header.Clone(); r.Header == nil {
		r.Header = http.Header{}
	}
	parent.Put(r.Header)
	return span
}

// CheckToken asks the origin for its verdict on a token. Any response without a verdict is an
// error, and its errors are problems for the client.
func (o *Fetcher) CheckToken(token string, sendTierSecret bool) (plan string, valid bool, err error) {
	body, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		return "", false, err
	}
	header := http.Header{"Accept-Encoding": {"identity"}, "Content-Type": {"application/json"}}
	a, err := o.FetchWhole(nil, upstream.Request{Method: http.MethodPost, Target: routes.VerifyPath, Header: header,
		Body: body, SendTierSecret: sendTierSecret, StrictLength: true})
	if err != nil {
		return "", false, err
	}
	var said struct {
		icon.VerifyAnswer
		Valid *bool `json:"valid"`
	}
	if a.Status != http.StatusOK || json.Unmarshal(a.Content, &said) != nil || said.Valid == nil {
		return "", false, Failed(a.Response)
	}
	return said.Plan, *said.Valid, nil
}

const (
	// searchPause is the minimum time between two searches for clients that have left.
	searchPause = 50 * time.Millisecond
	// searched is how many slots a search examines. Map order makes each search pick others.
	searched = 200
	// orphans is how many requests to the origin there may be for each slot. They can outnumber the
	// slots, because a request to the origin goes on after its last client has left.
	orphans = 2
)

// The concurrency limiter has a fixed number of slots for requests that wait for the origin.
// When all are taken, it refuses at once each request that the cache can't answer (load shedding).
// So an origin that hangs does not use up memory, nor slow down requests that the cache can answer.
type concurrencyLimiter struct {
	max     int
	shed    atomic.Int64
	fetches atomic.Int64 // requests to the origin in flight
	mu      sync.Mutex
	slots   map[*slot]struct{}
	last    time.Time // of the last search
}

// A slot is a slot, taken by one request.
type slot struct {
	conn       interface{ ClientGone() bool }
	ClientGone chan struct{} // closed when the slot is freed because the client has left; or nil
}

func newConcurrencyLimiter(places int) *concurrencyLimiter {
	return &concurrencyLimiter{max: places, slots: map[*slot]struct{}{}}
}

// acquire takes a slot, or returns the problem for overload. The caller gives the slot back with
// leave.
func (w *concurrencyLimiter) acquire(conn interface{ ClientGone() bool }, now time.Time) (*slot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.slots) >= w.max && now.Sub(w.last) >= searchPause {
		w.last = now
		w.reclaim()
	}
	if p := w.take(conn, make(chan struct{})); p != nil {
		return p, nil
	}
	w.shed.Add(1)
	return nil, pipeline.Overloaded()
}

// tryAcquire takes a slot, which does not report that its client has left, or returns nil. It looks
// for no client that has left, because that takes too long on an event loop.
func (w *concurrencyLimiter) tryAcquire(conn interface{ ClientGone() bool }) *slot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.take(conn, nil)
}

func (w *concurrencyLimiter) take(conn interface{ ClientGone() bool }, clientGone chan struct{}) *slot {
	if len(w.slots) >= w.max {
		return nil
	}
	p := &slot{conn, clientGone}
	w.slots[p] = struct{}{}
	return p
}

// reclaim frees the slots of clients that have left.
func (w *concurrencyLimiter) reclaim() {
	looked := 0
	for p := range w.slots {
		if looked++; looked > searched {
			return
		}
		if p.conn.ClientGone() {
			delete(w.slots, p)
			if p.ClientGone != nil {
				close(p.ClientGone)
			}
		}
	}
}

func (w *concurrencyLimiter) release(p *slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.slots, p)
}

func (w *concurrencyLimiter) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.slots)
}

// beginFetch counts a request to the origin, or returns the problem for overload. After the request
// the caller calls answered.
func (w *concurrencyLimiter) beginFetch() error {
	if w.fetches.Add(1) > orphans*int64(w.max) {
		w.fetches.Add(-1)
		w.shed.Add(1)
		return pipeline.Overloaded()
	}
	return nil
}

func (w *concurrencyLimiter) endFetch() { w.fetches.Add(-1) }

// Acquire takes a place among the requests that wait for the origin, or returns the problem for
// overload. The caller gives the place back by release.
func (o *Fetcher) Acquire(conn interface{ ClientGone() bool }, now time.Time) (*slot, error) {
	return o.limiter.acquire(conn, now)
}

func (o *Fetcher) Release(p *slot) { o.limiter.release(p) }

// Client returns the client of the origin.
func (o *Fetcher) Client() *upstream.Client { return o.options.Client }

// IsLoop reports whether a request with these lines of CDN-Loop has passed through this edge
// before (RFC 8586).
func (o *Fetcher) IsLoop(lines [][]byte) bool {
	return o.options.Client.IsLoop(exchange.Texts(lines))
}

// Waiting returns the number of requests that wait for the origin.
func (o *Fetcher) Waiting() int { return o.limiter.waiting() }

// Refused returns the number of requests that load shedding has refused.
func (o *Fetcher) Refused() int64 { return o.limiter.shed.Load() }

// fetchAttributes returns the trace's description of a request to the origin, and of its response,
// if there is one.
func fetchAttributes(r upstream.Request, a *upstream.Response, err error) trace.Exchange {
	e := trace.Exchange{Method: r.Method, Path: accesslog.Path([]byte(r.Target)), Err: err}
	if a != nil {
		e.Host, e.Status = a.Host, a.Status
	}
	return e
}

// MaxOwn limits a response on our own routes, in bytes. It is always held whole.
const MaxOwn = 16 << 20

// errStatus reports that the origin answered with an error status.
var errStatus = errors.New("the origin answered with an error status")

// Failed returns the problem for an origin's error response. Our own routes never pass its body on.
// An origin without a release is a 503 and not a 502, because another call after a second would not
// help.
func Failed(a *upstream.Response) error {
	if a.Status == http.StatusServiceUnavailable && library.WithoutRelease(a) {
		return problem.New(http.StatusServiceUnavailable,
			"not ready: the origin has no release yet, or is still reading it; trying again later may help").
			With("Retry-After", "5").Because(fmt.Errorf("%w: %w", errStatus, pipeline.ErrUnready)).
			OfType(problem.DestinationUnavailable)
	}
	return problem.New(http.StatusBadGateway, "the origin failed; trying again in a moment may help").
		With("Retry-After", "1").Because(fmt.Errorf("%w: %d", errStatus, a.Status)).OfType(problem.DestinationUnavailable)
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
