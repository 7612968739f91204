package cache

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
)

const (
	maxCommon  = 1 << 16 // different ones
	commonPart = 32      // they may take one part in so many of the ceiling
	sightings  = 1 << 12
	perCommon  = 384 // bytes that one takes besides its text: measured, and rounded up
)

// A common is what many entries have alike: status, names of fields and most of their values, the larger part of their heads. It
// is kept once, as text that an encoder wrote.
type common struct {
	number uint32 // in the list of all; 0: the entry's own
	uses   int
	text   []byte
	policy cachepolicy.Entry // the periods in which an entry may be served stale, and its flags
	head   Head              // but for what is an entry's own
	rest   []byte            // of the text
}

// commons are those in use. Number 0 is none.
type commons struct {
	list  atomic.Pointer[[]*common] // by number
	bytes atomic.Int64
	most  int64

	mu     sync.Mutex
	byText map[string]*common
	spare  []uint32
	seed   maphash.Seed
	seen   [sightings]uint32 // of texts that came once and were not kept
}

func (k *commons) init(most int64) {
	k.most, k.byText, k.seed = most/commonPart, map[string]*common{}, maphash.MakeSeed()
	k.list.Store(&[]*common{nil})
}

// of returns the common with a number.
func (k *commons) of(number uint32) *common { return (*k.list.Load())[number] }

// use counts a use of the common with a text, and returns its number; 0, if there is no room for more. What nobody vouches for
// must come twice before it is kept: it may well be the only one of its kind.
func (k *commons) use(text []byte, vouched bool) uint32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.byText[unsafe.String(unsafe.SliceData(text), len(text))]; c != nil {
		c.uses++
		return c.number
	}
	if !vouched && !k.again(text) || len(k.byText) >= maxCommon || k.bytes.Load()+commonSize(text) > k.most {
		return 0
	}
	c := parseCommon(append([]byte(nil), text...))
	c.uses = 1
	k.add(c)
	return c.number
}

// again reports whether a text was seen before, as far as that is remembered.
func (k *commons) again(text []byte) bool {
	hash := maphash.Bytes(k.seed, text)
	place := &k.seen[hash%sightings]
	was := *place
	*place = uint32(hash >> 32)
	return was == *place
}

func (k *commons) add(c *common) {
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
	k.bytes.Add(commonSize(c.text))
}

// leave ends a use. What nobody uses goes.
func (k *commons) leave(number uint32) {
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
	k.bytes.Add(-commonSize(c.text))
}

func commonSize(text []byte) int64 { return perCommon + int64(len(text)) }

// The text begins with what a view needs.
func (w *encoder) common(e *Entry) {
	for _, d := range [...]int64{int64(e.Policy.StaleWhileRevalidate), int64(e.Policy.StaleIfError), int64(e.Policy.StaleWhenLost)} {
		w.int(d)
	}
	w.flags(&e.Policy)
	head := e.Head
	if head == nil {
		head = &Head{}
	}
	for _, part := range [...][]byte{head.Type, head.Always, head.WithBody} {
		w.bytes(part)
	}
}

func parseCommon(text []byte) *common {
	c := &common{text: text}
	r := &decoder{b: text}
	p := &c.policy
	p.StaleWhileRevalidate, p.StaleIfError, p.StaleWhenLost = r.duration(), r.duration(), r.duration()
	r.flags(p)
	c.head.Type, c.head.Always, c.head.WithBody = r.part(), r.part(), r.part()
	c.rest = r.b
	return c
}
