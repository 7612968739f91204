//go:build linux

package load

import (
	"context"
	"time"
)

// A reading holds the clocks and counters at one moment.
type reading struct {
	at      time.Duration
	answers int64
	cpu     time.Duration
}

// watched is the result of watch.
type watched struct {
	from, to reading
	stopped  bool // before the end
	ended    int  // number of loops that ended by themselves
	err      error
}

// watch waits for the end of the run. It reads clocks and counters at the beginning and end of the
// measurement, and reports progress.
func watch(ctx context.Context, cfg *Config, base time.Time, loops []*loop, errs <-chan error) (w watched) {
	w.from, w.err = read(cfg, base, loops)
	var begin, end <-chan time.Time
	if cfg.WarmUp > 0 {
		begin = time.After(cfg.WarmUp)
	}
	if cfg.Duration > 0 {
		end = time.After(cfg.WarmUp + cfg.Duration)
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	last := reading{}
	for over := false; !over && w.err == nil; {
		select {
		case <-begin:
			w.from, w.err = read(cfg, base, loops)
		case <-ticker.C:
			last = report(cfg, base, loops, last)
		case err := <-errs:
			w.ended++
			w.err = err
			over = w.ended == len(loops)
		case <-end:
			over = true
		case <-ctx.Done():
			over, w.stopped = true, true
		}
	}
	if w.err == nil {
		w.to, w.err = read(cfg, base, loops)
	}
	return w
}

// read takes a reading. It contains the time, so a late wake-up does not distort rates.
func read(cfg *Config, base time.Time, loops []*loop) (r reading, err error) {
	if cfg.Meter != nil {
		r.cpu, err = cfg.Meter()
	}
	r.at = time.Since(base)
	for _, l := range loops {
		r.answers += l.answers.Load()
	}
	return r, err
}

func report(cfg *Config, base time.Time, loops []*loop, last reading) reading {
	if cfg.Progress == nil {
		return last
	}
	now := reading{at: time.Since(base)}
	t := Tick{Since: now.at}
	for _, l := range loops {
		now.answers += l.answers.Load()
		t.Wrong += l.wrong.Load()
		t.Broken += l.broken.Load()
	}
	t.Answers = now.answers
	t.LastRate = float64(now.answers-last.answers) / (now.at - last.at).Seconds()
	cfg.Progress(t)
	return now
}
