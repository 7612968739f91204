// Package respond writes the head of a response: the stored fields of an entry, and those that the
// edge fills for each client. The hit path and the pipeline fill a Head, and a Writer writes it, so
// that both give the same bytes. The package decides nothing about a request.
package respond

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/icon"
)

// A Head describes the header fields of a response with an entry, besides those that are stored
// with the entry. The hit path and the pipeline fill it, and a Writer writes it.
type Head struct {
	Bodyless     bool // a 304: fields that describe the body are left out
	Coding       entry.Coding
	Delta        string     // a coding against a dictionary, in place of Coding; empty: none
	Length       int        // of the body; negative: the adapter writes it
	ETag         []byte     // empty: none
	Color        icon.Color // its suffix is added to etag; empty: none
	Fixed        bool       // the client asked for a colour, but the icon has its own
	Ranges       bool       // the client may ask for parts of the body
	ContentRange []byte     // the part that the body is; empty: all of it
	Aged         bool       // the response has an Age
	Age          time.Duration
	// For an edge behind this one, as the origin sends them. With them that edge colours icons,
	// and knows which of its entries a new release may have changed. Empty: not sent.
	Monochrome, Release string

	Status cachepolicy.CacheStatus
	Count  *access.Count // nil: no limit
	AltSvc string        // empty: none; Proxy.end adds it to responses of the pipeline
}

// A Part is a group of fields that are stored with an entry. They are the fields of
// cache.Head.
type Part uint8

const (
	PartType Part = iota
	PartAlways
	PartWithBody
	PartOwn // begins with Date
	PartOwnBody
)

// Append appends the fields of a head and of its entry. It alone decides which fields a response
// with an entry has and in which order, on the hit path of each protocol and in the pipeline. Both
// add what every response has, such as Alt-Svc, at the end.
func (w *Writer) Append(dst []byte, t *Head) []byte {
	var at int // where a value begins
	lines := w.Prebuilt
	if lines == nil {
		lines = &cache.Head{}
	}
	if !t.Bodyless {
		dst = w.stored(dst, PartType, lines.Type)
		switch {
		case t.Delta != "":
			dst = w.text(dst, lineCoding, blockCoding, t.Delta)
		case t.Coding != entry.Identity:
			dst = w.text(dst, lineCoding, blockCoding, t.Coding.String())
		}
		if t.Length >= 0 {
			dst, at = w.name(dst, lineLength, blockLength)
			dst = w.end(strconv.AppendInt(dst, int64(t.Length), 10), at)
		}
	}
	dst = w.stored(dst, PartAlways, lines.Always)
	if !t.Bodyless {
		dst = w.stored(dst, PartWithBody, lines.WithBody)
	}
	if len(t.ETag) > 0 {
		dst, at = w.name(dst, lineETag, blockETag)
		dst = w.end(appendTag(dst, t.ETag, t.Color), at)
	}
	dst = w.stored(dst, PartOwn, lines.Own)
	if !t.Bodyless {
		dst = w.stored(dst, PartOwnBody, lines.OwnBody)
		if t.Fixed {
			dst = w.text(dst, lineRecolored, blockRecolored, "?0")
		}
		if t.Ranges {
			dst = w.acceptRanges(dst)
		}
		if len(t.ContentRange) > 0 {
			dst, at = w.name(dst, lineContentRange, blockContentRange)
			dst = w.end(append(dst, t.ContentRange...), at)
		}
	}
	if t.Aged {
		dst, at = w.name(dst, lineAge, blockAge)
		dst = w.end(strconv.AppendInt(dst, int64(t.Age/time.Second), 10), at)
	}
	if t.Monochrome != "" {
		dst = w.text(dst, lineMonochrome, blockMonochrome, t.Monochrome)
	}
	if t.Release != "" {
		dst = w.text(dst, lineRelease, blockRelease, t.Release)
	}
	if t.Status.Hit || t.Status.Forward != "" { // otherwise the request did not use this cache
		dst, at = w.name(dst, lineCacheStatus, blockCacheStatus)
		dst = w.end(cachepolicy.AppendCacheStatus(dst, t.Status), at)
	}
	if c := t.Count; c != nil && !c.Limit.Off() {
		dst, at = w.name(dst, lineLimitPolicy, blockLimitPolicy)
		dst = w.end(ratelimit.AppendPolicy(dst, c.Name, c.Limit), at)
		dst, at = w.name(dst, lineLimit, blockLimit)
		dst = w.end(ratelimit.AppendState(dst, c.Name, c.Decision), at)
	}
	if t.AltSvc != "" {
		dst = w.text(dst, lineAltSvc, blockAltSvc, t.AltSvc)
	}
	return dst
}

