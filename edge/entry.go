package edge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
)

// clientErrors is how long an answer of 400 to 499 is kept at most: a name that is published shows at once.
const clientErrors = 5 * time.Second

// passed are the fields of an origin's answer that go on to clients; any other stays between the two.
var passed = []struct {
	name     string
	bodyOnly bool // left out of a 304 (RFC 9110, section 15.4.5)
}{
	{"Cache-Control", false}, {"Cdn-Cache-Control", false}, {"Expires", false}, {"Surrogate-Key", false},
	{"Content-Encoding", true}, {"Content-Language", true}, {"Last-Modified", true}, {"Link", true},
	{"Location", true}, {"Retry-After", true}, {"Www-Authenticate", true},
}

// newEntry makes a complete answer of what the origin said: its fields as they will be written, a strong entity tag of the
// content, and what decides of its life.
func newEntry(key string, a *upstream.Answer) *cache.Entry {
	if a.Status >= http.StatusBadRequest {
		clientError(a)
	}
	e := &cache.Entry{Key: key, Status: a.Status, ContentType: []byte(a.Header.Get("Content-Type"))}
	etag := ""
	if a.Status == http.StatusOK {
		etag = entityTag(a)
	}
	e.SetIdentity(bytes.Clone(a.Body), etag) // without the room to grow that reading left behind it
	describe(e, a.Header, a)
	if a.Status >= http.StatusBadRequest {
		e.Policy.Lifetime = min(e.Policy.Lifetime, e.Policy.Age+clientErrors)
	}
	d := cachepolicy.ParseCacheControl(a.Header["Cache-Control"]...)
	if d.NoTransform || a.Header.Get("Content-Encoding") != "" {
		e.AsItIs()
	}
	return e
}

// confirmed makes a new entry of one that the origin says has not changed, with the fields of its 304 in place of the old ones
// (RFC 9111, section 3.2).
func confirmed(stale *cache.Entry, a *upstream.Answer) *cache.Entry {
	h := http.Header{}
	for _, fields := range [][]cache.Field{stale.Fields, stale.Missing} {
		for _, f := range fields {
			h.Add(string(f.Name), string(f.Value))
		}
	}
	for name, lines := range a.Header {
		if !strings.HasPrefix(name, "Content-") {
			h[name] = lines
		}
	}
	e := stale.Confirmed()
	monochrome := e.Monochrome
	describe(e, h, a)
	if e.Monochrome == "" {
		e.Monochrome = monochrome
	}
	return e
}

// describe fills all of an entry that follows from the header fields.
func describe(e *cache.Entry, h http.Header, a *upstream.Answer) {
	e.Fields, e.Missing = nil, nil
	for _, p := range passed {
		if p.name == "Surrogate-Key" && e.Status >= http.StatusBadRequest {
			continue // it tags the entry, but would repeat to the client a name that was not found
		}
		for _, value := range h[p.name] {
			f := cache.Field{Name: []byte(p.name), Value: []byte(value)}
			if p.bodyOnly {
				e.Missing = append(e.Missing, f)
			} else {
				e.Fields = append(e.Fields, f)
			}
		}
	}
	if path, _, _ := strings.Cut(e.Key, "?"); strings.HasSuffix(path, ".svg") {
		e.Missing = append(e.Missing, drawingPolicy)
	}
	if t, ok := cachepolicy.ParseDate(h.Get("Last-Modified"), a.ResponseTime); ok {
		e.LastModified = t
	}
	if etag := h.Get("Etag"); wellFormedTag(strings.TrimPrefix(etag, "W/")) {
		e.Validator = etag
	}
	e.Tags = strings.Fields(strings.Join(h["Surrogate-Key"], " "))
	e.Monochrome = h.Get(icon.FieldMonochrome)
	e.Release = h.Get(icon.FieldRelease)
	e.Policy = cachepolicy.NewEntry(e.Status, h, a.RequestTime, a.ResponseTime)
}

// drawingPolicy lets nothing in an SVG run or load, should one be opened as a page.
var drawingPolicy = cache.Field{
	Name:  []byte("Content-Security-Policy"),
	Value: []byte("default-src 'none'; style-src 'unsafe-inline'; sandbox"),
}

// clientError makes an origin's 4xx one of ours: a problem, kept for seconds, and not at all where it is about the caller.
func clientError(a *upstream.Answer) {
	p := problem.New(a.Status, "the origin answered that this can't be done as it was asked for")
	media, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(media) != problem.ContentType {
		a.Body = p.JSON()
		a.Header.Set("Content-Type", problem.ContentType)
		a.Header.Del("Content-Encoding")
	}
	life, _ := cachepolicy.Lifetime(a.Status, a.Header, a.ResponseTime)
	if p.CacheControl() == "no-store" || life > clientErrors || a.Header.Get("Cache-Control") == "" {
		a.Header.Set("Cache-Control", p.CacheControl())
		a.Header.Del("Expires")
	}
}

// entityTag is a strong tag of the content: the origin's, or one made of it where the origin gave none, a weak one or no tag.
func entityTag(a *upstream.Answer) string {
	if etag := a.Header.Get("Etag"); wellFormedTag(etag) {
		return etag
	}
	sum := sha256.Sum256(a.Body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// wellFormedTag reports whether s is a strong entity tag (RFC 9110, section 8.8.3).
func wellFormedTag(s string) bool {
	n := len(s)
	if n < 2 || s[0] != '"' || s[n-1] != '"' {
		return false
	}
	for i := 1; i < n-1; i++ {
		if c := s[i]; c < 0x21 || c == '"' || c >= 0x7f {
			return false
		}
	}
	return true
}
