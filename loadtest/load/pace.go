//go:build linux

package load

import (
	"math"
	"time"
)

// A pace says when requests are due. Moments are nanoseconds since the run began.
type pace struct {
	every    float64 // between two of this loop's requests; 0: as soon as a connection is free
	first    float64
	n        int64 // of requests taken
	from, to int64 // what is measured
	until    int64 // when nothing more becomes due
}

// newPace is the pace of loop i: the threads take turns.
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

// end makes nothing due from now on. What was due before and could not be sent still is.
func (p *pace) end(now int64) { p.until = min(p.until, now) }

func (p *pace) open() bool { return p.every > 0 }

// due is the moment of the next request of an open loop.
func (p *pace) due() int64 { return int64(p.first + p.every*float64(p.n)) }

// take returns the moment that the next request counts from, where it may go out now. In an open loop that moment may be long
// past.
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

// behind reports whether requests are due that have not been sent.
func (p *pace) behind(now int64) bool { return p.open() && p.due() <= min(now, p.until-1) }

// counts reports whether an answer that was due then and came now is measured: in an open loop by when it was due, so that those
// are in it that came too late.
func (p *pace) counts(due, now int64) bool {
	if p.open() {
		return p.from <= due && due < p.to
	}
	return p.from <= now && now < p.to
}

const (
	awhile = 10 // milliseconds: how long a loop sleeps at most before it looks whether it is to stop
	tick   = 2 * time.Millisecond
)

// sleep is how many milliseconds may be slept. epoll knows no finer time, so that the last two of them are waited through.
func (p *pace) sleep(now int64, free bool) int {
	if !p.open() || !free {
		return awhile
	}
	ahead := time.Duration(p.due()-now) - tick
	return int(min(max(ahead.Milliseconds(), 0), awhile))
}

// A ring is a queue of numbers below its size, each at most once: connections take turns.
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

// remove takes a connection out that broke while it was idle, which is rare.
func (r *ring) remove(c int) {
	for range r.n {
		if first := r.pop(); first != c {
			r.push(first)
		}
	}
}
