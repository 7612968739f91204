package h1

import (
	"errors"
	"sync/atomic"
)

// freeBody is how long a body may be that does not count, in bytes.
const freeBody = 64 << 10

// ErrCrowded says that so many long bodies are being read already that there is no memory for another.
var ErrCrowded = errors.New("too many bytes of bodies are being read")

// Bodies bounds the memory that the bodies of all requests under way take together. Short ones do not count.
type Bodies struct {
	Max  int64 // bytes
	used atomic.Int64
}

// Used is how many bytes are taken.
func (b *Bodies) Used() int64 { return b.used.Load() }

// take makes held as much as a body of that length needs.
func (b *Bodies) take(held *atomic.Int64, length int64) error {
	if b == nil || length <= freeBody {
		return nil
	}
	more := length - held.Load()
	if more <= 0 {
		return nil
	}
	if b.used.Add(more) > b.Max {
		b.used.Add(-more)
		return ErrCrowded
	}
	held.Add(more)
	return nil
}

// give gives back what is held.
func (b *Bodies) give(held *atomic.Int64) {
	if n := held.Swap(0); b != nil && n != 0 {
		b.used.Add(-n)
	}
}
