//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/fleet"
)

const fleetHelp = `
Runs a fleet on this machine: three regions with two edges each behind relays with delay and loss, shields, an origin,
versitygw, Redis and Prometheus, with clients in each region. It kills processes, cuts a region off, purges icons, and
changes releases and programs, and compares every response with the origin's. It fails if a response was wrong, if a
request for a cached icon failed, or if a promise was broken.

  make build .cache/loadtest && .cache/loadtest fleet --iconedge ./iconedge --s3 versitygw --docs docs
  .cache/loadtest fleet --short --work /tmp/fleet

With --simulate it runs so many edges in this process instead, in ten regions, with the code that the program has, and
a redis-server. It measures purges, releases, and what the origin and Redis get, and fails if anything was lost.

  .cache/loadtest fleet --simulate 1000 --docs docs/reference

It needs redis-server and prometheus. ^C stops every process that it started.`

func runFleet(ctx context.Context, std cli.Streams, args []string) error {
	cfg := fleet.Config{Log: std.Err}
	fs := program.Flags("fleet", "", fleetHelp)
	docs := fleetFlags(fs, &cfg)
	short := fs.Bool("short", false, "give each phase only a few seconds")
	edges := fs.Int("simulate", 0, "simulate a fleet of this `number` of edges in one process")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if *edges != 0 {
		return runSimulation(ctx, std, simulated(*edges, *short), *docs)
	}
	if *short {
		cfg.Phase = 4 * time.Second
	}
	if err := cfg.Validate(); err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	done, err := prepareFleet(&cfg)
	if err != nil {
		return err
	}
	defer done()
	result, err := fleet.Run(ctx, cfg)
	if result == nil {
		return err
	}
	result.Machine = machine()
	result.Text(std.Out)
	if err == nil && *docs != "" {
		err = result.Write(*docs)
	}
	return errors.Join(err, result.Failed())
}

func fleetFlags(fs *cli.Flags, c *fleet.Config) (docs *string) {
	fs.StringVar(&c.Iconedge, "iconedge", "./iconedge", "`program` to run")
	fs.StringVar(&c.Next, "next", "", "`program` that edges are upgraded to (default the same)")
	fs.StringVar(&c.S3, "s3", "versitygw", "`program` of the S3 server, versitygw")
	fs.StringVar(&c.Library, "library", "tools/library/node_modules/@iconify/json", "`folder` of @iconify/json to publish")
	fs.StringVar(&c.Work, "work", "", "`folder` for stores, caches and logs; a release in it is used again (default a "+
		"new one, which is removed)")
	fs.StringVar(&c.Dashboards, "dashboards", "deploy/grafana/dashboards", "`folder` of the dashboards whose queries are run")
	fs.StringVar(&c.Rules, "rules", "deploy/prometheus/rules", "`folder` of Prometheus' rules")
	fs.IntVar(&c.Shields, "shields", 1, "`number` of shields")
	fs.IntVar(&c.Clients, "clients", 16, "`number` of clients in each region")
	fs.Float64Var(&c.Rate, "rate", 600, "requests a second of all clients together, a `number`")
	fs.IntVar(&c.Icons, "icons", 2000, "`number` of icons that clients request repeatedly")
	fs.DurationVar(&c.Phase, "phase", 20*time.Second, "minimum `time` of each phase")
	fs.Uint64Var(&c.Seed, "seed", 1, "`number` that determines random choices")
	return fs.String("docs", "", "`folder` for fleet.md and fleet/ (default: they are not written)")
}

// prepareFleet makes paths absolute, because the processes run in other folders, and makes the
// working folder.
func prepareFleet(c *fleet.Config) (done func(), err error) {
	if c.Next == "" {
		c.Next = c.Iconedge
	}
	for _, path := range []*string{&c.Iconedge, &c.Next, &c.Library} {
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, fmt.Errorf("finding %s: %w", *path, err)
		}
	}
	c.Work, done, err = diskFolder(c.Work)
	return done, err
}