// The fields that a Head describes: as the beginning of a line, and as that of a header block, with
// a byte for the length of the value. The lines are constants, because the compiler copies those
// without a call.
const (
	lineCoding       = "Content-Encoding: "
	lineLength       = "Content-Length: "
	lineETag         = "ETag: "
	lineRecolored    = "Icon-Recolored: "
	lineContentRange = "Content-Range: "
	lineAge          = "Age: "
	lineMonochrome   = icon.FieldMonochrome + ": "
	lineRelease      = icon.FieldRelease + ": "
	lineCacheStatus  = "Cache-Status: "
	lineLimitPolicy  = "RateLimit-Policy: "
	lineLimit        = "RateLimit: "
	lineAltSvc       = "Alt-Svc: "
	lineAcceptRanges = "Accept-Ranges: bytes\r\n"
)

var (
	blockCoding       = newBlockName(lineCoding)
	blockLength       = newBlockName(lineLength)
	blockETag         = newBlockName(lineETag)
	blockRecolored    = newBlockName(lineRecolored)
	blockContentRange = newBlockName(lineContentRange)
	blockAge          = newBlockName(lineAge)
	blockMonochrome   = newBlockName(lineMonochrome)
	blockRelease      = newBlockName(lineRelease)
	blockCacheStatus  = newBlockName(lineCacheStatus)
	blockLimitPolicy  = newBlockName(lineLimitPolicy)
	blockLimit        = newBlockName(lineLimit)
	blockAltSvc       = newBlockName(lineAltSvc)

	sharedRange = h2.NewSharedField([]byte("Accept-Ranges"), []byte("bytes"))
)

func newBlockName(line string) string {
	return string(append(h2.AppendName(nil, strings.TrimSuffix(line, ": ")), 0))
}

// A Writer writes fields as lines of HTTP/1.1 or, if Block is set, as a header block of HTTP/2.
// The stored fields come from Prebuilt or, in the pipeline, from Entry. It is one type, and not an
// interface with two that implement it, because the values given to an interface are allocated. For
// the same reason it does not hold the bytes that it appends to.
type Writer struct {
	Prebuilt *cache.Head // stored fields, serialised; nil: those of Entry

	Entry     *cache.Entry
	Coded     bool   // this edge has made the coding: the origin's Accept-Ranges does not apply
	Date      []byte // the Date of Entry
	Forwarded bool   // Entry has exactly the fields that the origin sent

	Block *Block          // the fields of Prebuilt that entries share, encoded; nil: HTTP/1.1
	Table *h2.ClientTable // of the connection
}

// stored appends a group of stored fields. Lines are the serialised ones, if the writer has them.
func (w *Writer) stored(dst []byte, p Part, lines []byte) []byte {
	if w.Block != nil || w.Prebuilt == nil {
		return w.encoded(dst, p, lines)
	}
	return append(dst, lines...)
}

func (w *Writer) encoded(dst []byte, p Part, lines []byte) []byte {
	switch {
	case w.Prebuilt == nil && w.Coded && p == PartAlways:
		return appendCodedLines(dst, w.Entry.Fields)
	case w.Prebuilt == nil:
		return AppendPart(dst, p, w.Entry, w.Date, w.Forwarded)
	}
	return w.Block.append(dst, p, lines, w.Table)
}

// AppendPart serialises a group of an entry's fields. The responses on the edge's own routes have
// some more fields than their entries.
func AppendPart(dst []byte, p Part, e *cache.Entry, date []byte, forwarded bool) []byte {
	switch p {
	case PartType:
		if len(e.ContentType) == 0 {
			return dst
		}
		return appendLine(dst, cache.Field{Name: nameContentType, Value: e.ContentType})
	case PartAlways:
		if !forwarded {
			dst = appendLine(appendLines(dst, EveryAnswer, false), varies)
		}
		return appendLines(dst, e.Fields, false)
	case PartWithBody:
		return appendLines(dst, e.FieldsWithBody, false)
	case PartOwn:
		return appendLines(appendLine(dst, cache.Field{Name: nameDate, Value: date}), e.Fields, true)
	}
	return appendLines(dst, e.FieldsWithBody, true)
}

// appendLines serialises fields: those whose values differ from entry to entry if own is set,
// otherwise the rest.
func appendLines(dst []byte, fields []cache.Field, own bool) []byte {
	for _, f := range fields {
		if IsOwn(f.Name) == own {
			dst = appendLine(dst, f)
		}
	}
	return dst
}

// appendCodedLines serialises the fields of PartAlways of a forwarded response in a coding.
func appendCodedLines(dst []byte, fields []cache.Field) []byte {
	for _, f := range fields {
		if !IsOwn(f.Name) && string(f.Name) != fasthttp.HeaderAcceptRanges {
			dst = appendLine(dst, f)
		}
	}
	return dst
}

func appendLine(dst []byte, f cache.Field) []byte {
	return append(append(append(append(dst, f.Name...), ": "...), f.Value...), "\r\n"...)
}

