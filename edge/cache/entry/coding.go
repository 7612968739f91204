package entry

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	minCoded    = 200 // bytes; a smaller body fits into the same packet anyway
	brotliLevel = 5   // about as fast as gzip 6, and smaller
)

// Compressible reports whether bodies of a media type get smaller: those that are text, and fonts,
// images and programs in formats without compression of their own.
func Compressible(contentType string) bool {
	name, _, _ := strings.Cut(contentType, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	if strings.HasPrefix(name, "text/") {
		return name != "text/event-stream" // which ends when the client leaves
	}
	return strings.HasSuffix(name, "+xml") || strings.HasSuffix(name, "+json") || strings.HasSuffix(name, "+text") || compressibleTypes[name]
}

// compressibleTypes are the other types that web servers and CDNs compress, without those that a
// suffix of their names identifies.
var compressibleTypes = setOf(`
	application/json application/x-json application/json5 application/ndjson application/x-ndjson application/jsonl application/json-seq
	application/xml application/xml-dtd application/javascript application/x-javascript application/ecmascript application/graphql
	application/yaml application/x-yaml application/toml application/sql application/rtf application/postscript
	application/x-sh application/x-perl application/x-httpd-php application/wasm application/x-protobuf
	application/vnd.apple.mpegurl application/x-mpegurl audio/mpegurl audio/x-mpegurl
	font/ttf font/otf font/sfnt font/collection application/vnd.ms-fontobject application/eot application/font-sfnt
	application/ttf application/otf application/x-ttf application/x-otf application/opentype application/truetype
	application/x-font-ttf application/x-font-otf application/x-font-opentype application/x-font-truetype
	image/bmp image/x-ms-bmp image/x-icon image/vnd.microsoft.icon`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// AddCodings adds to a new entry the content codings br and gzip, if they are smaller than its
// identity body. It adds none if the body is small, if its media type does not compress, if the
// body has a content coding already, or if DisableCodings was called. Each coding has an entity tag
// of its own (RFC 9110, section 8.8.3.3).
func (e *Entry) AddCodings() {
	id := e.Identity()
	if e.Plain || id == nil || len(id.Body) < minCoded || !Compressible(string(e.ContentType)) {
		return
	}
	for _, c := range [...]Coding{Gzip, Brotli} {
		if e.Variants[c] != nil {
			continue // an entry that confirms another shares its codings
		}
		if b := Encode(c, id.Body); len(b) < len(id.Body) {
			e.SetCoded(c, b)
		}
	}
}

// SetCoded sets the body of a new entry in a coding.
func (e *Entry) SetCoded(c Coding, body []byte) {
	e.Variants[c] = &Variant{Body: body, ETag: Suffixed(e.Identity().ETag, c.String())}
}

// Encode returns a body in a content coding.
func Encode(c Coding, body []byte) []byte {
	switch c {
	case Gzip:
		return gzipEncode(body)
	case Brotli:
		return brotliEncode(body)
	case Zstd:
		return zstdEncode(body)
	}
	return body
}

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

// zstdWindow is far below the 8 MiB that clients must support (RFC 9659), and bounds the memory of
// the encoder.
const zstdWindow = 1 << 20

var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstdWindow))
	if err != nil {
		panic(err) // an invalid option
	}
	return w
})

func zstdEncode(body []byte) []byte {
	return bytes.Clone(zstdEncoder().EncodeAll(body, make([]byte, 0, len(body)/2+64)))
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
