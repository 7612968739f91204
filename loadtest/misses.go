//go:build linux

package main

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

// missRounds returns the number of rounds of misses, in which the servers take turns. Each takes
// icons that were not requested before.
func (b *bench) missRounds() int { return max(3, b.rounds) }

// missConnections is the number of connections. It just suffices to keep the core busy.
const missConnections = 16

// A missLoad is a series of misses for one server.
type missLoad struct {
	what   string
	server *peers.Server
	paths  []string
	wants  map[string]load.Want
}

// measureMisses makes our edge, and nginx without a cache, fetch icons from the origin. The edge
// makes brotli and gzip codings after the response, in the same process. So the series with small
// icons, which it does not compress, gives the cost of misses alone.
func (b *bench) measureMisses(ctx context.Context) error {
	edge := b.contenderNamed(report.Ours)
	if b.misses == 0 || edge == nil {
		return nil
	}
	fmt.Fprintf(b.std.Err, "fetching %d more icons from the origin\n", len(b.missPaths))
	wants, err := b.originWants(ctx, b.missPaths)
	if err != nil {
		return err
	}
	any, small := split(b.missPaths, wants)
	loads := []missLoad{{"edge", edge.server, any, wants},
		{"edge, icons below " + strconv.Itoa(smallIcon) + " bytes", edge.server, small, wants}}
	if before := b.contenderNamed(report.Before); before != nil {
		loads = append(loads, missLoad{"baseline", before.server, any, wants})
	}
	forwarding, err := b.startForwarding(ctx)
	if err == nil {
		defer forwarding.Stop()
		loads = append(loads, missLoad{"nginx, forwarding", forwarding, any, wants})
	}
	best := make([]report.Misses, len(loads))
	for round := range b.missRounds() {
		for i, l := range loads {
			each := len(l.paths) / b.missRounds()
			if each == 0 {
				continue
			}
			server, origin, err := b.missRound(ctx, l, l.paths[round*each:(round+1)*each])
			if err != nil {
				return fmt.Errorf("%s: %w", l.what, err)
			}
			if m := &best[i]; m.What == "" {
				*m = report.Misses{What: l.what, Server: server, Origin: origin}
			} else {
				m.Server, m.Origin = min(m.Server, server), min(m.Origin, origin)
			}
			fmt.Fprintf(b.std.Err, "round %d/%d  %d misses  %-26s %6.2f µs, origin %6.2f µs; cheapest %6.2f and %6.2f\n",
				round+1, b.missRounds(), each, l.what, server, origin, best[i].Server, best[i].Origin)
		}
	}
	b.result.Misses = slices.DeleteFunc(best, func(m report.Misses) bool { return m.What == "" })
	return nil
}

func (b *bench) contenderNamed(name string) *contender {
	for _, c := range b.contenders {
		if c.name == name {
			return c
		}
	}
	return nil
}

// startForwarding starts an nginx without a cache.
func (b *bench) startForwarding(ctx context.Context) (*peers.Server, error) {
	place := peers.Place{Dir: filepath.Join(b.work, "nginx-forwarding"), Origin: b.origin.Listen, CPUs: strconv.Itoa(b.serverCPU), Cores: 1}
	spec, err := peers.Nginx(place, false)
	if err != nil {
		return nil, err
	}
	return peers.Start(ctx, spec)
}

// originWants fetches paths from the origin and returns the expected responses. The requests also
// warm the origin's mirror.
func (b *bench) originWants(ctx context.Context, paths []string) (map[string]load.Want, error) {
	m := mix.Maker{Host: b.origin.Listen.String()}
	s, err := see(ctx, b.origin.Listen, requestsOf(&m, paths), func(_ int, a load.Answer) error {
		if a.Status != 200 {
			return fmt.Errorf("the origin answers %d", a.Status)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	wants := make(map[string]load.Want, len(paths))
	for i, p := range paths {
		wants[p] = s.answers[i].want
	}
	return wants, nil
}

// smallIcon is the size in bytes below which an edge makes no codings.
const smallIcon = 200

// split divides the icons: the first half as they come, and the small ones of the second half.
func split(paths []string, wants map[string]load.Want) (any, small []string) {
	for i, p := range paths {
		switch {
		case i%2 == 0:
			any = append(any, p)
		case wants[p].Length < smallIcon:
			small = append(small, p)
		}
	}
	return any, small
}

// missRound requests each path once.
func (b *bench) missRound(ctx context.Context, l missLoad, paths []string) (server, origin float64, err error) {
	m := mix.Maker{Host: l.server.Listen.String()}
	plan, err := m.Plan(paths, mix.Shares{{Kind: mix.Plain, Weight: 1}}, mix.Recorded(len(paths)), b.seed)
	if err != nil {
		return 0, 0, err
	}
	plan.Once = true
	for i, p := range paths {
		plan.Requests[i].Want = l.wants[p]
	}
	before, err := b.originCPU()
	if err != nil {
		return 0, 0, err
	}
	r, err := b.once(ctx, l.server.Listen, plan, l.server)
	if err != nil {
		return 0, 0, err
	}
	after, err := b.originCPU()
	return r.CPUMicros, float64(after-before) / float64(time.Microsecond) / float64(len(paths)), err
}

func (b *bench) once(ctx context.Context, addr netip.AddrPort, plan load.Plan, server *peers.Server) (*load.Result, error) {
	tree, err := server.Tree()
	if err != nil {
		return nil, err
	}
	r, err := load.Run(ctx, load.Config{Target: addr, Plan: plan, Connections: missConnections, Threads: 1, Meter: tree.Meter()})
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case r.Wrong > 0 || r.Broken > 0 || r.Unheard > 0:
		return nil, fmt.Errorf("%d wrong responses, %d broken connections (%v): %w", r.Wrong, r.Broken, r.Mistakes, errWrong)
	}
	return r, nil
}
