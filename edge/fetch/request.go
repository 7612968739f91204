package fetch

import (
	"math"
	"net/http"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// A Request is the request that the cache looks up and that the origin may receive. On our
// own routes it does not depend on the client; a forwarded one is the client's own request.
type Request struct {
	Key             string              // cache key; see routes.ForwardedKey for forwarded paths
	shared          sharing             // which other addresses have this key
	Target          string              // path and query at the origin
	Site            *vhosts.Site        // nil on our own routes
	Bypasses        bool                // the cache neither answers it nor stores its response
	own             bool                // on our own routes: the edge rebuilds the response
	SendsTierSecret bool                // carries the secret between tiers
	name            string              // icon or pack, as in the name list; empty: unchecked
	Policy          cachepolicy.Request // the part of it that decides about storing and reusing
	Header          http.Header         // sent to the origin; a fetch changes only a copy
	Forwarded       upstream.Forwarded  // describes the client's request; zero: nothing does
	Host            string              // sent to the origin; empty: the origin's own
	content
	TakesTrailer bool               // the client takes the trailer fields of a response
	Patience     *upstream.Patience // nil: that of our own routes
	Passed       map[string]bool    // fields that the operator passes (--pass-field)
	// Passes interim responses on to the client; nil: they are dropped.
	Interim  func(upstream.Interim)
	Ranged   *rangeRequest // the client's Range, which the cache answers; nil: none
	Unsliced bool          // the response is not stored in slices

	Ruled  *pipeline.Ruled  // the decision of the rules; nil: there are none
	Traced *pipeline.Traced // the trace of the client's request
}

// A content is the part of a request after its header.
type content struct {
	Body    []byte
	Upload  *upstream.Upload // the body, if it still arrives; nil: it does not
	Trailer upstream.Trailer // zero: none
}

// HasBody reports whether the request has a body, or may have one.
func (q *Request) HasBody() bool { return len(q.Body) > 0 || q.Upload != nil }

// KeyContent puts the content of the request, which must be in Body, and the fields that describe
// it into the key.
func (q *Request) KeyContent() {
	described := [][]string{q.Header["Content-Type"], q.Header["Content-Encoding"], q.Header["Content-Language"]}
	q.Key, q.Policy.ContentKeyed = routes.ContentKey(q.Key, q.Policy.Method, described, q.Body), true
}

// variant returns the secondary key of the request for a response with this Vary (RFC 9111, section
// 4.1).
func (q *Request) variant(vary []string) string { return cachepolicy.VaryKey(vary, q.lines) }

// secondary returns the secondary keys of the stored responses with this Vary that match the
// request: first the key of its fields, then the key of its preferred language (RFC 9111, section
// 4.1).
func (q *Request) secondary(vary []string) []string {
	keys := []string{q.variant(vary)}
	if language := cachepolicy.PreferredLanguage(q.Header["Accept-Language"]); language != "" {
		keys = append(keys, cachepolicy.VaryLanguageKey(vary, q.lines, language))
	}
	return keys
}

func (q *Request) lines(name string) []string { return q.Header[name] }

// Upstream returns the request to the origin, with the conditions that validate the stored response
// stale, if there is one (RFC 9111, section 4.3.1).
func (q *Request) Upstream(stale *cache.Entry) upstream.Request {
	r := upstream.Request{TryNextGroup: true, Method: q.Policy.Method, Target: q.Target, Host: q.Host,
		Header: q.Header, Body: q.Body, Upload: q.Upload, Trailer: q.Trailer, TakesTrailer: q.TakesTrailer,
		Patience: q.Patience, Forwarded: q.Forwarded, SendTierSecret: q.SendsTierSecret, StrictLength: q.own,
		PassedFields: q.Passed, Interim: q.Interim}
	if !q.own {
		r.Key = q.Key
	}
	if q.wantsPart() {
		r.Header = q.Header.Clone()
		r.Header.Set("Range", q.Ranged.first.Field())
	}
	if stale == nil || stale.Validator == "" && stale.LastModified.IsZero() {
		return r
	}
	r.Header = r.Header.Clone()
	if stale.Validator != "" {
		r.Header.Set("If-None-Match", stale.Validator)
	}
	if !stale.LastModified.IsZero() {
		r.Header.Set("If-Modified-Since", string(HTTPDate(stale.LastModified)))
	}
	return r
}

// A sharing says by which rule about queries the key of a request is that of other addresses too.
type sharing struct {
	address string           // the key of the address alone; empty: it is Key
	rule    *cache.QueryRule // nil: the key is of one address
	alone   bool             // the request joins no fetches for other addresses
}

// mayShare reports whether a request may have a stored response under its key.
func (q *Request) mayShare(e *cache.Entry) bool {
	r := q.shared.rule
	return r == nil || r.Answers(e, e.Generation, q.Policy, q.shared.address)
}

// mayJoin reports whether the response of a collapsed fetch may be for the address of a request
// that has joined it. All addresses with the key may have the failure of an origin.
func (q *Request) mayJoin(e *cache.Entry) bool {
	r, now := q.shared.rule, cache.Generation(math.MaxUint64)
	if r == nil || e.Status >= http.StatusInternalServerError {
		return true
	}
	return e.Key == q.Key && r.Answers(e, now, q.Policy, q.shared.address)
}

// keepsRule reports whether a response with the fields h, which updates the stored one, leaves it
// the rule by which it is found.
func (q *Request) keepsRule(h http.Header) bool {
	lines := h["No-Vary-Search"]
	return q.shared.rule == nil || len(lines) == 0 || q.shared.rule.Is(lines)
}
