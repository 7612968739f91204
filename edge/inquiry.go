package edge

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/upstream"
)

// An inquiry is what a request needs of the cache and of the origin. Those of our own routes are the same whoever asks;
// a forwarded one is the client's.
type inquiry struct {
	key    string              // path and query that the origin is asked for, and the name of what is stored
	own    bool                // of one of our routes: the answer is made ours before it is kept
	proves bool                // the secret between tiers goes with it
	name   string              // of the icon or the pack that it is about, as it is in the list of names; empty: none that the list tells of
	asks   cachepolicy.Request // what decides about storing and reusing
	header http.Header         // sent to the origin; not changed
	client netip.Addr          // told to the origin; zero: nothing is
	body   []byte
	proto  string
	passed map[string]bool // fields that the operator passes

	followed *followed // the trace of the request that it is made for
}

// uncoded is all that our own routes ask an origin for: codings are made here.
var uncoded = http.Header{"Accept-Encoding": {"identity"}}

// ownInquiry asks for an address of our own routes. Of a client's directives one alone counts: nobody sends an edge to its
// origin at will.
func (h *handler) ownInquiry(r *request, key string) *inquiry {
	return &inquiry{key: key, own: true, proves: h.amongTiers(!h.proxyAll), name: r.target.name, header: h.through(r.ctx, uncoded), followed: r.followed, asks: cachepolicy.Request{
		Method: http.MethodGet, Target: key, Directives: cachepolicy.Directives{OnlyIfCached: onlyIfCached(r.ctx)},
	}}
}

// through are fields of a question with the edges that a request has come through, where it has: should the question come back here, it is
// a loop (RFC 8586).
func (h *handler) through(ctx *fasthttp.RequestCtx, fields http.Header) http.Header {
	lines := ctx.Request.Header.PeekAll("CDN-Loop")
	if len(lines) == 0 {
		return fields
	}
	before := h.origin.Before(texts(lines))
	if before == nil {
		return fields
	}
	fields = fields.Clone()
	fields["Cdn-Loop"] = before
	return fields
}

// stored is what the cache has for an inquiry.
type stored struct {
	entry   *cache.Entry        // the stored response that may be selected; nil: none
	why     cachepolicy.Forward // why the origin is sent a request where entry can't be used
	variant string              // secondary key of the request by the fields that stored responses vary by; empty: none
}

// lookup finds the stored response that may be selected for an inquiry.
func (h *handler) lookup(q *inquiry) (s stored) {
	varies := false
	if q.own {
		if s.entry = h.cache.Get(q.key); s.entry == nil {
			s.entry = h.missing.table.Load().find(q.key)
		}
	} else {
		s.entry, varies = h.cache.Find(q.key, func(vary []string) []string {
			s.variant = q.variant(vary)
			return q.secondary(vary)
		})
	}
	switch e := s.entry; {
	case e != nil && !cachepolicy.Selectable(e.Freshness(), q.asks):
		s.entry, s.why = nil, cachepolicy.ForwardRequest // its Cookie
	case e != nil:
		s.variant, s.why = e.Secondary, cachepolicy.ForwardStale
	case varies:
		s.why = cachepolicy.ForwardVary
	default:
		s.why = cachepolicy.ForwardURIMiss
	}
	return s
}

// variant is the secondary key of the request for a response with such a Vary.
func (q *inquiry) variant(vary []string) string { return cachepolicy.VaryKey(vary, q.lines) }

// secondary are the keys under which a stored answer with such a Vary is for this request: that of its fields, then that of the
// language it likes best (RFC 9111, section 4.1).
func (q *inquiry) secondary(vary []string) []string {
	keys := []string{q.variant(vary)}
	if language := cachepolicy.PreferredLanguage(q.header["Accept-Language"]); language != "" {
		keys = append(keys, cachepolicy.VaryLanguageKey(vary, q.lines, language))
	}
	return keys
}

func (q *inquiry) lines(name string) []string { return q.header[name] }

// upstream is the request to the origin; stale is what is stored of the answer, to be confirmed (RFC 9111, section 4.3.1). Without anything
// stored that could be used instead, a shield whose own origin has failed is gone around.
func (q *inquiry) upstream(stale *cache.Entry) upstream.Request {
	r := upstream.Request{Method: q.asks.Method, Target: q.key, Header: q.header, Body: q.body, Client: q.client, Proto: q.proto, Proof: q.proves, Exact: q.own, Passed: q.passed}
	r.Onward = stale == nil || !mayServeStale(stale, time.Now())
	if stale == nil || stale.Validator == "" && stale.LastModified.IsZero() {
		return r
	}
	r.Header = q.header.Clone()
	if stale.Validator != "" {
		r.Header.Set("If-None-Match", stale.Validator)
	}
	if !stale.LastModified.IsZero() {
		r.Header.Set("If-Modified-Since", stale.LastModified.UTC().Format(http.TimeFormat))
	}
	return r
}
