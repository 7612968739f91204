package h2

import "sync"

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
