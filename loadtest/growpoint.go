//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

// measure starts an origin and an edge for one point, fills the edge, and loads it.
func (g *grow) measure(ctx context.Context, dir string, p *report.GrowPoint) error {
	origin, edge, err := g.start(ctx, dir, p)
	if err != nil {
		return err
	}
	defer origin.Stop()
	defer edge.Stop()
	plan, err := growPlan(edge.Listen.String(), p)
	if err != nil {
		return err
	}
	tree, err := edge.Tree()
	if err != nil {
		return err
	}
	if err := g.fill(ctx, plan, p, origin, edge); err != nil {
		return fmt.Errorf("filling the cache: %w", errors.Join(err, edge.Ended()))
	}
	cfg := load.Config{
		Target: edge.Listen, Plan: plan, Connections: p.Connections, Threads: 1, Sources: sources(16),
		Spin: p.Cores == 1, Meter: tree.Meter(),
		WarmUp: g.round / 4, Duration: g.round,
	}
	for range g.rounds {
		r, asked, err := g.load(ctx, cfg, origin)
		if err == nil {
			err = judge(r, asked)
		}
		if err != nil {
			return errors.Join(err, edge.Ended())
		}
		takeCheapest(p, r)
	}
	p.Memory, err = edge.RSS()
	return err
}

// fills is the maximum number of passes that fill an edge. One pass may not suffice: admission may
// reject an entry that was requested once, and the disk tier stores only entries that memory
// evicted.
const fills = 6

// fill requests everything from the edge until the origin gets no more requests and the edge is
// idle.
func (g *grow) fill(ctx context.Context, plan load.Plan, p *report.GrowPoint, origin, edge *peers.Server) error {
	cfg := load.Config{Target: edge.Listen, Connections: missConnections, Threads: 1, Plan: plan, Progress: g.filling(p)}
	cfg.Plan.Order, cfg.Plan.Once = mix.Recorded(p.Entries), true
	tree, err := edge.Tree()
	if err != nil {
		return err
	}
	for range fills {
		r, asked, err := g.load(ctx, cfg, origin)
		if err == nil {
			err = errors.Join(judge(r, 0), tree.Calm(ctx))
		}
		if err != nil || judge(r, asked) == nil {
			return err
		}
	}
	return nil
}

// filling reports the progress of a pass.
func (g *grow) filling(p *report.GrowPoint) func(load.Tick) {
	return func(t load.Tick) {
		if int(t.Since.Seconds())%10 == 0 {
			fmt.Fprintf(g.std.Err, "%s: filling the cache, %d responses\n", p, t.Answers)
		}
	}
}

// load loads the edge once. It returns the result, and the CPU time of the origin meanwhile.
func (g *grow) load(ctx context.Context, cfg load.Config, origin *peers.Server) (r *load.Result, asked time.Duration, err error) {
	tree, err := origin.Tree()
	if err != nil {
		return nil, 0, err
	}
	before, err := tree.CPU()
	if err != nil {
		return nil, 0, err
	}
	if r, err = load.Run(ctx, cfg); err != nil {
		return nil, 0, err
	}
	after, err := tree.CPU()
	return r, after - before, errors.Join(err, ctx.Err())
}

// takeCheapest makes round r the result of the point if it is the cheapest so far.
func takeCheapest(p *report.GrowPoint, r *load.Result) {
	if p.CPUMicros == 0 || r.CPUMicros < p.CPUMicros {
		p.CPUMicros, p.PerSecond, p.P50, p.P99, p.P999 = r.CPUMicros, r.PerSecond, r.Latency.P50, r.Latency.P99, r.Latency.P999
	}
}

// start starts the origin and the edge.
func (g *grow) start(ctx context.Context, dir string, p *report.GrowPoint) (origin, edge *peers.Server, err error) {
	client := strconv.Itoa(g.clientCPU)
	spec, err := peers.Self("origin", "origin", peers.Place{Dir: filepath.Join(dir, "origin"), CPUs: client,
		Cores: 1}, "--body", strconv.Itoa(p.Body))
	if err != nil {
		return nil, nil, err
	}
	if origin, err = peers.Start(ctx, spec); err != nil {
		return nil, nil, err
	}
	place := peers.Place{Dir: filepath.Join(dir, "edge"), Origin: origin.Listen, CPUs: strconv.Itoa(g.serverCPU), Cores: p.Cores}
	if p.Cores == 2 {
		place.CPUs += "," + client
	}
	spec, err = peers.Edge("edge", g.iconedge, place, edgeArgs(p, place.Dir)...)
	if err == nil {
		edge, err = peers.Start(ctx, spec)
	}
	if err != nil {
		origin.Stop()
		return nil, nil, err
	}
	return origin, edge, nil
}

// edgeArgs gives the edge memory for all entries, or memory for a quarter of them and a folder for
// the rest.
func edgeArgs(p *report.GrowPoint, dir string) []string {
	room := int64(p.Entries) * (2*int64(p.Body) + 2000)
	if !p.Disk {
		return []string{"--cache-bytes", strconv.FormatInt(max(2*room, 256<<20), 10)}
	}
	return []string{"--cache-bytes", strconv.FormatInt(max(room/4, 1<<20), 10), "--cache-dir", filepath.Join(dir, "cache")}
}

// growPlan requests the origin's icons in a Zipf distribution. It computes the expected responses
// instead of requesting them.
func growPlan(host string, p *report.GrowPoint) (load.Plan, error) {
	m := mix.Maker{Host: host}
	paths := make([]string, p.Entries)
	for i := range paths {
		paths[i] = iconPath(uint64(i))
	}
	plan, err := m.Plan(paths, mix.Shares{{Kind: mix.Plain, Weight: 1}}, mix.Zipf(p.Entries, 1, 1), 1)
	for i := range plan.Requests {
		body := drawIcon(uint64(i), p.Body)
		plan.Requests[i].Want = load.Want{Status: 200, Length: int64(len(body)), Sum: load.Checksum(body), Summed: true}
	}
	return plan, err
}
