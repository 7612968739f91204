package edge

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
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// clientErrors is how long an answer of 400 to 499 is kept at most on our own routes: a name that is published shows at once.
const clientErrors = 5 * time.Second

// passed are the fields of an origin's answer that go on to clients of our own routes; any other stays between the two.
var passed = map[string]bool{
	"Cache-Control": true, "Cdn-Cache-Control": true, "Content-Encoding": true, "Content-Language": true, "Expires": true,
	"Last-Modified": true, "Link": true, "Location": true, "Retry-After": true, "Surrogate-Key": true, "Www-Authenticate": true,
}

// apart are the fields that an entry keeps elsewhere, or that are made anew for each answer.
var apart = map[string]bool{
	"Age": true, "Cache-Status": true, "Content-Length": true, "Content-Type": true, "Date": true, "Etag": true,
}

// describes reports whether a field describes the body that comes with it, so that a 304 leaves it out
// (RFC 9110, section 15.4.5).
func describes(name string, tagged bool) bool {
	switch name {
	case "Content-Location", "Content-Security-Policy":
		return false
	case "Link", "Location", "Retry-After", "Www-Authenticate":
		return true
	case "Last-Modified":
		return tagged // else it is all that a client can go by
	}
	return strings.HasPrefix(name, "Content-")
}

// newOwn makes a complete answer on a route of ours of what the origin said: its fields as they will be written, a strong
// entity tag of the content, and what decides of its life.
func newOwn(key string, a *upstream.Answer, body []byte) *cache.Entry {
	e := &cache.Entry{Key: key, Status: a.Status}
	etag := ""
	if a.Status == http.StatusOK {
		etag = entityTag(a.Header.Get("Etag"), body)
	}
	e.SetIdentity(bytes.Clone(body), etag) // without the room to grow that reading left behind it
	describe(e, a.Header, a, true)
	if e.Status >= http.StatusBadRequest {
		e.Policy.Lifetime = min(e.Policy.Lifetime, e.Policy.Age+clientErrors)
	}
	return e
}

// newForwarded makes an entry of an answer that is passed on as it is, with these of its fields. Its body is for the caller to
// set.
func newForwarded(q *inquiry, a *upstream.Answer, h http.Header) *cache.Entry {
	e := &cache.Entry{Key: q.key, Status: a.Status}
	describe(e, h, a, false)
	q.vary(e, h)
	return e
}

// vary says for which requests an entry is: those that agree with q in the fields that its Vary names.
func (q *inquiry) vary(e *cache.Entry, h http.Header) {
	e.Vary, e.Secondary = nil, ""
	if names, _ := cachepolicy.VaryNames(h); len(names) > 0 {
		e.Vary, e.Secondary = names, cachepolicy.VaryKey(names, q.lines)
	}
}

// describe fills all of an entry that follows from the header fields. On our own routes clients see some of them only.
func describe(e *cache.Entry, h http.Header, a *upstream.Answer, own bool) {
	e.Fields, e.Missing = nil, nil
	tagged := own || h.Get("Etag") != ""
	for _, name := range fieldNames(h) {
		if apart[name] || internal[name] || own && (!passed[name] || name == "Surrogate-Key" && e.Status >= http.StatusBadRequest) {
			continue // a 404's surrogate key tags the entry, but would repeat to the client a name that was not found
		}
		for _, value := range h[name] {
			f := cache.Field{Name: []byte(name), Value: []byte(value)}
			if describes(name, tagged) {
				e.Missing = append(e.Missing, f)
			} else {
				e.Fields = append(e.Fields, f)
			}
		}
	}
	if before := cachepolicy.CacheStatusBefore(h["Cache-Status"]); before != "" {
		e.Fields = append(e.Fields, field("Cache-Status", before))
	}
	if path, _, _ := strings.Cut(e.Key, "?"); own && strings.HasSuffix(path, ".svg") {
		e.Missing = append(e.Missing, drawingPolicy)
	}
	e.ContentType = []byte(h.Get("Content-Type"))
	if t, ok := cachepolicy.ParseDate(h.Get("Last-Modified"), a.ResponseTime); ok {
		e.LastModified = t
	}
	if etag := h.Get("Etag"); wellFormedTag(strings.TrimPrefix(etag, "W/")) {
		e.Validator = etag
	}
	e.Tags = strings.Fields(strings.Join(h["Surrogate-Key"], " "))
	e.Monochrome = h.Get(icon.FieldMonochrome)
	e.Release = h.Get(icon.FieldRelease)
	e.Policy, e.Date = aged(e.Status, h, a, own && e.Release != "")
	if d := cachepolicy.ParseCacheControl(h["Cache-Control"]...); !own || d.NoTransform || h.Get("Content-Encoding") != "" {
		e.AsItIs()
	}
}

