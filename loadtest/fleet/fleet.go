//go:build linux

// Package fleet runs a fleet on one machine: three regions with two edges each, shields, an origin,
// an S3 server, Redis and Prometheus, all as processes. Relays between a region and the rest add
// that region's delay and loss (package relay). Clients in each region send requests to their edges
// through a model of a load balancer, and the package compares every response with the origin's.
// Meanwhile it kills processes, cuts connections, purges icons, and changes releases and programs.
// The result is a report of the clients' responses.
//
// The package uses iconedge only through its command line and HTTP.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Config holds the settings of a run.
type Config struct {
	Iconedge   string        // the program under test
	Next       string        // the program that edges are upgraded to
	S3         string        // versitygw
	Library    string        // folder of @iconify/json
	Work       string        // working folder; a release in it is used again
	Dashboards string        // folder of Grafana's dashboards
	Rules      string        // folder of Prometheus' rules
	Shields    int           //
	Clients    int           // in each region
	Rate       float64       // requests a second, all regions together
	Icons      int           // number of icons that are requested repeatedly
	Phase      time.Duration // minimum duration of each phase
	Seed       uint64

	Log io.Writer // progress of the run
}

// Validate reports all errors at once.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, words string) {
		if !ok {
			errs = append(errs, errors.New(words))
		}
	}
	check(c.Shields >= 1, "--shields must be at least 1")
	check(c.Clients >= 2 && c.Clients <= 200, "--clients must be 2 to 200")
	check(c.Rate > 0, "--rate must be more than 0")
	check(c.Icons >= 100, "--icons must be at least 100")
	check(c.Phase >= time.Second, "--phase must be at least 1s")
	return errors.Join(errs...)
}

// A run is a running fleet.
type run struct {
	Config
	*site
	say    *progress
	judge  *judge
	crowd  *crowd
	own    atomic.Int64 // our own requests to the origin
	began  time.Time
	ended  time.Time
	result Result
}

// Run starts the fleet, runs every phase, and stops everything it started, also if ctx ends early.
// The result is partial then.
func Run(ctx context.Context, cfg Config) (result *Result, err error) {
	r := &run{Config: cfg, say: newProgress(cfg.Log), result: Result{
		Date: time.Now().UTC().Format(time.DateOnly), Shields: cfg.Shields, Clients: cfg.Clients, Rate: cfg.Rate, Icons: cfg.Icons,
	}}
	if r.site, err = build(cfg); err != nil {
		return nil, err
	}
	defer r.site.stop()
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	if err := r.meet(ctx); err != nil {
		return nil, err
	}
	r.began = time.Now()
	r.own.Store(0)
	err = r.playAll(ctx)
	r.crowd.stop()
	r.ended = time.Now()
	r.judge.settle()
	r.gather()
	if ctx.Err() != nil {
		return &r.result, ctx.Err()
	}
	return &r.result, errors.Join(err, r.look(ctx))
}

// start publishes a release and starts all processes in the order of their dependencies.
func (r *run) start(ctx context.Context) error {
	r.say.line("starting the store")
	if err := r.store.start(ctx); err != nil {
		return err
	}
	if err := r.publishFirst(ctx); err != nil {
		return err
	}
	r.say.line("starting Redis, the origin, shields: %d, regions: %d with %d edges each, Prometheus", len(r.shields),
		len(r.regions), edgesEach)
	for p := range r.site.inOrder() {
		if err := p.start(ctx); err != nil {
			return err
		}
	}
	for _, e := range r.edges() {
		go e.watch(ctx)
	}
	return nil
}

// meet learns the right responses from the origin, and fills the caches of all edges.
func (r *run) meet(ctx context.Context) (err error) {
	if r.judge, err = r.newJudge(ctx); err != nil {
		return fmt.Errorf("learning the origin's responses: %w", err)
	}
	r.say.line("requesting %d icons from each edge", len(r.judge.icons))
	if err := r.warm(ctx); err != nil {
		return fmt.Errorf("filling the caches: %w", err)
	}
	r.crowd = newCrowd(r)
	r.crowd.start(ctx)
	return nil
}
