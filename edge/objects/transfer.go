package objects

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/iconedge/iconedge/edge/slicing"
)

const (
	// readAhead is the number of slices that a transfer for readers may be ahead of all of them.
	// The transfer of a whole object does not wait for readers.
	readAhead = 4
	// patience is the time for which a transfer waits for a reader that reads nothing, if a slice
	// could not be stored.
	patience = 30 * time.Second
	// linger is the time for which a transfer of a part stays without readers. The first reader
	// comes when the head of the response has been made.
	linger = 2 * time.Second
)

// A transfer receives consecutive slices of an object from the origin, and stores each of them. The
// lock of the object guards the fields after source.
type transfer struct {
	object *object
	whole  bool          // goes on without readers, and does not wait for them
	source io.ReadCloser // nil: the origin has not answered yet

	span     slicing.Span // begins with a slice, and ends with one or with the object
	buf      []byte       // the part of the current slice that has arrived
	base     int64        // where the current slice begins
	readers  map[*Reader]struct{}
	answered time.Time // when the body began
	unstored bool      // a slice could not be stored
	resting  bool      // it waits for its readers
	refused  bool      // the origin refused the request: no reader should try again
	ended    bool
	err      error // why it has ended early
}

// reserve reserves one of the transfers that may go on at a time.
func (s *Store) reserve() bool {
	if s.transfers.Add(1) > maxTransfers {
		s.transfers.Add(-1)
		return false
	}
	return true
}

func (s *Store) unreserve() { s.transfers.Add(-1) }

// A Receipt is the transfer of an object that has been announced and not begun.
type Receipt struct{ transfer *transfer }

// Receive announces the transfer of a span of an object, so that readers wait for it. The caller
// then calls Begin or Cancel. ok is false if too many transfers go on; the caller should then not
// store the object. A whole object is received to its end, a part of it only while it has readers.
func (s *Store) Receive(id uint64, length int64, span slicing.Span) (r Receipt, ok bool) {
	if !s.reserve() {
		return Receipt{}, false
	}
	o := s.use(id, length)
	o.mu.Lock()
	defer o.mu.Unlock()
	return Receipt{o.announce(span)}, true
}

// announce adds a transfer. The caller holds the lock, has reserved the transfer, and is a user of
// the object on behalf of the transfer.
func (o *object) announce(span slicing.Span) *transfer {
	t := &transfer{object: o, span: span, base: span.From, whole: span == slicing.Span{To: o.length}, readers: map[*Reader]struct{}{}}
	o.transfers = append(o.transfers, t)
	return t
}

// Begin receives the body in the background. It calls ended when the transfer has ended; err is nil
// if everything was stored. It is also nil if the transfer of a part has ended early because nobody
// reads it any more.
func (r Receipt) Begin(body io.ReadCloser, ended func(err error)) { go r.transfer.run(body, ended) }

// Cancel ends the transfer before it has begun.
func (r Receipt) Cancel() { r.transfer.end(errAbandoned) }

// run receives the body and ends the transfer.
func (t *transfer) run(body io.ReadCloser, ended func(error)) {
	t.object.mu.Lock()
	t.source, t.answered, t.buf = body, time.Now(), newBuffer()
	t.object.mu.Unlock()
	err := t.receive()
	body.Close()
	if err != nil && err != errAbandoned {
		t.object.store.failed.Add(1)
	}
	t.end(err)
	if err == errAbandoned && !t.whole {
		err = nil
	}
	ended(err)
}

// buffers are for the slices in transfer.
var buffers = sync.Pool{New: func() any { return new([slicing.Size]byte) }}

func newBuffer() []byte { return buffers.Get().(*[slicing.Size]byte)[:0] }

// returnBuffer makes the buffer available again. The caller holds the lock.
func (t *transfer) returnBuffer() {
	if cap(t.buf) == slicing.Size {
		buffers.Put((*[slicing.Size]byte)(t.buf[:slicing.Size]))
	}
	t.buf = nil
}

// receive receives the slices of the transfer, and stores each.
func (t *transfer) receive() error {
	unstored := false
	for t.base < t.span.To {
		if err := t.waitForReaders(); err != nil {
			return err
		}
		n := slicing.Number(t.base)
		part := slicing.Slice(n, t.object.length)
		if err := t.fill(int(part.Len())); err != nil {
			return err
		}
		if part.To == t.span.To {
			if err := t.expectEnd(); err != nil {
				return err
			}
		}
		stored := t.object.has(n)
		if !stored && !unstored {
			if stored = t.object.store.storage.PutSlice(t.object.id, n, t.buf); stored {
				t.object.store.received.Add(1)
			}
		}
		unstored = unstored || !stored
		if err := t.advance(part.To, stored); err != nil {
			return err
		}
	}
	if unstored {
		return ErrNotStored
	}
	return nil
}

