package dictionaries

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/molecule-man/go-brrr"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/recent"
)

// A Coding is a content coding against a dictionary.
type Coding uint8

// The codings, in order of preference.
const (
	Zstd   Coding = iota // RFC 9842, section 5
	Brotli               // RFC 9842, section 4
	codings
)

// names are the codings in Accept-Encoding and Content-Encoding.
var names = [codings]string{Zstd: cachepolicy.DictionaryZstd, Brotli: cachepolicy.DictionaryBrotli}

// String returns the name of the coding.
func (c Coding) String() string { return names[c] }

// heads begin the bodies, before the hash of the dictionary.
var heads = [codings][]byte{Zstd: {0x5e, 0x2a, 0x4d, 0x18, 0x20, 0, 0, 0}, Brotli: {0xff, 'D', 'C', 'B'}}

// Accepted returns the coding that an Accept-Encoding selects. ok is false if the client does not
// accept any, or likes another coding better.
func Accepted(acceptEncoding string) (c Coding, ok bool) {
	at := recent.SlotOf(accepted[:], acceptEncoding)
	known := at.Load()
	if known == nil || known.field != acceptEncoding {
		known = newChoice(strings.Clone(acceptEncoding))
		at.Store(known)
	}
	return known.coding, known.ok
}

// accepted has recent values of Accept-Encoding.
var accepted [64]atomic.Pointer[choice]

// A choice is the coding that a value of Accept-Encoding selects.
type choice struct {
	field  string
	coding Coding
	ok     bool
}

func newChoice(acceptEncoding string) *choice {
	chosen := cachepolicy.Encoding(acceptEncoding, names[Zstd], names[Brotli], cachepolicy.Brotli, cachepolicy.Zstd, cachepolicy.Gzip)
	at := slices.Index(names[:], chosen)
	return &choice{acceptEncoding, Coding(max(at, 0)), at >= 0}
}

const (
	// brotliLevel takes as long as the level of other stored bodies. 11 takes ten times as long for
	// a tenth less.
	brotliLevel = 5
	// maxWindow is what every client decodes (RFC 9842, section 5; RFC 9659).
	maxWindow = 8 << 20
	minWindow = 1 << 10
)

// Encode returns a body in a coding against a dictionary.
func Encode(c Coding, dictionary, body []byte) ([]byte, error) {
	return encode(c, sha256.Sum256(dictionary), dictionary, body)
}

// encode is Encode for a dictionary whose hash is known.
func encode(c Coding, hash Hash, dictionary, body []byte) ([]byte, error) {
	head := slices.Concat(heads[c], hash[:])
	if c == Brotli {
		return encodeBrotli(head, dictionary, body)
	}
	window := minWindow
	for window < len(dictionary)+len(body) && window < maxWindow {
		window *= 2
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
		zstd.WithWindowSize(window), zstd.WithEncoderDictRaw(0, dictionary))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return slices.Clip(w.EncodeAll(body, head)), nil
}

func encodeBrotli(head, dictionary, body []byte) ([]byte, error) {
	prepared, err := brrr.PrepareDictionary(dictionary)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(head)
	w, err := brrr.NewWriterOptions(out, brotliLevel, brrr.WriterOptions{SizeHint: uint(len(body)),
		Dictionaries: []*brrr.PreparedDictionary{prepared}})
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(out.Bytes()), nil
}
