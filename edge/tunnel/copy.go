package tunnel

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// waiting is the size of the buffer in which each direction waits for bytes. An idle tunnel has
	// two of them, and nothing more.
	waiting = 1 << 10
	// moving is the size of the buffer that a direction takes from the pool while more bytes arrive
	// than fit into the small one.
	moving = 32 << 10
)

var buffers = sync.Pool{New: func() any { return new([moving]byte) }}

// copy copies bytes from one end to the other, and then ends that direction. An error ends the
// whole tunnel, because bytes were lost.
func (t *Tunnel) copy(to, from End, own, all *atomic.Int64) {
	small := make([]byte, waiting)
	var large *[moving]byte
	defer func() {
		if large != nil {
			buffers.Put(large)
		}
	}()
	for b := small; ; {
		n, err := from.Read(b)
		if n > 0 {
			t.touch()
			if _, err := to.Write(b[:n]); err != nil {
				t.Cut()
				return
			}
			t.touch()
			own.Add(int64(n))
			all.Add(int64(n))
		}
		switch {
		case errors.Is(err, io.EOF):
			if to.CloseWrite() != nil {
				t.Cut()
			}
			return
		case err != nil:
			t.Cut()
			return
		case n == len(small) && large == nil:
			large = buffers.Get().(*[moving]byte)
			b = large[:]
		case n < len(b) && large != nil: // nothing more has arrived
			buffers.Put(large)
			large, b = nil, small
		}
	}
}

// touch records that bytes have moved.
func (t *Tunnel) touch() { t.last.Store(int64(time.Since(t.began))) }

// watch begins to look whether bytes move. The caller must stop the timer.
func (t *Tunnel) watch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(t.set.limits.TunnelIdle, t.expire)
}

// expire cuts the tunnel if no bytes have moved for too long, and otherwise looks again later.
func (t *Tunnel) expire() {
	silent := time.Since(t.began) - time.Duration(t.last.Load())
	if left := t.set.limits.TunnelIdle - silent; left > 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.timer.Reset(left)
		return
	}
	t.set.idle.Add(1)
	t.Cut()
}
