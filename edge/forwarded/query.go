package forwarded

import (
	"bytes"
	"io"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/upstream"
)

// maxKeyed is the length of the longest content that a cache key has, in bytes. The edge holds the
// content in memory while the request lasts.
const maxKeyed = 64 << 10

// passQuery answers a QUERY (RFC 10008), or a POST whose rule has key: {body: true}, as a GET whose
// key has the content too. With more than maxKeyed bytes, or with trailer fields, it is forwarded.
func (h *Answerer) passQuery(r *pipeline.Request, q *fetch.Request) (exchange.Outcome, error) {
	if q.Bypasses || len(q.Trailer.Announced) > 0 {
		return h.passUncached(r, q)
	}
	whole, err := holdContent(q)
	switch {
	case err != nil: // the client's failure
		return exchange.Refused, pipeline.Unreadable(err)
	case !whole:
		return h.passUncached(r, q)
	}
	q.KeyContent()
	h.keyedContent.Store(true)
	return h.passGet(r, q)
}

// holdContent reads the content of a request into memory, where it outlives the request, because a
// fetch does so too. It reports whether it is short enough to be in the key.
func holdContent(q *fetch.Request) (whole bool, err error) {
	u := q.Upload
	switch {
	case u == nil && len(q.Body) > maxKeyed, u != nil && u.Length > maxKeyed:
		return false, nil
	case u == nil:
		q.Body = bytes.Clone(q.Body)
		return true, nil
	}
	read, err := io.ReadAll(io.LimitReader(u.From, maxKeyed+1))
	if err != nil {
		return false, err
	}
	u.Expects = false // the client has sent it
	delete(q.Header, "Expect")
	if len(read) > maxKeyed {
		u.From = io.MultiReader(bytes.NewReader(read), u.From)
		return false, nil
	}
	q.Body, q.Upload, q.Trailer = read, nil, upstream.Trailer{}
	return true, nil
}
