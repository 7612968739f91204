package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
)

const (
	noStore     = "no-store"
	listsCached = "public, max-age=300, stale-while-revalidate=3600, stale-if-error=86400"
	forever     = "public, max-age=31536000, immutable"
	readable    = "ETag, Age, Cache-Status, Link, Retry-After, RateLimit, RateLimit-Policy, Icon-Recolored, Icon-Restroked"
	sendable    = "Authorization, Content-Type, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, If-Range, Range"
	retryAfter  = "5" // seconds until a retry may succeed
)

// Values of fields that answers share. Nobody changes them, because appending to one copies it.
var (
	anyone      = []string{"*"}
	exposed     = []string{readable}
	nosniff     = []string{"nosniff"}
	crossOrigin = []string{"cross-origin"}
	byEncoding  = []string{"Accept-Encoding"}
)

// common sets the fields that every answer has.
func common(h http.Header, r *catalog.Release) {
	h["Access-Control-Allow-Origin"] = anyone
	h["Access-Control-Expose-Headers"] = exposed
	h["Timing-Allow-Origin"] = anyone
	h["X-Content-Type-Options"] = nosniff
	h["Cross-Origin-Resource-Policy"] = crossOrigin
	if r == nil {
		h.Set(icon.FieldReady, "?0")
		return
	}
	h.Set(icon.FieldRelease, r.State())
}

// preflight answers the request that a browser sends before one that is not simple (Fetch standard,
// CORS-preflight).
func preflight(h http.Header, e *endpoint) {
	methods := strings.Join(e.methods, ", ")
	h.Set("Allow", methods)
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", sendable)
	h.Set("Access-Control-Max-Age", "86400")
}

// write sends a 200, or the status that the conditions and the range of the request require.
func (a *API) write(w http.ResponseWriter, c *call, ans *answer) {
	h := w.Header()
	h.Set("Cache-Control", ans.cacheControl)
	if c.Method == http.MethodPost {
		send(w, c.Request, http.StatusOK, ans.mediaType, ans.body)
		return
	}
	etag := `"` + ans.tag + `"`
	var coded []byte
	if cachepolicy.Encoding(joined(c.Header, "Accept-Encoding"), cachepolicy.Gzip) == cachepolicy.Gzip {
		if z := ans.gzip(); len(z) < ans.size() {
			coded, etag = z, `"`+ans.tag+`-gz"`
		}
	}
	modified := notAfter(ans.modified, c.now)
	ans.fields(h, etag, modified)
	switch cachepolicy.Precondition(c.Method, etag, modified, conditions(c.Header)) {
	case http.StatusNotModified:
		w.WriteHeader(http.StatusNotModified)
		return
	case http.StatusPreconditionFailed:
		clearFields(h)
		a.refuse(w, c, problem.New(http.StatusPreconditionFailed, "the current version does not meet If-Match or If-Unmodified-Since"))
		return
	}
	if coded != nil {
		h.Set("Content-Encoding", "gzip")
		send(w, c.Request, http.StatusOK, ans.mediaType, coded)
		return
	}
	body, err := ans.content()
	if err != nil {
		clearFields(h)
		a.refuse(w, c, err)
		return
	}
	a.writePart(w, c, representation{mediaType: ans.mediaType, body: body, etag: etag, modified: modified})
}

func conditions(h http.Header) cachepolicy.Conditions {
	return cachepolicy.Conditions{
		IfMatch: joined(h, "If-Match"), IfNoneMatch: joined(h, "If-None-Match"),
		IfModifiedSince: joined(h, "If-Modified-Since"), IfUnmodifiedSince: joined(h, "If-Unmodified-Since"),
	}
}

// joined returns the lines of a field as one list. Lines of a field that is no list give a value
// that is malformed.
func joined(h http.Header, name string) string { return strings.Join(h.Values(name), ", ") }

// fields sets the fields that a 200 and its 304 have in common.
func (ans *answer) fields(h http.Header, etag string, modified time.Time) {
	h["Etag"] = []string{etag}
	h["Vary"] = byEncoding
	if !modified.IsZero() {
		h.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
	}
	if ans.surrogate != "" {
		h.Set("Surrogate-Key", ans.surrogate)
	}
	for _, f := range ans.header {
		h.Set(f[0], f[1])
	}
}