// skew is by how much the clocks of two tiers may differ, and the time on the way, before a Date is taken for wrong.
const skew = time.Minute

// aged is what decides of an answer's life, and the Date that it is passed on with. An answer of ours says by its Age how old it is, tier by
// tier, and each tier measures that by its own clock: so its Date, which an origin's clock made that may be hours off, has no say in it, as
// it has in RFC 9111, section 4.2.3; and where the two differ the Date is set right, since the caches of clients go by it.
func aged(status int, h http.Header, a *upstream.Answer, ours bool) (cachepolicy.Entry, []byte) {
	if h.Get("Date") == "" {
		return cachepolicy.NewEntry(status, h, a.RequestTime, a.ResponseTime), httpDate(a.ResponseTime) // RFC 9110, section 6.6.1
	}
	if !ours {
		return cachepolicy.NewEntry(status, h, a.RequestTime, a.ResponseTime), []byte(h.Get("Date"))
	}
	undated := maps.Clone(h)
	delete(undated, "Date")
	p := cachepolicy.NewEntry(status, undated, a.RequestTime, a.ResponseTime)
	made := a.ResponseTime.Add(-p.Age)
	if date, ok := cachepolicy.ParseDate(h.Get("Date"), a.ResponseTime); ok && made.Sub(date).Abs() < skew {
		return p, []byte(h.Get("Date"))
	}
	return p, httpDate(made)
}

func httpDate(t time.Time) []byte { return []byte(t.UTC().Format(http.TimeFormat)) }

// fieldNames are those of the fields, sorted: an answer looks the same every time.
func fieldNames(h http.Header) []string {
	list := make([]string, 0, len(h))
	for name := range h {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// header are the fields of an entry as the origin sent them, but for those that were not kept.
func header(e *cache.Entry) http.Header {
	h := http.Header{}
	for _, fields := range [][]cache.Field{e.Fields, e.Missing} {
		for _, f := range fields {
			h.Add(string(f.Name), string(f.Value))
		}
	}
	if len(e.ContentType) > 0 {
		h.Set("Content-Type", string(e.ContentType))
	}
	if id := e.Identity(); id != nil && id.ETag != "" {
		h.Set("Etag", id.ETag)
	}
	return h
}

// confirmed makes a new entry of one that the origin says has not changed, with the fields of its 304 (or of its answer to a
// HEAD) in place of the old ones (RFC 9111, section 3.2).
func confirmed(q *inquiry, stale *cache.Entry, a *upstream.Answer) *cache.Entry {
	e := stale.Confirmed()
	monochrome, validator := e.Monochrome, e.Validator
	h := cachepolicy.Freshened(header(stale), a.Header)
	describe(e, h, a, q.own)
	e.Validator = validator // the body is still the one that it was made for
	if e.Monochrome == "" {
		e.Monochrome = monochrome
	}
	if !q.own {
		q.vary(e, h)
	}
	return e
}

// internal are the fields that stay between an origin of ours and its edges.
var internal = map[string]bool{icon.FieldMonochrome: true, icon.FieldRelease: true, icon.FieldReady: true}

// drawingPolicy lets nothing in an SVG run or load, should one be opened as a page.
var drawingPolicy = field("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")

// clientError makes an origin's 4xx one of ours: a problem, kept for seconds, and not at all where it is about the caller. It
// returns the body.
func clientError(a *upstream.Answer, body []byte) []byte {
	p := problem.New(a.Status, "the origin answered that this can't be done as it was asked for")
	media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(media) != problem.ContentType {
		body = p.JSON()
		a.Header.Set("Content-Type", problem.ContentType)
		a.Header.Del("Content-Encoding")
	}
	life, _ := cachepolicy.Lifetime(a.Status, a.Header, a.ResponseTime)
	if p.CacheControl() == "no-store" || life > clientErrors || a.Header.Get("Cache-Control") == "" {
		a.Header.Set("Cache-Control", p.CacheControl())
		a.Header.Del("Expires")
	}
	return body
}

// entityTag is a strong tag of the content: the origin's, or one made of it where the origin gave none, a weak one or no tag.
func entityTag(etag string, body []byte) string {
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
