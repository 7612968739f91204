package entry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/iconedge/iconedge/edge/coding"
	"github.com/iconedge/iconedge/internal/inflate"
)

// minCoded is the length in bytes below which bodies get no codings: they fit into the same packet
// anyway.
const minCoded = 200

// Compressible reports whether bodies of a media type get smaller: those that are text, and fonts,
// images and programs in formats without compression of their own.
func Compressible(contentType string) bool {
	name, _, _ := strings.Cut(contentType, ";")
	name = strings.ToLower(strings.TrimSpace(name))
	if strings.HasPrefix(name, "text/") {
		return name != "text/event-stream" // which ends when the client leaves
	}
	return strings.HasSuffix(name, "+xml") || strings.HasSuffix(name, "+json") || strings.HasSuffix(name, "+text") ||
		compressibleTypes[name]
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

// MayAdd reports whether AddCoding may add a coding: not if the body is small, if its media type
// does not compress, if the body has a content coding already, if DisableCodings was called, or if
// the entry has the coding.
func (e *Entry) MayAdd(c Coding) bool {
	id := e.Identity()
	return !e.Plain && id != nil && len(id.Body) >= minCoded && e.Variants[c] == nil && Compressible(string(e.ContentType))
}

// AddCoding adds a content coding to a new entry, if it may and the coding is smaller than the
// identity body. Each coding has an entity tag of its own (RFC 9110, section 8.8.3.3).
func (e *Entry) AddCoding(c Coding) {
	if !e.MayAdd(c) { // an entry that confirms another shares its codings
		return
	}
	id := e.Identity()
	if b := coding.Encode(c, id.Body); len(b) < len(id.Body) {
		e.SetCoded(c, b)
	}
}

// SetCoded sets the body of a new entry in a coding.
func (e *Entry) SetCoded(c Coding, body []byte) {
	e.Variants[c] = &Variant{Body: body, ETag: Suffixed(e.Identity().ETag, c.String())}
}

// Suffixed returns the entity tag of a representation made from another one: "abc" becomes
// "abc-br". An empty tag stays empty.
func Suffixed(etag, suffix string) string {
	if etag == "" {
		return ""
	}
	return strings.TrimSuffix(etag, `"`) + "-" + suffix + `"`
}

// maxDeflate is the most by which deflate compresses.
const maxDeflate = 1032

var errGzip = errors.New("not a whole body in gzip, or one that is too long")

// Inflate returns the identity of a body in gzip, of at most max bytes. It verifies the checksum.
func Inflate(body []byte, max int) ([]byte, error) {
	if len(body) < 18 { // bytes of an empty member's head and trailer
		return nil, errGzip
	}
	trailer := body[len(body)-8:]
	length := int64(binary.LittleEndian.Uint32(trailer[4:]))
	if length > int64(max) || length > maxDeflate*int64(len(body)) {
		return nil, errGzip
	}
	identity := make([]byte, length)
	if err := inflate.Member(identity, body); err != nil {
		return nil, fmt.Errorf("%w: %w", errGzip, err)
	}
	return identity, nil
}
