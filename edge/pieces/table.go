package pieces

import (
	"maps"
	"math/bits"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/icondata"
)

// A Table holds pieces that were looked up lately, so that a response of 30 icons does not cost 30
// look-ups. It is safe for concurrent use: readers need no lock.
//
// A join of pieces that were not used for a moment mostly waits for memory. Therefore the bytes of
// pieces lie side by side in segments, one line of the processor's cache has all else that a join
// reads of a piece, and an index of numbers leads to it. The oldest segment makes room for a new
// one.
type Table struct {
	most    int
	seed    uint64     // random, so that a client cannot choose names that collide
	mu      sync.Mutex // of writers
	numbers map[string]uint32
	current atomic.Pointer[epoch]
}

// NewTable returns a table for pieces of at most so many bytes.
func NewTable(most int64) *Table {
	t := &Table{most: int(most), seed: rand.Uint64() | 1, numbers: map[string]uint32{}}
	t.current.Store(newEpoch(0))
	return t
}

// An epoch has the pieces that are valid at one generation of the cache. No piece is valid at
// another one, so a later generation begins a new epoch.
type epoch struct {
	asked    cache.Generation
	heads    atomic.Pointer[map[string]*Piece] // by pack
	index    atomic.Pointer[index]
	segments atomic.Pointer[segments]
	size     int // of all segments, in bytes
	records  int
}

func newEpoch(asked cache.Generation) *epoch {
	e := &epoch{asked: asked}
	e.heads.Store(&map[string]*Piece{})
	e.index.Store(newIndex(minSlots))
	e.segments.Store(&segments{first: 1})
	return e
}

// An index has the place of each record, by the hash of its name. A slot has the upper half of the
// hash, the number of the segment in 12 bits, and that of the record in 20; 0: it is empty. The
// slots of a hash are in one line of the processor's cache.
type index struct{ slots []atomic.Uint64 }

const (
	ways       = 8
	minSlots   = 1 << 10
	recordBits = 20
	maxSerial  = 1<<12 - 1
)

func newIndex(slots int) *index { return &index{make([]atomic.Uint64, slots)} }

// bucket returns the slots of a hash, and the one that is read first.
func (x *index) bucket(sum uint64) (bucket *[ways]atomic.Uint64, first int) {
	n := int(sum) & (len(x.slots) - 1) &^ (ways - 1)
	return (*[ways]atomic.Uint64)(x.slots[n : n+ways]), int(sum) & (ways - 1)
}

// put enters a place into the index. It replaces that of the same hash or one that is free, and
// otherwise an older one.
func (x *index) put(sum uint64, place uint32, segments *segments) {
	bucket, first := x.bucket(sum)
	at := -1
	for i := range ways {
		n := (first + i) % ways
		slot := bucket[n].Load()
		s, record := segments.of(uint32(slot))
		if slot != 0 && s != nil && s.records[record].sum == sum {
			at = n
			break
		}
		if at < 0 && (slot == 0 || s == nil) {
			at = n
		}
	}
	if at < 0 {
		at = first
	}
	bucket[at].Store(sum>>32<<32 | uint64(place))
}

// segments are the segments of an epoch, by number.
type segments struct {
	first uint32 // number of the oldest
	list  []*segment
}

// of returns the segment of a place, and the number of the record there; nil: it has no segment any
// more.
func (s *segments) of(place uint32) (at *segment, record int) {
	if n := place>>recordBits - s.first; n < uint32(len(s.list)) {
		return s.list[n], int(place & (1<<recordBits - 1))
	}
	return nil, 0
}

// A segment is memory for pieces, one after another. Its slices do not grow. The writer fills a
// record before it enters the place into the index.
type segment struct {
	records []record
	pieces  []*Piece // of the records
	data    []byte   // of all pieces
	used    int      // records in use
	free    int      // start of free data
	size    int
}

// A record is what a join reads of a piece besides its data: one line of the processor's cache.
type record struct {
	sum     uint64 // hash of the name, with that of the pack
	expires int64  // in nanoseconds since 1970
	changed int64  // Last-Modified in seconds since 1970; very small: unknown
	tag     uint64
	form    icondata.Form
	data    uint32 // where its data start
	pack    uint32 // number of the pack
}

const (
	// overhead is the size of a record with its Piece and its share of the index, in bytes,
	// measured and rounded up. A segment has as much memory for data as for this.
	overhead   = 512
	minSegment = 128 << 10
	segmentsOf = 8 // segments of a full table
)

func newSegment(size int) *segment {
	n := max(1, size/2/overhead)
	return &segment{records: make([]record, n), pieces: make([]*Piece, n), data: make([]byte, size/2), size: size}
}

// multiplier is odd, and half of its bits are set, without a pattern (the fraction of the golden
// ratio).
const multiplier = 0x9e3779b97f4a7c15

// mix adds eight bytes of a name to a hash.
func mix(sum, word uint64) uint64 {
	high, low := bits.Mul64(sum^word, multiplier)
	return high ^ low
}

// hash adds a name to a hash. Two names have the same hash by an accident that no client can
// provoke.
func hash(sum uint64, name string) uint64 {
	for ; len(name) >= 8; name = name[8:] {
		sum = mix(sum, word(name[:8]))
	}
	return mix(sum, word(name))
}

