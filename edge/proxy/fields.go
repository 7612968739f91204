package proxy

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
)

// onPreflights is also on the response to a preflight, which clients may cache for a day.
var onPreflights = []cache.Field{
	respond.NewField("Access-Control-Allow-Methods", routes.AllMethods),
	respond.NewField("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range"),
	respond.NewField("Access-Control-Max-Age", "86400"),
}

func addFields(out *exchange.Response, fields []cache.Field) {
	for _, f := range fields {
		out.Add(string(f.Name), string(f.Value))
	}
}

// addFieldsOfEveryAnswer adds respond.EveryAnswer to the response, if the site has icons.
func (r *request) addFieldsOfEveryAnswer() {
	if r.site.Icons {
		addFields(&r.Response, respond.EveryAnswer)
	}
}

// A dateClock returns a time as a Date field, formatted once a second.
type dateClock struct{ last atomic.Pointer[tick] }

type tick struct {
	second int64
	date   []byte
}

func (c *dateClock) date(now time.Time) []byte {
	if t := c.last.Load(); t != nil && t.second == now.Unix() {
		return t.date
	}
	t := &tick{now.Unix(), fasthttp.AppendHTTPDate(nil, now)}
	c.last.Store(t)
	return t.date
}

// fail writes a problem in place of everything written to the response before.
func (h *Proxy) fail(r *request, p *problem.Problem) {
	resp, out := &r.ctx.Response, &r.Response
	closing := resp.ConnectionClose()
	resp.Reset()
	if closing {
		resp.SetConnectionClose()
	}
	resp.SetStatusCode(p.Status)
	out.Reset()
	body := r.refusal(p)
	r.addFieldsOfEveryAnswer()
	respond.SetLimit(&r.Response, &r.count)
	writeCacheStatus(r)
	h.writeDate(r)
	out.Add(fasthttp.HeaderCacheControl, p.CacheControl())
	if r.route.Class() == routes.ClassVerify {
		out.Set(fasthttp.HeaderCacheControl, "no-store")
	}
	for name, lines := range p.Header {
		for _, value := range lines {
			out.Set(name, value)
		}
	}
	writeUnready(r, p)
	send(r, body)
	if p.Status >= http.StatusInternalServerError && p.Err != nil {
		h.Options.Log.Debug("problem response", "status", p.Status, "err", p.Err)
	}
}

// refusal returns the body of a problem, and adds the fields that describe it: a page for a browser
// that asked for a page of the site, and JSON for all others.
func (r *request) refusal(p *problem.Problem) []byte {
	out := &r.Response
	if r.route != routes.Page {
		out.Add(fasthttp.HeaderContentType, problem.ContentType)
		return p.JSON()
	}
	out.Add(fasthttp.HeaderVary, fasthttp.HeaderAccept)
	if r.unread || !problem.WantsPage(joined(r.ctx, fasthttp.HeaderAccept)) {
		out.Add(fasthttp.HeaderContentType, problem.ContentType)
		return p.JSON()
	}
	out.Add(fasthttp.HeaderContentType, "text/html; charset=utf-8")
	out.Add(fasthttp.HeaderContentSecurityPolicy, problem.PagePolicy)
	return p.Page()
}

// preflight answers an OPTIONS request. The response is the same for every path, and counts against
// no limit.
func (h *Proxy) preflight(r *request, allow string) exchange.Outcome {
	r.ctx.Response.SetStatusCode(http.StatusNoContent)
	h.writeDate(r)
	addFields(&r.Response, respond.EveryAnswer)
	addFields(&r.Response, onPreflights)
	r.Response.Add(fasthttp.HeaderAllow, allow)
	return exchange.Own
}

// writeDate writes the present time as the Date of a response (RFC 9110, section 6.6.1).
func (h *Proxy) writeDate(r *request) {
	r.Response.Add(fasthttp.HeaderDate, string(h.clock.date(r.now)))
}

