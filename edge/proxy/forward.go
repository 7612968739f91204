package proxy

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
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
)

// serveForwarded answers a request for a path outside our own routes (--proxy-all): from the cache,
// strictly according to RFC 9111, or from the origin.
func (h *Proxy) serveForwarded(ctx *fasthttp.RequestCtx) {
	r := recordOf(ctx)
	r.route, r.forwarded = routes.Forwarded, true
	if !serves(h.Sites(), hostName(r.public.Host)) {
		h.end(r, exchange.Refused, misdirected())
		return
	}
	if p := h.refusePort(r); p != nil {
		h.end(r, exchange.Refused, p)
		return
	}
	q := h.forwardedRequest(r)
	if err := h.refuseForwarded(r, q); err != nil {
		h.end(r, exchange.Refused, err)
		return
	}
	h.admitForwarded(r, func() (exchange.Outcome, error) { return h.pass(r, q) })
}

// admitForwarded counts a request against the limits, and answers it unless it is over one.
func (h *Proxy) admitForwarded(r *request, answer func() (exchange.Outcome, error)) {
	var o exchange.Outcome
	err := h.countSite(r, routes.ClassForwarded.String(), r.site.Forwarded)
	if err != nil {
		o = exchange.Limited
	} else if r.count, o, err = h.Options.Admission.Admit(r.Request, routes.Forwarded, r.now); err == nil {
		o, err = answer()
	}
	h.end(r, o, err)
}

// keyed returns the part of a client's own request by which the cache finds and selects a stored
// response, without its fields, besides these lines of Cookie.
func keyed(r *request, cookies []string) *fetchRequest {
	target := rawTarget(r.ctx)
	return &fetchRequest{
		key: routes.ForwardedKey(r.public.Scheme, r.public.Host, r.site.Key(target)), target: target, site: r.site.Site, bypasses: r.site.Bypasses(cookies),
		policy: cachepolicy.Request{Method: methodOf(r), Target: target, Host: r.public.Host, Cookie: len(cookies) > 0, Policy: r.site.Policy},
	}
}

