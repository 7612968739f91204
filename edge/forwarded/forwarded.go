package forwarded

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/problem"
)

// keyed returns the part of a client's own request by which the cache finds and selects a stored
// response, without its fields, besides these lines of Cookie.
func keyed(r *pipeline.Request, cookies []string) *fetch.Request {
	target := pipeline.RawTarget(r.Ctx)
	return &fetch.Request{
		Key: routes.ForwardedKey(r.Public.Scheme, r.Public.Host, r.Site.Key(target)), Target: target, Site: r.Site,
		Bypasses: r.Site.Bypasses(cookies),
		Policy: cachepolicy.Request{Method: pipeline.MethodOf(r), Target: target, Host: r.Public.Host,
			Cookie: len(cookies) > 0, Policy: r.Site.Policy},
	}
}

// Answer answers a request for a path outside our own routes (--proxy-all): from the cache,
// strictly according to RFC 9111, or from the origin.
func (h *Answerer) Answer(r *pipeline.Request) (exchange.Outcome, error) {
	q := h.request(r)
	if err := h.refuse(r, q); err != nil {
		return exchange.Refused, err
	}
	if err := r.CountSite(h.Admission, routes.ClassForwarded, r.Site.Forwarded); err != nil {
		return exchange.Limited, err
	}
	var o exchange.Outcome
	var err error
	if r.Count, o, err = h.Admission.Admit(r.Request, routes.Forwarded, r.Now); err != nil {
		return o, err
	}
	h.mirror(r, q)
	return h.pass(r, q)
}

// AnswerOwn answers an admitted request for a response on our own routes that may be too long for
// the memory. The edge is its origin, so that it evaluates all conditions itself.
func (h *Answerer) AnswerOwn(r *pipeline.Request) (exchange.Outcome, error) {
	return h.passGet(r, h.Finder.OwnRequest(r, r.Target.Key).Streamed())
}