// clearFields removes the fields that fields has set, because a refusal must not describe the
// answer that it replaces.
func clearFields(h http.Header) {
	for _, name := range []string{"ETag", "Vary", "Last-Modified", "Link", "Content-Security-Policy",
		"Content-Disposition", "Icon-Recolored", "Icon-Restroked"} {
		h.Del(name)
	}
}

// A representation is a body with its metadata (RFC 9110, section 8).
type representation struct {
	mediaType string
	body      []byte
	etag      string
	modified  time.Time
}

// writePart sends the body, or its requested range.
func (a *API) writePart(w http.ResponseWriter, c *call, r representation) {
	h, size := w.Header(), int64(len(r.body))
	h.Set("Accept-Ranges", "bytes")
	from, n, outcome := cachepolicy.ParseRange(joined(c.Header, "Range"), size)
	if c.Method != http.MethodGet || !cachepolicy.IfRange(joined(c.Header, "If-Range"), r.etag, r.modified, c.now) {
		outcome = cachepolicy.RangeWhole // section 14.2: only GET has ranges
	}
	switch outcome {
	case cachepolicy.RangeWhole:
		send(w, c.Request, http.StatusOK, r.mediaType, r.body)
	case cachepolicy.RangeUnsatisfiable:
		clearFields(h)
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		a.refuse(w, c, problem.New(http.StatusRequestedRangeNotSatisfiable, "the range starts beyond the end of the content"))
	case cachepolicy.RangePart:
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, size))
		send(w, c.Request, http.StatusPartialContent, r.mediaType, r.body[from:from+n])
	}
}

// notAfter returns t in whole seconds, as in the field, and not in the future (RFC 9110, section
// 8.8.2.1), because a publisher's clock may be ahead.
func notAfter(t, now time.Time) time.Time {
	if t.After(now) {
		t = now
	}
	return t.Truncate(time.Second)
}

func send(w http.ResponseWriter, r *http.Request, status int, mediaType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body) // an error means that the client has disconnected
	}
}

func errNoRelease() error {
	return problem.New(http.StatusServiceUnavailable,
		"nothing is published yet; the operator must run `iconedge publish`").With("Retry-After", retryAfter)
}

// refuse sends a problem. It is the only place where errors become answers.
func (a *API) refuse(w http.ResponseWriter, c *call, err error) {
	if errors.Is(err, catalog.ErrNotOpen) {
		err = unavailable(err)
	}
	p := problem.From(err)
	h := w.Header()
	for name, values := range p.Header {
		h[name] = values
	}
	h.Set("Cache-Control", p.CacheControl())
	if c.route.endpoint == verifyPath {
		h.Set("Cache-Control", noStore)
	}
	if keys := c.surrogate(); keys != "" && p.Status == http.StatusNotFound {
		h.Set("Surrogate-Key", keys)
	}
	if p.Status >= 500 && p.Err != nil && !errors.Is(p.Err, context.Canceled) {
		a.Log.Error("request failed", "route", c.route.name, "path", c.URL.EscapedPath(), "status", p.Status, "because", p.Err)
	}
	if a.refusePage(w, c, p) {
		return
	}
	send(w, c.Request, p.Status, problem.ContentType, p.JSON())
}

// surrogate returns the keys that invalidate a 404 when its icon is published. A name that no icon
// can have is not in a key.
func (c *call) surrogate() string {
	ref := c.route.ref
	switch c.route.endpoint {
	case cdnPath, pngPath, icoPath, iconPath:
		if icon.ValidKey(ref.Pack) && icon.ValidKey(ref.Name) {
			return iconKeys(ref)
		}
	case iconifyPath:
		if icon.ValidKey(ref.Pack) && icon.ValidKey(ref.Name) {
			return iconKeys(ref)
		}
		return icon.LibraryKey
	case searchPath, suggestPath, packsPath, packPath, rowPath, rowPNGPath:
		return icon.LibraryKey
	}
	return ""
}

func iconKeys(ref icon.Ref) string { return "icon/" + ref.String() + " pack/" + ref.Pack }
