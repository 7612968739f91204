//go:build linux

package load

import (
	"math"
	"time"
)

// A pace determines when requests are due. Moments are nanoseconds since the start of the run.
type pace struct {
	every    float64 // interval between requests of this loop; 0: as soon as a connection is free
	first    float64
	n        int64 // requests taken so far
	from, to int64 // the measurement
	until    int64 // no request becomes due after that
}

// newPace returns the pace of loop i. The requests of the threads interleave.
func newPace(cfg *Config, i int) pace {
	p := pace{from: int64(cfg.WarmUp), to: int64(cfg.WarmUp + cfg.Duration), until: math.MaxInt64}
	if cfg.Duration == 0 {
		p.to = math.MaxInt64
	}
	if cfg.Rate > 0 {
		between := float64(time.Second) / cfg.Rate
		p.every, p.first, p.until = between*float64(cfg.Threads), between*float64(i), p.to
	}
	return p
}

// end makes no more requests due. Requests that were due before stay due.
func (p *pace) end(now int64) { p.until = min(p.until, now) }

func (p *pace) open() bool { return p.every > 0 }

// due returns the moment at which the next request of an open loop is due.
func (p *pace) due() int64 { return int64(p.first + p.every*float64(p.n)) }

// take takes the next request if it may be sent now, and returns the moment from which its latency
// counts. In an open loop that moment may be long past.
func (p *pace) take(now int64) (due int64, ok bool) {
	if !p.open() {
		return now, now < p.until
	}
	if !p.behind(now) {
		return 0, false
	}
	due = p.due()
	p.n++
	return due, true
}

// behind reports whether requests are due but not sent.
func (p *pace) behind(now int64) bool { return p.open() && p.due() <= min(now, p.until-1) }

// counts reports whether a response at moment now, to a request that was due at due, belongs to the
// measurement. In an open loop due decides, so that late responses count.
func (p *pace) counts(due, now int64) bool {
	if p.open() {
		return p.from <= due && due < p.to
	}
	return p.from <= now && now < p.to
}

const (
	awhile = 10 // milliseconds; the longest sleep of a loop before it checks whether to stop
	tick   = 2 * time.Millisecond
)

// sleep returns the number of milliseconds to sleep. The resolution of epoll is a millisecond, so
// the loop busy-waits for the last two.
func (p *pace) sleep(now int64, free bool) int {
	if !p.open() || !free {
		return awhile
	}
	ahead := time.Duration(p.due()-now) - tick
	return int(min(max(ahead.Milliseconds(), 0), awhile))
}

// A ring is a queue of distinct numbers below its size. It makes connections take turns.
type ring struct {
	items []int32
	head  int
	n     int
}

func newRing(size int) ring { return ring{items: make([]int32, size)} }

func (r *ring) push(c int) {
	r.items[(r.head+r.n)%len(r.items)] = int32(c)
	r.n++
}

func (r *ring) pop() int {
	c := r.items[r.head]
	r.head = (r.head + 1) % len(r.items)
	r.n--
	return int(c)
}

// remove removes an idle connection that broke, which is rare.
func (r *ring) remove(c int) {
	for range r.n {
		if first := r.pop(); first != c {
			r.push(first)
		}
	}
}