// refuseForwarded returns the problem of a request that no origin may get; nil, if one may.
func (h *Proxy) refuseForwarded(r *request, q *fetchRequest) error {
	switch m := q.policy.Method; {
	case r.Upgrade == "" && m == http.MethodConnect, m == http.MethodTrace, strings.EqualFold(m, methodPurge):
		// A PURGE that reached a cache behind this edge would leave the response in this one.
		return problem.MethodNotAllowed("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	case !q.upstream(nil).Valid():
		// The client is at fault. A failure of the origin would be cached for all clients.
		return problem.New(http.StatusBadRequest, "an address must have no spaces and no control characters, unless they are percent-encoded")
	case h.tooLong(q):
		return refusedAs(http.StatusRequestEntityTooLarge)
	}
	return nil
}

// pass answers a request by its method.
func (h *Proxy) pass(r *request, q *fetchRequest) (exchange.Outcome, error) {
	switch m := q.policy.Method; {
	case r.Upgrade != "" && !(q.hasBody() && (m == http.MethodGet || m == http.MethodHead)):
		return h.passUpgrade(r, q)
	case m != http.MethodGet && m != http.MethodHead: // the cache answers no other method
		return h.bypass(r, q, cachepolicy.ForwardMethod)
	case q.hasBody() || q.bypasses:
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

// forwardedRequest returns a client's own request, in the form that the origin receives.
func (h *Proxy) forwardedRequest(r *request) *fetchRequest {
	head := r.ruled.prepare()
	if head == nil {
		head = fieldsOf(r)
	}
	r.normalise(head)
	f := r.traced
	f.outgoing().Put(head) // deletes the fields of a malformed trace
	q := keyed(r, head["Cookie"])
	sent := upstream.Request{Method: q.policy.Method, Header: head, Forwarded: r.public, PassedFields: r.site.PassedFields}
	q.sendsTierSecret, q.header, q.forwarded, q.passed, q.traced = h.Options.Library.MayGetSecret(false), sent.Fields(), r.public, sent.PassedFields, f
	q.policy.Authorized = len(head["Authorization"]) > 0
	q.policy.Directives = r.site.Policy.Obeyed(cachepolicy.ParseRequest(head["Cache-Control"], head["Pragma"]))
	q.header["Surrogate-Capability"] = append(q.header["Surrogate-Capability"], cachepolicy.SurrogateCapability)
	if r.site.ClientHost() {
		q.host = r.public.Host
	}
	h.rule(r, q)
	q.policy.Scripted = scripted(r, q, head)
	if r.Interims.Send != nil {
		q.interim = r.passInterim
	}
	compress.Restore(q.header, func(tag string) bool {
		e := h.lookup(q).entry
		return e != nil && e.Validator == tag
	})
	q.patience = h.patience(q)
	if r.Upload != nil {
		q.upload = &upstream.Upload{From: limited(r.Upload, h.maxBody(q)), Length: r.Upload.Length, Expects: r.Upload.Expects}
		if converses(head) && r.Upload.Relax != nil {
			r.Upload.Relax(q.patience.FirstByte)
		}
	} else {
		q.body = r.Body()
	}
	if r.Trailer != nil && (q.hasBody() || sent.Method != http.MethodGet && sent.Method != http.MethodHead) {
		q.trailer = upstream.Trailer{Announced: head["Trailer"], Fields: func() http.Header { return headerOf(r.Trailer()) }}
	}
	q.takesTrailer = acceptsTrailer(head)
	return q
}

// normalise gives the Accept-Encoding in the fields of a request its normal form, for the key and
// the origin. A signature may cover the field.
func (r *request) normalise(head http.Header) {
	if lines := head["Accept-Encoding"]; len(lines) > 0 && !r.site.EncodingAsSent && !signsEncoding(head) {
		head["Accept-Encoding"] = []string{cachepolicy.NormalEncoding(lines, len(head["Available-Dictionary"]) > 0)}
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
func scripted(r *request, q *fetchRequest, head http.Header) []string {
	return slices.DeleteFunc(upstream.Scripted(q.header), func(name string) bool {
		return !slices.Equal(q.header[name], head[name]) || r.ruled != nil && r.ruled.KeysHeader(name)
	})
}

// converses reports whether a body is messages of a call of gRPC. Its client may wait for messages
// of the origin before it sends the next one, so it is no slow client.
func converses(head http.Header) bool {
	return strings.HasPrefix(head.Get("Content-Type"), "application/grpc")
}

// Bounds limits forwarded requests.
type Bounds struct {
	MaxBody          int64 // bytes of a request's body; 0: any
	MaxObject        int64 // bytes of a stored body; 0: the default
	Patience         upstream.Patience
	Hold, Hesitation time.Duration // see Forwarding
}

// tooLong reports whether the body of a request is longer than the operator allows, as far as its
// length is known.
func (h *Proxy) tooLong(q *fetchRequest) bool {
	length := int64(len(q.body))
	if q.upload != nil {
		length = q.upload.Length
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

// rawTarget returns the path and query of a request as the client sent them, also if its target is
// a whole URL (RFC 9112, section 3.2.2).
func rawTarget(ctx *fasthttp.RequestCtx) string {
	raw := string(ctx.RequestURI())
	if strings.HasPrefix(raw, "/") {
		return raw
	}
	_, rest, _ := strings.Cut(raw, "://")
	switch at := strings.IndexAny(rest, "/?"); {
	case at < 0:
		return string(ctx.URI().PathOriginal()) // "/", or the asterisk of OPTIONS
	case rest[at] == '?':
		return "/" + rest[at:]
	default:
		return rest[at:]
	}
}

// passGet answers a GET: from a stored response if possible, including conditions and ranges;
// otherwise from the origin.
func (h *Proxy) passGet(r *request, q *fetchRequest) (exchange.Outcome, error) {
	if hasAny(q.header, bypassing[:2]) || signed(q.header) && h.changesSigned(q, r.now) || len(q.header["Range"]) > 0 && !h.answersRange(q, r.now) {
		return h.bypass(r, q, cachepolicy.ForwardBypass)
	}
	for _, name := range conditions {
		delete(q.header, name)
	}
	for range 2 {
		f, err := h.find(r, q, h.fetchAndStore)
		switch {
		case err != nil:
			return f.outcome, err
		case f.entry == unsliceable:
			return h.bypassRange(r, q)
		case !f.entry.IsObject():
			if err := cutStream(r, &f); err != nil {
				f.close()
				return f.outcome, err
			}
			h.finish(r, f)
			return f.outcome, nil
		}
		o, err := h.serveObject(r, q, f)
		if !errors.Is(err, errChanged) {
			return o, err
		}
		r.now = h.Options.Clock.Now() // the object is no longer stored
	}
	return h.bypassRange(r, q)
}

// answersRange reports whether the cache may answer the Range of a GET. A stored response that is
// no object answers it while it is fresh.
func (h *Proxy) answersRange(q *fetchRequest, now time.Time) bool {
	e := h.lookup(q).entry
	return e != nil && !e.IsObject() && e.Freshness().Fresh(now) || h.takeRange(q, e, now)
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
func (h *Proxy) changesSigned(q *fetchRequest, now time.Time) bool {
	if !hasAny(q.header, conditions) && len(q.header["Range"]) == 0 {
		return false
	}
	e := h.lookup(q).entry
	return e == nil || e.IsObject() || !e.Freshness().Fresh(now)
}

// bypassRange forwards a request with the client's own Range.
func (h *Proxy) bypassRange(r *request, q *fetchRequest) (exchange.Outcome, error) {
	if q.ranged != nil {
		q.giveRangeBack()
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
func (h *Proxy) passHead(r *request, q *fetchRequest) (exchange.Outcome, error) {
	s := h.lookup(q)
	e, why := s.entry, s.why
	if e != nil && cachepolicy.Decide(e.Freshness(), q.policy, r.now) != cachepolicy.Revalidate {
		f := r.hit(e, exchange.Hit)
		h.finish(r, f)
		return f.outcome, nil
	}
	if q.policy.Directives.OnlyIfCached {
		return exchange.Refused, notStored()
	}
	asked := h.Options.Cache.Generation()
	a, err := h.request(q, q.upstream(nil))
	if err != nil {
		if afterFailure(e, err, q.policy, r.now) == stateFail {
			return exchange.Failed, r.failed(err)
		}
		f := r.stale(e)
		h.finish(r, f)
		return f.outcome, nil
	}
	if e != nil && q.policy.VariesBy(a.Header) {
		h.applyHead(q, e, a, asked)
	}
	return h.relay(r, q, a, why, asked)
}

// applyHead updates or invalidates the stored response of a GET, according to the response to a
// HEAD (RFC 9111, section 4.3.5).
func (h *Proxy) applyHead(q *fetchRequest, e *cache.Entry, a *upstream.Response, asked cache.Generation) {
	length := int64(-1)
	if id := e.Identity(); id != nil {
		length = int64(len(id.Body))
	}
	if e.IsObject() {
		length = e.Object.Length
	}
	switch cachepolicy.HeadUpdate(e.Status, header(e), length, a.Status, a.Header) {
	case cachepolicy.Update:
		h.replaceConfirmed(getOf(q), e, a, asked)
	case cachepolicy.Invalidate:
		h.Options.Cache.Purge(cache.Purge{Keys: []string{e.Key}, Soft: true}, a.ResponseTime)
	}
}

// getOf returns the same fetch request as a GET.
func getOf(q *fetchRequest) *fetchRequest {
	g := *q
	g.policy.Method, g.unsliced = http.MethodGet, true
	return &g
}

// passUncached forwards a GET or HEAD that has a body (RFC 9110, section 9.3.1) or a cookie whose
// requests bypass the cache. The response may depend on either, and neither is part of the cache
// key. So the cache neither answers the request nor stores its response, and no other request
// shares the fetch.
func (h *Proxy) passUncached(r *request, q *fetchRequest) (exchange.Outcome, error) {
	if q.policy.Directives.OnlyIfCached {
		return exchange.Refused, notStored()
	}
	return h.bypass(r, q, cachepolicy.ForwardBypass)
}

// bypass forwards the request to the origin without the cache.
func (h *Proxy) bypass(r *request, q *fetchRequest, why cachepolicy.Forward) (exchange.Outcome, error) {
	sent := h.Options.Cache.Generation()
	a, err := h.request(q, q.upstream(nil))
	if err != nil {
		r.status = cachepolicy.CacheStatus{Forward: why}
		if failed := q.upload.Err(); failed != nil { // the client's failure
			return exchange.Refused, unreadable(failed)
		}
		return exchange.Failed, err
	}
	return h.relay(r, q, a, why, sent)
}

// relay passes the origin's response on as it comes, and invalidates the stored responses that the
// request may have changed (RFC 9111, section 4.4). sent is the generation at which the request was
// sent.
func (h *Proxy) relay(r *request, q *fetchRequest, a *upstream.Response, why cachepolicy.Forward, sent cache.Generation) (exchange.Outcome, error) {
	posted := q.policy.Method == http.MethodPost && !q.bypasses && cachepolicy.Storable(q.policy, a.Status, a.Header, a.ResponseTime)
	may := posted && a.Status < http.StatusBadRequest && !h.Options.Cache.Invalidated(newForwarded(q, a, a.Header), sent)
	h.invalidate(r, q, a)
	r.forward, r.status = why, cachepolicy.CacheStatus{Forward: why}
	if posted {
		// The response is also stored for later GETs (RFC 9110, section 9.3.3).
		f, err := r.uncollapsed(h.storeForwarded(getOf(q), a, h.Options.Cache.Generation(), may))
		if err == nil {
			h.finish(r, f)
		}
		return exchange.Passed, err
	}
	f := found{entry: newForwarded(q, a, a.Header), stream: a.Body, length: a.Length, trailer: trailerOf(a), relayed: true}
	etag := a.Header.Get("Etag")
	if a.Status == http.StatusNotModified {
		etag = compress.Held(joined(r.ctx, fasthttp.HeaderIfNoneMatch), "*", etag, etag)
	}
	f.entry.SetIdentity(nil, etag)
	if a.Body == http.NoBody && !r.ctx.IsHead() {
		f.stream, f.trailer = nil, nil // so that the head of the response also ends it
	}
	if 0 < a.Length && a.Length < MaxWhole {
		if err := f.hold(a, h.holdFor(a)); err != nil {
			return exchange.Failed, err
		}
	}
	if r.ctx.IsHead() { // only this field gives the length that the body of a GET would have
		if n, err := strconv.ParseInt(a.Header.Get("Content-Length"), 10, 64); err == nil {
			f.length = n
		} else {
			f.length = -1
		}
		if storable := cachepolicy.SharingOf(getOf(q).policy, a.Status, a.Header, a.ResponseTime).Storable; storable && !q.bypasses {
			q.negotiate(f.entry, a.Header, f.length) // a GET would be stored
		}
	}
	f.aged = f.entry.Policy.AgeAt(r.now) >= time.Second
	h.finish(r, f)
	return exchange.Passed, nil
}

// invalidate removes the stored responses that a request may have changed: those of its own address
// and of the addresses that its response names.
func (h *Proxy) invalidate(r *request, q *fetchRequest, a *upstream.Response) {
	targets := cachepolicy.Invalidated(q.policy, a.Status, a.Header)
	if len(targets) == 0 {
		return
	}
	var p cache.Purge
	if q.ruled != nil {
		p.Tags = q.addressTags()
		targets = append(targets, q.ruled.request.Target) // before a rewrite
	}
	for _, target := range targets {
		if q.ruled != nil {
			stored, site := h.Sites().CacheTargets(hostName(q.policy.Host), target)
			for _, target := range stored {
				p.Tags = append(p.Tags, cache.AddressTag(q.policy.Host, target), cache.SharedTag(site, target))
			}
		}
		target = r.site.Key(target)
		p.Keys = append(p.Keys, routes.ForwardedKey("http", q.policy.Host, target), routes.ForwardedKey("https", q.policy.Host, target))
	}
	h.Options.Cache.Purge(p, a.ResponseTime)
}

// hold waits for the end of a short body, so that an incomplete one becomes a clean 502. A body
// that takes longer is sent while it arrives.
func (f *found) hold(a *upstream.Response, atMost time.Duration) error {
	spool := collapse.NewSpool(a.Body, bufferFor(a), a.Length, 0)
	spool.ForOne()
	go spool.Run() // the readers of the spool report its error
	body, whole, err := spool.ReadAll(MaxWhole, atMost)
	switch {
	case err != nil:
		return err
	case whole:
		f.entry.SetIdentity(body, f.entry.Identity().ETag)
		f.stream = nil
	default:
		f.stream, err = spool.Reader()
	}
	return err
}
