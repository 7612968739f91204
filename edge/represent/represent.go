// Package represent selects the form in which a client gets a stored response: the content coding,
// the part and whether it needs the body at all. The hit path and the pipeline share its decisions.
package represent

import (
	"net/http"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

// An Asked has the fields by which a client asks for a form or a part of a response: the lines of
// each, joined; empty: none.
type Asked struct {
	AcceptEncoding, IfNoneMatch, IfModifiedSince string
	Range, IfRange                               string // of a GET
	// NoTransform: the client accepts a response only as the origin made it (RFC 9111, section
	// 5.2.1.6).
	NoTransform bool
}

// Codable reports whether the client may get a stored response of another application in a coding
// that the edge makes.
func (a *Asked) Codable(e *cache.Entry, compresses bool) bool {
	return compresses && !e.Plain && a.AcceptEncoding != "" && !a.NoTransform
}

// Negotiate returns the coding in which the client gets a stored response: got, the best of those
// that the entry has, or identity. whole means that no part of the body is sent, whatever the
// Range. want is the coding to make for later clients; identity: none. wanted is the coding that
// the client would get if the entry had all.
func (a *Asked) Negotiate(e *cache.Entry, got, wanted entry.Coding) (coding entry.Coding, whole bool, want entry.Coding) {
	asked := a.Range != ""
	// A part of the identity body must fit the part that the client has. A date does not say in
	// which coding the client has that.
	part := asked && (a.IfRange == "" || cachepolicy.IfRange(a.IfRange, e.Identity().ETag, time.Time{}, time.Time{}))
	// Without an entity tag a client that has the beginning of the coded body sends the same
	// If-Range as one that has the beginning of the identity body.
	whole = asked && !part && wanted != entry.Identity
	if got != wanted && !part {
		want = wanted
	}
	if !part {
		coding = got
	}
	return coding, whole, want
}

// Conditional evaluates the conditions of a GET or HEAD for a stored response of another
// application, and returns 200 or 304. c has no If-Match, which is left to the origin (RFC 9111,
// section 4.3.2). Date stands in where there is no Last-Modified.
func Conditional(e *cache.Entry, c cachepolicy.Conditions, etag string, now time.Time) int {
	modified := e.LastModified
	if modified.IsZero() && c.IfModifiedSince != "" {
		modified, _ = cachepolicy.ParseDate(string(e.Date), now)
	}
	return cachepolicy.Precondition(http.MethodGet, etag, modified, c)
}

// Part returns the span of a representation with so many bytes and this entity tag that the client
// asks for: all of it, if the part does not fit the one that the client has, by its If-Range.
func (a *Asked) Part(e *cache.Entry, size int64, etag string, now time.Time) (off, n int64, what cachepolicy.RangeOutcome) {
	if a.Range == "" || !joins(e, a.IfRange, etag, now) {
		return 0, size, cachepolicy.RangeWhole
	}
	return cachepolicy.ParseRange(a.Range, size)
}

// joins reports whether a part of the representation with this entity tag fits the part that the
// client has, by its If-Range.
func joins(e *cache.Entry, ifRange, etag string, now time.Time) bool {
	if ifRange == "" {
		return true
	}
	date, _ := cachepolicy.ParseDate(string(e.Date), now) // if it is malformed, no date is strong
	return cachepolicy.IfRange(ifRange, etag, e.LastModified, date)
}

// AppendContentRange appends the Content-Range of n bytes from off of a body of size bytes.
func AppendContentRange(dst []byte, off, n, size int64) []byte {
	dst = strconv.AppendInt(append(dst, "bytes "...), off, 10)
	dst = strconv.AppendInt(append(dst, '-'), off+n-1, 10)
	return strconv.AppendInt(append(dst, '/'), size, 10)
}
