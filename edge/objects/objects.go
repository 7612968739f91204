// Package objects reads and writes the bodies of large objects, which are stored in slices: while
// an object arrives from the origin, its slices are stored, and any number of clients read them,
// each at its own pace. A slice that a client needs and that is not stored is fetched.
package objects

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/slicing"
)

// A Storage stores slices.
type Storage interface {
	PutSlice(object uint64, number int64, body []byte) bool
	HasSlice(object uint64, number int64) bool
	// OpenSlice returns a stored slice of a length, or nil. Reads fail if it is removed meanwhile.
	OpenSlice(object uint64, number, length int64) io.ReaderAt
}

// maxTransfers is the maximum number of transfers that store slices at a time, without those that
// wait for their readers. Each holds one slice in memory.
const maxTransfers = 64

var (
	// ErrMissing means that slices are missing and can't be fetched: the object has no strong
	// validator.
	ErrMissing = errors.New("slices of the object are missing, and it has no strong validator by which to fetch them")
	// ErrLength means that a body was longer or shorter than announced.
	ErrLength = errors.New("the body is longer or shorter than announced")
	// ErrNotStored means that slices of an object could not be stored.
	ErrNotStored = errors.New("slices of the object could not be stored")

	errAbandoned = errors.New("the transfer has no readers left")
)

// A Store knows the objects that are being read or written.
type Store struct {
	storage Storage
	mu      sync.Mutex
	active  map[uint64]*object

	transfers              atomic.Int64 // that store slices
	received, read, failed atomic.Uint64
	dropped                atomic.Uint64
}

// New returns a store that is empty but for the slices in a storage.
func New(s Storage) *Store { return &Store{storage: s, active: map[uint64]*object{}} }

// Stats are counts for metrics.
type Stats struct {
	Transfers int64  // that are going on, without those that wait for their readers
	Received  uint64 // slices that were stored as they arrived from the origin
	Read      uint64 // slices that were read from the storage for a client
	Failed    uint64 // transfers that ended early because of the origin or the storage
	Dropped   uint64 // objects that were dropped: incomplete, or of an older version
}

// Stats returns the current counts.
func (s *Store) Stats() Stats {
	return Stats{s.transfers.Load(), s.received.Load(), s.read.Load(), s.failed.Load(), s.dropped.Load()}
}

// Drop counts an object that the caller has dropped.
func (s *Store) Drop() { s.dropped.Add(1) }

// An object is a large object that someone reads or writes.
type object struct {
	store  *Store
	id     uint64
	length int64
	users  int // guarded by the lock of the store

	mu        sync.Mutex
	moved     sync.Cond // bytes arrived or were read, or a transfer ended
	transfers []*transfer
	err       error // why the object can't be read any further
}

// use returns the object with a number, for one more user.
func (s *Store) use(id uint64, length int64) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.active[id]
	if o == nil {
		o = &object{store: s, id: id, length: length}
		o.moved.L = &o.mu
		s.active[id] = o
	}
	o.users++
	return o
}

func (o *object) release() {
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	if o.users--; o.users == 0 {
		delete(o.store.active, o.id)
	}
}

// has reports whether a slice of the object is stored.
func (o *object) has(n int64) bool { return o.store.storage.HasSlice(o.id, n) }

// A State says where the slices of a span are.
type State uint8

const (
	Stored   State = iota // all have arrived
	Arriving              // a transfer is going to bring those that have not arrived
	Missing               // the origin has to be asked
)

// State returns where the slices of a span are.
func (s *Store) State(id uint64, length int64, span slicing.Span) State {
	o := s.use(id, length)
	defer o.release()
	state := Stored
	for n := slicing.Number(span.From); n*slicing.Size < span.To; n++ {
		if o.has(n) {
			continue
		}
		if state = max(state, o.arriving(n, span)); state == Missing {
			break
		}
	}
	return state
}

// arriving returns the state of the part of a span in a slice that was not stored a moment ago.
func (o *object) arriving(n int64, span slicing.Span) State {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.receiving(n); t != nil && t.base+int64(len(t.buf)) >= min(slicing.Slice(n, o.length).To, span.To) {
		return Stored
	}
	switch {
	case o.coming(n, false) != nil:
		return Arriving
	case o.has(n): // it has been stored since
		return Stored
	}
	return Missing
}
