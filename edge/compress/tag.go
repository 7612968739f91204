package compress

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"net/http"
	"strings"
	"sync"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/coding"
)

// Tag returns the entity tag of a representation in a coding. etag is that of the identity: "abc"
// becomes "abc-br-1c2e75d6", and stays weak if it is (RFC 9110, section 8.8.3.3). The last part is
// a check, which distinguishes these tags from those of an origin whose own end in -br or -gzip.
// Every edge makes the same tags. Tag returns "" for "".
func Tag(etag string, c entry.Coding) string {
	if c == entry.Identity || etag == "" {
		return etag
	}
	tag := AppendTag(make([]byte, 0, len(etag)+len("-")+len(c.String())+checkLen), etag, c)
	return unsafe.String(unsafe.SliceData(tag), len(tag))
}

// SentTag is Tag for a response that is coded while it is sent. Its bytes depend on when those of
// the origin arrive, so its tag is weak: "abc" becomes W/"abc-br-5f1c0a92". The check differs from
// that of Tag, so that If-Match with the tag reaches the origin as "abc".
func SentTag(etag string, c entry.Coding) string {
	if c == entry.Identity || etag == "" || strings.HasPrefix(etag, weak) {
		return Tag(etag, c)
	}
	tag := Tag(etag, c)
	stem := tag[:len(tag)-len("12345678\"")]
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], ^check(strings.TrimSuffix(etag, `"`), c))
	return weak + stem + hex.EncodeToString(sum[:]) + `"`
}

const weak = "W/"

// AppendTag appends Tag.
func AppendTag(dst []byte, etag string, c entry.Coding) []byte {
	if c == entry.Identity || etag == "" {
		return append(dst, etag...)
	}
	stem := strings.TrimSuffix(etag, `"`)
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], check(stem, c))
	dst = append(append(dst, stem...), '-')
	dst = append(append(dst, c.String()...), '-')
	return append(hex.AppendEncode(dst, sum[:]), '"')
}

// check returns the check of a tag; stem is the origin's tag without the last quotation mark.
func check(stem string, c entry.Coding) uint32 {
	stem = strings.TrimPrefix(stem, weak)
	return crc32.Update(salts()[c], crc32.IEEETable, unsafe.Slice(unsafe.StringData(stem), len(stem)))
}

// DeltaTag returns the entity tag of a representation in a coding against a dictionary with a hash
// of 32 bytes: "abc" becomes "abc-dcz-1f2e3d4c-5a1c0b77". It differs from dictionary to dictionary,
// because the bytes do. DeltaTag returns "" for "".
func DeltaTag(etag, coding string, hash []byte) string {
	return string(AppendDeltaTag(nil, etag, coding, hash))
}

// AppendDeltaTag appends DeltaTag.
func AppendDeltaTag(dst []byte, etag, coding string, hash []byte) []byte {
	if etag == "" {
		return dst
	}
	start := len(dst)
	dst = append(append(dst, strings.TrimSuffix(etag, `"`)...), '-')
	dst = append(append(dst, coding...), '-')
	dst = hex.AppendEncode(dst, hash[:deltaHash])
	var sum [4]byte
	stem := bytes.TrimPrefix(dst[start:], []byte(weak))
	binary.BigEndian.PutUint32(sum[:], crc32.Update(deltaSalt, crc32.IEEETable, stem))
	return append(hex.AppendEncode(append(dst, '-'), sum[:]), '"')
}

// deltaSalt is the state of a check before the tag.
var deltaSalt = crc32.ChecksumIEEE([]byte("iconedge "))

const deltaHash = 4 // bytes of the hash in a tag

// deltaCodings are the codings of DeltaTag.
var deltaCodings = [...]string{cachepolicy.DictionaryZstd, cachepolicy.DictionaryBrotli}

