package edge

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/problem"
)

// found is an answer, and how it was come by.
type found struct {
	entry   *cache.Entry
	stream  io.ReadCloser // of the body, while it still comes; nil: the entry has it
	length  int64         // of the stream; -1: unknown
	relayed bool          // the origin saw this very request: conditions and ranges are its business
	aged    bool          // it was not made for this request: its Age is told
	outcome outcome
}

// An asker gets the answer to an inquiry from the origin; stale is what is stored of it, for a conditional request.
type asker func(q *inquiry, stale *cache.Entry) cache.Landing

// tries is how often a request looks again where the answer that it waited for was another's variant.
const tries = 3

// find looks an inquiry up, and asks the origin where it must. It leaves in r what the cache did.
func (h *handler) find(r *request, q *inquiry, ask asker) (f found, err error) {
	came := h.cache.Now()
	for range tries {
		e, why := h.lookup(q)
		r.forward = why
		verdict := cachepolicy.Revalidate
		if e != nil {
			verdict = cachepolicy.Decide(e.Freshness(), q.asks, r.now)
		}
		if e == nil {
			if p := h.absent(q.name, r.now); p != nil {
				return found{outcome: outcomeRefused}, p
			}
		}
		switch {
		case verdict == cachepolicy.Fresh:
			return r.hit(e, outcomeHit), nil
		case verdict == cachepolicy.StaleWhileRevalidate:
			h.fly(q, e, r.now, ask) // behind the client's back
			return r.hit(e, outcomeStale), nil
		case q.asks.Directives.OnlyIfCached:
			return found{outcome: outcomeRefused}, notStored()
		}
		l, began := h.land(r, q, e, came, ask)
		if l.Err != nil {
			return r.without(q, e, l.Err)
		}
		if f, ok := r.landed(q, l, began); ok {
			return f, nil
		}
	}
	return r.alone(ask(q, nil))
}

// land waits for the one request to the origin that is made for all who ask the same. Where the last answer could not be shared
// nobody waits for anybody; and who came at a mark does not get what was dropped before it.
func (h *handler) land(r *request, q *inquiry, e *cache.Entry, came cache.Mark, ask asker) (l cache.Landing, began bool) {
	if e != nil && e.Freshness().Fresh(r.now) {
		r.forward = cachepolicy.ForwardRequest // the client's own directives ask for it
	}
	if q.asks.Directives.NoStore || h.cache.Alone(q.flight(e), r.now) {
		return ask(q, e), true
	}
	seat, err := h.waiting.enter(plainConn(r.ctx), r.now)
	if err != nil {
		return cache.Landing{Err: err}, false
	}
	defer h.waiting.leave(seat)
	flight, began := h.fly(q, e, r.now, ask)
	l = flight.Wait(h.waits(r, q, e, flight), seat.left)
	l.Shared = l.Shared && !h.cache.Outdates(flight, l.Entry, came)
	return l, began
}

// hesitation is how long an origin may take before it counts as failing for those who have a stale answer.
const hesitation = 500 * time.Millisecond

// waits is how long a request waits for a flight. Who has an answer that may be used when the origin fails does not wait for the deadline
// to learn that it does (RFC 5861, section 4); when the flight lands, what it brings is there for those who ask then.
func (h *handler) waits(r *request, q *inquiry, e *cache.Entry, f *cache.Flight) time.Duration {
	if e == nil || !cachepolicy.MayServeStale(e.Freshness(), q.asks, cachepolicy.FailureStatus, r.now) {
		return h.patience
	}
	return min(h.patience, hesitation-f.Age(r.now))
}

// notStored answers only-if-cached (RFC 9111, section 5.2.1.7).
func notStored() *problem.Problem {
	return problem.New(http.StatusGatewayTimeout, "only a stored answer was asked for, and none that may be used is there")
}

// fly begins the flight of an inquiry, or joins it.
func (h *handler) fly(q *inquiry, stale *cache.Entry, now time.Time, ask asker) (*cache.Flight, bool) {
	usable := func() *cache.Entry {
		e, _ := h.lookup(q)
		if e == nil || cachepolicy.Decide(e.Freshness(), q.asks, now) == cachepolicy.Revalidate {
			return nil
		}
		return e
	}
	return h.cache.Fly(q.flight(stale), stale, now, usable, func() cache.Landing {
		l := ask(q, stale)
		if l.Err == nil && !l.Shared {
			h.cache.Leave(q.flight(stale), time.Now())
		}
		return l
	})
}

// flight is the name under which requests for the same answer meet: variants that are known apart do not wait for each other.
func (q *inquiry) flight(stale *cache.Entry) string {
	if stale == nil || stale.Secondary == "" {
		return q.key
	}
	return q.key + "\x00" + stale.Secondary
}

// onlyIfCached is the one directive of clients that counts on our own routes.
func onlyIfCached(ctx *fasthttp.RequestCtx) bool {
	v := ctx.Request.Header.Peek(fasthttp.HeaderCacheControl)
	return len(v) > 0 && cachepolicy.ParseCacheControl(string(v)).OnlyIfCached
}

// hit is a stored answer.
func (r *request) hit(e *cache.Entry, o outcome) found {
	e.Hit()
	r.status = cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: e.Freshness().TTL(r.now)}
	return found{entry: e, aged: true, outcome: o}
}

// landed is what a flight brought: the answer to this request, or to another that was under way. It is not ok where the answer
// is for that other request alone.
func (r *request) landed(q *inquiry, l cache.Landing, began bool) (f found, ok bool) {
	if l.Found {
		return r.hit(l.Entry, outcomeHit), true
	}
	if began {
		f, err := r.alone(l)
		return f, err == nil
	}
	if !l.Shared || !q.matches(l.Entry) {
		return found{}, false
	}
	f = found{entry: l.Entry, aged: true, outcome: outcomeCollapsed}
	if l.Stream != nil {
		stream, err := l.Stream.Reader()
		if err != nil {
			return found{}, false // its beginning is no longer held
		}
		f.stream, f.length = stream, l.Stream.Length()
	}
	r.status = cachepolicy.CacheStatus{Forward: r.forward, Collapsed: true}
	return f, true
}

// alone is the answer to this request's own question.
func (r *request) alone(l cache.Landing) (found, error) {
	r.status = cachepolicy.CacheStatus{Forward: r.forward, Stored: l.Stored}
	if l.Err != nil {
		return found{}, l.Err
	}
	f := found{entry: l.Entry, aged: l.Entry.Policy.AgeAt(r.now) >= time.Second, outcome: outcomeMiss}
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

// without answers when the origin does not: with a stale copy where one may be used (RFC 9111, section 4.2.4; RFC 5861,
// section 4), else with the problem.
func (r *request) without(q *inquiry, e *cache.Entry, err error) (found, error) {
	failure := cachepolicy.FailureLost
	if errors.Is(err, errStatus) {
		failure = cachepolicy.FailureStatus
	}
	if e != nil && cachepolicy.MayServeStale(e.Freshness(), q.asks, failure, r.now) {
		f := r.hit(e, outcomeStale)
		r.status.Detail = "the origin failed"
		return f, nil
	}
	r.status = cachepolicy.CacheStatus{Forward: r.forward}
	if errors.Is(err, cache.ErrLate) {
		err = late().Because(err)
	}
	if errors.Is(err, cache.ErrLeft) {
		err = crowded() // it may have closed one direction alone
	}
	return found{}, err
}
