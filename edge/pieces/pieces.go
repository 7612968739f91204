// Package pieces joins responses of Iconify's icon data from pieces that were used lately, without
// a look-up in the cache for each of them.
//
// A Table holds such pieces. Each is valid while no entry of the cache has been invalidated, so
// that all pieces of one response are of one moment. A Response has the pieces of one request, in
// the order in which they are joined, and derives the entity tag, the age and the surrogate keys
// from them. Packages hit and iconset find the pieces that the table lacks, and write the head.
package pieces

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/icondata"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// A Piece is a cached piece, or the head of a pack, in the form in which it is joined. It does not
// change once it is in a table.
type Piece struct {
	sum     uint64 // hash of the pack and the name
	asked   cache.Generation
	expires int64 // in nanoseconds since 1970
	changed int64 // Last-Modified in seconds since 1970; very small: unknown
	tag     uint64
	number  uint32 // of the pack
	pack    string
	icondata.Prepared

	Name, Parent string
	Head         *cache.Entry // of a head; nil: it is another piece
	Freshness    cachepolicy.Entry
	Date         []byte
	Modified     time.Time // zero: unknown
	Release      string
	Brief        bool // the cache has it for moments only, because it is of another release
	// Lines are the fields of a head that all responses have in common, in the form of the fast
	// path, without those that depend on the pieces; nil: the pipeline has to write the head.
	Lines *cache.Head
	Dated bool // the responses have Last-Modified
}

// New returns the piece of a name in a cache entry; no name means the head of the pack. asked is
// the generation of the cache before the entry was looked up. The error is icondata.ErrForm.
func New(pack, name string, e *cache.Entry, asked cache.Generation, now time.Time) (*Piece, error) {
	p := &Piece{pack: pack, Name: name, asked: asked, Freshness: e.Freshness(), Date: e.Date,
		Modified: e.LastModified, changed: e.LastModified.Unix(), Release: e.Release}
	p.expires = now.Add(p.Freshness.TTL(now)).UnixNano()
	p.tag = xxhash.Sum64String(e.Identity().ETag)
	if name == "" {
		p.Head = e
		return p, nil
	}
	stored, err := icondata.Stored(name, e.Identity().Body)
	if err != nil || !icon.ValidKey(name) {
		return nil, icondata.ErrForm
	}
	var deflated []byte
	if v := e.Variant(entry.Gzip); v != nil {
		deflated = v.Body
	}
	p.Parent, p.Prepared = stored.Parent, stored.Prepare(deflated)
	return p, nil
}

// IsPending reports whether the piece has to be deflated before it can be joined in gzip.
func (p *Piece) IsPending() bool { return p.Head == nil && !p.IsDeflated() }

// Key returns the cache key of a piece.
func (p *Piece) Key() string { return routes.PieceKey(p.pack, p.Name) }

// Pack returns the key of the pack.
func (p *Piece) Pack() string { return p.pack }

// Data returns the piece as it is stored.
func (p *Piece) Data() *icondata.Piece {
	return &icondata.Piece{Name: p.Name, Parent: p.Parent, Member: p.Member()}
}

// A Response is icon data in pieces.
type Response struct {
	Head   *Piece
	Pieces []*Piece // of a response that Arrange arranges
	Absent []string // names that the pack does not have, sorted

	answer         icondata.Answer
	oldest, newest *Piece
	names          [][]byte // of the pieces
	prefix         []byte   // of the surrogate keys of icons
	tags           []byte   // of the head and all pieces, in their order
	lines          []byte
	modified       []byte // the last Last-Modified
	formatted      int64  // its time, in seconds since 1970
	tag            []byte
	look           lookup
}

// Arrange sorts the pieces by name, and derives from them what the other methods return.
func (r *Response) Arrange() {
	slices.SortFunc(r.Pieces, func(a, b *Piece) int { return cmp.Compare(a.Name, b.Name) })
	r.begin()
	for _, p := range r.Pieces {
		r.answer.Add(&p.Form, p.Bytes())
		r.names = append(r.names, p.Prepared.Name())
		r.tags = binary.LittleEndian.AppendUint64(r.tags, p.tag)
		if p.expires < r.oldest.expires {
			r.oldest = p
		}
		if p.changed > r.newest.changed {
			r.newest = p
		}
	}
}

