//go:build linux

// Package load sends HTTP/1.1 requests to one server and measures what comes back. It knows no servers, no files and no words of
// the command line: requests are serialised before the clock starts, and what every answer must be is known by then too.
//
// Closed loop: every connection sends its next request as soon as it has its answer; this finds out what a server can do. Open
// loop: requests are due at fixed moments whether or not earlier ones were answered, and latency counts from the moment at which a
// request was due, not from the one at which a connection was free for it: a server that stops for a second is charged for all who
// would have come in that second (coordinated omission).
//
// The client has to be cheaper than servers that spend 8 µs on an answer. So a thread looks after many connections through epoll,
// sends and reads with one system call each, and reads no more of an answer than its status, its length and, of one in 64, its
// checksum. Linux only: that is where servers are measured.
package load

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"
)

// Config says how a server is loaded.
type Config struct {
	Target      netip.AddrPort
	Plan        Plan
	Connections int
	Threads     int           // of the client
	Sources     []netip.Addr  // the client's own addresses, by turns; none: the system's choice
	Rate        float64       // requests a second of the open loop; 0: closed loop
	WarmUp      time.Duration // of load that is not counted
	Duration    time.Duration // of load that is; 0 with a Plan that is sent once: until all of it is answered
	Spin        bool          // busy-wait instead of sleeping, for a client with a core of its own, lest waking it be charged to the server

	Meter    func() (time.Duration, error) // reads the server's CPU time; nil: it is not measured
	Progress func(Tick)                    // called every second; may be nil
}

// A Tick is how far a run has got.
type Tick struct {
	Since    time.Duration // of the whole run, its warm-up included
	Answers  int64         // so far
	LastRate float64       // answers a second, since the last tick
	Wrong    int64
	Broken   int64
}

// drain is how long answers are waited for when nothing more is sent.
const drain = 20 * time.Second

func (c *Config) validate() error {
	switch {
	case len(c.Plan.Requests) == 0 || len(c.Plan.Order) == 0:
		return errors.New("nothing to send")
	case c.Connections < 1 || c.Threads < 1:
		return errors.New("connections and threads must be at least 1")
	case c.Rate < 0 || c.WarmUp < 0 || c.Duration < 0:
		return errors.New("rate and times must not be negative")
	case c.Duration == 0 && !c.Plan.Once:
		return errors.New("the duration must be more than 0")
	}
	return nil
}

// Run loads a server and measures it. When ctx ends before the time is over it returns what there is, with Stopped set. The error
// is about the client's own affairs: a server that can't be reached, say. Wrong answers are in the Result.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Threads = min(cfg.Threads, cfg.Connections)
	loops, err := connectAll(&cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cfg.Target, err)
	}
	runtime.GC() // now, not while the clock runs
	base := time.Now()
	errs := make(chan error, len(loops))
	for _, l := range loops {
		go func() { errs <- l.run(base) }()
	}
	w := watch(ctx, &cfg, base, loops, errs)
	for _, l := range loops {
		l.stop.Store(true)
	}
	for range len(loops) - w.ended {
		w.err = errors.Join(w.err, <-errs)
	}
	return gather(&cfg, loops, w), w.err
}

// connectAll makes the loops and all their connections, or none.
func connectAll(cfg *Config) (loops []*loop, err error) {
	for i := range cfg.Threads {
		l, err := newLoop(cfg, i)
		if err != nil {
			for _, l := range loops {
				l.close()
			}
			return nil, err
		}
		loops = append(loops, l)
	}
	return loops, nil
}
