package proxy

import (
	"cmp"
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/sites"
	"github.com/iconedge/iconedge/edge/upstream"
)

// An fetchRequest is the request that the cache looks up and that the origin may receive. On our
// own routes it does not depend on the client; a forwarded one is the client's own request.
type fetchRequest struct {
	key             string              // cache key; see routes.ForwardedKey for forwarded paths
	target          string              // path and query at the origin
	site            *sites.Site         // nil on our own routes
	bypasses        bool                // the cache neither answers it nor stores its response
	own             bool                // on our own routes: the edge rebuilds the response
	sendsTierSecret bool                // carries the secret between tiers
	name            string              // icon or pack, as in the name list; empty: unchecked
	policy          cachepolicy.Request // the part of it that decides about storing and reusing
	header          http.Header         // sent to the origin; a fetch changes only a copy
	forwarded       upstream.Forwarded  // describes the client's request; zero: nothing does
	host            string              // sent to the origin; empty: the origin's own
	content
	takesTrailer bool               // the client takes the trailer fields of a response
	patience     *upstream.Patience // nil: that of our own routes
	passed       map[string]bool    // fields that the operator passes (--pass-field)
	// Passes interim responses on to the client; nil: they are dropped.
	interim  func(upstream.Interim)
	ranged   *rangeRequest // the client's Range, which the cache answers; nil: none
	unsliced bool          // the response is not stored in slices

	ruled  *ruled  // the decision of the rules; nil: there are none
	traced *traced // the trace of the client's request
}

// A content is the part of a request after its header.
type content struct {
	body    []byte
	upload  *upstream.Upload // the body, if it still arrives; nil: it does not
	trailer upstream.Trailer // zero: none
}

// uncoded and inGzip have the fields of origin requests on our own routes. Origins of ours have
// icons in gzip, as they are published. The edge makes the other content codings itself.
var (
	uncoded = http.Header{"Accept-Encoding": {cachepolicy.Identity}}
	inGzip  = http.Header{"Accept-Encoding": {cachepolicy.Gzip}}
)

// fieldsFor returns the fields of the origin request for a cache key of our own routes.
func (h *Proxy) fieldsFor(key string) http.Header {
	if routes.IsPublished(key) && h.Options.Library.Known() != "" {
		return inGzip
	}
	return uncoded
}

// ownRequest returns the fetch request for a cache key of our own routes. Of the client's cache
// directives only only-if-cached counts, because no client may send an edge to its origin at will.
func (h *Proxy) ownRequest(r *request, key string) *fetchRequest {
	return &fetchRequest{key: key, target: cmp.Or(r.target.Address, key), own: true, sendsTierSecret: h.Options.Library.MayGetSecret(true), name: r.target.Name, header: h.through(r.ctx, h.fieldsFor(key)), traced: r.traced, policy: cachepolicy.Request{
		Method: http.MethodGet, Target: key, Directives: cachepolicy.Directives{OnlyIfCached: onlyIfCached(r.ctx)},
	}}
}

// through adds to fields the CDN-Loop of a request that has come through other edges, so that this
// edge recognises a loop when the request comes back (RFC 8586). It changes only a copy.
func (h *Proxy) through(ctx *fasthttp.RequestCtx, fields http.Header) http.Header {
	lines := ctx.Request.Header.PeekAll("CDN-Loop")
	if len(lines) == 0 {
		return fields
	}
	before := h.Options.Origin.options.Client.LoopField(exchange.Texts(lines))
	if before == nil {
		return fields
	}
	fields = fields.Clone()
	fields["Cdn-Loop"] = before
	return fields
}

// hasBody reports whether the request has a body, or may have one.
func (q *fetchRequest) hasBody() bool { return len(q.body) > 0 || q.upload != nil }

// lookupResult is the result of looking a fetch request up in the cache.
type lookupResult struct {
	entry   *cache.Entry        // the stored response that may be selected; nil: none
	why     cachepolicy.Forward // why the edge asks the origin, if entry can't be used
	variant string              // secondary key of the request, by the stored Vary; empty: none
}

// lookup finds the stored response that may be selected for a fetch request.
func (h *Proxy) lookup(q *fetchRequest) (s lookupResult) {
	varies := false
	if q.own {
		if s.entry = h.Options.Cache.Get(q.key); s.entry == nil {
			s.entry = h.Options.Library.Negative.Current().Find(q.key)
		}
	} else {
		s.entry, varies = h.Options.Cache.Find(q.key, func(vary []string) []string {
			s.variant = q.variant(vary)
			return q.secondary(vary)
		})
	}
	switch e := s.entry; {
	case e != nil && !cachepolicy.Selectable(e.Freshness(), q.policy):
		s.entry, s.why = nil, cachepolicy.ForwardRequest // because of its Cookie
	case e != nil:
		s.variant, s.why = e.Secondary, cachepolicy.ForwardStale
	case varies:
		s.why = cachepolicy.ForwardVary
	default:
		s.why = cachepolicy.ForwardURIMiss
	}
	return s
}

// variant returns the secondary key of the request for a response with this Vary (RFC 9111, section
// 4.1).
func (q *fetchRequest) variant(vary []string) string { return cachepolicy.VaryKey(vary, q.lines) }

// secondary returns the secondary keys of the stored responses with this Vary that match the
// request: first the key of its fields, then the key of its preferred language (RFC 9111, section
// 4.1).
func (q *fetchRequest) secondary(vary []string) []string {
	keys := []string{q.variant(vary)}
	if language := cachepolicy.PreferredLanguage(q.header["Accept-Language"]); language != "" {
		keys = append(keys, cachepolicy.VaryLanguageKey(vary, q.lines, language))
	}
	return keys
}

func (q *fetchRequest) lines(name string) []string { return q.header[name] }

// upstream returns the request to the origin, with the conditions that validate the stored response
// stale, if there is one (RFC 9111, section 4.3.1).
func (q *fetchRequest) upstream(stale *cache.Entry) upstream.Request {
	r := upstream.Request{TryNextGroup: true, Method: q.policy.Method, Target: q.target, Host: q.host, Header: q.header, Body: q.body, Upload: q.upload, Trailer: q.trailer, TakesTrailer: q.takesTrailer, Patience: q.patience, Forwarded: q.forwarded, SendTierSecret: q.sendsTierSecret, StrictLength: q.own, PassedFields: q.passed, Interim: q.interim}
	if !q.own {
		r.Key = q.key
	}
	if q.wantsPart() {
		r.Header = q.header.Clone()
		r.Header.Set("Range", q.ranged.first.Field())
	}
	if stale == nil || stale.Validator == "" && stale.LastModified.IsZero() {
		return r
	}
	r.Header = r.Header.Clone()
	if stale.Validator != "" {
		r.Header.Set("If-None-Match", stale.Validator)
	}
	if !stale.LastModified.IsZero() {
		r.Header.Set("If-Modified-Since", stale.LastModified.UTC().Format(http.TimeFormat))
	}
	return r
}
