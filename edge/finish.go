package edge

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// everyAnswer is on every answer of the public listener, whatever its status.
var everyAnswer = []cache.Field{
	field("Access-Control-Allow-Origin", "*"),
	field("Access-Control-Expose-Headers", "ETag, Age, Cache-Status, Link, Retry-After, RateLimit, RateLimit-Policy, Icon-Recolored"),
	field("Timing-Allow-Origin", "*"),
	field("X-Content-Type-Options", "nosniff"),
	field("Cross-Origin-Resource-Policy", "cross-origin"),
}

// onPreflights is besides that on the answer to a preflight: it holds for a day.
var onPreflights = []cache.Field{
	field("Access-Control-Allow-Methods", allMethods),
	field("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range"),
	field("Access-Control-Max-Age", "86400"),
}

var (
	varies       = field("Vary", "Accept-Encoding")
	acceptsRange = field("Accept-Ranges", "bytes")
	notRecolored = field("Icon-Recolored", "?0")
)

func field(name, value string) cache.Field {
	return cache.Field{Name: []byte(name), Value: []byte(value)}
}

func writeFields(resp *fasthttp.Response, fields []cache.Field) {
	for _, f := range fields {
		resp.Header.SetCanonical(f.Name, f.Value)
	}
}

func write(resp *fasthttp.Response, f cache.Field) { resp.Header.SetCanonical(f.Name, f.Value) }

// A representation is what an entry looks like to one client.
type representation struct {
	body   []byte
	etag   string
	coding cache.Coding
	color  icon.Color // to be put in
	fixed  bool       // a colour was asked for, and the drawing has its own
}

func represent(r *request, e *cache.Entry) representation {
	if c := r.target.color; c != "" && e.Status == http.StatusOK {
		if e.Monochrome == "?1" { // as it is, whatever Accept-Encoding says: colours are made one by one
			id := e.Identity()
			return representation{body: id.Body, etag: cache.Suffixed(id.ETag, string(c[1:])), color: c}
		}
		v, coding := e.Choose(joined(r.ctx, fasthttp.HeaderAcceptEncoding))
		return representation{body: v.Body, etag: v.ETag, coding: coding, fixed: r.target.form == formDrawing}
	}
	v, coding := e.Choose(joined(r.ctx, fasthttp.HeaderAcceptEncoding))
	return representation{body: v.Body, etag: v.ETag, coding: coding}
}

// colored is the body with the colour in it.
func (p *representation) colored(f form) []byte {
	if p.color == "" {
		return p.body
	}
	if f == formAnswer {
		return icon.RecolourAnswer(p.body, p.color)
	}
	return icon.Recolour(p.body, p.color)
}

// finish writes an entry as the answer to a request: its conditions, its range, its colour, its coding.
func (h *handler) finish(r *request, e *cache.Entry, aged bool) {
	resp := &r.ctx.Response
	p := represent(r, e)
	writeFields(resp, everyAnswer)
	writeFields(resp, e.Fields)
	write(resp, varies)
	if p.etag != "" {
		resp.Header.SetCanonical(nameETag, []byte(p.etag))
	}
	if aged {
		var buf [20]byte
		resp.Header.SetCanonical(nameAge, strconv.AppendInt(buf[:0], int64(e.Policy.AgeAt(r.now)/time.Second), 10))
	}
	writeCacheStatus(r)
	resp.SetStatusCode(e.Status)
	if e.Status == http.StatusOK && cachepolicy.NotModified(p.etag, e.LastModified,
		joined(r.ctx, fasthttp.HeaderIfNoneMatch), string(r.ctx.Request.Header.Peek(fasthttp.HeaderIfModifiedSince))) {
		resp.SetStatusCode(http.StatusNotModified)
		return
	}
	writeFields(resp, e.Missing)
	if p.fixed {
		write(resp, notRecolored)
	}
	if len(e.ContentType) > 0 {
		resp.Header.SetContentTypeBytes(e.ContentType)
	}
	body := p.colored(r.target.form)
	switch {
	case p.coding != cache.Identity:
		resp.Header.SetContentEncoding(p.coding.String())
	case e.Status == http.StatusOK:
		write(resp, acceptsRange)
		if body = h.part(r, e, body, p.etag); body == nil {
			return
		}
	}
	send(r.ctx, body)
}

var nameETag, nameAge = []byte("ETag"), []byte("Age")

// send gives an answer its body, which is not copied: entries are never changed.
func send(ctx *fasthttp.RequestCtx, body []byte) {
	ctx.Response.SetBodyRaw(body)
	if len(body) == 0 {
		ctx.Response.Header.SetContentLength(0) // or a HEAD would not have it
	}
}

