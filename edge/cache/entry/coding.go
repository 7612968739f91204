package entry

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	kgzip "github.com/klauspost/compress/gzip"
)

const (
	minCoded    = 200 // bytes; a smaller body fits into the same packet anyway
	brotliLevel = 5   // about as fast as gzip 6, and smaller
)

// compressible reports whether bodies of a media type get smaller: those that are text. Formats
// with compression of their own do not.
func compressible(contentType []byte) bool {
	name, _, _ := strings.Cut(string(contentType), ";")
	name = strings.ToLower(strings.TrimSpace(name))
	return strings.HasPrefix(name, "text/") || strings.HasSuffix(name, "+xml") || strings.HasSuffix(name, "+json") ||
		name == "application/json" || name == "application/xml" || name == "application/javascript"
}

// AddCodings adds to a new entry the content codings that are smaller than its identity body. It
// adds none if the body is small, if its media type does not compress, if the body has a content
// coding already, or if DisableCodings was called. Each coding has an entity tag of its own (RFC
// 9110, section 8.8.3.3).
func (e *Entry) AddCodings() {
	id := e.Identity()
	if e.Plain || id == nil || len(id.Body) < minCoded || !compressible(e.ContentType) {
		return
	}
	for coding, code := range coders {
		if code == nil || e.Variants[coding] != nil {
			continue // an entry that confirms another shares its codings
		}
		if b := code(id.Body); len(b) < len(id.Body) {
			e.Variants[coding] = &Variant{Body: b, ETag: Suffixed(id.ETag, Coding(coding).String())}
		}
	}
}

// coders encode a body.
var coders = [...]func([]byte) []byte{Gzip: gzipEncode, Brotli: brotliEncode}

// Suffixed returns the entity tag of a representation made from another one: "abc" becomes
// "abc-br". An empty tag stays empty.
func Suffixed(etag, suffix string) string {
	if etag == "" {
		return ""
	}
	return strings.TrimSuffix(etag, `"`) + "-" + suffix + `"`
}

var brotliWriters = sync.Pool{New: func() any { return brotli.NewWriterLevel(io.Discard, brotliLevel) }}

func brotliEncode(body []byte) []byte {
	w := brotliWriters.Get().(*brotli.Writer)
	defer brotliWriters.Put(w)
	return encodeWith(w, body)
}

var gzipWriters = sync.Pool{New: func() any {
	w, err := kgzip.NewWriterLevel(io.Discard, gzip.DefaultCompression)
	if err != nil {
		panic(err) // an invalid level
	}
	return w
}}

func gzipEncode(body []byte) []byte {
	w := gzipWriters.Get().(*kgzip.Writer)
	defer gzipWriters.Put(w)
	return encodeWith(w, body)
}

// encodeWith writes to memory, which cannot fail.
func encodeWith(w interface {
	io.WriteCloser
	Reset(io.Writer)
}, body []byte) []byte {
	buf := bytes.NewBuffer(make([]byte, 0, len(body)/2+64))
	w.Reset(buf)
	w.Write(body)
	w.Close()
	return bytes.Clone(buf.Bytes())
}