// writeCacheStatus reports the use of this cache in Cache-Status (RFC 9211), if the request used
// it.
func writeCacheStatus(r *request) {
	if r.status.Hit || r.status.Forward != "" {
		var buf [96]byte
		r.Response.Add("Cache-Status", string(cachepolicy.AppendCacheStatus(buf[:0], r.status)))
	}
}

// looped returns the problem for a request that has passed through this edge before. It warns the
// operator only once, because every further request would repeat the warning.
func (h *Proxy) looped() *problem.Problem {
	h.loopLogged.Do(func() {
		h.Options.Log.Warn("request loop: some --origin leads back to this edge; answering such requests with 508")
	})
	return problem.New(http.StatusLoopDetected, "this request has passed through this server before: the origin of some server leads back to it")
}

// releaseOf returns the release for which a response is current: the one that this edge knew before
// the lookup, because it had by then dropped the entries that this release changed. A response that
// keep stored only briefly, because it names another release, belongs to the release that it names.
func (r *request) releaseOf(f found) string {
	e := f.entry
	if r.known == "" || e.Release == "" || storedBriefly(e) {
		return e.Release
	}
	return r.known
}

// acceptsTrailer reports whether a client takes trailer fields (RFC 9110, section 10.1.4).
func acceptsTrailer(h http.Header) bool {
	for _, line := range h["Te"] {
		for coding := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.Trim(coding, " \t"), "trailers") {
				return true
			}
		}
	}
	return false
}

// headerOf returns lines of fields as a header.
func headerOf(lines []byte) http.Header {
	h := http.Header{}
	for name, value := range exchange.FieldsIn(lines) {
		h.Add(string(name), string(value))
	}
	return h
}

// trailerOf returns the trailer fields of an origin's response.
func trailerOf(a *upstream.Response) *collapse.Trailer {
	return &collapse.Trailer{Announced: a.Announced, Lines: func() []byte { return linesOf(a.Trailer()) }}
}

// takesTrailer reports whether the client gets trailer fields. Streams have a place for them. In
// HTTP/1.1 they follow chunks, and a client that does not name them in TE may not understand them.
func (r *request) takesTrailer() bool {
	if r.Protocol != exchange.H1 {
		return true
	}
	return r.ctx.Request.Header.IsHTTP11() && acceptsTrailer(http.Header{"Te": exchange.Texts(r.Lines("TE"))})
}

// followByTrailer makes a whole body one that is streamed, if trailer fields follow it. They belong
// to the body as the origin sent it.
func (f *found) followByTrailer(r *request, p representation) {
	status := r.ctx.Response.StatusCode()
	if f.stream != nil || status != f.entry.Status || status == http.StatusNoContent || status == http.StatusNotModified || r.ctx.IsHead() ||
		p.coding != entry.Identity || !r.takesTrailer() || len(f.trailer.Lines()) == 0 {
		return
	}
	f.stream, f.length = io.NopCloser(bytes.NewReader(p.body)), int64(len(p.body))
	if r.Protocol == exchange.H1 {
		f.length = -1
	}
}

// sendTrailer sends the trailer fields after a body that is streamed.
func (r *request) sendTrailer(f found) {
	if f.trailer == nil || r.Protocol == exchange.H1 && f.length >= 0 || !r.takesTrailer() {
		return
	}
	r.Response.Trailer = f.trailer.Lines
	if r.Protocol == exchange.H1 {
		h := &r.ctx.Response.Header
		r.stream.ends = func() { setTrailer(h, f.trailer.Lines()) }
	}
}

// setTrailer hands trailer fields to fasthttp's server, which has sent the header fields and writes
// them next. Lines of one name are joined (RFC 9110, section 5.3), because the server writes one.
func setTrailer(h *fasthttp.ResponseHeader, lines []byte) {
	h.SetTrailerBytes(nil) // forgets those that were announced
	for name, values := range headerOf(lines) {
		if h.AddTrailer(name) == nil {
			h.Set(name, strings.Join(values, ", "))
		}
	}
}