// word returns up to eight bytes of a name, the first one lowest.
func word(name string) (w uint64) {
	for i := len(name) - 1; i >= 0; i-- {
		w = w<<8 | uint64(name[i])
	}
	return w
}

// find returns where the piece with a hash is; nil, if the table has none.
func (e *epoch) find(sum uint64) (*segment, int) {
	bucket, first := e.index.Load().bucket(sum)
	segments := e.segments.Load()
	for i := range ways {
		if slot := bucket[(first+i)%ways].Load(); slot>>32 == sum>>32 {
			if s, n := segments.of(uint32(slot)); s != nil && s.records[n].sum == sum {
				return s, n
			}
		}
	}
	return nil, 0
}

// Find returns the fresh piece of a name, or the head of a pack; nil, if the table has none that is
// valid at a generation.
func (t *Table) Find(pack, name string, at cache.Generation, now time.Time) *Piece {
	e := t.current.Load()
	if e.asked != at {
		return nil
	}
	var p *Piece
	if name == "" {
		p = (*e.heads.Load())[pack]
	} else if s, n := e.find(hash(hash(t.seed, pack), name)); s != nil {
		p = s.pieces[n]
	}
	if p == nil || p.expires <= now.UnixNano() || p.Name != name || p.pack != pack {
		return nil
	}
	return p
}

// Put stores a piece. It replaces an older one of the same name, or one that is no longer valid.
func (t *Table) Put(p *Piece) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(p)
}

func (t *Table) put(p *Piece) {
	e := t.current.Load()
	if p.asked < e.asked {
		return
	}
	if p.asked > e.asked {
		e = newEpoch(p.asked)
		t.current.Store(e)
	}
	number, known := t.numbers[p.pack]
	if !known {
		number = uint32(len(t.numbers))
		t.numbers[p.pack] = number
	}
	p.number, p.sum = number, hash(t.seed, p.pack)
	if p.Name == "" {
		heads := maps.Clone(*e.heads.Load())
		heads[p.pack] = p
		e.heads.Store(&heads)
		return
	}
	p.sum = hash(p.sum, p.Name)
	if s, serial := t.room(e, p.Size()); s != nil {
		e.append(s, serial, p)
	} else if p.asked == e.asked && serial > maxSerial {
		t.current.Store(newEpoch(e.asked))
	}
}

// room returns a segment with room for a piece, and its number; nil: the piece is too long for the
// table. The oldest segments make room for new ones.
func (t *Table) room(e *epoch, length int) (*segment, uint32) {
	old := e.segments.Load()
	serial := old.first + uint32(len(old.list))
	if n := len(old.list); n > 0 {
		if last := old.list[n-1]; last.used < len(last.records) && last.free+length <= len(last.data) {
			return last, serial - 1
		}
	}
	size := min(t.most/segmentsOf, max(e.size, minSegment))
	if length > size/4 || serial > maxSerial {
		return nil, serial
	}
	now := &segments{first: old.first, list: append(old.list[:len(old.list):len(old.list)], newSegment(size))}
	for e.size += size; e.size > t.most; now.first++ {
		e.size -= now.list[0].size
		e.records -= now.list[0].used
		now.list = now.list[1:]
	}
	e.segments.Store(now)
	return now.list[len(now.list)-1], serial
}

// append adds a record to a segment, with a copy of the piece whose bytes are there.
func (e *epoch) append(s *segment, serial uint32, p *Piece) {
	one := *p
	end := len(one.Prepared.Append(s.data[:s.free]))
	one.Prepared = one.Form.At(s.data[s.free:end])
	s.pieces[s.used] = &one
	s.records[s.used] = record{sum: p.sum, expires: p.expires, changed: p.changed, tag: p.tag, form: one.Form,
		data: uint32(s.free), pack: p.number}
	place := serial<<recordBits | uint32(s.used)
	s.free, s.used, e.records = end, s.used+1, e.records+1
	now := e.segments.Load()
	x := e.index.Load()
	if 4*e.records > len(x.slots) { // then hardly any line has more than its ways
		x = e.grow(x, now)
	}
	x.put(p.sum, place, now)
}

// grow returns an index with twice as many slots, and has the epoch use it.
func (e *epoch) grow(x *index, segments *segments) *index {
	twice := newIndex(2 * len(x.slots))
	for i := range x.slots {
		slot := x.slots[i].Load()
		if s, n := segments.of(uint32(slot)); slot != 0 && s != nil {
			twice.put(s.records[n].sum, uint32(slot), segments)
		}
	}
	e.index.Store(twice)
	return twice
}

// Replace replaces a piece of the table by the same piece with a deflated member. The table may
// have got the same piece again meanwhile, from another look-up of its entry.
func (t *Table) Replace(old *Piece, deflated []byte) {
	p := *old
	p.Prepared = old.Data().Prepare(deflated)
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.current.Load()
	if e.asked != p.asked {
		return
	}
	if s, n := e.find(hash(hash(t.seed, p.pack), p.Name)); s != nil && s.pieces[n].tag == p.tag && s.pieces[n].Name == p.Name {
		t.put(&p)
	}
}
