package compress

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/coding"
)

const (
	minBody = 1 << 10  // bytes; a shorter response takes one packet anyway
	maxBody = 16 << 20 // bytes; a longer one takes a worker for more than a second
)

// fits reports whether a body of this length is compressed. A negative length is unknown yet.
func fits(length int64) bool { return length < 0 || minBody <= length && length <= maxBody }

// Compressible reports whether a stored response may have content codings, by its status, its
// fields and the length of its body (negative: unknown). It may not if its origin forbids that (RFC
// 9110, section 7.7), if it has a coding already, or if its fields describe or sign its bytes.
func Compressible(status int, h http.Header, length int64) bool {
	return fits(length) && entry.Compressible(h.Get("Content-Type")) && permitted(status, h)
}

// Sendable is Compressible for a response that is coded while it is sent. Its body may have any
// length above minBody, and may be events. stored means that the response is about to be
// stored: it is coded now only if it will be later too.
func Sendable(status int, h http.Header, length int64, stored bool) bool {
	if stored && !fits(length) || 0 <= length && length < minBody {
		return false
	}
	kind := h.Get("Content-Type")
	return (entry.Compressible(kind) || Lasts(kind)) && permitted(status, h)
}

// Lasts reports whether a body of a media type may take hours: it is a stream of events.
func Lasts(contentType string) bool {
	const events = "text/event-stream"
	contentType = strings.TrimLeft(contentType, " \t")
	return len(contentType) >= len(events) && strings.EqualFold(contentType[:len(events)], events)
}

// calls are the beginnings of the media types whose messages have codings of their own.
var calls = []string{"application/grpc", "application/connect+"}

// permitted reports whether the origin lets a response have a coding, by its status and its fields.
func permitted(status int, h http.Header) bool {
	switch status {
	case http.StatusNoContent, http.StatusResetContent, http.StatusPartialContent, http.StatusNotModified:
		return false
	}
	kind := strings.ToLower(strings.TrimLeft(h.Get("Content-Type"), " \t"))
	if slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(kind, call) }) {
		return false
	}
	for _, name := range directives {
		if cachepolicy.ParseCacheControl(h[name]...).NoTransform {
			return false
		}
	}
	return !slices.ContainsFunc(describing, func(name string) bool { return len(h[name]) > 0 })
}

// Describes reports whether a field describes or signs the bytes of a body. As a trailer field it
// is that of the body without a coding.
func Describes(name string) bool {
	return slices.ContainsFunc(describing, func(one string) bool { return strings.EqualFold(one, name) })
}

// directives are the fields that may forbid codings.
var directives = []string{"Cache-Control", "Iconedge-Cache-Control", "Cdn-Cache-Control", "Surrogate-Control"}

// describing are fields that describe or sign the bytes of a body (RFC 9110, section 8.4; RFC 9421;
// RFC 9530).
var describing = []string{"Content-Encoding", "Content-Range", "Content-Md5", "Digest", "Content-Digest",
	"Repr-Digest", "Signature", "Signature-Input"}

const acceptEncoding = "Accept-Encoding"

// AddVary returns the fields of an entry with Accept-Encoding among the names of Vary. names are
// those that the origin sent, in the form of cachepolicy.VaryNames.
func AddVary(fields []cache.Field, names []string) []cache.Field {
	return addVary(fields, names, acceptEncoding)
}

// AddDictionaryVary is AddVary for Available-Dictionary, which comes after Accept-Encoding.
func AddDictionaryVary(fields []cache.Field, names []string) []cache.Field {
	return addVary(fields, names, cachepolicy.AvailableDictionary)
}

func addVary(fields []cache.Field, names []string, name string) []cache.Field {
	if slices.Contains(names, name) || slices.Contains(names, "*") {
		return fields
	}
	fields = slices.Clone(fields)
	for i := len(fields) - 1; i >= 0; i-- {
		if f := &fields[i]; string(f.Name) == "Vary" && len(f.Value) > 0 {
			f.Value = slices.Concat(f.Value, []byte(", "+name))
			return fields
		}
	}
	return append(fields, cache.Field{Name: []byte("Vary"), Value: []byte(name)})
}

// RemoveVary removes from the fields of a stored response what AddVary and AddDictionaryVary have
// added.
func RemoveVary(h http.Header, names []string) {
	removeVary(h, names, cachepolicy.AvailableDictionary)
	removeVary(h, names, acceptEncoding)
}

func removeVary(h http.Header, names []string, name string) {
	lines := h["Vary"]
	if len(lines) == 0 || slices.Contains(names, name) || slices.Contains(names, "*") {
		return
	}
	lines, last := lines[:len(lines)-1:len(lines)-1], lines[len(lines)-1]
	if rest, ok := strings.CutSuffix(last, ", "+name); ok {
		h["Vary"] = append(lines, rest)
	} else if last == name {
		if h["Vary"] = lines; len(lines) == 0 {
			delete(h, "Vary")
		}
	}
}

// Choose returns the coding in which a client gets an entry, of those that the entry has. wanted is
// the coding that the client would get if the entry had all that are made of such a body.
func Choose(e *cache.Entry, accept string) (got, wanted entry.Coding) {
	_, got = e.Choose(accept)
	var names [entry.Codings]string
	made := Made(e)
	for i, c := range made {
		names[i] = c.String()
	}
	return got, entry.Select(accept, names[:len(made)]...)
}

// Made returns the codings that are made of the body of an entry, in order of preference.
func Made(e *cache.Entry) []entry.Coding { return coding.Of(len(e.Identity().Body)) }

// Held returns the entity tag of the representation that a client has, if its If-None-Match names
// one that it accepts: the client then gets a 304 with that tag, also if another coding was made
// since (RFC 9110, section 15.4.5), or if that coding is not made any more. Otherwise it returns
// chosen, the tag of the representation that the client would get. origin is the tag of the
// identity.
func Held(ifNoneMatch, accept, origin, chosen string) string {
	names := func(etag string) bool { return cachepolicy.NotModified(etag, time.Time{}, ifNoneMatch, "") }
	if origin == "" || names(chosen) {
		return chosen
	}
	accepts := func(c entry.Coding) bool { return cachepolicy.Accepts(accept, c.String()) }
	if accepts(entry.Identity) && names(origin) {
		return origin
	}
	for _, c := range coding.All() {
		if !accepts(c) {
			continue
		}
		if tag := Tag(origin, c); names(tag) {
			return tag
		}
		if tag := SentTag(origin, c); names(tag) {
			return tag
		}
	}
	if tag := HeldDelta(ifNoneMatch, origin); tag != "" {
		return tag
	}
	return chosen
}
