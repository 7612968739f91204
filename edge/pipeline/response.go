package pipeline

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/upstream"
)

// A Response is the response to a request, and how the edge got it.
type Response struct {
	Entry   *cache.Entry
	Stream  io.ReadCloser     // of the body, while it still arrives; nil: the entry has the body
	Length  int64             // of stream; -1: unknown
	Part    string            // the Content-Range of stream; empty: it is the whole body
	Trailer *collapse.Trailer // the trailer fields; nil: none
	Relayed bool              // the origin has evaluated the request's conditions and ranges
	Aged    bool              // not made for this request: sent with an Age
	Outcome exchange.Outcome
}

// Hit returns a stored response.
func (r *Request) Hit(e *cache.Entry, o exchange.Outcome) Response {
	e.Hit()
	r.Status = cachepolicy.CacheStatus{Hit: true, HasTTL: true, TTL: e.Freshness().TTL(r.Now)}
	return Response{Entry: e, Aged: true, Outcome: o}
}

// Collapsed returns the response to another client's request, which arrived at now, unless the
// stream of its body no longer holds the beginning.
func (r *Request) Collapsed(l collapse.Result, now time.Time) (f Response, ok bool) {
	f = Response{Entry: l.ForOthers(), Trailer: l.Trailer, Aged: true, Outcome: exchange.Collapsed}
	if l.Stream != nil {
		stream, err := l.Stream.Reader()
		if err != nil {
			return Response{}, false
		}
		f.Stream, f.Length = stream, l.Stream.Length()
	}
	r.Now = now
	r.Status = cachepolicy.CacheStatus{Forward: r.Forward, Collapsed: true}
	return f, true
}

// Uncollapsed returns the response to the request that was sent for this client alone.
func (r *Request) Uncollapsed(l collapse.Result) (Response, error) {
	r.Status = cachepolicy.CacheStatus{Forward: r.Forward, Stored: l.Stored}
	if l.Err != nil {
		return Response{}, l.Err
	}
	f := Response{Entry: l.Entry, Trailer: l.Trailer, Aged: l.Entry.Policy.AgeAt(r.Now) >= time.Second, Outcome: exchange.Miss}
	if l.Stored {
		r.Status.HasTTL, r.Status.TTL = true, l.Entry.Freshness().TTL(r.Now)
	}
	if l.Stream == nil {
		return f, nil
	}
	var err error
	f.Length = l.Stream.Length()
	f.Stream, err = l.Stream.Reader()
	return f, err
}

// Stale returns a stored response because the origin failed.
func (r *Request) Stale(e *cache.Entry) Response {
	f := r.Hit(e, exchange.Stale)
	r.Status.Detail = "the origin failed"
	return f
}

// Failed returns the problem for an error of the origin.
func (r *Request) Failed(err error) error {
	r.Status = cachepolicy.CacheStatus{Forward: r.Forward}
	if errors.Is(err, collapse.ErrWaitTimeout) {
		return upstream.TimedOut().Because(err)
	}
	if errors.Is(err, collapse.ErrClientGone) {
		return Overloaded() // the client may have closed one direction only
	}
	return err
}

// Close closes the stream of the body, if there is one.
func (f Response) Close() {
	if f.Stream != nil {
		f.Stream.Close()
	}
}

// AgeToSend returns the Age to send with an entry. If its freshness lifetime was ended here, by a
// soft purge or because it is stored for moments only, the Age must make it stale to downstream
// caches too. Otherwise they would keep it for as long as its fields permit.
func AgeToSend(e *cache.Entry, now time.Time) time.Duration {
	p := e.Freshness()
	if p.SoftPurged = p.SoftPurged || StoredBriefly(e); !p.SoftPurged {
		return p.AgeAt(now)
	}
	h := Header(e)
	h.Set("Date", string(e.Date)) // Expires is relative to Date
	return p.AgeToSend(h, now)
}

// StoredBriefly reports whether a response of our own origin is stored for moments only.
func StoredBriefly(e *cache.Entry) bool {
	return e.Release != "" && e.Policy.Lifetime <= e.Policy.Age+OtherRelease
}

// Header returns the fields of an entry as the origin sent them, except those that were not stored.
func Header(e *cache.Entry) http.Header {
	h := http.Header{}
	for _, fields := range [][]cache.Field{e.Fields, e.FieldsWithBody} {
		for _, f := range fields {
			h.Add(string(f.Name), string(f.Value))
		}
	}
	if len(e.ContentType) > 0 {
		h.Set("Content-Type", string(e.ContentType))
	}
	if id := e.Identity(); id != nil && id.ETag != "" {
		h.Set("Etag", id.ETag)
	}
	if !e.Plain {
		compress.RemoveVary(h, e.Vary)
	}
	return h
}

// OtherRelease is the time for which the edge stores a response from a release that differs
// from the release that the edge knows. Either the edge or the origin is about to learn of a
// newer release, and the response may be from the older one.
const OtherRelease = 2 * time.Second
