package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
)

// ClientErrors bounds the freshness lifetime of a 4xx on our own routes, so that a newly published
// name is visible within seconds.
const ClientErrors = 5 * time.Second

// passed lists the fields of an origin's response that clients of our own routes receive. The edge
// removes all others.
var passed = map[string]bool{
	"Cache-Control": true, "Cdn-Cache-Control": true, "Content-Disposition": true, "Content-Encoding": true,
	"Content-Language": true, "Expires": true,
	"Icon-Recolored": true, // of a picture, which the origin colours
	"Icon-Restroked": true,
	"Last-Modified":  true, "Link": true, "Location": true, "Retry-After": true, "Surrogate-Key": true, "Www-Authenticate": true,
}

// passedWithPages lists the fields that clients receive with pages of our own origin besides those.
var passedWithPages = map[string]bool{"Content-Security-Policy": true, "Referrer-Policy": true, "Cross-Origin-Opener-Policy": true,
	"Content-Disposition": true}

// isPage reports whether the response for a cache key is a page or an archive of the site, which
// only an origin of ours has. Pages that came through an edge without a tier secret are recognised
// by their policy, because that edge removes the name of the release.
func isPage(key string, h http.Header) bool {
	kind := h.Get("Content-Type")
	if !strings.HasPrefix(kind, "text/html") && kind != "application/zip" ||
		h.Get(icon.FieldRelease) == "" && !strings.HasPrefix(h.Get("Content-Security-Policy"), icon.PagePolicy) {
		return false
	}
	return isSite(key)
}

// isSite reports whether a cache key is that of a page or another file of the site.
func isSite(key string) bool {
	path, _, _ := strings.Cut(key, "?")
	return routes.IsSite(path)
}

// apart lists the fields that an entry stores elsewhere, or that the edge makes anew for each
// response.
var apart = map[string]bool{
	"Age": true, "Cache-Status": true, "Content-Length": true, "Content-Type": true, "Date": true, "Etag": true,
}

// describes reports whether a field describes the body that comes with it, so that a 304 omits it
// (RFC 9110, section 15.4.5).
func describes(name string, tagged bool) bool {
	switch name {
	case "Content-Location", "Content-Security-Policy":
		return false
	case "Link", "Location", "Retry-After", "Www-Authenticate":
		return true
	case "Last-Modified":
		return tagged // without an entity tag a client has no other validator
	}
	return strings.HasPrefix(name, "Content-")
}

// NewOwn makes the entry for a response on our own routes. It has the fields as they will be
// written, a strong entity tag of the content, and the policy that sets its freshness lifetime.
// coded is the body in gzip, if the origin sent it so; nil: it did not.
func NewOwn(key string, a *upstream.Response, body, coded []byte) *cache.Entry {
	e := &cache.Entry{Key: key, Status: a.Status}
	switch {
	case coded != nil:
		e.SetIdentity(body, EntityTag(identityTag(a.Header), body))
		e.SetCoded(entry.Gzip, coded)
	case a.Status == http.StatusOK:
		// A clone has no spare capacity left by reading.
		e.SetIdentity(bytes.Clone(body), EntityTag(a.Header.Get("Etag"), body))
	default:
		e.SetIdentity(bytes.Clone(body), "")
	}
	describe(e, a.Header, a, nil, cachepolicy.Request{})
	if e.Status >= http.StatusBadRequest {
		e.Policy.Lifetime = min(e.Policy.Lifetime, e.Policy.Age+ClientErrors)
	}
	return e
}

// NewForwarded makes the entry for a response that is forwarded unchanged, with the fields h. The
// caller sets its body.
func NewForwarded(q *Request, a *upstream.Response, h http.Header) *cache.Entry {
	e := &cache.Entry{Key: q.Key, Status: a.Status}
	describe(e, h, a, q.Site, q.Policy)
	q.vary(e, h)
	q.tag(e, h)
	return e
}

// vary sets which requests an entry is for: those that agree with q in the fields that its Vary
// names.
func (q *Request) vary(e *cache.Entry, h http.Header) {
	e.Vary, e.Secondary = nil, ""
	if names, _ := cachepolicy.VaryNames(h); len(names) > 0 {
		e.Vary, e.Secondary = names, cachepolicy.VaryKey(names, q.lines)
	}
}

