package collapse

import "sync/atomic"

// maxIdle is the number of goroutines that wait for another fetch.
const maxIdle = 64

// workers run fetches on goroutines that they use again. A new goroutine would copy its stack
// several times while it grows, which costs as much as sending the request.
type workers struct {
	jobs  chan func()     // nil: each fetch has a goroutine of its own
	ended <-chan struct{} // no goroutine waits any more
	idle  atomic.Int64
}

// Reuse makes c use goroutines again until ended is closed. It must be called before the first
// Join.
func (c *Fetches) Reuse(ended <-chan struct{}) {
	c.workers.jobs, c.workers.ended = make(chan func()), ended
}

func (w *workers) run(job func()) {
	select {
	case w.jobs <- job: // one is idle
	default:
		go w.work(job)
	}
}

func (w *workers) work(job func()) {
	for {
		job()
		if w.jobs == nil || w.idle.Add(1) > maxIdle {
			break
		}
		select {
		case job = <-w.jobs:
			w.idle.Add(-1)
		case <-w.ended:
			return
		}
	}
	w.idle.Add(-1)
}
