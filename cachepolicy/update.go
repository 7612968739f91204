package cachepolicy

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// perConnection are the fields that belong to one connection or one proxy, and so are never stored (RFC 9111, section 3.1;
// RFC 9110, section 7.6.1).
var perConnection = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// connectionFields are those, and what Connection names besides.
func connectionFields(h http.Header) []string {
	names := slices.Clone(perConnection)
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			names = append(names, http.CanonicalHeaderKey(trim(name)))
		}
	}
	return names
}

// ofContent are the fields that tell of the bytes that are stored, which an update does not bring (RFC 9111, section 3.2).
var ofContent = []string{"Content-Encoding", "Content-Length", "Content-Md5", "Content-Range", "Etag"}

// Freshened are the fields of a stored answer after a 304, or after the 200 of a HEAD (RFC 9111, sections 3.2, 4.3.4 and
// 4.3.5): those of the update replace, but for the ones of its connection and of the stored content. Age and Date tell of a
// message, not of what it carries: the old ones do not outlive the update. Neither map is changed.
func Freshened(stored, update http.Header) http.Header {
	h := make(http.Header, len(stored)+len(update))
	for name, lines := range stored {
		if name != "Age" && name != "Date" {
			h[name] = slices.Clone(lines)
		}
	}
	hop := connectionFields(update)
	for name, lines := range update {
		if !slices.Contains(ofContent, name) && !slices.Contains(hop, name) {
			h[name] = slices.Clone(lines)
		}
	}
	return h
}

// Confirms reports whether a 304 with these fields is about the stored answer that has this entity tag (RFC 9111, section 4.3.4): one
// that brings a tag of its own is about the answer with that tag, and a strong tag is the same as no weak one.
func Confirms(stored string, update http.Header) bool {
	tag := update.Get("Etag")
	if weak, ok := strings.CutPrefix(tag, "W/"); ok {
		return weak == strings.TrimPrefix(stored, "W/")
	}
	return tag == "" || tag == stored
}

// A HeadEffect is what the answer to a HEAD does to a stored answer to GET.
type HeadEffect uint8

const (
	Nothing    HeadEffect = iota
	Update                // its fields are fresh: Freshened
	Invalidate            // what is stored is no longer what a GET would bring
)

// HeadUpdate says what the answer to a HEAD does to the stored 200 that a GET for the same would have got, of storedLength
// bytes (RFC 9111, section 4.3.5): a 200 updates it if entity tag, Last-Modified and length are the same where both have them,
// and makes it invalid otherwise.
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

// differ reports whether two messages have the field, and not the same in it.
func differ(a, b []string) bool { return len(a) > 0 && len(b) > 0 && !slices.Equal(a, b) }
