package fetch

import (
	"cmp"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
)

// uncoded and inGzip have the fields of origin requests on our own routes. Origins of ours have
// icons in gzip, as they are published. The edge makes the other content codings itself.
var (
	uncoded = http.Header{"Accept-Encoding": {cachepolicy.Identity}}
	inGzip  = http.Header{"Accept-Encoding": {cachepolicy.Gzip}}
)

// fieldsFor returns the fields of the origin request for a cache key of our own routes.
func (h *Finder) fieldsFor(key string) http.Header {
	if routes.IsPublished(key) && h.Library.Known() != "" {
		return inGzip
	}
	return uncoded
}

// OwnRequest returns the fetch request for a cache key of our own routes. Of the client's cache
// directives only only-if-cached counts, because no client may send an edge to its origin at will.
func (h *Finder) OwnRequest(r *pipeline.Request, key string) *Request {
	header := h.Through(r.Ctx, h.fieldsFor(key))
	if r.ID != "" {
		header = header.Clone()
		upstream.SetRequestID(header, r.ID)
	}
	return &Request{Key: key, Target: cmp.Or(r.Target.Address, key), own: true,
		SendsTierSecret: h.Library.MayGetSecret(true), name: r.Target.Name,
		Header: header, Traced: r.Traced, Policy: cachepolicy.Request{
			Method: http.MethodGet, Target: key, Directives: cachepolicy.Directives{OnlyIfCached: onlyIfCached(r.Ctx)},
		}}
}

// Streamed makes the request one for a response on our own routes that may be longer than MaxOwn:
// the edge sends and stores it as it does a forwarded one.
func (q *Request) Streamed() *Request {
	q.own = false
	return q
}

// Through adds to fields the CDN-Loop of a request that has come through other edges, so that this
// edge recognises a loop when the request comes back (RFC 8586). It changes only a copy.
func (h *Finder) Through(ctx *fasthttp.RequestCtx, fields http.Header) http.Header {
	lines := ctx.Request.Header.PeekAll("CDN-Loop")
	if len(lines) == 0 {
		return fields
	}
	before := h.Origin.options.Client.LoopField(exchange.Texts(lines))
	if before == nil {
		return fields
	}
	fields = fields.Clone()
	fields["Cdn-Loop"] = before
	return fields
}

// lookupResult is the result of looking a fetch request up in the cache.
type lookupResult struct {
	Entry   *cache.Entry        // the stored response that may be selected; nil: none
	Why     cachepolicy.Forward // why the edge asks the origin, if entry can't be used
	variant string              // secondary key of the request, by the stored Vary; empty: none
}

// Lookup finds the stored response that may be selected for a fetch request.
func (h *Finder) Lookup(q *Request) (s lookupResult) {
	varies := false
	if q.own {
		if s.Entry = h.Cache.Get(q.Key); s.Entry == nil {
			s.Entry = h.Library.Negative.Current().Find(q.Key)
		}
	} else {
		s.Entry, varies = h.Cache.Find(q.Key, func(vary []string) []string {
			s.variant = q.variant(vary)
			return q.secondary(vary)
		})
	}
	switch e := s.Entry; {
	case e != nil && !q.mayShare(e):
		s = lookupResult{Why: cachepolicy.ForwardURIMiss}
	case e != nil && !cachepolicy.Selectable(e.Freshness(), q.Policy):
		s.Entry, s.Why = nil, cachepolicy.ForwardRequest // because of its Cookie
	case e != nil:
		s.variant, s.Why = e.Secondary, cachepolicy.ForwardStale
	case varies:
		s.Why = cachepolicy.ForwardVary
	default:
		s.Why = cachepolicy.ForwardURIMiss
	}
	return s
}