// begin begins a response that has no pieces yet.
func (r *Response) begin() {
	r.answer.Reset()
	r.names = r.names[:0]
	r.oldest, r.newest = r.Head, r.Head
	r.tags = binary.LittleEndian.AppendUint64(r.tags[:0], r.Head.tag)
}

// Answer returns the data of the response, in the form in which they are joined. The error is
// icondata.ErrForm.
func (r *Response) Answer() (*icondata.Answer, error) {
	r.answer.NotFound = r.Absent
	return &r.answer, r.answer.StoredHead(r.Head.Head.Identity().Body)
}

// Tag returns the entity tag of the response without a content coding. It depends on the content
// alone, and on form, which distinguishes the responses that are made from the same pieces. It is
// valid until the next call.
func (r *Response) Tag(form string) []byte {
	all := len(r.tags)
	for _, name := range r.Absent {
		r.tags = append(append(r.tags, 0), name...)
	}
	r.tags = append(r.tags, form...)
	r.tag = appendHex(append(r.tag[:0], '"'), xxhash.Sum64(r.tags))
	r.tag = append(r.tag, '"')
	r.tags = r.tags[:all]
	return r.tag
}

// appendHex appends a number in 16 digits.
func appendHex(dst []byte, n uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return hex.AppendEncode(dst, b[:])
}

// TagOf returns the entity tag that Tag returned last, for a content coding of the response.
func (r *Response) TagOf(c entry.Coding) []byte {
	r.tag = append(r.tag[:len(r.tag)-1], '-') // as entry.Suffixed
	r.tag = append(append(r.tag, c.String()...), '"')
	return r.tag
}

// Fields returns the fields of the response, in the form of the hit path. They are valid until the
// next call.
func (r *Response) Fields() cache.Head {
	fields := *r.Head.Lines
	b := append(append(r.lines[:0], "Date: "...), r.oldest.Date...)
	b = append(r.AppendKeys(append(b, "\r\nSurrogate-Key: "...)), "\r\n"...)
	own := len(b)
	if r.Head.Dated {
		b = append(b, "Last-Modified: "...)
		if r.newest.changed != r.formatted || len(r.modified) == 0 {
			r.formatted = r.newest.changed
			r.modified = r.newest.Modified.UTC().AppendFormat(r.modified[:0], http.TimeFormat)
		}
		b = append(append(b, r.modified...), "\r\n"...)
	}
	r.lines, fields.Own, fields.OwnBody = b, b[:own], b[own:]
	return fields
}

// Oldest returns the piece that becomes stale first.
func (r *Response) Oldest() *Piece { return r.oldest }

// Newest returns the piece with the latest Last-Modified.
func (r *Response) Newest() *Piece { return r.newest }

// Len returns the number of pieces besides the head.
func (r *Response) Len() int { return len(r.names) }

// Keys yields the cache keys of the head and of all pieces.
func (r *Response) Keys(yield func(string) bool) {
	if !yield(r.Head.Key()) {
		return
	}
	for _, name := range r.names {
		if !yield(routes.PieceKey(r.Head.pack, string(name))) {
			return
		}
	}
}

// maxIconKeys is the number of surrogate keys of icons in one response. A response with more has
// that of the pack.
const maxIconKeys = 64

// AppendKeys appends the surrogate keys of the response, by which tiers after this one can purge
// it.
func (r *Response) AppendKeys(dst []byte) []byte {
	dst = append(append(dst, "pack/"...), r.Head.pack...)
	if len(r.names) <= maxIconKeys {
		r.prefix = append(append(append(r.prefix[:0], " icon/"...), r.Head.pack...), '/')
		for _, name := range r.names {
			dst = append(append(dst, r.prefix...), name...)
		}
	}
	return append(append(dst, " release/"...), r.Head.Release...)
}
