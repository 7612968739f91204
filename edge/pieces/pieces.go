// Package pieces joins responses of Iconify's icon data from pieces that were used lately, without
// a look-up in the cache for each of them.
//
// A Table holds such pieces. Each is valid while no entry of the cache has been invalidated, so
// that all pieces of one response are of one moment. A Response has the pieces of one request, in
// the order in which they are joined, and derives the entity tag, the age and the surrogate keys
// from them. Package proxy finds the pieces that the table lacks, and writes the head.
package pieces

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/icondata"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// A Piece is a cached piece, or the head of a pack, in the form in which it is joined. It does not
// change. Its first fields, up to Prepared, are those that a join reads: they take two lines of the
// processor's cache.
type Piece struct {
	sum     uint64 // hash of PACK/NAME
	asked   cache.Generation
	expires int64 // in nanoseconds since 1970
	changed int64 // Last-Modified in seconds since 1970; very small: unknown
	tag     [tagSize]byte
	pack    string // the same string for all pieces of a pack
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

const tagSize = 16 // bytes of a hash

// New returns the piece of a name in a cache entry; no name means the head of the pack. asked is
// the generation of the cache before the entry was looked up. The error is icondata.ErrForm.
func New(pack, name string, e *cache.Entry, asked cache.Generation, now time.Time) (*Piece, error) {
	p := &Piece{pack: pack, Name: name, asked: asked, Freshness: e.Freshness(), Date: e.Date, Modified: e.LastModified, changed: e.LastModified.Unix(), Release: e.Release}
	p.expires = now.Add(p.Freshness.TTL(now)).UnixNano()
	sum := sha256.Sum256([]byte(e.Identity().ETag))
	copy(p.tag[:], sum[:])
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

// Key returns the cache key of a piece.
func (p *Piece) Key() string { return routes.PieceKey(p.pack, p.Name) }

// Pack returns the key of the pack.
func (p *Piece) Pack() string { return p.pack }

// Data returns the piece as it is stored.
func (p *Piece) Data() *icondata.Piece {
	return &icondata.Piece{Name: p.Name, Parent: p.Parent, Member: p.Member()}
}

// size returns about how much memory a piece takes, in bytes.
func (p *Piece) size() int64 {
	if p.Head != nil {
		return p.Head.Cost()
	}
	return overhead + int64(p.Size())
}

// overhead is the size of a piece besides its member, in bytes, measured and rounded up.
const overhead = 640

// A Table holds pieces that were looked up lately, so that a response of 30 icons does not cost 30
// look-ups. Each piece has some places, side by side, by its hash. It is safe for concurrent use.
type Table struct {
	seed   maphash.Seed // random, so that a client cannot choose names that collide
	places []place
	left   atomic.Int64  // bytes that may still be stored
	hand   atomic.Uint64 // the place that is emptied next to make room
	packs  sync.Map      // string by string: the keys of packs, which pieces share
}

// A place has a piece. sum is its hash, or that of a piece that was there a moment ago.
type place struct {
	sum   atomic.Uint64
	piece atomic.Pointer[Piece]
}

const (
	meanPiece  = 512 // bytes
	mostPieces = 1 << 16
	ways       = 8 // places of a piece
	maxEmptied = 256
)

// NewTable returns a table for pieces of at most so many bytes.
func NewTable(most int64) *Table {
	t := &Table{seed: maphash.MakeSeed(), places: make([]place, max(ways, min(most/meanPiece, mostPieces)&^(ways-1)))}
	t.left.Store(most)
	return t
}

// bucket returns the places of a piece with a hash.
func (t *Table) bucket(sum uint64) []place {
	n := sum % uint64(len(t.places)/ways) * ways
	return t.places[n : n+ways]
}

// hash returns the hash of PACK/NAME. Two names have the same hash by an accident that no client
// can provoke, and that does not happen in practice: it has 64 bits.
func (t *Table) hash(ref []byte) uint64 { return maphash.Bytes(t.seed, ref) }

// find returns the piece with a hash; nil, if the table has none. The caller checks it.
func (t *Table) find(sum uint64) *Piece {
	bucket := t.bucket(sum)
	for i := range bucket {
		if bucket[i].sum.Load() == sum {
			return bucket[i].piece.Load()
		}
	}
	return nil
}

// is reports whether p, which may be nil, is a fresh piece with a hash that is valid at a
// generation.
func (p *Piece) is(sum uint64, at cache.Generation, now int64) bool {
	return p != nil && p.sum == sum && p.asked == at && p.expires > now
}

// Find returns the fresh piece of a name, or the head of a pack; nil, if the table has none that is
// valid at a generation.
func (t *Table) Find(pack, name string, at cache.Generation, now time.Time) *Piece {
	sum := t.hash(append(append(append(make([]byte, 0, 64), pack...), '/'), name...))
	if p := t.find(sum); p.is(sum, at, now.UnixNano()) && p.Name == name && p.pack == pack {
		return p
	}
	return nil
}

// Put stores a piece. It replaces an older one of the same name, or one that is no longer valid;
// otherwise all pieces of the bucket move on by a place, and the last one leaves the table.
func (t *Table) Put(p *Piece) {
	pack, _ := t.packs.LoadOrStore(p.pack, p.pack)
	p.pack, p.sum = pack.(string), t.hash([]byte(p.pack+"/"+p.Name))
	t.left.Add(-p.size())
	bucket := t.bucket(p.sum)
	for i := range bucket {
		old := bucket[i].piece.Load()
		if old == nil || old.asked != p.asked || old.sum == p.sum {
			t.free(bucket[i].swap(p))
			break
		}
		if i == ways-1 {
			for i := range bucket {
				p = bucket[i].swap(p)
			}
			t.free(p)
		}
	}
	for n := 0; t.left.Load() < 0 && n < maxEmptied; n++ {
		t.free(t.places[t.hand.Add(1)%uint64(len(t.places))].swap(nil))
	}
}

// swap puts a piece, or none, into a place, and returns the one that was there.
func (at *place) swap(p *Piece) (old *Piece) {
	sum := uint64(0)
	if p != nil {
		sum = p.sum
	}
	old = at.piece.Swap(p)
	at.sum.Store(sum)
	return old
}

// free counts the bytes of a piece that has left the table.
func (t *Table) free(p *Piece) {
	if p != nil {
		t.left.Add(p.size())
	}
}

// Replace replaces a piece of the table by the same piece with a deflated member. The table may
// have got the same piece again meanwhile, from another look-up of its entry.
func (t *Table) Replace(old *Piece, deflated []byte) {
	p := *old
	p.Prepared = old.Data().Prepare(deflated)
	bucket := t.bucket(p.sum)
	for i := range bucket {
		now := bucket[i].piece.Load()
		if now != nil && now.sum == p.sum && now.asked == p.asked && now.tag == p.tag && bucket[i].piece.CompareAndSwap(now, &p) {
			t.left.Add(now.size() - p.size())
			return
		}
	}
}

// A Response is icon data in pieces.
type Response struct {
	Head   *Piece
	Pieces []*Piece // sorted by name, each name once
	Absent []string // names that the pack does not have, sorted

	answer icondata.Answer
	joined []*icondata.Prepared // its pieces
	sums   []uint64
	ref    []byte
	tags   []byte
	lines  []byte
	read   uint64 // of the memory of pieces, so that the compiler does not leave out the reads
	etag   [2*tagSize + 2]byte
}

// Answer returns the data of the response, in the form in which they are joined. The error is
// icondata.ErrForm.
func (r *Response) Answer() (*icondata.Answer, error) {
	r.joined = r.joined[:0]
	for _, p := range r.Pieces {
		r.joined = append(r.joined, &p.Prepared)
	}
	r.answer = icondata.Answer{Prepared: r.joined, NotFound: r.Absent}
	return &r.answer, r.answer.StoredHead(r.Head.Head.Identity().Body)
}

// Tag returns the entity tag of the response without a content coding. It depends on the content
// alone, and on form, which distinguishes the responses that are made from the same pieces. It is
// valid until the next call.
func (r *Response) Tag(form string) []byte {
	b := append(r.tags[:0], r.Head.tag[:]...)
	for _, p := range r.Pieces {
		b = append(b, p.tag[:]...)
	}
	for _, name := range r.Absent {
		b = append(append(b, 0), name...)
	}
	r.tags = append(b, form...)
	sum := sha256.Sum256(r.tags)
	r.etag[0], r.etag[len(r.etag)-1] = '"', '"'
	hex.Encode(r.etag[1:], sum[:tagSize])
	return r.etag[:]
}

// TagOf returns the entity tag that Tag returned last, for a content coding of the response.
func (r *Response) TagOf(c entry.Coding) []byte {
	tag := append(append(r.tags[:0], r.etag[:len(r.etag)-1]...), '-') // as entry.Suffixed
	r.tags = append(append(tag, c.String()...), '"')
	return r.tags
}

// Fields returns the fields of the response, in the form of the fast path. They are valid until the
// next call.
func (r *Response) Fields() cache.Head {
	fields := *r.Head.Lines
	b := append(append(r.lines[:0], "Date: "...), r.Oldest().Date...)
	b = append(r.AppendKeys(append(b, "\r\nSurrogate-Key: "...)), "\r\n"...)
	own := len(b)
	if r.Head.Dated {
		b = append(b, "Last-Modified: "...)
		b = append(r.Newest().Modified.UTC().AppendFormat(b, http.TimeFormat), "\r\n"...)
	}
	r.lines, fields.Own, fields.OwnBody = b, b[:own], b[own:]
	return fields
}

// Oldest returns the piece that becomes stale first.
func (r *Response) Oldest() *Piece {
	oldest := r.Head
	for _, p := range r.Pieces {
		if p.expires < oldest.expires {
			oldest = p
		}
	}
	return oldest
}

// Newest returns the piece with the latest Last-Modified.
func (r *Response) Newest() *Piece {
	newest := r.Head
	for _, p := range r.Pieces {
		if p.changed > newest.changed {
			newest = p
		}
	}
	return newest
}

// maxIconKeys is the number of surrogate keys of icons in one response. A response with more has
// that of the pack.
const maxIconKeys = 64

// AppendKeys appends the surrogate keys of the response, by which tiers after this one can purge
// it.
func (r *Response) AppendKeys(dst []byte) []byte {
	dst = append(append(dst, "pack/"...), r.Head.pack...)
	if len(r.Pieces) <= maxIconKeys {
		for _, p := range r.Pieces {
			dst = append(append(append(append(dst, " icon/"...), r.Head.pack...), '/'), p.Prepared.Name()...)
		}
	}
	return append(append(dst, " release/"...), r.Head.Release...)
}

// Sort sorts the pieces by name.
func (r *Response) Sort() {
	if !slices.IsSortedFunc(r.Pieces, byName) {
		slices.SortFunc(r.Pieces, byName)
	}
}

func byName(a, b *Piece) int { return bytes.Compare(a.Prepared.Name(), b.Prepared.Name()) }
