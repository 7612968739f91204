package cachepolicy

import (
	"net/http"
	"strings"
	"time"
)

// Conditions are the precondition fields of a request (RFC 9110, section 13.1). Several lines of
// one field are joined by commas; an absent field is empty.
type Conditions struct {
	IfMatch, IfNoneMatch               string
	IfModifiedSince, IfUnmodifiedSince string
}

// Precondition evaluates the conditions in the order of RFC 9110, section 13.2.2, and returns 200
// (perform the request), 304 or 412. etag and lastModified describe the representation that would
// be sent; they are empty and zero if it has none. A cache does not evaluate If-Match and
// If-Unmodified-Since for another origin, so it leaves them empty (RFC 9111, section 4.3.2).
func Precondition(method, etag string, lastModified time.Time, c Conditions) int {
	switch {
	case c.IfMatch != "":
		if found, ok := matches(c.IfMatch, etag, strong); !found || !ok {
			return http.StatusPreconditionFailed // a malformed list never matches
		}
	case c.IfUnmodifiedSince != "" && !lastModified.IsZero():
		if t, err := http.ParseTime(inGMT(c.IfUnmodifiedSince)); err == nil && lastModified.Truncate(time.Second).After(t) {
			return http.StatusPreconditionFailed
		}
	}
	if method != http.MethodGet && method != http.MethodHead {
		if found, ok := matches(c.IfNoneMatch, etag, weak); found && ok {
			return http.StatusPreconditionFailed
		}
		return http.StatusOK
	}
	if NotModified(etag, lastModified, c.IfNoneMatch, c.IfModifiedSince) {
		return http.StatusNotModified
	}
	return http.StatusOK
}

// NotModified reports whether a GET or HEAD is answered with 304 (RFC 9110, sections 13.1.2 and
// 13.1.3). etag belongs to the content coding that would be sent. A malformed ifNoneMatch never
// matches; ifModifiedSince is ignored if ifNoneMatch is present. For a stored response without
// Last-Modified, a cache passes its Date as lastModified, or the time at which it arrived (RFC
// 9111, section 4.3.2).
func NotModified(etag string, lastModified time.Time, ifNoneMatch, ifModifiedSince string) bool {
	if ifNoneMatch != "" {
		found, ok := matches(ifNoneMatch, etag, weak)
		return found && ok
	}
	if ifModifiedSince == "" || lastModified.IsZero() {
		return false
	}
	t, err := http.ParseTime(inGMT(ifModifiedSince)) // an invalid date is ignored (section 13.1.3)
	return err == nil && !lastModified.Truncate(time.Second).After(t)
}

// weak and strong are the two comparisons of RFC 9110, section 8.8.3.2.
func weak(a, b string) bool {
	return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/")
}

func strong(a, b string) bool { return a == b && strings.HasPrefix(a, `"`) }

// matches reports whether etag is in a list of entity tags, or the list is "*". ok is false if the
// list is malformed; the whole list is parsed before a match counts.
func matches(list, etag string, equal func(a, b string) bool) (found, ok bool) {
	if trim(list) == "*" {
		return true, true
	}
	any := false
	for {
		for list = trimLeft(list); strings.HasPrefix(list, ","); list = trimLeft(list[1:]) {
			// Empty elements are allowed (RFC 9110, section 5.6.1.2).
		}
		if list == "" {
			return found, any
		}
		tag, rest := scanETag(list)
		if tag == "" {
			return false, false
		}
		any = true
		found = found || etag != "" && equal(tag, etag)
		if list = trimLeft(rest); list != "" && list[0] != ',' {
			return false, false
		}
	}
}

// scanETag cuts an entity tag off the start of s (RFC 9110, section 8.8.3). The tag is empty if s
// does not start with one.
func scanETag(s string) (tag, rest string) {
	i := 0
	if strings.HasPrefix(s, "W/") {
		i = 2
	}
	if i >= len(s) || s[i] != '"' {
		return "", s
	}
	for i++; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[:i+1], s[i+1:]
		case c < 0x21 || c == 0x7f:
			return "", s
		}
	}
	return "", s
}
