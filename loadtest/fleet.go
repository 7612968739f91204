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
Plays a fleet on this machine: three regions with two edges each behind relays with delay and loss, shields, an origin, versitygw, Redis
and Prometheus, with clients in each region. Processes are killed, a region is cut off, icons are purged, releases and programs
exchanged; every answer is compared with what the origin says. It fails where an answer was wrong, one for a cached icon failed, or
a promise did not hold.

  make build .cache/loadtest && .cache/loadtest fleet --iconedge ./iconedge --s3 versitygw --docs docs
  .cache/loadtest fleet --short --work /tmp/fleet

The programs redis-server and prometheus must be installed. ^C stops everything that was started.`

func runFleet(ctx context.Context, std cli.Streams, args []string) error {
	cfg := fleet.Config{Log: std.Err}
	fs := program.Flags("fleet", "", fleetHelp)
	docs := fleetFlags(fs, &cfg)
	short := fs.Bool("short", false, "play each phase for a few seconds")
	if err := fs.Parse(std, args); err != nil {
		return err
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
	fs.StringVar(&c.Iconedge, "iconedge", "./iconedge", "`program` that is played")
	fs.StringVar(&c.Next, "next", "", "`program` that edges are exchanged for (default the same)")
	fs.StringVar(&c.S3, "s3", "versitygw", "`program` of the S3 server, versitygw")
	fs.StringVar(&c.Library, "library", "library/node_modules/@iconify/json", "`folder` of @iconify/json to publish")
	fs.StringVar(&c.Work, "work", "", "`folder` for stores, caches and logs; a release that is in it is used again (default a new one, which is removed)")
	fs.StringVar(&c.Dashboards, "dashboards", "deploy/grafana/dashboards", "`folder` of the dashboards whose queries are asked")
	fs.StringVar(&c.Rules, "rules", "deploy/prometheus/rules", "`folder` of the rules that Prometheus follows")
	fs.IntVar(&c.Shields, "shields", 1, "`number` of shields")
	fs.IntVar(&c.Clients, "clients", 16, "`number` of clients in each region")
	fs.Float64Var(&c.Rate, "rate", 600, "requests a second of all clients together, a `number`")
	fs.IntVar(&c.Icons, "icons", 2000, "`number` of icons that are asked for again and again")
	fs.DurationVar(&c.Phase, "phase", 20*time.Second, "`time` of each phase, at the least")
	fs.Uint64Var(&c.Seed, "seed", 1, "`number` that choices follow from")
	return fs.String("docs", "", "`folder` that fleet.md and fleet/ are written to (default they are not)")
}

// prepareFleet makes paths absolute, as processes run elsewhere, and the folder to work in.
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
