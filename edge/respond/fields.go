package respond

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/icon"
)

// EveryAnswer is on the responses of the edge's own routes and on its problems, whatever the
// status. Answers of rules, and sites without icons, have none of them.
var EveryAnswer = []cache.Field{
	NewField("Access-Control-Allow-Origin", "*"),
	NewField("Access-Control-Expose-Headers", "ETag, Age, Cache-Status, Link, Retry-After, RateLimit, RateLimit-Policy, "+
		"Icon-Recolored, Icon-Restroked"),
	NewField("Timing-Allow-Origin", "*"),
	NewField("X-Content-Type-Options", "nosniff"),
	NewField("Cross-Origin-Resource-Policy", "cross-origin"),
}

var (
	varies = NewField("Vary", "Accept-Encoding")

	nameContentType, nameDate = []byte(fasthttp.HeaderContentType), []byte(fasthttp.HeaderDate)
)

// AddFields adds fields to a response.
func AddFields(r *exchange.Response, fields []cache.Field) {
	for _, f := range fields {
		r.Add(string(f.Name), string(f.Value))
	}
}

// NewField returns a field, ready to send.
func NewField(name, value string) cache.Field {
	return cache.Field{Name: []byte(name), Value: []byte(value)}
}

// Prebuild serialises the head of an entry on one of the edge's own routes. The cache interns the
// parts that entries share.
func Prebuild(e *cache.Entry) {
	if e.Status != http.StatusOK || e.Identity() == nil || e.Identity().ETag == "" || len(e.Date) == 0 {
		return
	}
	part := func(p Part) []byte { return AppendPart(nil, p, e, e.Date, false) }
	e.Head = &cache.Head{Type: part(PartType), Always: part(PartAlways), WithBody: part(PartWithBody),
		Own: part(PartOwn), OwnBody: part(PartOwnBody), Paint: Paint(e)}
}

// Paint says how the edge recolours the identity body of an icon, for the head of an entry.
func Paint(e *cache.Entry) int32 {
	if icon.IsMonochrome(e.Monochrome) {
		return int32(icon.PaintOf(e.Variants[entry.Identity].Body))
	}
	return int32(icon.NoPaint)
}

// SetLimit reports the state of the limit that counted a request, if there is one
// (draft-ietf-httpapi-ratelimit-headers-11). The fields replace those of an origin that has limits
// too.
func SetLimit(r *exchange.Response, c *access.Count) {
	if c.Limit.Off() {
		return
	}
	var buf [64]byte
	r.Set("RateLimit-Policy", string(ratelimit.AppendPolicy(buf[:0], c.Name, c.Limit)))
	r.Set("RateLimit", string(ratelimit.AppendState(buf[:0], c.Name, c.Decision)))
}

// VaryByDictionary makes Available-Dictionary one of the names in Vary, if it is none (RFC 9842,
// section 6.2).
func VaryByDictionary(r *exchange.Response) {
	for name, value := range exchange.FieldsIn(r.Lines) {
		if strings.EqualFold(string(name), "Vary") && bytes.Contains(value, availableDictionary) {
			return
		}
	}
	r.Add("Vary", string(availableDictionary))
}

var availableDictionary = []byte(cachepolicy.AvailableDictionary)

// Edit edits the fields of a response with a status as the operator says: first it removes, then
// sets, then adds.
func Edit(r *exchange.Response, status int, edits []*config.ResponseEdits) {
	for _, e := range edits {
		if !e.Applies(status) {
			continue
		}
		for _, name := range e.Remove {
			r.Remove(name)
		}
		for name, value := range e.Set {
			r.Set(name, value)
		}
		for name, value := range e.Add {
			r.Add(name, value)
		}
	}
}
