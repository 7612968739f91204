package objects

import (
	"cmp"
	"io"
	"os"
	"time"

	"github.com/iconedge/iconedge/edge/slicing"
)

const (
	// near is the number of slices that a transfer may be behind a reader for the reader to wait
	// for it instead of fetching the slice.
	near = 2
	// stall is the time for which a reader waits for another one's transfer before it fetches the
	// slice by itself: that transfer may be slow, or wait for its origin.
	stall = time.Second
	// maxTries is the maximum number of requests for the slice at one position: one whose slices
	// are stored, and one for the reader alone.
	maxTries = 2
	// fetched is the maximum number of slices of one request to the origin.
	fetched = 64
	// firstRead is the number of bytes that Prepare reads at most.
	firstRead = 16 << 10
)

// A Fetch fetches a span of an object, which begins with a slice, from the origin. It returns what
// the origin sends of it, which ends with a slice or with the object.
type Fetch func(s slicing.Span) (body io.ReadCloser, got slicing.Span, err error)

// A Reader reads a span of an object. It is for one goroutine.
type Reader struct {
	object *object
	fetch  Fetch // nil: missing slices can't be fetched
	store  bool  // missing slices may be stored
	end    int64
	first  []byte // what Prepare has read

	slice    io.ReaderAt   // the stored slice that is read; nil: none
	sliceAt  slicing.Span  // its span
	direct   io.ReadCloser // a body that is not stored, at pos; nil: none
	directTo int64         // where it ends
	triedAt  int64         // where it has begun the last fetches
	tries    int           // how many it has begun there
	failed   error         // of the last transfer that it has read
	follows  *transfer     // from which it has read bytes: it waits for more of them
	closed   bool

	// The lock of the object guards these.

	pos      int64
	last     time.Time // when its last read ended
	transfer *transfer // whose slices it reads; nil: none
}

// Open returns a reader of a span of an object. It must be closed. If store is false, slices that
// it fetches are for this reader alone.
func (s *Store) Open(id uint64, length int64, span slicing.Span, fetch Fetch, store bool) *Reader {
	return &Reader{object: s.use(id, length), fetch: fetch, store: store, pos: span.From, end: span.To, last: time.Now()}
}

// Prepare waits until the first bytes have arrived, so that an error can still become a response of
// its own.
func (r *Reader) Prepare() error {
	b := make([]byte, firstRead)
	n, err := r.read(b)
	r.first = b[:n]
	if err == io.EOF {
		err = nil
	}
	return err
}

