package memory

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

const (
	maxInterned  = 1 << 16 // number of different headers
	internedPart = 32      // their share of the ceiling: 1/32
	// maxSeen is the number of hashes of texts that were seen once.
	maxSeen          = 1 << 12
	internedOverhead = 384 // bytes for each besides its text: measured, and rounded up
)

// An interned header is text that many entries share: status, field names and most field values,
// and the larger part of their heads. It is stored once, in the form that an Encoder wrote.
type interned struct {
	number uint32 // in the table; 0: it belongs to one entry
	uses   int
	text   []byte
	policy cachepolicy.Entry // the periods in which an entry may be served stale, and its flags
	head   entry.Head        // without the lines that an entry has for itself
	rest   []byte            // the text after these parts
}

// Interned is the table of the interned headers in use. Number 0 is none.
type Interned struct {
	list  atomic.Pointer[[]*interned] // by number
	bytes atomic.Int64
	most  int64

	mu     sync.Mutex
	byText map[string]*interned
	spare  []uint32
	seed   maphash.Seed
	seen   [maxSeen]uint32 // hashes of texts that were seen once and not interned
}

// Init prepares a table for a cache of most bytes.
func (k *Interned) Init(most int64) {
	k.most, k.byText, k.seed = most/internedPart, map[string]*interned{}, maphash.MakeSeed()
	k.list.Store(&[]*interned{nil})
}

// Bytes returns the bytes of all interned headers.
func (k *Interned) Bytes() int64 { return k.bytes.Load() }

// Count returns the number of interned headers.
func (k *Interned) Count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.byText)
}

// of returns the interned header with a number.
func (k *Interned) of(number uint32) *interned { return (*k.list.Load())[number] }

// use adds a reference to the interned header with a text, and returns its number, or 0 if the
// table is full. Unless shared is true, the text must occur twice before it is interned, because it
// may well be unique.
func (k *Interned) use(text []byte, shared bool) uint32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.byText[unsafe.String(unsafe.SliceData(text), len(text))]; c != nil {
		c.uses++
		return c.number
	}
	if !shared && !k.seenBefore(text) || len(k.byText) >= maxInterned || k.bytes.Load()+internedSize(text) > k.most {
		return 0
	}
	c := parseInterned(append([]byte(nil), text...))
	c.uses = 1
	k.add(c)
	return c.number
}

// seenBefore reports whether a text was seen before, as far as hashes of texts are still in the
// table.
func (k *Interned) seenBefore(text []byte) bool {
	hash := maphash.Bytes(k.seed, text)
	seen := &k.seen[hash%maxSeen]
	was := *seen
	*seen = uint32(hash >> 32)
	return was == *seen
}

func (k *Interned) add(c *interned) {
	if n := len(k.spare); n > 0 {
		c.number, k.spare = k.spare[n-1], k.spare[:n-1]
		(*k.list.Load())[c.number] = c
	} else {
		list := *k.list.Load()
		c.number = uint32(len(list))
		list = append(list, c)
		k.list.Store(&list)
	}
	k.byText[unsafe.String(unsafe.SliceData(c.text), len(c.text))] = c
	k.bytes.Add(internedSize(c.text))
}

// Release removes a reference, and the interned header with its last one.
func (k *Interned) Release(number uint32) {
	if number == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.of(number)
	if c.uses--; c.uses > 0 {
		return
	}
	delete(k.byText, unsafe.String(unsafe.SliceData(c.text), len(c.text)))
	(*k.list.Load())[number] = nil
	k.spare = append(k.spare, number)
	k.bytes.Add(-internedSize(c.text))
}

func internedSize(text []byte) int64 { return internedOverhead + int64(len(text)) }

// writeInterned writes the header text of an entry. It begins with the parts that a View needs.
func writeInterned(w *codec.Encoder, e *entry.Entry) {
	for _, d := range [...]int64{int64(e.Policy.StaleWhileRevalidate), int64(e.Policy.StaleIfError), int64(e.Policy.StaleWhenLost)} {
		w.Int(d)
	}
	w.Flags(&e.Policy)
	head := e.Head
	if head == nil {
		head = &entry.Head{}
	}
	for _, part := range [...][]byte{head.Type, head.Always, head.WithBody} {
		w.Bytes(part)
	}
}

func parseInterned(text []byte) *interned {
	c := &interned{}
	c.parse(text)
	return c
}

// parse makes c the header with a text.
func (c *interned) parse(text []byte) {
	*c = interned{text: text}
	r := codec.Decoder{Rest: text}
	p := &c.policy
	p.StaleWhileRevalidate, p.StaleIfError, p.StaleWhenLost = r.Duration(), r.Duration(), r.Duration()
	r.Flags(p)
	c.head.Type, c.head.Always, c.head.WithBody = r.Part(), r.Part(), r.Part()
	c.rest = r.Rest
}
