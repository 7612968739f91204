package cachepolicy

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// hopByHopFields belong to one connection or one proxy, so a cache never stores them (RFC 9111,
// section 3.1; RFC 9110, section 7.6.1).
var hopByHopFields = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// connectionFields returns hopByHopFields and the fields that Connection names.
func connectionFields(h http.Header) []string {
	names := slices.Clone(hopByHopFields)
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			names = append(names, http.CanonicalHeaderKey(trim(name)))
		}
	}
	return names
}

// contentFields describe the stored content, so an update does not replace them (RFC 9111, section
// 3.2).
var contentFields = []string{"Content-Encoding", "Content-Length", "Content-Md5", "Content-Range", "Etag"}

// Freshened returns the fields of a stored response after a 304, or after a 200 to a HEAD (RFC
// 9111, sections 3.2, 4.3.4 and 4.3.5). The fields of the update replace the stored ones, except
// those of its connection and of the stored content. Stored Age and Date are dropped, because they
// describe a message that the update supersedes. Neither map is modified.
func Freshened(stored, update http.Header) http.Header {
	h := make(http.Header, len(stored)+len(update))
	for name, lines := range stored {
		if name != "Age" && name != "Date" {
			h[name] = slices.Clone(lines)
		}
	}
	hop := connectionFields(update)
	for name, lines := range update {
		if !slices.Contains(contentFields, name) && !slices.Contains(hop, name) {
			h[name] = slices.Clone(lines)
		}
	}
	return h
}

// Confirms reports whether a 304 with these fields is about the stored response with this entity
// tag (RFC 9111, section 4.3.4). A 304 with an entity tag is about the response with that tag; a
// strong tag does not match a weak one.
func Confirms(stored string, update http.Header) bool {
	tag := update.Get("Etag")
	if weak, ok := strings.CutPrefix(tag, "W/"); ok {
		return weak == strings.TrimPrefix(stored, "W/")
	}
	return tag == "" || tag == stored
}

// A HeadEffect says how a response to HEAD affects a stored response to GET.
type HeadEffect uint8

const (
	Nothing    HeadEffect = iota
	Update                // replace its fields: see Freshened
	Invalidate            // a GET would no longer return the stored response
)

// HeadUpdate returns the effect of the response to a HEAD on the stored 200 that a GET would have
// selected, of storedLength bytes (RFC 9111, section 4.3.5). A 200 updates it if entity tag,
// Last-Modified and length are equal wherever both have them, and invalidates it otherwise.
func HeadUpdate(storedStatus int, stored http.Header, storedLength int64, headStatus int, head http.Header) HeadEffect {
	if storedStatus != http.StatusOK || headStatus != http.StatusOK {
		return Nothing
	}
	for _, name := range [...]string{"Etag", "Last-Modified"} {
		if differ(stored[name], head[name]) {
			return Invalidate
		}
	}
	if differ([]string{strconv.FormatInt(storedLength, 10)}, head["Content-Length"]) {
		return Invalidate
	}
	return Update
}

// differ reports whether two messages have different lines of a field that is in both.
func differ(a, b []string) bool { return len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) }
