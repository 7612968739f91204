//go:build linux

package relay

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A Path is a way between two places, which several relays may share: what happens to it happens to all their connections.
type Path struct {
	delay time.Duration // one way
	loss  float64       // share of segments

	mu      sync.Mutex
	random  *rand.Rand
	cut     bool
	dropped context.Context // ends when the path is cut
	drop    context.CancelFunc
	flowing chan struct{} // closed while anything goes through
	lost    int64
}

// NewPath makes a path that needs this time in each direction and loses this share of segments; seed is what the choice of those follows
// from.
func NewPath(delay time.Duration, loss float64, seed uint64) *Path {
	p := &Path{delay: delay, loss: loss, random: rand.New(rand.NewPCG(seed, 0)), flowing: make(chan struct{})}
	close(p.flowing)
	p.dropped, p.drop = context.WithCancel(context.Background())
	return p
}

// Cut resets every connection, and each new one until Mend: as when a machine at the other end ends.
func (p *Path) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	p.drop()
}

// Silence lets nothing through until Mend, and tells nobody: as when a cable is pulled. Who connects is taken by our own machine, which a
// pulled cable would not do, and then hears nothing.
func (p *Path) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
		p.flowing = make(chan struct{})
	default: // it is silent already
	}
}

// Mend makes the path what it was. What was held up by silence goes on its way at once.
func (p *Path) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		p.cut = false
		p.dropped, p.drop = context.WithCancel(context.Background())
	}
	select {
	case <-p.flowing:
	default:
		close(p.flowing)
	}
}

// Lost is how many segments were lost.
func (p *Path) Lost() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// enter gives a new connection a context that ends with parent and when the path is cut; not ok: it is cut now.
func (p *Path) enter(parent context.Context) (ctx context.Context, done func(), ok bool) {
	p.mu.Lock()
	dropped, cut := p.dropped, p.cut
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(dropped, cancel)
	return ctx, func() { stop(); cancel() }, !cut
}

// quiet waits while the path is silent.
func (p *Path) quiet(ctx context.Context) error {
	p.mu.Lock()
	flowing := p.flowing
	p.mu.Unlock()
	select {
	case <-flowing:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	segment     = 1448                   // bytes that TCP carries in one of Ethernet's frames, with time stamps
	leastPause  = 200 * time.Millisecond // Linux's least retransmission timeout (TCP_RTO_MIN); RFC 6298 would have a second
	mostRetries = 6                      // of one segment; then we let it through
)

// pause is how long a chunk of n bytes is held up by segments that are lost: a timeout, twice as long for each time that the same one is
// lost again (RFC 6298, section 5.5). Several of a chunk are sent again together.
func (p *Path) pause(n int) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	timeout, segments := leastPause+2*p.delay, (n+segment-1)/segment
	for range mostRetries {
		lost := 0
		for range segments {
			if p.random.Float64() < p.loss {
				lost++
			}
		}
		if lost == 0 {
			break
		}
		p.lost += int64(lost)
		wait, timeout, segments = wait+timeout, 2*timeout, lost
	}
	return wait
}
