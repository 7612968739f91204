package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"sync"

	"github.com/iconedge/iconedge/origin/release"
)

// Media types of answers.
const (
	typeJSON = "application/json"
	typeSVG  = "image/svg+xml"
	typeText = "text/plain; charset=utf-8"
)

// An entity is the content of an answer. It is compressed only when a client wants gzip, and at
// most once.
type entity struct {
	mediaType string
	body      []byte // nil: that of member
	tag       string // the entity tag without quotation marks
	gzip      func() []byte
	member    release.Member // an SVG of an archive, which is inflated when a client wants it so
}

func newContent(mediaType string, body []byte) *entity {
	return &entity{mediaType: mediaType, body: body, tag: tagOf(body), gzip: sync.OnceValue(func() []byte { return compress(body) })}
}

// newStored makes an entity of an SVG as it lies in an archive. Its tag is one of the compressed
// bytes, so that the SVG need not be inflated. They follow from the SVG.
func newStored(m release.Member) *entity {
	return &entity{mediaType: typeSVG, tag: tagOf(m), gzip: func() []byte { return m }, member: m}
}

func tagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// size returns the size of the content without compression, in bytes.
func (e *entity) size() int {
	if e.member != nil {
		return e.member.Size()
	}
	return len(e.body)
}

// content returns the content without compression.
func (e *entity) content() ([]byte, error) {
	if e.member != nil {
		return e.member.Inflate()
	}
	return e.body, nil
}

// newEntity encodes v as JSON, with <, > and & escaped, because pages put such answers into HTML
// and script elements.
func newEntity(v any) *entity {
	b, err := json.Marshal(v)
	if err != nil { // v has strings, numbers and lists only: can't happen
		panic(err)
	}
	return newContent(typeJSON, append(b, '\n'))
}

// compressors pools gzip writers, because each has a window and tables of 800 kB.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compress(body []byte) []byte {
	var b bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	z.Write(body) // a write into memory can't fail
	z.Close()
	return b.Bytes()
}