// refuse returns the problem of a request that no origin may get; nil, if one may.
func (h *Answerer) refuse(r *pipeline.Request, q *fetch.Request) error {
	switch m := q.Policy.Method; {
	case r.Upgrade == "" && m == http.MethodConnect, m == http.MethodTrace, strings.EqualFold(m, pipeline.MethodPurge):
		// A PURGE that reached a cache behind this edge would leave the response in this one.
		return problem.MethodNotAllowed("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	case !q.Upstream(nil).Valid():
		// The client is at fault. A failure of the origin would be cached for all clients.
		return problem.New(http.StatusBadRequest,
			"an address must have no spaces and no control characters, unless they are percent-encoded")
	case h.tooLong(q):
		return pipeline.RefusedAs(http.StatusRequestEntityTooLarge)
	}
	return nil
}

// pass answers a request by its method.
func (h *Answerer) pass(r *pipeline.Request, q *fetch.Request) (exchange.Outcome, error) {
	switch m := q.Policy.Method; {
	case r.Upgrade != "" && !(q.HasBody() && (m == http.MethodGet || m == http.MethodHead)):
		return h.passUpgrade(r, q)
	case q.Ruled.Decided().KeysContent(m):
		return h.passQuery(r, q)
	case m != http.MethodGet && m != http.MethodHead: // the cache answers no other method
		return h.bypass(r, q, cachepolicy.ForwardMethod)
	case q.HasBody() || q.Bypasses:
		return h.passUncached(r, q)
	case m == http.MethodHead:
		return h.passHead(r, q)
	}
	return h.passGet(r, q)
}

// conditions are the fields of a request that a cache can evaluate itself, once it has the whole
// representation (RFC 9111, section 4.3.2).
var conditions = []string{"If-None-Match", "If-Modified-Since"}

// bypassing are the fields of a GET that only the origin can answer: a cache must not evaluate the
// first two (RFC 9111, section 4.3.2), and a range needs a fresh stored response.
var bypassing = []string{"If-Match", "If-Unmodified-Since", "Range"}

// request returns a client's own request, in the form that the origin receives.
func (h *Answerer) request(r *pipeline.Request) *fetch.Request {
	head := prepare(r.Ruled)
	if head == nil {
		head = pipeline.FieldsOf(r)
	}
	h.takeDictionary(r, head)
	normalise(r, head)
	f := r.Traced
	f.Outgoing().Put(head) // deletes the fields of a malformed trace
	q := keyed(r, head["Cookie"])
	sent := upstream.Request{Method: q.Policy.Method, Header: head, Forwarded: r.Public, PassedFields: r.Site.PassedFields}
	q.SendsTierSecret, q.Header, q.Forwarded, q.Passed, q.Traced = h.Library.MayGetSecret(false), sent.Fields(),
		r.Public, sent.PassedFields, f
	q.Policy.Authorized = len(head["Authorization"]) > 0
	q.Policy.Directives = r.Site.Policy.Obeyed(cachepolicy.ParseRequest(head["Cache-Control"], head["Pragma"]))
	q.Header["Surrogate-Capability"] = append(q.Header["Surrogate-Capability"], cachepolicy.SurrogateCapability)
	if r.Site.ClientHost() {
		q.Host = r.Public.Host
	}
	if r.ID != "" {
		upstream.SetRequestID(q.Header, r.ID)
	}
	h.rule(r, q)
	q.Policy.Scripted = scripted(r, q, head)
	fetch.Share(h.Finder, q, r.Now)
	if r.Interims.Send != nil {
		q.Interim = r.PassInterim
	}
	compress.Restore(q.Header, func(tag string) bool {
		e := h.Finder.Lookup(q).Entry
		return e != nil && e.Validator == tag
	})
	q.Patience = h.patience(q)
	if r.Upload != nil {
		q.Upload = &upstream.Upload{From: limited(r.Upload, h.maxBody(q)), Length: r.Upload.Length, Expects: r.Upload.Expects}
		if converses(head) && r.Upload.Relax != nil {
			r.Upload.Relax(q.Patience.FirstByte)
		}
	} else {
		q.Body = r.Body()
	}
	if r.Trailer != nil && (q.HasBody() || sent.Method != http.MethodGet && sent.Method != http.MethodHead) {
		q.Trailer = upstream.Trailer{Announced: head["Trailer"], Fields: func() http.Header { return trailerOf(r) }}
	}
	q.TakesTrailer = pipeline.AcceptsTrailer(head)
	return q
}

// trailerOf returns the trailer fields of a request, which some origins merge into its header
// fields.
func trailerOf(r *pipeline.Request) http.Header {
	h := pipeline.HeaderOf(r.Trailer())
	if r.ID != "" {
		upstream.SetRequestID(h, "")
	}
	if r.Site.Rules != nil {
		r.Site.Rules.Clean(h)
	}
	return h
}

// takeDictionary finds the dictionary that the client has. If the edge has it too, the edge makes
// the difference, and the origin and the key get the request of a client without a dictionary. So
// they do with DictionariesAuto, whose declarations the origin does not know.
func (h *Answerer) takeDictionary(r *pipeline.Request, head http.Header) {
	lines := head[dictionaries.FieldAvailable]
	if len(lines) == 0 || !r.Ctx.IsGet() && !r.Ctx.IsHead() || signed(head) {
		return
	}
	mode := r.Site.KeepsDictionaries(r.Ruled.Decided())
	if mode == config.DictionariesOff {
		return
	}
	if len(lines) == 1 {
		r.Dictionary = h.Finder.Dictionaries.Find(dictionaries.Claim{
			Scope:  dictionaries.Scope{Site: r.Site.Name, Scheme: r.Public.Scheme, Host: r.Public.Host},
			Target: pipeline.RawTarget(r.Ctx), Available: []byte(lines[0]), Dest: head.Get("Sec-Fetch-Dest")})
	}
	if r.Dictionary != nil || mode == config.DictionariesAuto {
		delete(head, dictionaries.FieldAvailable)
		delete(head, dictionaries.FieldID)
	}
}

// normalise gives the Accept-Encoding in the fields of a request its normal form, for the key and
// the origin. A signature may cover the field.
func normalise(r *pipeline.Request, head http.Header) {
	if lines := head["Accept-Encoding"]; len(lines) > 0 && !r.Site.EncodingAsSent && !signsEncoding(head) {
		head["Accept-Encoding"] = []string{cachepolicy.NormalEncoding(lines, len(head[dictionaries.FieldAvailable]) > 0)}
	}
}

// signsEncoding reports whether the Authorization of a request lists Accept-Encoding among the
// fields that its signature covers, as some S3 clients do.
func signsEncoding(head http.Header) bool {
	return signed(head) && slices.ContainsFunc(head["Authorization"], func(line string) bool {
		return strings.Contains(strings.ToLower(line), "accept-encoding")
	})
}

// scripted returns the fields of scripts that the origin gets as the client sent them, in head,
// and that are not in the key.
func scripted(r *pipeline.Request, q *fetch.Request, head http.Header) []string {
	return slices.DeleteFunc(upstream.Scripted(q.Header), func(name string) bool {
		return !slices.Equal(q.Header[name], head[name]) || r.Ruled != nil && r.Ruled.KeysHeader(name)
	})
}

// converses reports whether a body is messages of a call of gRPC. Its client may wait for messages
// of the origin before it sends the next one, so it is no slow client.
func converses(head http.Header) bool {
	return strings.HasPrefix(head.Get("Content-Type"), "application/grpc")
}

// tooLong reports whether the body of a request is longer than the operator allows, as far as its
// length is known.
func (h *Answerer) tooLong(q *fetch.Request) bool {
	length := int64(len(q.Body))
	if q.Upload != nil {
		length = q.Upload.Length
	}
	most := h.maxBody(q)
	return most > 0 && length > most
}

// limited returns a reader that fails when more than so many bytes have come from r; 0: never.
func limited(r io.Reader, most int64) io.Reader {
	if most <= 0 {
		return r
	}
	return &limitedBody{r, most}
}

// A limitedBody is a body that fails when it is longer than left.
type limitedBody struct {
	io.Reader
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fasthttp.ErrBodyTooLarge
	}
	return n, err
}