// passedOn reports whether clients get a field of our own origin's.
func passedOn(e *cache.Entry, h http.Header, name string) bool {
	if name == "Surrogate-Key" && e.Status >= http.StatusBadRequest {
		// It tags a 404 too, but would send the client a name that was not found.
		return false
	}
	return passed[name] || name == dictionaries.FieldUse && isIconifyList(e.Key) || passedWithPages[name] && isPage(e.Key, h)
}

// describe sets every part of an entry that follows from the header fields. site is that of a
// forwarded request, and nil on our own routes, where clients receive only some of the fields. A
// site without icons has no tiers, and passes even the fields between them on.
func describe(e *cache.Entry, h http.Header, a *upstream.Response, site *vhosts.Site, asked cachepolicy.Request) {
	own, tiers := site == nil, site == nil || site.Icons
	if own {
		asked = cachepolicy.Request{}
	}
	e.Fields, e.FieldsWithBody = nil, nil
	tagged := own || h.Get("Etag") != ""
	for _, name := range fieldNames(h) {
		if apart[name] || tiers && internal[name] || own && !passedOn(e, h, name) {
			continue
		}
		for _, value := range h[name] {
			f := cache.Field{Name: []byte(name), Value: []byte(value)}
			if describes(name, tagged) {
				e.FieldsWithBody = append(e.FieldsWithBody, f)
			} else {
				e.Fields = append(e.Fields, f)
			}
		}
	}
	if before := cachepolicy.CacheStatusBefore(h["Cache-Status"]); before != "" {
		e.Fields = append(e.Fields, respond.NewField("Cache-Status", before))
	}
	if path, _, _ := strings.Cut(e.Key, "?"); own && strings.HasSuffix(path, ".svg") {
		e.FieldsWithBody = append(e.FieldsWithBody, svgPolicy)
	}
	e.ContentType = []byte(h.Get("Content-Type"))
	if t, ok := cachepolicy.ParseDate(h.Get("Last-Modified"), a.ResponseTime); ok {
		e.LastModified = t
	}
	if etag := h.Get("Etag"); wellFormedTag(strings.TrimPrefix(etag, "W/")) {
		e.Validator = etag
	}
	e.Tags = strings.Fields(strings.Join(h["Surrogate-Key"], " "))
	if tiers {
		e.Monochrome, e.Release = h.Get(icon.FieldMonochrome), h.Get(icon.FieldRelease)
	}
	e.Policy, e.Date = aged(e.Status, h, a, own && e.Release != "", asked)
	if d := cachepolicy.ParseCacheControl(h["Cache-Control"]...); !own || d.NoTransform || h.Get("Content-Encoding") != "" {
		e.DisableCodings()
	}
}

// aged returns the caching policy of a response, and the Date to pass on with it. A response of
// ours reports its age in Age, tier by tier, and each tier measures its part by its own clock.
// Therefore aged ignores the Date of such a response, unlike RFC 9111, section 4.2.3, because the
// origin's clock may be hours off. Where the two differ aged corrects the Date, because the caches
// of clients use it.
func aged(status int, h http.Header, a *upstream.Response, ours bool, asked cachepolicy.Request) (cachepolicy.Entry, []byte) {
	if h.Get("Date") == "" {
		// RFC 9110, section 6.6.1.
		return asked.NewEntry(status, h, a.RequestTime, a.ResponseTime), HTTPDate(a.ResponseTime)
	}
	if !ours {
		return asked.NewEntry(status, h, a.RequestTime, a.ResponseTime), []byte(h.Get("Date"))
	}
	undated := maps.Clone(h)
	delete(undated, "Date")
	p := cachepolicy.NewEntry(status, undated, a.RequestTime, a.ResponseTime)
	made := a.ResponseTime.Add(-p.Age)
	if date, ok := cachepolicy.ParseDate(h.Get("Date"), a.ResponseTime); ok && made.Sub(date).Abs() < library.MaxSkew {
		return p, []byte(h.Get("Date"))
	}
	return p, HTTPDate(made)
}

