//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

// measureAll starts all servers of the part in the clear, and measures all rounds.
func (b *bench) measureAll(ctx context.Context) error {
	if err := b.startContenders(ctx); err != nil {
		return err
	}
	if err := b.calm(ctx); err != nil {
		return err
	}
	for round := range b.rounds {
		if err := b.measureRound(ctx, round); err != nil {
			return err
		}
	}
	if err := b.measureMisses(ctx); err != nil {
		return err
	}
	return b.weigh()
}

// calm waits until all servers are idle.
func (b *bench) calm(ctx context.Context) error {
	for _, c := range b.contenders {
		tree, err := c.server.Tree()
		if err == nil {
			err = tree.Calm(ctx)
		}
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", c.name, err)
		}
	}
	return nil
}

// measureRound measures every server in every column once. In a column the servers take turns; each
// round begins with another server.
func (b *bench) measureRound(ctx context.Context, round int) error {
	for _, rate := range []float64{0, b.rate} {
		for _, column := range b.columns {
			if rate > 0 && !column.rated {
				continue
			}
			for i := range b.contenders {
				c := b.contenders[(i+round)%len(b.contenders)]
				if c.plans[column.name] == nil {
					continue
				}
				r, err := b.measure(ctx, c, column, rate)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", c.name, column.name, err)
				}
				b.result.Add(c.name, column.name, rate, *r)
				fmt.Fprintf(b.std.Err, "round %d/%d  %-26s %-9s %-26s %6.2f µs  %8.0f/s  p99 %.0f µs\n",
					round+1, b.rounds, column.name, loadName(rate), c.name, r.CPUMicros, r.PerSecond, r.Latency.P99)
			}
		}
	}
	return nil
}

func loadName(rate float64) string {
	if rate == 0 {
		return "saturated"
	}
	return strconv.FormatFloat(rate, 'f', 0, 64) + "/s"
}

// measure loads one server with the plan of one column.
func (b *bench) measure(ctx context.Context, c *contender, column column, rate float64) (*load.Result, error) {
	tree, err := c.server.Tree()
	if err != nil {
		return nil, err
	}
	before, err := b.originCPU()
	if err != nil {
		return nil, err
	}
	r, err := load.Run(ctx, load.Config{
		Target: c.server.Listen, Plan: *c.plans[column.name], Connections: cmp.Or(column.connections, b.connections),
		Threads: 1, Sources: sources(b.clients), Rate: rate,
		WarmUp: b.warmUp, Duration: b.round, Spin: true, Meter: tree.Meter(),
	})
	if err != nil {
		return nil, errors.Join(err, c.server.Ended())
	}
	after, err := b.originCPU()
	if err != nil {
		return nil, err
	}
	return r, errors.Join(ctx.Err(), judge(r, after-before))
}

// errWrong means that the servers did not do what the measurement assumes. errFetched is the case
// that responses came from the origin.
var (
	errWrong   = errors.New("the measurement is invalid")
	errFetched = fmt.Errorf("responses came from the origin: %w", errWrong)
)

// idle is the share of CPU time that an origin may use without requests for icons: it checks its
// store.
const idle = 0.01

// judge rejects a result with wrong or missing responses, or with responses from the origin.
func judge(r *load.Result, origin time.Duration) error {
	switch {
	case r.Wrong > 0 || r.Broken > 0 || r.Unheard > 0:
		return fmt.Errorf("%d wrong responses, %d broken connections, %d requests without a response (%v): %w",
			r.Wrong, r.Broken, r.Unheard, r.Mistakes, errWrong)
	case r.Answers == 0 && !r.Stopped:
		return errors.New("no responses; other programs may keep the machine busy")
	case origin.Seconds() > 0.03+idle*r.Seconds && origin.Seconds()*1e6 > 0.5*float64(r.Answers):
		return fmt.Errorf("the origin used %v of CPU time: %w", origin.Round(time.Millisecond), errFetched)
	}
	return nil
}

func (b *bench) originCPU() (time.Duration, error) {
	tree, err := b.origin.Tree()
	if err != nil {
		return 0, err
	}
	return tree.CPU()
}