// fill reads the current slice from the source.
func (t *transfer) fill(length int) error {
	for have := 0; have < length; {
		n, err := t.source.Read(t.buf[have:length]) // readers read only up to have
		have += n
		t.object.mu.Lock()
		t.buf = t.buf[:have]
		t.object.moved.Broadcast()
		t.object.mu.Unlock()
		switch {
		case have == length:
			return nil
		case err == io.EOF:
			return fmt.Errorf("%w: it ends after %d bytes of %d", ErrLength, t.base+int64(have)-t.span.From, t.span.Len())
		case err != nil:
			return err
		}
	}
	return nil
}

// expectEnd reports an error if the source has more bytes, or does not end properly.
func (t *transfer) expectEnd() error {
	var more [1]byte
	for {
		n, err := t.source.Read(more[:])
		switch {
		case n > 0:
			return fmt.Errorf("%w: it has more than %d bytes", ErrLength, t.span.Len())
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// advance goes on to the slice that begins at a byte. If the current one was not stored, advance
// waits until all readers have read it.
func (t *transfer) advance(to int64, stored bool) error {
	o := t.object
	o.mu.Lock()
	defer o.mu.Unlock()
	for t.unstored = t.unstored || !stored; !stored; {
		slow := t.behind(to)
		if slow == nil {
			break
		}
		if left := time.Until(slow.last.Add(patience)); left > 0 {
			o.wait(left)
		} else {
			slow.detach() // it fetches the rest by itself, or fails
		}
	}
	t.base, t.buf = to, t.buf[:0]
	o.moved.Broadcast()
	return nil
}

// behind returns a reader that has not read all that it needs of the current slice, which ends at a
// byte; nil: there is none.
func (t *transfer) behind(to int64) *Reader {
	for r := range t.readers {
		if r.end > t.base && r.pos < min(to, r.end) {
			return r
		}
	}
	return nil
}

// waitForReaders waits while the transfer is too far ahead of its readers. A transfer without
// readers ends, unless it stores a whole object.
func (t *transfer) waitForReaders() error {
	o := t.object
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.mayGoOn() {
		return nil
	}
	t.rest()
	lonely := time.Now()
	for !t.mayGoOn() {
		left := linger - time.Since(lonely)
		switch {
		case len(t.readers) > 0:
			o.moved.Wait()
			lonely = time.Now()
		case t.whole:
			return ErrNotStored
		case left <= 0:
			return errAbandoned
		default:
			o.wait(left)
		}
	}
	return t.resume()
}

// rest returns what a transfer needs only while it receives: its place among the transfers that go
// on at a time, and its buffer. The caller holds the lock.
func (t *transfer) rest() {
	t.resting = true
	t.object.store.unreserve()
	t.returnBuffer()
}

// resume ends rest. If too many other transfers go on by now, the transfer ends, and its readers
// fetch the rest without storing it.
func (t *transfer) resume() error {
	if !t.object.store.reserve() {
		return errAbandoned
	}
	t.resting, t.buf = false, newBuffer()
	return nil
}

// mayGoOn reports whether a transfer may receive its next slice.
func (t *transfer) mayGoOn() bool {
	if t.whole && !t.unstored || t.base == t.span.From {
		return true
	}
	for r := range t.readers {
		if t.base < r.pos+readAhead*slicing.Size {
			return true
		}
	}
	return false
}

// end removes the transfer, and ends its readers' waits. If it was to store a whole object and
// failed, the object ends too.
func (t *transfer) end(err error) {
	o := t.object
	o.mu.Lock()
	t.err, t.ended = err, true
	o.transfers = slices.DeleteFunc(o.transfers, func(x *transfer) bool { return x == t })
	if t.whole && err != nil && err != ErrNotStored {
		o.err = err
	}
	for r := range t.readers {
		r.detach()
	}
	t.returnBuffer()
	o.moved.Broadcast()
	if !t.resting {
		o.store.unreserve()
	}
	o.mu.Unlock()
	o.release()
}

// wait waits for o.moved, at most for a duration.
func (o *object) wait(atMost time.Duration) {
	timer := time.AfterFunc(atMost, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.moved.Broadcast()
	})
	defer timer.Stop()
	o.moved.Wait()
}
