package hit

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/icon"
)

// A representation is the form in which a client gets an entry.
type representation struct {
	status       int
	bodyless     bool // a 304
	coding       entry.Coding
	etag         []byte
	body         []byte
	apart        bool // the body does not follow the head
	contentRange []byte
}

// gzipTagEnd is the end of the entity tags of bodies in gzip.
var gzipTagEnd = []byte("-" + cachepolicy.Gzip + `"`)

// sameTag compares an If-None-Match field of one entity tag with the tag of the response. It is not
// sure if the field has any other form.
func sameTag(field, etag []byte, color icon.Color) (same, sure bool) {
	field = bytes.TrimPrefix(field, []byte("W/")) // the weak comparison (RFC 9110, section 13.1.2)
	if n := len(field); n < 2 || field[0] != '"' || bytes.IndexByte(field[1:], '"') != n-2 {
		return false, false
	}
	if color == "" {
		return bytes.Equal(field, etag), true
	}
	stem, ok := bytes.CutSuffix(field[:len(field)-1], []byte(color[1:]))
	return ok && len(stem) == len(etag) && stem[len(stem)-1] == '-' && bytes.Equal(stem[:len(stem)-1], etag[:len(etag)-1]), true
}

// Joins reports whether a part of the representation with this entity tag fits the part that the
// client has, by its If-Range.
func Joins(e *cache.Entry, ifRange, etag string, now time.Time) bool {
	if ifRange == "" {
		return true
	}
	date, _ := cachepolicy.ParseDate(texts(e.Date), now) // if it is malformed, no date is strong
	return cachepolicy.IfRange(ifRange, etag, e.LastModified, date)
}

// AppendContentRange appends the Content-Range of n bytes from off of a body of size bytes.
func AppendContentRange(dst []byte, off, n, size int64) []byte {
	dst = strconv.AppendInt(append(dst, "bytes "...), off, 10)
	dst = strconv.AppendInt(append(dst, '-'), off+n-1, 10)
	return strconv.AppendInt(append(dst, '/'), size, 10)
}

// statusLines has the status lines of stored responses, as the server of the pipeline writes them.
var statusLines = func() (lines [600]string) {
	for status := range lines {
		if http.StatusText(status) != "" {
			lines[status] = "HTTP/1.1 " + strconv.Itoa(status) + " " + fasthttp.StatusMessage(status) + "\r\n"
		}
	}
	return lines
}()
