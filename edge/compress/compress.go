// Package compress gives clients responses of other applications in content codings: it decides
// which responses may have codings, makes them, and gives each of them an entity tag from which the
// origin's own can be recovered.
//
// A Compressor makes codings of stored responses, in the background, once a second request proves
// that a response is used again. Such a coding is made once, whichever clients want it, and stored
// with the response. A Sender codes all other responses at cheaper levels while they are sent:
// those that are for one client, those that are about to be stored, and those whose coding is not
// made yet.
package compress

import (
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/coding"
)

const (
	// maxPending is the number of codings to be made: as many as a warm cache has popular icons,
	// because one that finds no place waits until its icon has twice as many hits.
	maxPending      = 1 << 14
	maxPendingBytes = 32 << 20 // of the bodies that wait for their codings
	worthPart       = 8        // a coding must save at least 1/worthPart of the body
)

// A Compressor makes codings of stored responses, with at most a part of the processors. It is safe
// for concurrent use.
type Compressor struct {
	Sender *Sender // of the responses that have no stored coding
	cache  *cache.Cache
	log    *slog.Logger
	most   int // goroutines

	mu      sync.Mutex
	pending map[job]bool // codings that wait or are being made
	waiting []work
	bytes   int64 // of the bodies in pending
	workers int

	useless  [1 << 10]atomic.Pointer[job] // recent codings that saved too little
	made     [entry.Codings]atomic.Uint64
	rejected atomic.Uint64
	dropped  atomic.Uint64
	in, out  atomic.Uint64
}

// A job is one coding of one stored response.
type job struct {
	id     uint64
	coding entry.Coding
	name   any // of a Kept; nil: the coding is stored with the response
}

type work struct {
	job
	entry  *cache.Entry
	atMost int                    // bytes of a coding that is worth storing
	encode func() ([]byte, error) // nil: as the coding says
	keep   func(coded []byte)     // nil: the coding is stored with the response
}

// New returns a compressor for the entries of a cache.
func New(c *cache.Cache, log *slog.Logger) *Compressor {
	return &Compressor{Sender: NewSender(log), cache: c, log: log, most: max(1, runtime.GOMAXPROCS(0)/4), pending: map[job]bool{}}
}

// Want makes the coding of a stored response in the background, if it saves enough, unless it is
// being made, or has proved useless. It does nothing if too many others wait: a later request will
// want the coding again.
func (c *Compressor) Want(e *cache.Entry, coding entry.Coding) {
	if id := e.Identity(); id != nil && fits(int64(len(id.Body))) {
		c.want(e, coding, len(id.Body)-len(id.Body)/worthPart)
	}
}

// Makes reports whether Want would make the coding of a stored response, as far as is known.
func (c *Compressor) Makes(e *cache.Entry, coding entry.Coding) bool {
	return fits(int64(len(e.Identity().Body))) && !c.isUseless(job{id: e.ID, coding: coding})
}

// WantSmaller is Want for a response on the edge's own routes: a coding is stored if it is smaller
// than the bodies that the entry has.
func (c *Compressor) WantSmaller(e *cache.Entry, coding entry.Coding) {
	if !e.MayAdd(coding) || len(e.Identity().Body) > maxBody {
		return
	}
	smallest := len(e.Identity().Body)
	for _, v := range e.Variants {
		if v != nil {
			smallest = min(smallest, len(v.Body))
		}
	}
	c.want(e, coding, smallest-1)
}

// WantAs is Want for an entry that is a part of responses: encode returns its body in a form of its
// own, which is stored as the coding whatever its length.
func (c *Compressor) WantAs(e *cache.Entry, coding entry.Coding, encode func() []byte) {
	c.add(work{job: job{id: e.ID, coding: coding}, entry: e, atMost: math.MaxInt,
		encode: func() ([]byte, error) { return encode(), nil }})
}

// A Kept is a coded form of a stored response that its maker keeps apart from the response.
type Kept struct {
	Name   any // distinguishes the forms of a response; comparable
	AtMost int // bytes of a form that is worth keeping
	Encode func() ([]byte, error)
	Keep   func(coded []byte) // gets nil, if the form is longer or Encode has failed
}

// WantKept makes a coded form of a stored response in the background, unless it is being made. It
// does nothing if too many others wait.
func (c *Compressor) WantKept(e *cache.Entry, k Kept) {
	if id := e.Identity(); id != nil && fits(int64(len(id.Body))) {
		c.add(work{job: job{id: e.ID, name: k.Name}, entry: e, atMost: k.AtMost, encode: k.Encode, keep: k.Keep})
	}
}

