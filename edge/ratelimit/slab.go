package ratelimit

// A slab hands out values of one type by number. It grows by chunks, so that growing copies nothing and leaves no garbage,
// and holds no pointers but to its chunks, so that the garbage collector has nothing to walk.
type slab[T any] struct {
	chunks []*[chunkLen]T
	used   uint32   // numbers below it have been handed out
	spare  []uint32 // of these, the ones that are free again
}

const chunkLen = 256

// at is the value with number i. The pointer stays good while the slab does.
func (s *slab[T]) at(i uint32) *T { return &s.chunks[i/chunkLen][i%chunkLen] }

// take hands out a value; what is in it is whatever was there.
func (s *slab[T]) take() uint32 {
	if n := len(s.spare); n > 0 {
		i := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return i
	}
	if int(s.used) == s.cap() {
		s.chunks = append(s.chunks, new([chunkLen]T))
	}
	s.used++
	return s.used - 1
}

// free gives a value back.
func (s *slab[T]) free(i uint32) { s.spare = append(s.spare, i) }

func (s *slab[T]) cap() int { return len(s.chunks) * chunkLen }
