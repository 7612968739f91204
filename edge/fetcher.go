package edge

import (
	"context"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/trace"
)

// A fetcher sends requests to the origin, and records them.
type fetcher struct {
	life    context.Context // ends when the edge has drained
	client  *upstream.Client
	limiter *concurrencyLimiter
	metrics *observe.Metrics
	tracer  *trace.Tracer
	state   *library.OriginState
}

// roundTrip sends a request to the origin and records it in the trace, if there is one. It ends
// with the edge, not with a client. Its errors are problems.
func (o *fetcher) roundTrip(f *traced, r upstream.Request) (*upstream.Response, error) {
	if err := o.limiter.beginFetch(); err != nil {
		return nil, err
	}
	defer o.limiter.endFetch()
	start := time.Now()
	span := o.traceFetch(f, &r, start)
	a, err := o.client.Do(o.life, r)
	span.End(time.Now(), fetchAttributes(r, a, err))
	o.metrics.Fetched(time.Since(start), err)
	if err == nil {
		o.state.Record(a)
	}
	return a, err
}

// fetchWhole fetches a whole response from the origin.
func (o *fetcher) fetchWhole(f *traced, r upstream.Request) (*upstream.WholeResponse, error) {
	a, err := o.roundTrip(f, r)
	if err != nil {
		return nil, err
	}
	body, err := a.Whole(maxOwn)
	return &upstream.WholeResponse{Response: a, Content: body}, err
}

// fetchUntraced fetches a whole response for no single request.
func (o *fetcher) fetchUntraced(r upstream.Request) (*upstream.WholeResponse, error) {
	return o.fetchWhole(nil, r)
}

// traceFetch makes a request to the origin part of the trace, by its header fields. If this edge
// exports traces, the origin does not decide which requests are traced.
func (o *fetcher) traceFetch(f *traced, r *upstream.Request, now time.Time) *trace.Span {
	span, parent := f.span().Client(now), f.outgoing()
	switch {
	case span != nil:
		parent = span.Parent()
	case !parent.Valid():
		parent = o.tracer.Untraced()
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
