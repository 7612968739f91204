//go:build linux

package main

import (
	"context"
	"os"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/simulate"
)

// simulated returns the configuration of a simulation, with short phases if short is set.
func simulated(edges int, short bool) simulate.Config {
	c := simulate.Whole(edges)
	if short {
		c.Rounds, c.Phase, c.Missed = 10, 5*time.Second, 600
	}
	return c
}

// runSimulation simulates a fleet, and writes the figures into scale.md in the folder docs, if it
// is not empty.
func runSimulation(ctx context.Context, std cli.Streams, c simulate.Config, docs string) error {
	c.Log = std.Err
	if err := c.Validate(); err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	r, err := simulate.Run(ctx, c)
	if r == nil {
		return err
	}
	r.Text(std.Out)
	if err == nil && docs != "" {
		err = writeScale(docs, "fleet", "fleet --simulate", r.Section(machine()))
	}
	return err
}

const relayHelp = `
Carries the connections of a region: it delays them, and loses a share of their segments. The arguments are the delay in
one direction, the share, a seed, and the targets. It writes an address for each target, and obeys lines on its
standard input, silence and mend, until that ends.

  loadtest relay 40ms 0.001 1 127.0.0.1:6379`

func runRelay(ctx context.Context, std cli.Streams, args []string) error {
	fs := program.Flags("relay", "DELAY LOSS SEED TARGET...", relayHelp)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if err := simulate.Relay(ctx, fs.Args(), os.Stdin, std.Out); err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	return nil
}
