package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"sync"
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
	body      []byte
	tag       string // the entity tag without quotation marks
	gzip      func() []byte
}

func newContent(mediaType string, body []byte) *entity {
	sum := sha256.Sum256(body)
	return &entity{mediaType, body, base64.RawURLEncoding.EncodeToString(sum[:15]), sync.OnceValue(func() []byte { return compress(body) })}
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

// gzipHead is the head of a gzip member (RFC 1952, section 2.3) without a name or a time, from an
// unknown system.
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

// wrap makes a gzip member from compressed data.
func wrap(deflated []byte, crc, size uint32) []byte {
	b := make([]byte, 0, len(gzipHead)+len(deflated)+8)
	b = append(append(b, gzipHead...), deflated...)
	b = binary.LittleEndian.AppendUint32(b, crc)
	return binary.LittleEndian.AppendUint32(b, size)
}
