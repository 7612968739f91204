// Package bodies bounds the memory that the bodies of requests take, of all requests that are under way, whatever protocol they come by.
package bodies

import (
	"errors"
	"sync/atomic"
)

// Free is how long a body may be that does not count, in bytes.
const Free = 64 << 10

// ErrCrowded says that so many long bodies are being read already that there is no memory for another.
var ErrCrowded = errors.New("too many bytes of bodies are being read")

// A Room is that memory. It is safe for concurrent use; nil has no bound.
type Room struct {
	Max  int64 // bytes
	used atomic.Int64
}

// Used is how many bytes are taken.
func (r *Room) Used() int64 { return r.used.Load() }

// Take makes held as much as a body of length bytes needs. Where there is not so much it changes nothing and says ErrCrowded.
func (r *Room) Take(held *atomic.Int64, length int64) error {
	if r == nil || length <= Free {
		return nil
	}
	more := length - held.Load()
	if more <= 0 {
		return nil
	}
	if r.used.Add(more) > r.Max {
		r.used.Add(-more)
		return ErrCrowded
	}
	held.Add(more)
	return nil
}

// Give gives back what is held.
func (r *Room) Give(held *atomic.Int64) {
	if n := held.Swap(0); r != nil && n != 0 {
		r.used.Add(-n)
	}
}