// part is the range of an identity body that was asked for, or all of it. Where the range lies outside of the body it has
// answered that, and is nil.
func (h *handler) part(r *request, e *cache.Entry, body []byte, etag string) []byte {
	asked := r.ctx.Request.Header.Peek(fasthttp.HeaderRange)
	if len(asked) == 0 || !r.ctx.IsGet() {
		return notNil(body)
	}
	ifRange := string(r.ctx.Request.Header.Peek(fasthttp.HeaderIfRange))
	if !cachepolicy.IfRange(ifRange, etag, e.LastModified, r.now) {
		return notNil(body)
	}
	size := int64(len(body))
	off, n, what := cachepolicy.ParseRange(string(asked), size)
	switch what {
	case cachepolicy.RangePart:
		r.ctx.Response.SetStatusCode(http.StatusPartialContent)
		r.ctx.Response.Header.Set(fasthttp.HeaderContentRange, contentRange(off, n, size))
		return body[off : off+n]
	case cachepolicy.RangeUnsatisfiable:
		h.fail(r, problem.New(http.StatusRequestedRangeNotSatisfiable, "the range lies outside of what there is").
			With(fasthttp.HeaderContentRange, "bytes */"+strconv.FormatInt(size, 10)))
		return nil
	}
	return notNil(body)
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func contentRange(off, n, size int64) string {
	return "bytes " + strconv.FormatInt(off, 10) + "-" + strconv.FormatInt(off+n-1, 10) + "/" + strconv.FormatInt(size, 10)
}

// fail writes a problem in place of whatever was written before.
func (h *handler) fail(r *request, p *problem.Problem) {
	resp := &r.ctx.Response
	closing := resp.ConnectionClose()
	resp.Reset()
	if closing {
		resp.SetConnectionClose()
	}
	resp.SetStatusCode(p.Status)
	writeFields(resp, everyAnswer)
	writeLimit(r)
	writeCacheStatus(r)
	resp.Header.SetContentType(problem.ContentType)
	resp.Header.Set(fasthttp.HeaderCacheControl, p.CacheControl())
	if r.class == classVerify {
		resp.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	}
	for name, lines := range p.Header {
		for _, value := range lines {
			resp.Header.Set(name, value)
		}
	}
	send(r.ctx, p.JSON())
	if p.Status >= http.StatusInternalServerError && p.Err != nil {
		h.log.Debug("answered a problem", "status", p.Status, "err", p.Err)
	}
}

// preflight answers an OPTIONS. It is the same whatever is asked for, and costs nobody anything.
func (h *handler) preflight(r *request, allow string) outcome {
	resp := &r.ctx.Response
	resp.SetStatusCode(http.StatusNoContent)
	writeFields(resp, everyAnswer)
	writeFields(resp, onPreflights)
	resp.Header.Set(fasthttp.HeaderAllow, allow)
	return outcomeOwn
}

// writeCacheStatus tells what this cache did (RFC 9211), where it did anything.
func writeCacheStatus(r *request) {
	if r.status.Hit || r.status.Forward != "" {
		var buf [96]byte
		r.ctx.Response.Header.SetCanonical(nameCacheStatus, cachepolicy.AppendCacheStatus(buf[:0], r.status))
	}
}

var nameCacheStatus, nameRateLimit, nameRatePolicy = []byte("Cache-Status"), []byte("RateLimit"), []byte("RateLimit-Policy")

// writeLimit tells how the limit stands for a client (draft-ietf-httpapi-ratelimit-headers-11).
func writeLimit(r *request) {
	if r.limit.Off() {
		return
	}
	var buf [64]byte
	name := r.class.String()
	r.ctx.Response.Header.SetCanonical(nameRatePolicy, ratelimit.AppendPolicy(buf[:0], name, r.limit))
	r.ctx.Response.Header.SetCanonical(nameRateLimit, ratelimit.AppendState(buf[:0], name, r.decision))
}

// tooMany is the 429 of a client over its limit.
func tooMany(d ratelimit.Decision) *problem.Problem {
	wait := strconv.FormatInt(int64(d.RetryAfter/time.Second), 10)
	return problem.New(http.StatusTooManyRequests, "over the limit of calls; another will do in "+wait+" s").
		With(fasthttp.HeaderRetryAfter, wait)
}

// joined is the value of a field, several lines of it joined (RFC 9110, section 5.3).
func joined(ctx *fasthttp.RequestCtx, name string) string {
	lines := ctx.Request.Header.PeekAll(name)
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return string(lines[0])
	}
	return string(bytes.Join(lines, []byte(", ")))
}
