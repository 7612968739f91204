package slicing

import (
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A Version identifies one version of an object by its strong validator. Only slices of the same
// version may be combined (RFC 9111, section 3.4; RFC 9110, section 15.3.7.3).
type Version struct {
	ETag     string    // strong; empty: the object has none
	Modified time.Time // Last-Modified, if there is no entity tag
	Length   int64
}

// VersionOf returns the version of an object of a length from the fields of a response. ok is false
// if the response has no strong validator: its entity tag is weak, or it has none and its
// Last-Modified is not at least a second before its Date (RFC 9110, section 8.8.2.2).
func VersionOf(h http.Header, length int64, now time.Time) (v Version, ok bool) {
	if tags := h["Etag"]; len(tags) > 0 {
		return Version{ETag: tags[0], Length: length}, len(tags) == 1 && strong(tags[0])
	}
	modified, ok1 := cachepolicy.ParseDate(h.Get("Last-Modified"), now)
	date, ok2 := cachepolicy.ParseDate(h.Get("Date"), now)
	return Version{Modified: modified, Length: length}, ok1 && ok2 && date.Sub(modified) >= time.Second
}

// strong reports whether an entity tag is strong. Other parsers check the rest of its form.
func strong(tag string) bool {
	return len(tag) >= 2 && tag[0] == '"' && strings.IndexByte(tag[1:], '"') == len(tag)-2
}

// IfRange returns the value of an If-Range for the version.
func (v Version) IfRange() string {
	if v.ETag != "" {
		return v.ETag
	}
	return v.Modified.UTC().Format(http.TimeFormat)
}

// Confirms reports whether a 206 with these fields, to a request with an If-Range for the version,
// carries a part of that version. Such a 206 names its entity tag, and may leave Last-Modified out
// (RFC 9110, section 15.3.7).
func (v Version) Confirms(h http.Header, length int64, now time.Time) bool {
	tags, modified := h["Etag"], h.Get("Last-Modified")
	switch {
	case length != v.Length:
		return false
	case v.ETag != "":
		return len(tags) == 1 && tags[0] == v.ETag
	case len(tags) > 0:
		return false
	case modified == "":
		return true
	}
	t, ok := cachepolicy.ParseDate(modified, now)
	return ok && t.Equal(v.Modified)
}

// Same reports whether two versions are the same one.
func (v Version) Same(o Version) bool {
	return v.ETag == o.ETag && v.Modified.Equal(o.Modified) && v.Length == o.Length
}