// Read waits for bytes. It ends with io.EOF at the end of the span.
func (r *Reader) Read(p []byte) (int, error) {
	if len(r.first) > 0 {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	return r.read(p)
}

func (r *Reader) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		switch {
		case r.closed:
			return 0, os.ErrClosed
		case r.pos >= r.end:
			return 0, io.EOF
		}
		if n := r.fromStored(p); n > 0 {
			return n, nil
		}
		n, err := r.next(p)
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// fromStored reads from the open slice. It returns 0 if that is not the one at pos, or can't be
// read.
func (r *Reader) fromStored(p []byte) int {
	if r.slice == nil || r.pos >= r.sliceAt.To {
		return 0
	}
	n, err := r.slice.ReadAt(p[:min(int64(len(p)), r.sliceAt.To-r.pos, r.end-r.pos)], r.pos-r.sliceAt.From)
	if n == 0 || err != nil && err != io.EOF {
		r.slice = nil // its segment was removed
		return 0
	}
	r.moveOn(n)
	return n
}

// moveOn records that n bytes were read.
func (r *Reader) moveOn(n int) {
	o := r.object
	o.mu.Lock()
	defer o.mu.Unlock()
	r.advance(n)
}

// advance is moveOn for callers that hold the lock.
func (r *Reader) advance(n int) {
	r.pos += int64(n)
	r.last = time.Now()
	if t := r.transfer; t != nil && (!t.whole || t.unstored) {
		r.object.moved.Broadcast() // it may wait for its readers
	}
}

// next reads from a transfer, opens the stored slice at pos, or begins to fetch it.
func (r *Reader) next(p []byte) (int, error) {
	if r.direct != nil {
		return r.fromOrigin(p)
	}
	n := slicing.Number(r.pos)
	if r.openStored(n) {
		return 0, nil
	}
	state, k, err := r.receive(p, n)
	switch state {
	case received:
		return k, err
	case stalled:
		return 0, r.obtain(n, true)
	}
	if r.openStored(n) { // the transfer may have ended meanwhile
		return 0, nil
	}
	return 0, r.obtain(n, false)
}

// openStored opens a slice if it is stored.
func (r *Reader) openStored(n int64) bool {
	o := r.object
	part := slicing.Slice(n, o.length)
	if r.slice = o.store.storage.OpenSlice(o.id, n, part.Len()); r.slice == nil {
		return false
	}
	r.sliceAt = part
	o.store.read.Add(1)
	return true
}

// The results of receive.
const (
	notReceiving = iota
	received     // bytes, an error, or nothing: the caller looks again
	stalled      // a transfer receives the slice, but has not brought the bytes in time
)

// receive reads from the transfer that receives a slice now.
func (r *Reader) receive(p []byte, n int64) (result, k int, err error) {
	o := r.object
	o.mu.Lock()
	defer o.mu.Unlock()
	for begun := time.Now(); ; {
		if o.err != nil {
			return received, 0, o.err
		}
		t := o.receiving(n)
		if t == nil {
			return result, 0, nil
		}
		r.attach(t)
		if have := t.base + int64(len(t.buf)); r.pos < have {
			k = copy(p, t.buf[r.pos-t.base:min(have, r.end)-t.base])
			r.advance(k)
			r.follows = t
			return received, k, nil
		}
		if r.fetch != nil && r.follows != t && time.Since(begun) >= stall && o.stalls(n) {
			return stalled, 0, nil
		}
		if o.has(n) { // another transfer has stored it
			return received, 0, nil
		}
		o.wait(stall)
		if result = received; t.refused {
			return received, 0, t.err
		}
		r.record(t)
	}
}

// receiving returns the transfer whose current slice is n, of several the one that has most of it;
// nil: there is none.
func (o *object) receiving(n int64) (most *transfer) {
	for _, t := range o.transfers {
		if slicing.Number(t.base) == n && t.base < t.span.To && (most == nil || len(t.buf) > len(most.buf)) {
			most = t
		}
	}
	return most
}

// stalls reports whether every transfer whose current slice is n has had the time to bring it.
func (o *object) stalls(n int64) bool {
	for _, t := range o.transfers {
		if slicing.Number(t.base) == n && (t.source == nil || time.Since(t.answered) < stall) {
			return false
		}
	}
	return true
}

// coming returns a transfer that is going to receive a slice soon. With patient it may also be
// far from it.
func (o *object) coming(n int64, patient bool) *transfer {
	for _, t := range o.transfers {
		at := slicing.Number(t.base)
		soon, goesOn := patient || n-at <= near, t.whole || len(t.readers) > 0 || at == n
		if at <= n && n*slicing.Size < t.span.To && soon && goesOn {
			return t
		}
	}
	return nil
}

// obtain waits for a transfer of a slice that is not stored, or begins one. Then the caller looks
// again. With now it does not wait.
func (r *Reader) obtain(n int64, now bool) error {
	o := r.object
	o.mu.Lock()
	if o.err != nil || o.has(n) || now && !o.stalls(n) {
		o.mu.Unlock()
		return nil
	}
	if t := o.coming(n, r.fetch == nil); t != nil && !now && r.waitFor(t, n) {
		r.record(t)
		defer o.mu.Unlock()
		if t.refused {
			return t.err
		}
		return nil
	}
	if r.fetch == nil {
		o.mu.Unlock()
		return ErrMissing
	}
	missing := slicing.Span{From: r.pos, To: r.end}.Missing(o.length, fetched, func(m int64) bool {
		return m != n && (o.coming(m, false) != nil || o.has(m))
	})
	if !r.store || r.triesAt(r.pos) > 0 || !o.store.reserve() {
		o.mu.Unlock()
		return r.fetchDirectly(missing)
	}
	t := o.announce(missing)
	t.whole = false
	r.attach(t)
	o.mu.Unlock()
	o.store.use(o.id, o.length) // for the transfer
	return r.begin(t)
}

// waitFor waits until a transfer receives a slice, or has ended. It returns false if that takes too
// long. The caller holds the lock.
func (r *Reader) waitFor(t *transfer, n int64) bool {
	o := r.object
	r.attach(t)
	r.last = time.Now()
	for begun := r.last; o.err == nil && !t.ended && slicing.Number(t.base) < n; {
		if r.fetch != nil && t.source != nil && time.Since(begun) >= stall {
			return false
		}
		o.wait(stall)
	}
	return true
}

// begin sends the request of a transfer, for which other readers may wait already.
func (r *Reader) begin(t *transfer) error {
	o := r.object
	body, got, err := r.request(t.span)
	o.mu.Lock()
	t.span, t.refused = got, err != nil
	o.mu.Unlock()
	if err != nil {
		t.end(err)
		return err
	}
	Receipt{t}.Begin(body, func(error) {})
	return nil
}

// request sends a request for slices, at most maxTries times for the same position.
func (r *Reader) request(s slicing.Span) (io.ReadCloser, slicing.Span, error) {
	if r.tries = r.triesAt(r.pos) + 1; r.tries > maxTries {
		return nil, s, cmp.Or(r.failed, ErrLength)
	}
	r.triedAt = r.pos
	return r.fetch(s)
}

// triesAt returns how many requests were sent for a position.
func (r *Reader) triesAt(pos int64) int {
	if r.triedAt != pos {
		return 0
	}
	return r.tries
}

// record records why a transfer has ended, if it has.
func (r *Reader) record(t *transfer) {
	if t.err != nil && t.err != errAbandoned {
		r.failed = t.err
	}
}

// fetchDirectly fetches slices for this reader alone, because its slices may not be
// stored, too many transfers go on, or the slices were lost before the reader could read them.
func (r *Reader) fetchDirectly(s slicing.Span) error {
	body, got, err := r.request(s)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, body, r.pos-got.From); err != nil {
		body.Close()
		r.failed = err
		return nil // the caller tries again, if it may
	}
	r.direct, r.directTo = body, got.To
	return nil
}

// fromOrigin reads from a body that is not stored.
func (r *Reader) fromOrigin(p []byte) (int, error) {
	n, err := r.direct.Read(p[:min(int64(len(p)), r.directTo-r.pos, r.end-r.pos)])
	r.moveOn(n)
	if r.pos == r.directTo || r.pos == r.end || err != nil {
		r.direct.Close()
		r.direct = nil
	}
	if n == 0 && err != nil && err != io.EOF {
		r.failed = err
	}
	return n, nil // without bytes the caller tries again, if it may
}

// attach makes r a reader of a transfer, and of no other one. The caller holds the lock.
func (r *Reader) attach(t *transfer) {
	if r.transfer == t {
		return
	}
	r.detach()
	r.transfer = t
	t.readers[r] = struct{}{}
}

// detach ends attach. The caller holds the lock.
func (r *Reader) detach() {
	if r.transfer != nil {
		delete(r.transfer.readers, r)
		r.transfer = nil
		r.object.moved.Broadcast()
	}
}

// Close ends the reader.
func (r *Reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.direct != nil {
		r.direct.Close()
	}
	r.object.mu.Lock()
	r.detach()
	r.object.mu.Unlock()
	r.object.release()
	return nil
}
