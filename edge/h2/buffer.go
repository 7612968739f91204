package h2

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	inBuffer     = 2*maxFrame + 1<<10 // part of a frame and a TLS record, so TLS keeps nothing back
	outBuffer    = 16 << 10           // initial size
	maxPooledOut = 96 << 10           // a larger buffer does not go back to its pool
	maxBatch     = 64 << 10           // bytes of responses that are written together
)

// A pool keeps byte slices for connections that have something to read or to write.
type pool struct {
	pool sync.Pool
	most int
}

var (
	inBuffers  = newPool(inBuffer, inBuffer)
	outBuffers = newPool(outBuffer, maxPooledOut)
)

func newPool(size, most int) *pool {
	p := &pool{most: most}
	p.pool.New = func() any { b := make([]byte, 0, size); return &b }
	return p
}

func (p *pool) take() *[]byte { return p.pool.Get().(*[]byte) }

func (p *pool) give(b *[]byte) {
	if cap(*b) <= p.most {
		*b = (*b)[:0]
		p.pool.Put(b)
	}
}

// An input holds the bytes that were read and not handled yet.
type input struct {
	buffer *[]byte // pooled; nil: no bytes are waiting
	r      int     // index of the first one
}

func (in *input) empty() bool { return in.buffer == nil || in.r == len(*in.buffer) }

// rest returns the bytes that are not handled yet. It may be called only if there is a buffer.
func (in *input) rest() []byte { return (*in.buffer)[in.r:] }

// read reads more bytes from a connection over link, after the rest, which moves.
func (in *input) read(rw io.Reader, link *Link) error {
	if in.buffer == nil {
		in.buffer = inBuffers.take()
	}
	b := (*in.buffer)[:cap(*in.buffer)]
	have := copy(b, (*in.buffer)[in.r:])
	n, err := link.ReadOver(rw, b[have:])
	*in.buffer, in.r = b[:have+n], 0
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// release gives the buffer back, with the bytes in it.
func (in *input) release() {
	if in.buffer != nil {
		inBuffers.give(in.buffer)
		in.buffer, in.r = nil, 0
	}
}

// An output gathers frames, which are then written in one go.
type output struct {
	buffer  *[]byte      // pooled; nil: nothing is waiting to be written
	renewed time.Time    // when the write deadline was moved
	writing atomic.Int64 // since when a write waits for the client, in ms since 1970; 0: none
}

// take returns the buffer, to append frames to.
func (o *output) take() *[]byte {
	if o.buffer == nil {
		o.buffer = outBuffers.take()
	}
	return o.buffer
}

func (o *output) append(frames []byte) {
	b := o.take()
	*b = append(*b, frames...)
}

// size returns the number of bytes that wait to be written.
func (o *output) size() int {
	if o.buffer == nil {
		return 0
	}
	return len(*o.buffer)
}

// write writes the waiting frames to a connection over link, within a time.
func (o *output) write(rw net.Conn, link *Link, timeout time.Duration) error {
	now := time.Now()
	if now.Sub(o.renewed) > renewInterval {
		o.renewed = now
		if err := rw.SetWriteDeadline(now.Add(timeout + renewInterval)); err != nil {
			return err
		}
	}
	o.writing.Store(now.UnixMilli())
	defer o.writing.Store(0)
	return o.send(rw, link)
}

// send writes the waiting frames, over TLS in as few records as possible.
func (o *output) send(rw net.Conn, link *Link) (err error) {
	if link == rw {
		_, err = link.Write(*o.buffer)
	} else {
		_, err = link.WriteOver(rw, *o.buffer)
	}
	o.release()
	return err
}

// release gives the buffer back, with the frames in it.
func (o *output) release() {
	if o.buffer != nil {
		outBuffers.give(o.buffer)
		o.buffer = nil
	}
}
