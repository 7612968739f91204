package h2

import "sync"

const (
	inBuffer  = 2*maxFrame + 1<<10 // a whole record of TLS fits in behind the rest of a frame: so TLS keeps nothing back
	outBuffer = 16 << 10           // to begin with
	outKeep   = 96 << 10           // a larger one does not go back to its pool
	outAtOnce = 64 << 10           // bytes of answers that are gathered before they are written
)

// A pool keeps slices of bytes for connections that have something to read or to write.
type pool struct {
	pool sync.Pool
	most int
}

var (
	inBuffers  = newPool(inBuffer, inBuffer)
	outBuffers = newPool(outBuffer, outKeep)
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