func (c *Compressor) want(e *cache.Entry, coding entry.Coding, atMost int) {
	c.add(work{job: job{id: e.ID, coding: coding}, entry: e, atMost: atMost})
}

// add queues a coding, unless it is useless or there already.
func (c *Compressor) add(w work) {
	e := w.entry
	if e.ID == 0 || c.isUseless(w.job) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(len(e.Identity().Body))
	switch {
	case c.pending[w.job]:
		return
	case len(c.pending) >= maxPending, len(c.pending) > 0 && c.bytes+size > maxPendingBytes:
		c.dropped.Add(1)
		return
	}
	c.pending[w.job], c.waiting, c.bytes = true, append(c.waiting, w), c.bytes+size
	if c.workers < c.most {
		c.workers++
		go c.work()
	}
}

// work makes codings until none waits. After each it rests for as long as it has worked, so that a
// worker takes at most half of a processor from requests.
func (c *Compressor) work() {
	for {
		w, ok := c.next()
		if !ok {
			return
		}
		start := time.Now()
		c.code(w)
		spent := time.Since(start)
		c.done(w)
		time.Sleep(spent)
	}
}

// next returns the coding that has waited longest. If none waits the worker ends.
func (c *Compressor) next() (work, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.workers--
		c.waiting = nil
		return work{}, false
	}
	w := c.waiting[0]
	c.waiting[0] = work{} // releases the entry
	c.waiting = c.waiting[1:]
	return w, true
}

func (c *Compressor) done(w work) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, w.job)
	c.bytes -= int64(len(w.entry.Identity().Body))
}

// code makes a coding and stores it, if it is short enough.
func (c *Compressor) code(w work) {
	defer func() {
		if p := recover(); p != nil { // of an encoder: the response stays as it is
			c.log.Error("panic while compressing", "coding", w.label(), "panic", fmt.Sprint(p))
			c.reject(w)
		}
	}()
	body := w.entry.Identity().Body
	coded, err := w.code(body)
	if err != nil {
		c.log.Error("failed content coding", "coding", w.label(), "error", err)
	}
	switch {
	case err != nil || len(coded) > w.atMost:
		c.reject(w)
		c.rejected.Add(1)
	case w.keep != nil:
		w.keep(coded)
	case c.cache.AddCoding(w.entry, w.coding, coded):
		c.made[w.coding].Add(1)
		c.in.Add(uint64(len(body)))
		c.out.Add(uint64(len(coded)))
	}
}

// code returns a body in the coding.
func (w *work) code(body []byte) ([]byte, error) {
	if w.encode != nil {
		return w.encode()
	}
	return coding.Encode(w.coding, body), nil
}

// label names the coding in the log.
func (w *work) label() string {
	if w.name != nil {
		return fmt.Sprintf("%T", w.name)
	}
	return w.coding.String()
}

// reject records that a coding is not worth its bytes, or can't be made.
func (c *Compressor) reject(w work) {
	if w.keep != nil {
		w.keep(nil)
		return
	}
	c.setUseless(w.job)
}

// isUseless reports whether a coding saved too little. The table may forget that; then the coding
// is tried again.
func (c *Compressor) isUseless(j job) bool {
	known := c.place(j).Load()
	return known != nil && *known == j
}

func (c *Compressor) setUseless(j job) { c.place(j).Store(&j) }

func (c *Compressor) place(j job) *atomic.Pointer[job] {
	return &c.useless[(j.id*uint64(entry.Codings)+uint64(j.coding))%uint64(len(c.useless))]
}

// Stats are counts for metrics.
type Stats struct {
	Made    map[string]uint64 // codings that were stored, by name
	Useless uint64            // codings that saved too little
	Dropped uint64            // codings that were not made because too many others waited
	Pending int               // codings that wait or are being made
	In, Out uint64            // bytes of the bodies of Made, before and after
	Sent    SenderStats
}

// Stats returns the current counts.
func (c *Compressor) Stats() Stats {
	c.mu.Lock()
	pending := len(c.pending)
	c.mu.Unlock()
	s := Stats{Made: map[string]uint64{}, Useless: c.rejected.Load(), Dropped: c.dropped.Load(), Pending: pending,
		In: c.in.Load(), Out: c.out.Load(), Sent: c.Sender.Stats()}
	for one := entry.Gzip; one < coding.InUse(); one++ {
		s.Made[one.String()] = c.made[one].Load()
	}
	return s
}
