//go:build linux

package relay

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A Path is the network between two places. Several relays may share it: its state applies to all
// their connections.
type Path struct {
	delay time.Duration // one way
	loss  float64       // share of lost segments or packets

	mu      sync.Mutex
	random  *rand.Rand
	cut     bool
	dropped context.Context // ends when the path is cut
	drop    context.CancelFunc
	flowing chan struct{} // closed while data passes
	lost    int64
}

// NewPath returns a path with a delay in each direction and a share of lost segments, or of lost
// packets on a Wire. The seed determines which ones.
func NewPath(delay time.Duration, loss float64, seed uint64) *Path {
	p := &Path{delay: delay, loss: loss, random: rand.New(rand.NewPCG(seed, 0)), flowing: make(chan struct{})}
	close(p.flowing)
	p.dropped, p.drop = context.WithCancel(context.Background())
	return p
}

// Cut resets every connection, and each new one until Mend, as if the other machine had stopped.
func (p *Path) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	p.drop()
}

// Silence holds all data back until Mend, without a signal to anyone, as if a cable were pulled.
// New connections are accepted, because the relay's kernel does that, but get no data.
func (p *Path) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
		p.flowing = make(chan struct{})
	default: // already silent
	}
}

// Mend ends Cut and Silence. Data that Silence held back continues at once.
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

// Lost returns the number of lost segments and packets.
func (p *Path) Lost() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// loses reports whether a packet is lost: by itself, or because the path is silent or cut.
func (p *Path) loses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	lost := p.cut || p.random.Float64() < p.loss
	select {
	case <-p.flowing:
	default:
		lost = true
	}
	if lost {
		p.lost++
	}
	return lost
}

// enter returns a context for a new connection. It ends with parent, and when the path is cut. If
// the path is cut now, ok is false.
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
	segment = 1448 // bytes of TCP data in an Ethernet frame, with time stamps
	// Linux's minimum retransmission timeout (TCP_RTO_MIN); that of RFC 6298 is a second
	leastPause  = 200 * time.Millisecond
	mostRetries = 6 // of one segment; then it passes
)

// pause returns the delay of a chunk of n bytes by lost segments: one timeout, doubled for each
// repeated loss of the same segment (RFC 6298, section 5.5). Several lost segments of a chunk are
// retransmitted together.
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
