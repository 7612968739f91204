//go:build linux

// Package simulate runs a large fleet in one process: whole edges, as a program starts them, which
// share a redis-server, shields and an origin. Relays between the regions and the centre delay
// segments and lose some. The package measures how long purges and releases take, and what the
// origin and Redis get to do. It checks that nothing is lost when Redis restarts and regions are
// cut off.
//
// The clocks of the edges are off by up to five minutes in either direction.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"runtime/debug"
	"time"
)

// A Config says what is simulated.
type Config struct {
	Edges   int
	Regions int
	Few     int           // edges of the small fleet, for comparison; 0: none
	Rounds  int           // purges that are timed, and a third as many releases
	Phase   time.Duration // of each load
	Purges  float64       // a second, under load
	Checks  float64       // of limits, a second, under load
	Missed  int           // purges while regions are cut off
	CutOff  time.Duration // for how long they are
	Outage  time.Duration // of Redis
	// Herd is the time for which the origin's requests are counted, and in which each client
	// requests each icon.
	Herd    time.Duration
	Timeout time.Duration // for a check of a limit; 0: the default
	Sample  int           // icons that a check requests of each edge: other ones of the next edge
	Seed    uint64
	Log     io.Writer
}

// manageable is the number of edges up to which two cores manage the loads of Whole. The edges of a
// larger fleet together get as many checks of limits and requests a second. Its purges, each of
// which is work for every edge, are fewer in the square, because the edges take more at rest too.
const manageable = 300

// Whole returns the configuration of a measurement with so many edges. An hour at a purge every
// three seconds has 1,200.
func Whole(edges int) Config {
	c := Config{Edges: edges, Regions: len(places), Few: 10, Rounds: 30, Phase: 20 * time.Second, Purges: 10, Checks: 2000,
		Missed: 1200, CutOff: 20 * time.Second, Outage: 3 * time.Second, Herd: 12 * time.Second, Sample: 3, Seed: 1}
	if edges > manageable {
		more := float64(edges) / manageable
		c.Purges, c.Checks = c.Purges/(more*more), c.Checks/more
		c.CutOff = time.Duration(float64(c.CutOff) * more * more)
		c.Herd = time.Duration(float64(c.Herd) * more)
	}
	return c
}

// Validate returns the first error of the configuration.
func (c *Config) Validate() error {
	switch {
	case c.Regions < 2 || c.Regions > len(places):
		return fmt.Errorf("a simulation must have 2 to %d regions", len(places))
	case c.Edges < 2*c.Regions:
		return fmt.Errorf("--simulate must be at least %d, two edges in each region", 2*c.Regions)
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		return errors.New("redis-server is missing: run make engines")
	}
	return nil
}

// memoryLimit is how many bytes the process may have before it collects garbage.
const memoryLimit = 8 << 30

// A run is a simulation under way.
type run struct {
	Config
	*world
	*Result
	random *rand.Rand
}

// Run simulates a fleet. It returns an error if an edge has lost something or a step has failed; a
// missed target is no error.
func Run(ctx context.Context, c Config) (*Result, error) {
	// A collection marks the memory of all edges at once, and then takes seconds of a core, during
	// which health checks fail. An edge of a fleet has its own.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	r := &run{Config: c, Result: &Result{c: c}, random: rand.New(rand.NewPCG(c.Seed, 0))}
	if c.Few > 0 {
		few, err := r.herds(ctx, c.Few)
		if err != nil {
			return nil, fmt.Errorf("with %d edges: %w", c.Few, err)
		}
		r.few = few
	}
	return r.Result, r.whole(ctx)
}

// A herd is what the origin gets within a while after an event.
type herd struct {
	flip, drop   int // requests after a release, and after Redis has lost its log
	kinds, drops map[string]int
}

// herds runs a small fleet, and returns the herd at its origin.
func (r *run) herds(ctx context.Context, edges int) (h herd, err error) {
	small := *r
	small.Result = &Result{}
	if small.world, err = newWorld(ctx, edges, min(edges, r.Regions), r.Timeout); err != nil {
		return h, err
	}
	defer small.close()
	if err := small.check(small.edges, r.Sample); err != nil {
		return h, err
	}
	if err := small.releases(ctx, 1); err != nil {
		return h, err
	}
	err = small.restart(ctx, false)
	return small.many, err
}

// whole runs the large fleet.
func (r *run) whole(ctx context.Context) (err error) {
	began := time.Now()
	if r.world, err = newWorld(ctx, r.Edges, r.Regions, r.Timeout); err != nil {
		return err
	}
	defer r.close()
	fmt.Fprintf(r.Log, "%d edges in %d regions after %v\n", r.Edges, r.Regions, time.Since(began).Round(time.Second))
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"warm", func(context.Context) error { return r.check(r.edges, r.Sample) }},
		{"at rest", r.rest},
		{"purges", r.purges},
		{"purges under load", r.purgesUnderLoad},
		{"releases", func(ctx context.Context) error { return r.releases(ctx, max(1, r.Rounds/10)) }},
		{"shared limits", r.limits},
		{"limits under load", r.checksUnderLoad},
		{"Redis restarts with its log", func(ctx context.Context) error { return r.restart(ctx, true) }},
		{"Redis restarts empty", func(ctx context.Context) error { return r.restart(ctx, false) }},
		{"regions are cut off", r.partition},
	} {
		began := time.Now()
		err := step.do(ctx)
		fmt.Fprintf(r.Log, "%s: %v\n", step.name, time.Since(began).Round(time.Millisecond))
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}