// passGet answers a GET: from a stored response if possible, including conditions and ranges;
// otherwise from the origin.
func (h *Answerer) passGet(r *pipeline.Request, q *fetch.Request) (exchange.Outcome, error) {
	if fetch.Streams(h.Finder, q) {
		return h.passUncached(r, q) // with its conditions and ranges
	}
	if hasAny(q.Header, bypassing[:2]) || signed(q.Header) && h.changesSigned(q, r.Now) ||
		len(q.Header["Range"]) > 0 && !h.answersRange(q, r.Now) {
		return h.bypass(r, q, cachepolicy.ForwardBypass)
	}
	for _, name := range conditions {
		delete(q.Header, name)
	}
	for range 2 {
		f, err := h.Finder.Find(r, q, h.Finder.FetchAndStore)
		switch {
		case err != nil:
			return f.Outcome, err
		case f.Entry == fetch.Unsliceable:
			return h.bypassRange(r, q)
		case !f.Entry.IsObject():
			if err := cutStream(r, &f); err != nil {
				f.Close()
				return f.Outcome, err
			}
			h.Writer.Finish(r, f)
			return f.Outcome, nil
		}
		o, err := h.serveObject(r, q, f)
		if !errors.Is(err, fetch.ErrChanged) {
			return o, err
		}
		r.Now = h.Clock.Now() // the object is no longer stored
	}
	return h.bypassRange(r, q)
}

// answersRange reports whether the cache may answer the Range of a GET. A stored response that is
// no object answers it while it is fresh.
func (h *Answerer) answersRange(q *fetch.Request, now time.Time) bool {
	e := h.Finder.Lookup(q).Entry
	return e != nil && !e.IsObject() && e.Freshness().Fresh(now) || h.Finder.TakeRange(q, e, now)
}

// signed reports whether a client's Authorization may cover other fields of the request, as that of
// S3 clients does.
func signed(head http.Header) bool {
	return slices.ContainsFunc(head["Authorization"], func(line string) bool {
		scheme, _, _ := strings.Cut(line, " ")
		return !strings.EqualFold(scheme, "Basic") && !strings.EqualFold(scheme, "Bearer")
	})
}

// changesSigned reports whether a signed request would reach the origin without its conditions or
// its Range, if the cache took it: it has some, and no fresh stored response answers it.
func (h *Answerer) changesSigned(q *fetch.Request, now time.Time) bool {
	if !hasAny(q.Header, conditions) && len(q.Header["Range"]) == 0 {
		return false
	}
	e := h.Finder.Lookup(q).Entry
	return e == nil || e.IsObject() || !e.Freshness().Fresh(now)
}

// bypassRange forwards a request with the client's own Range.
func (h *Answerer) bypassRange(r *pipeline.Request, q *fetch.Request) (exchange.Outcome, error) {
	if q.Ranged != nil {
		q.GiveRangeBack()
	}
	return h.bypass(r, q, cachepolicy.ForwardBypass)
}