// deltaOrigin is Origin for DeltaTag. rest is the tag without its check and the last quotation
// mark.
func deltaOrigin(tag, rest string) (etag string, ok bool) {
	at := len(rest) - 2*deltaHash
	if at < 0 {
		return "", false
	}
	hash, err := hex.DecodeString(rest[at:])
	for _, coding := range deltaCodings {
		stem, ends := strings.CutSuffix(rest[:at], "-"+coding+"-")
		if etag := stem + `"`; err == nil && ends && DeltaTag(etag, coding, hash) == tag {
			return etag, true
		}
	}
	return "", false
}

// HeldDelta returns the first tag in an If-None-Match that DeltaTag has made of a tag; empty: none.
func HeldDelta(ifNoneMatch, etag string) string {
	for rest := ifNoneMatch; ; {
		_, tag, after, ok := cutQuoted(rest)
		if !ok {
			return ""
		}
		if end := len(tag) - checkLen - 1; end > 0 {
			if of, ok := deltaOrigin(tag, tag[:end]); ok && of == etag {
				return tag
			}
		}
		rest = after
	}
}

// salts have the state of a check before the tag, by coding. They are made when the first is
// needed, because a program may add codings before.
var salts = sync.OnceValue(func() *[entry.Codings]uint32 {
	s := new([entry.Codings]uint32)
	for c := range coding.InUse() {
		s[c] = crc32.ChecksumIEEE([]byte("iconedge " + c.String() + " "))
	}
	return s
})

const checkLen = 1 + 8 // with the hyphen

// Origin returns the tag from which Tag or SentTag made a tag. ok is false if neither made it.
func Origin(tag string) (etag string, ok bool) {
	rest, ended := strings.CutSuffix(tag, `"`)
	if at := len(rest) - checkLen; ended && at > 0 {
		for c := entry.Gzip; c < coding.InUse(); c++ {
			stem, ends := strings.CutSuffix(rest[:at], "-"+c.String())
			if !ends {
				continue
			}
			if etag := stem + `"`; Tag(etag, c) == tag {
				return etag, true
			}
			if etag := strings.TrimPrefix(stem, weak) + `"`; SentTag(etag, c) == tag {
				return etag, true
			}
		}
		return deltaOrigin(tag, rest[:at])
	}
	return "", false
}

// listed are the request fields with lists of entity tags (RFC 9110, section 13.1; RFC 4918,
// section 10.4).
var listed = [...]string{"If-Match", "If-None-Match", "If"}

// Restore prepares a request for its origin, which does not know the tags that Tag makes: each of
// them becomes the origin's own. A range does not apply to a representation that the client has in
// a coding, so an If-Range with such a tag is removed together with the Range: the parts could not
// be joined. isOrigins reports whether a tag is the origin's own all the same; it is called for
// tags of this form alone.
func Restore(h http.Header, isOrigins func(tag string) bool) {
	for _, name := range listed {
		for i, line := range h[name] {
			h[name][i] = restoreLine(line, isOrigins)
		}
	}
	if lines := h["If-Range"]; len(lines) == 1 {
		if _, ok := Origin(strings.TrimSpace(lines[0])); ok && !isOrigins(lines[0]) {
			delete(h, "If-Range")
			delete(h, "Range")
		}
	}
}

// restoreLine replaces the tags in the value of one field.
func restoreLine(line string, isOrigins func(tag string) bool) string {
	var out strings.Builder
	for rest := line; ; {
		before, tag, after, ok := cutQuoted(rest)
		if !ok {
			if out.Len() == 0 {
				return line
			}
			out.WriteString(rest)
			return out.String()
		}
		if etag, ok := Origin(tag); ok && !isOrigins(tag) {
			tag = etag
		}
		out.WriteString(before)
		out.WriteString(tag)
		rest = after
	}
}

// cutQuoted cuts s around its first quoted string, and keeps W/ with it.
func cutQuoted(s string) (before, quoted, after string, ok bool) {
	start := strings.IndexByte(s, '"')
	if start < 0 {
		return "", "", "", false
	}
	n := strings.IndexByte(s[start+1:], '"')
	if n < 0 {
		return "", "", "", false
	}
	end := start + n + 2
	if strings.HasSuffix(s[:start], weak) {
		start -= len(weak)
	}
	return s[:start], s[start:end], s[end:], true
}
