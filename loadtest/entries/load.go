//go:build linux

package entries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/report"
)

// beside runs do while a load runs, and ends the load then.
func beside(ctx context.Context, cfg load.Config, do func() error) (*load.Result, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var r *load.Result
	ended := make(chan error, 1)
	go func() {
		var err error
		r, err = load.Run(ctx, cfg)
		ended <- errors.Join(err, wrong(r))
	}()
	err := do()
	end()
	return r, errors.Join(err, <-ended)
}

// collected measures hits beside misses, which make garbage, and separates the intervals in which
// the garbage collector ran from the others.
func (m *measurement) collected(ctx context.Context, e *edge) error {
	misses := load.Config{Target: e.Listen, Connections: connections, Threads: 1, Rate: missRate, Duration: time.Hour,
		Plan: load.Plan{Requests: []load.Request{e.request(others, load.NewCounter(unlimited), m.Body)}, Order: []uint32{0}}}
	type interval struct {
		from, to time.Time
		load.Latency
	}
	var all []interval
	began := time.Now()
	_, err := beside(ctx, misses, func() error {
		cfg := m.hitLoad(e, rate, window)
		for range windows {
			from := time.Now()
			r, err := load.Run(ctx, cfg)
			if err = errors.Join(err, ctx.Err(), wrong(r)); err != nil {
				return err
			}
			all = append(all, interval{from, time.Now(), r.Latency})
		}
		return nil
	})
	if err != nil {
		return err
	}
	collections, err := e.collections()
	if err != nil {
		return err
	}
	collections = slices.DeleteFunc(collections, func(c collection) bool { return c.to.Before(began) })
	var during, between []load.Latency
	for _, i := range all {
		if slices.ContainsFunc(collections, func(c collection) bool { return c.from.Before(i.to) && i.from.Before(c.to) }) {
			during = append(during, i.Latency)
		} else {
			between = append(between, i.Latency)
		}
	}
	var longest, pause time.Duration
	for _, c := range collections {
		longest, pause = max(longest, c.to.Sub(c.from)), max(pause, c.pauses)
	}
	name := fmt.Sprintf("%d hits and %d misses a second: collections", rate, missRate)
	m.add(name, "%d in %s, the longest %s, with pauses of %.2f ms at most", len(collections), seconds(time.Since(began)), seconds(longest),
		float64(pause)/float64(time.Millisecond))
	m.add("of these hits, in intervals with a collection: p50, p99, p99.9; worst p99.9", "%s", spread(during))
	m.add("in intervals without: p50, p99, p99.9; worst p99.9", "%s", spread(between))
	return nil
}

// spread returns the medians of intervals' percentiles, and the worst 99.9th.
func spread(all []load.Latency) string {
	if len(all) == 0 {
		return "none"
	}
	median := func(of func(load.Latency) float64) (middle, worst float64) {
		var values []float64
		for _, l := range all {
			values = append(values, of(l))
		}
		slices.Sort(values)
		return values[len(values)/2], values[len(values)-1]
	}
	p50, _ := median(func(l load.Latency) float64 { return l.P50 })
	p99, _ := median(func(l load.Latency) float64 { return l.P99 })
	p999, worst := median(func(l load.Latency) float64 { return l.P999 })
	return latencies(load.Latency{P50: p50, P99: p99, P999: p999}) + "; " + report.Grouped(worst) + " µs"
}

// purges purges entries by a surrogate key, and as many others by their URLs.
func (m *measurement) purges(ctx context.Context, e *edge, rate float64) error {
	byTag := func() (int, error) { return e.purge(map[string][]string{"surrogate_keys": {tag}}) }
	byURL := func() (total int, err error) {
		var urls []string
		for i := range m.purged {
			urls = append(urls, key(m.purged+1+i))
		}
		for call := range slices.Chunk(urls, callSize) {
			n, err := e.purge(map[string][]string{"urls": call})
			if total += n; err != nil {
				return total, err
			}
		}
		return total, nil
	}
	for _, p := range []purge{{"by one surrogate key", byTag}, {"by URL, up to " + report.Grouped(callSize) + " a call", byURL}} {
		if err := m.purge(ctx, e, rate, p); err != nil {
			return err
		}
	}
	return nil
}

// A purge purges entries, and returns how many.
type purge struct {
	how string
	do  func() (int, error)
}

// purge measures a purge beside hits.
func (m *measurement) purge(ctx context.Context, e *edge, rate float64, p purge) error {
	var n int
	var took, cpu time.Duration
	r, err := beside(ctx, m.hitLoad(e, rate, time.Hour), func() (err error) {
		if err := load.Pause(ctx, time.Second); err != nil { // until the load runs
			return err
		}
		before, err := e.meter()
		if err != nil {
			return err
		}
		began := time.Now()
		if n, err = p.do(); err != nil {
			return err
		}
		took = time.Since(began)
		if err := load.Pause(ctx, time.Second); err != nil { // while memory is released
			return err
		}
		after, err := e.meter()
		cpu = max(0, after-before-time.Duration(time.Since(began).Seconds()*rate*float64(m.hitCPU)))
		return err
	})
	if err != nil {
		return err
	}
	if n != m.purged {
		fmt.Fprintf(m.Log, "%d entries were purged, not %d\n", n, m.purged)
	}
	name := fmt.Sprintf("a purge of %s entries %s", report.Grouped(float64(n)), p.how)
	m.add(name+": acknowledged", "%s", seconds(took))
	m.add("its processor time, until a second later", "%s", seconds(cpu))
	m.add("hits meanwhile: p50, p99, p99.9", "%s", latencies(r.Latency))
	return nil
}

// evicted measures misses when the cache is full.
func (m *measurement) evicted(ctx context.Context, e *edge) error {
	for {
		before, err := e.Metric(ctx, "iconedge_edge_cache_evictions_total")
		if err != nil {
			return err
		}
		const each = 20_000
		r, err := m.once(ctx, e, others, unlimited, each)
		if err != nil {
			return err
		}
		after, err := e.Metric(ctx, "iconedge_edge_cache_evictions_total")
		if err != nil {
			return err
		}
		if after-before > 0.9*float64(r.Answers) {
			break
		}
	}
	r, err := m.once(ctx, e, others, unlimited, evictions)
	if err != nil {
		return err
	}
	m.add("processor time of a miss that evicts an entry", "%.1f µs", r.CPUMicros)
	return nil
}