// fieldNames returns the sorted names of the fields, so that a response looks the same every time.
func fieldNames(h http.Header) []string {
	list := make([]string, 0, len(h))
	for name := range h {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Negotiate permits the edge to make content codings of a forwarded response with the fields h, if
// they and the length of its body (negative: unknown) permit it. stored means that the response may
// be stored. Every representation, coded or not, then names Accept-Encoding in Vary, also before
// the first coding is made.
func (q *Request) Negotiate(e *cache.Entry, h http.Header, length int64, stored bool) {
	var codable bool
	switch q.compresses() {
	case config.CompressAll:
		codable = compress.Sendable(e.Status, h, length, stored)
	case config.CompressStored:
		codable = stored && compress.Compressible(e.Status, h, length)
	}
	if codable {
		e.EnableCodings()
		e.Fields = compress.AddVary(e.Fields, e.Vary)
	}
}

// freshened returns the fields of a stored response that the origin confirmed. Those of the 304, or
// of the response to a HEAD, replace the old ones (RFC 9111, section 3.2).
func freshened(stale *cache.Entry, a *upstream.Response) http.Header {
	return cachepolicy.Freshened(pipeline.Header(stale), a.Header)
}

// confirmed makes a new entry of a stale one that the origin confirmed, with the fields h.
func confirmed(f *Finder, q *Request, stale *cache.Entry, a *upstream.Response, h http.Header) *cache.Entry {
	e := stale.CopyConfirmed()
	monochrome, validator := e.Monochrome, e.Validator
	describe(e, h, a, q.Site, q.Policy)
	q.tag(e, h)
	if r := q.shared.rule; r != nil {
		e.Tags = r.AppendTags(e.Tags, q.shared.address)
	}
	e.Validator = validator // the body is still the one that the validator belongs to
	if e.Monochrome == "" {
		e.Monochrome = monochrome
	}
	if !q.own {
		q.vary(e, h)
		q.Negotiate(e, h, int64(len(e.Identity().Body)), true)
		declare(f, q, e, h, len(e.Identity().Body))
	}
	e.DropCodings()
	return e
}

// internal lists the fields that only an origin of ours and its edges exchange.
var internal = map[string]bool{icon.FieldMonochrome: true, icon.FieldRelease: true, icon.FieldReady: true}

// svgPolicy prevents an SVG from running or loading anything if a client opens it as a page.
var svgPolicy = respond.NewField("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")

// ClientError makes an origin's 4xx one of ours: a problem, stored for seconds, or not at all if it
// concerns the caller. A page of the site stays one. ClientError returns the body.
func ClientError(a *upstream.Response, body []byte, page bool) []byte {
	p := problem.New(a.Status, "the origin answered that it can't fulfil this request")
	media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(media) != problem.ContentType && !page {
		body = p.JSON()
		a.Header.Set("Content-Type", problem.ContentType)
		a.Header.Del("Content-Encoding")
	}
	life, _ := cachepolicy.Lifetime(a.Status, a.Header, a.ResponseTime)
	if p.CacheControl() == "no-store" || life > ClientErrors || a.Header.Get("Cache-Control") == "" {
		a.Header.Set("Cache-Control", p.CacheControl())
		a.Header.Del("Expires")
	}
	if a.Status == http.StatusGone { // it replaces a stored icon, but only here (RFC 9213)
		a.Header.Set("CDN-Cache-Control", "max-age=5")
	}
	return body
}

// identityTag returns the entity tag that the origin of a response in gzip gives to its identity.
// An origin of ours, and an edge before it, make one from the other. "" means that it is unknown.
func identityTag(h http.Header) string {
	for _, suffix := range [...]string{`-gz"`, `-gzip"`} {
		if stem, ok := strings.CutSuffix(h.Get("Etag"), suffix); ok && h.Get(icon.FieldRelease) != "" {
			return stem + `"`
		}
	}
	return ""
}

// EntityTag returns the origin's entity tag if it is strong and well-formed, and otherwise a strong
// one made from the content.
func EntityTag(etag string, body []byte) string {
	if wellFormedTag(etag) {
		return etag
	}
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// wellFormedTag reports whether s is a strong entity tag (RFC 9110, section 8.8.3).
func wellFormedTag(s string) bool {
	n := len(s)
	if n < 2 || s[0] != '"' || s[n-1] != '"' {
		return false
	}
	for i := 1; i < n-1; i++ {
		if c := s[i]; c < 0x21 || c == '"' || c == 0x7f {
			return false
		}
	}
	return true
}

// CountGroups counts the names of cache groups in a response, and those that are ignored because of
// their limits.
func (o *Fetcher) CountGroups(names []string, ignored int) {
	if len(names)+ignored == 0 { // as in most responses
		return
	}
	o.options.Metrics.Groups[0].Add(float64(len(names)))
	o.options.Metrics.Groups[1].Add(float64(ignored))
}
