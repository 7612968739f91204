//go:build linux

// Package fleet plays a fleet on one machine: three regions with two edges each, shields, an origin, an S3 server, Redis and Prometheus, all
// of them processes. Between a region and the rest stand relays with that region's delay and loss (package relay). Clients in each region
// ask their edges through a model of a load balancer, and every answer is compared with what the origin says; meanwhile processes are
// killed, ways cut, answers purged, releases and programs exchanged. What clients saw of it is the result.
//
// The package knows the program by its command line and by HTTP alone.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Config says what is played.
type Config struct {
	Iconedge   string        // the program
	Next       string        // the one that edges are exchanged for
	S3         string        // versitygw
	Library    string        // folder of @iconify/json
	Work       string        // folder to work in; a release that it holds is used again
	Dashboards string        // folder of Grafana's dashboards
	Rules      string        // folder of Prometheus' rules
	Shields    int           //
	Clients    int           // of each region
	Rate       float64       // requests a second, of all regions together
	Icons      int           // that are asked for again and again
	Phase      time.Duration // at the least
	Seed       uint64

	Log io.Writer // what goes on
}

// Validate says all that is wrong at once.
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
	check(c.Icons >= 100, "--icons must be 100 at least")
	check(c.Phase >= time.Second, "--phase must be a second at least")
	return errors.Join(errs...)
}

// A run is a fleet that is being played.
type run struct {
	Config
	*site
	say    *progress
	judge  *judge
	crowd  *crowd
	own    atomic.Int64 // what we ourselves asked the origin for
	began  time.Time
	ended  time.Time
	result Result
}

// Run starts the fleet, plays every phase, and stops all that it started, also when ctx ends before. The result is what there is.
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

// start publishes and starts everything, in the order in which one needs the other.
func (r *run) start(ctx context.Context) error {
	r.say.line("starting the store")
	if err := r.store.start(ctx); err != nil {
		return err
	}
	if err := r.publishFirst(ctx); err != nil {
		return err
	}
	r.say.line("starting Redis, the origin, shields: %d, regions: %d with %d edges each, Prometheus", len(r.shields), len(r.regions), edgesEach)
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

// meet asks the origin what is right, and every edge for everything, so that phases begin with caches that are warm.
func (r *run) meet(ctx context.Context) (err error) {
	if r.judge, err = r.newJudge(ctx); err != nil {
		return fmt.Errorf("asking the origin what is right: %w", err)
	}
	r.say.line("asking each edge for %d icons", len(r.judge.icons))
	if err := r.warm(ctx); err != nil {
		return fmt.Errorf("filling the caches: %w", err)
	}
	r.crowd = newCrowd(r)
	r.crowd.start(ctx)
	return nil
}
