package edge

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/problem"
	"github.com/valyala/fasthttp"
)

// everyAnswer is on every response of the public listener, whatever its status.
var everyAnswer = []cache.Field{
	field("Access-Control-Allow-Origin", "*"),
	field("Access-Control-Expose-Headers", "ETag, Age, Cache-Status, Link, Retry-After, RateLimit, RateLimit-Policy, Icon-Recolored"),
	field("Timing-Allow-Origin", "*"),
	field("X-Content-Type-Options", "nosniff"),
	field("Cross-Origin-Resource-Policy", "cross-origin"),
}

// onPreflights is also on the response to a preflight, which clients may cache for a day.
var onPreflights = []cache.Field{
	field("Access-Control-Allow-Methods", routes.AllMethods),
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

// addFields writes fields, several of which may have one name. If own is set it writes those whose
// values differ from entry to entry, otherwise the rest.
func addFields(resp *fasthttp.Response, fields []cache.Field, own bool) {
	for _, f := range fields {
		if isOwn(f.Name) == own {
			resp.Header.AddBytesKV(f.Name, f.Value)
		}
	}
}

// isOwn reports whether a field has a different value in almost every entry. Many entries share the
// other fields.
func isOwn(name []byte) bool {
	switch string(name) {
	case "Surrogate-Key", "Last-Modified", "Cache-Status":
		return true
	}
	return false
}

func write(resp *fasthttp.Response, f cache.Field) { resp.Header.SetCanonical(f.Name, f.Value) }

var nameDate, dateInWaiting = []byte("Date"), []byte("Xate")

// setDate writes the Date of a response (RFC 9110, section 6.6.1). fasthttp replaces a Date that is
// set with the present time. Therefore setDate sets it under another name, and then changes the
// name in place.
func setDate(resp *fasthttp.Response, date []byte) {
	resp.Header.SetCanonical(dateInWaiting, date)
	for name := range resp.Header.All() {
		if string(name) == string(dateInWaiting) {
			copy(name, nameDate)
			return
		}
	}
}

// A clock returns the present time as a Date field, formatted once a second.
type clock struct{ last atomic.Pointer[tick] }

type tick struct {
	second int64
	date   []byte
}

func (c *clock) date(now time.Time) []byte {
	if t := c.last.Load(); t != nil && t.second == now.Unix() {
		return t.date
	}
	t := &tick{now.Unix(), fasthttp.AppendHTTPDate(nil, now)}
	c.last.Store(t)
	return t.date
}

// fail writes a problem in place of everything written to the response before.
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
	setDate(resp, h.clock.date(r.now))
	resp.Header.SetContentType(problem.ContentType)
	resp.Header.Set(fasthttp.HeaderCacheControl, p.CacheControl())
	if r.route.Class() == routes.ClassVerify {
		resp.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	}
	for name, lines := range p.Header {
		for _, value := range lines {
			resp.Header.Set(name, value)
		}
	}
	writeUnready(r, p)
	send(r, p.JSON())
	if p.Status >= http.StatusInternalServerError && p.Err != nil {
		h.opt.Log.Debug("problem response", "status", p.Status, "err", p.Err)
	}
}

// preflight answers an OPTIONS request. The response is the same for every path, and counts against
// no limit.
func (h *handler) preflight(r *request, allow string) exchange.Outcome {
	resp := &r.ctx.Response
	resp.SetStatusCode(http.StatusNoContent)
	setDate(resp, h.clock.date(r.now))
	writeFields(resp, everyAnswer)
	writeFields(resp, onPreflights)
	resp.Header.Set(fasthttp.HeaderAllow, allow)
	return exchange.Own
}

// writeCacheStatus reports the use of this cache in Cache-Status (RFC 9211), if the request used
// it.
func writeCacheStatus(r *request) {
	if r.status.Hit || r.status.Forward != "" {
		var buf [96]byte
		// It follows the members of the caches before this one.
		r.ctx.Response.Header.AddBytesKV(nameCacheStatus, cachepolicy.AppendCacheStatus(buf[:0], r.status))
	}
}

var nameCacheStatus, nameRateLimit, nameRatePolicy = []byte("Cache-Status"), []byte("RateLimit"), []byte("RateLimit-Policy")

// writeLimit reports the state of the client's limit (draft-ietf-httpapi-ratelimit-headers-11).
func writeLimit(r *request) {
	if r.count.Limit.Off() {
		return
	}
	var buf [64]byte
	name := r.count.Class.String()
	r.ctx.Response.Header.SetCanonical(nameRatePolicy, ratelimit.AppendPolicy(buf[:0], name, r.count.Limit))
	r.ctx.Response.Header.SetCanonical(nameRateLimit, ratelimit.AppendState(buf[:0], name, r.count.Decision))
}