// IsOwn reports whether a field has a different value in almost every entry. Many entries share the
// other fields.
func IsOwn(name []byte) bool {
	switch string(name) {
	case "Surrogate-Key", "Last-Modified", "Cache-Status":
		return true
	}
	return false
}

// name appends the name of a field, and returns where its value begins.
func (w *Writer) name(dst []byte, line, block string) ([]byte, int) {
	if w.Block == nil {
		dst = append(dst, line...)
	} else {
		dst = append(dst, block...)
	}
	return dst, len(dst)
}

// end completes a field whose value begins at start.
func (w *Writer) end(dst []byte, start int) []byte {
	if w.Block != nil {
		return h2.EndValue(dst, start)
	}
	return append(dst, '\r', '\n')
}

// text appends a field.
func (w *Writer) text(dst []byte, line, block, value string) []byte {
	dst, at := w.name(dst, line, block)
	return w.end(append(dst, value...), at)
}

// acceptRanges appends Accept-Ranges, which a connection of HTTP/2 needs in full only once.
func (w *Writer) acceptRanges(dst []byte) []byte {
	if w.Block != nil {
		return w.Table.Append(dst, sharedRange)
	}
	return append(dst, lineAcceptRanges...)
}

// appendTag appends an entity tag, with the suffix of a colour if there is one.
func appendTag(dst, etag []byte, color icon.Color) []byte {
	if color == "" {
		return append(dst, etag...)
	}
	dst = append(append(dst, etag[:len(etag)-1]...), '-') // as entry.Suffixed
	return append(append(dst, color[1:]...), '"')
}

// AppendBlock appends the field lines of an HTTP/1.1 head as fields of a header block.
func AppendBlock(dst, lines []byte) []byte {
	for len(lines) > 0 { // lines passed to FieldsIn would be allocated
		var name, value []byte
		name, value, lines = exchange.CutField(lines)
		dst = h2.AppendField(dst, name, value)
	}
	return dst
}

// Blocks caches the encoded HTTP/2 fields that many entries have in common, by the address of their
// interned lines. A library has a few such sets for each of its packs, hundreds in total. Encoding
// a block costs as much as the response that needs it. Therefore the table has several times as
// many places as that, and several places for each hash.
type Blocks [1 << blockBits][blockPlaces]atomic.Pointer[Block]

const (
	blockBits   = 10
	blockPlaces = 4 // those of one hash lie in one line of the processor's cache
)

// A Block is the encoded fields of a head that entries have in common.
type Block struct {
	lines                  cache.Head
	kind, always, withBody []*h2.SharedField
}

// Of returns the block of a head, whose lines never change. The block refers to the lines, so the
// garbage collector cannot give their address to other lines.
func (b *Blocks) Of(head *cache.Head) *Block {
	places := b.places(head)
	for i := range places {
		if known := places[i].Load(); known != nil && known.is(head) {
			return known
		}
	}
	// Blocks of discarded heads move to the end and drop out. Two goroutines that insert at once
	// lose at most a block.
	for i := blockPlaces - 1; i > 0; i-- {
		places[i].Store(places[i-1].Load())
	}
	made := newBlock(head)
	places[0].Store(made)
	return made
}

// places returns the places for a head. The address of its lines is a multiple of some power of
// two. The multiplication carries all bits of the address into the upper ones (Knuth, The Art of
// Computer Programming, volume 3, section 6.4).
func (b *Blocks) places(head *cache.Head) *[blockPlaces]atomic.Pointer[Block] {
	at := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(head.Always))))
	return &b[at*0x9e3779b97f4a7c15>>(64-blockBits)]
}

func newBlock(head *cache.Head) *Block {
	// The block leaves out the fields that belong to one entry alone.
	lines := cache.Head{Type: head.Type, Always: head.Always, WithBody: head.WithBody}
	return &Block{lines, share(lines.Type), share(lines.Always), share(lines.WithBody)}
}

func share(lines []byte) (fields []*h2.SharedField) {
	for name, value := range exchange.FieldsIn(lines) {
		fields = append(fields, h2.NewSharedField(name, value))
	}
	return fields
}

func (b *Block) is(head *cache.Head) bool {
	return sameLines(b.lines.Always, head.Always) && sameLines(b.lines.Type, head.Type) && sameLines(b.lines.WithBody, head.WithBody)
}

// sameLines reports whether two slices are the same memory.
func sameLines(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// append appends a group of the fields of the head whose block b is. Lines are the group as lines.
func (b *Block) append(dst []byte, p Part, lines []byte, table *h2.ClientTable) []byte {
	switch p {
	case PartType:
		return appendShared(dst, b.kind, table)
	case PartAlways:
		return appendShared(dst, b.always, table)
	case PartWithBody:
		return appendShared(dst, b.withBody, table)
	}
	return AppendBlock(dst, lines)
}

func appendShared(dst []byte, fields []*h2.SharedField, known *h2.ClientTable) []byte {
	for _, f := range fields {
		dst = known.Append(dst, f)
	}
	return dst
}
