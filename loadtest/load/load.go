//go:build linux

// Package load sends HTTP/1.1 requests to one server and measures the responses. It knows no
// servers, files or flags: requests are serialised, and the expected responses known, before the
// measurement starts.
//
// Closed loop: every connection sends its next request as soon as it has a response; this measures
// capacity. Open loop: requests are due at fixed moments whether or not earlier ones are answered,
// and latency counts from the moment at which a request was due, not from the moment at which a
// connection was free. So a server that stops for a second is charged for all requests of that
// second (coordinated omission).
//
// The client must cost less than servers that spend 8 µs on a response. So a thread serves many
// connections with epoll, sends and reads with one system call each, and examines only the status
// and length of a response and, for one in 64, its checksum. The package is for Linux only, where
// the servers are measured.
package load

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"
)

// Config describes a load.
type Config struct {
	Target      netip.AddrPort
	Plan        Plan
	Connections int
	Threads     int           // of the client
	Sources     []netip.Addr  // the client's own addresses, in turn; none: the system's choice
	Rate        float64       // requests a second of the open loop; 0: closed loop
	WarmUp      time.Duration // before the measurement
	// of the measurement; 0 with a Plan that is sent once: until the last response
	Duration time.Duration
	// busy-wait instead of sleeping, for a client with a core of its own: waking it would cost the
	// server time
	Spin bool

	Meter    func() (time.Duration, error) // reads the server's CPU time; nil: not measured
	Progress func(Tick)                    // called every second; may be nil
}

// A Tick is the progress of a run.
type Tick struct {
	Since    time.Duration // since the start, warm-up included
	Answers  int64         // so far
	LastRate float64       // responses a second since the last tick
	Wrong    int64
	Broken   int64
}

// drain is the time for outstanding responses at the end.
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

// Run loads a server and measures it. If ctx ends early, the Result is partial and Stopped is set.
// An error concerns the client, such as a failed connection; wrong responses are counted in the
// Result.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Threads = min(cfg.Threads, cfg.Connections)
	loops, err := connectAll(&cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cfg.Target, err)
	}
	runtime.GC() // not during the measurement
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

// connectAll makes the loops and all their connections. If one fails, it closes them all.
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