func hasAny(h http.Header, names []string) bool {
	for _, name := range names {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// passHead answers a HEAD: from the stored response of a GET if possible; otherwise from the
// origin, whose response may then update or invalidate the stored one (RFC 9111, section 4.3.5).
func (h *Answerer) passHead(r *pipeline.Request, q *fetch.Request) (exchange.Outcome, error) {
	s := h.Finder.Lookup(q)
	e, why := s.Entry, s.Why
	if e != nil && cachepolicy.Decide(e.Freshness(), q.Policy, r.Now) != cachepolicy.Revalidate {
		f := r.Hit(e, exchange.Hit)
		h.Writer.Finish(r, f)
		return f.Outcome, nil
	}
	if q.Policy.Directives.OnlyIfCached {
		return exchange.Refused, pipeline.NotStored()
	}
	asked := h.Cache.Generation()
	a, err := h.Finder.Send(q, q.Upstream(nil))
	if err != nil {
		if fetch.AfterFailure(e, err, q.Policy, r.Now) == fetch.StateFail {
			return exchange.Failed, r.Failed(err)
		}
		f := r.Stale(e)
		h.Writer.Finish(r, f)
		return f.Outcome, nil
	}
	if e != nil && q.Policy.VariesBy(a.Header) {
		h.applyHead(q, e, a, asked)
	}
	return h.relay(r, q, a, why, asked)
}

// applyHead updates or invalidates the stored response of a GET, according to the response to a
// HEAD (RFC 9111, section 4.3.5).
func (h *Answerer) applyHead(q *fetch.Request, e *cache.Entry, a *upstream.Response, asked cache.Generation) {
	length := int64(-1)
	if id := e.Identity(); id != nil {
		length = int64(len(id.Body))
	}
	if e.IsObject() {
		length = e.Object.Length
	}
	switch cachepolicy.HeadUpdate(e.Status, pipeline.Header(e), length, a.Status, a.Header) {
	case cachepolicy.Update:
		h.Finder.ReplaceConfirmed(getOf(q), e, a, asked)
	case cachepolicy.Invalidate:
		h.Cache.Purge(cache.Purge{Keys: []string{e.Key}, Soft: true}, a.ResponseTime)
	}
}

// getOf returns the same fetch request as a GET.
func getOf(q *fetch.Request) *fetch.Request {
	g := *q
	g.Policy.Method, g.Unsliced = http.MethodGet, true
	return &g
}

// passUncached forwards a GET or HEAD that has a body (RFC 9110, section 9.3.1) or a cookie whose
// requests bypass the cache. The response may depend on either, and neither is part of the cache
// key. So the cache neither answers the request nor stores its response, and no other request
// shares the fetch.
func (h *Answerer) passUncached(r *pipeline.Request, q *fetch.Request) (exchange.Outcome, error) {
	if q.Policy.Directives.OnlyIfCached {
		return exchange.Refused, pipeline.NotStored()
	}
	return h.bypass(r, q, cachepolicy.ForwardBypass)
}

// bypass forwards the request to the origin without the cache.
func (h *Answerer) bypass(r *pipeline.Request, q *fetch.Request, why cachepolicy.Forward) (exchange.Outcome, error) {
	sent := h.Cache.Generation()
	defer r.AddFetching(time.Now())
	a, err := h.Finder.Send(q, q.Upstream(nil))
	if err != nil {
		r.Status = cachepolicy.CacheStatus{Forward: why}
		if failed := q.Upload.Err(); failed != nil { // the client's failure
			return exchange.Refused, pipeline.Unreadable(failed)
		}
		return exchange.Failed, err
	}
	if mayMix(r, q, a) {
		a.Body.Close()
		delete(q.Header, "Range")
		delete(q.Header, "If-Range")
		if a, err = h.Finder.Send(q, q.Upstream(nil)); err != nil {
			r.Status = cachepolicy.CacheStatus{Forward: why}
			return exchange.Failed, err
		}
	}
	return h.relay(r, q, a, why, sent)
}

// mayMix reports whether a 206 continues a body of which the client may have the beginning in a
// content coding, because it asks for the rest by a date, which all codings share.
func mayMix(r *pipeline.Request, q *fetch.Request, a *upstream.Response) bool {
	if a.Status != http.StatusPartialContent || len(q.Header["If-Range"]) != 1 || signed(q.Header) {
		return false
	}
	head := a.Header.Clone()
	delete(head, "Content-Range")
	whole := *fetch.NewForwarded(q, a, head)
	whole.Status = http.StatusOK
	q.Negotiate(&whole, head, -1, false)
	return r.MayHaveCoded(&whole, q.Header["If-Range"][0])
}

// relay passes the origin's response on as it comes, and invalidates the stored responses that the
// request may have changed (RFC 9111, section 4.4). sent is the generation at which the request was
// sent.
func (h *Answerer) relay(r *pipeline.Request, q *fetch.Request, a *upstream.Response, why cachepolicy.Forward,
	sent cache.Generation) (exchange.Outcome, error) {
	posted := q.Policy.Method == http.MethodPost && !q.Bypasses && cachepolicy.Storable(q.Policy, a.Status, a.Header, a.ResponseTime)
	may := posted && a.Status < http.StatusBadRequest && !h.Cache.Invalidated(fetch.NewForwarded(q, a, a.Header), sent)
	h.invalidate(r, q, a)
	r.Forward, r.Status = why, cachepolicy.CacheStatus{Forward: why}
	if posted {
		// The response is also stored for later GETs (RFC 9110, section 9.3.3).
		f, err := r.Uncollapsed(h.Finder.StoreForwarded(getOf(q), a, h.Cache.Generation(), may))
		if err == nil {
			h.Writer.Finish(r, f)
		}
		return exchange.Passed, err
	}
	f := pipeline.Response{Entry: fetch.NewForwarded(q, a, a.Header), Stream: a.Body, Length: a.Length,
		Trailer: pipeline.TrailerOf(a), Relayed: true}
	etag := a.Header.Get("Etag")
	if a.Status == http.StatusNotModified {
		etag = compress.Held(pipeline.Field(r.Ctx, fasthttp.HeaderIfNoneMatch), "*", etag, etag)
	}
	f.Entry.SetIdentity(nil, etag)
	if a.Body == http.NoBody && !r.Ctx.IsHead() {
		f.Stream, f.Trailer = nil, nil // so that the head of the response also ends it
	}
	if 0 < a.Length && a.Length < fetch.MaxWhole {
		if err := h.Finder.Hold(&f, a); err != nil {
			return exchange.Failed, err
		}
	}
	stored := false     // of a GET
	if r.Ctx.IsHead() { // only this field gives the length that the body of a GET would have
		if n, err := strconv.ParseInt(a.Header.Get("Content-Length"), 10, 64); err == nil {
			f.Length = n
		} else {
			f.Length = -1
		}
		stored = !q.Bypasses && cachepolicy.SharingOf(getOf(q).Policy, a.Status, a.Header, a.ResponseTime).Storable
	}
	q.Negotiate(f.Entry, a.Header, f.Length, stored)
	f.Aged = f.Entry.Policy.AgeAt(r.Now) >= time.Second
	h.Writer.Finish(r, f)
	return exchange.Passed, nil
}

// invalidate removes the stored responses that a request may have changed: those of its own
// address, of the addresses that its response names, and of its cache groups.
func (h *Answerer) invalidate(r *pipeline.Request, q *fetch.Request, a *upstream.Response) {
	if r.Site.CacheGroups != vhosts.NoGroups {
		names, ignored := cachepolicy.InvalidatedGroups(q.Policy.Method, a.Header)
		h.Finder.Origin.CountGroups(names, ignored)
		if len(names) > 0 {
			h.Group(q.URIOrigin(), names, r.Site.CacheGroups == vhosts.Hard)
		}
	}
	targets := cachepolicy.Invalidated(q.Policy, a.Status, a.Header)
	if len(targets) == 0 {
		return
	}
	var p cache.Purge
	// A purge of surrogate keys looks at every entry, so it takes place only where it may find one.
	byContent := q.Ruled == nil && (h.keyedContent.Load() || h.OnDisk)
	if q.Ruled != nil {
		p.Tags = q.AddressTags()
		targets = append(targets, q.Ruled.Request.Target) // before a rewrite
	}
	for _, target := range targets {
		if q.Ruled != nil {
			stored, site := h.Sites().CacheTargets(pipeline.HostName(q.Policy.Host), target)
			for _, target := range stored {
				p.Tags = append(p.Tags, cache.AddressTag(q.Policy.Host, target), cache.SharedTag(site, target))
			}
		}
		target = r.Site.Key(target)
		if byContent {
			p.Tags = append(p.Tags, cache.AddressTag(q.Policy.Host, target))
		}
		p.Keys = append(p.Keys, routes.ForwardedKey("http", q.Policy.Host, target), routes.ForwardedKey("https", q.Policy.Host, target))
	}
	h.Cache.Purge(p, a.ResponseTime)
}
