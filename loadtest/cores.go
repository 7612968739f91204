//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const coresHelp = `
Measures what the event loops of an edge cost each other, on two cores. Two edges with a processor each share nothing of a
process; an edge with two processors does the same work with whatever its loops share. What a hit costs more there, and the
time for which it waits for locks, are two bounds of the Universal Scalability Law, which says what 16 and 64 cores would give.
Edges with 4, 8 and 16 processors on two cores show whether a loop that loses its core while it holds a lock stops others.
New connections are measured with one socket for all loops and with one for each (--reuse-port).

  make build .cache/loadtest && .cache/loadtest cores --iconedge ./iconedge --docs docs/reference
  .cache/loadtest cores --rounds 3 --round 500ms`

// A cores holds the settings of `loadtest cores`, and its edges.
type cores struct {
	iconedge, docs string
	rounds         int
	round          time.Duration
	std            cli.Streams

	origin *peers.Server
	kinds  []*coreKind
	result report.Cores
}

// A coreKind is one or two edges that are measured together.
type coreKind struct {
	name  string
	edges []*peers.Server
	plans []load.Plan // one for each edge
}

func runCores(ctx context.Context, std cli.Streams, args []string) (err error) {
	c := cores{std: std}
	fs := program.Flags("cores", "", coresHelp)
	fs.StringVar(&c.iconedge, "iconedge", "./iconedge", "`program` whose edges are measured")
	fs.StringVar(&c.docs, "docs", "", "`folder` of scale.md (default: it is not written)")
	fs.IntVar(&c.rounds, "rounds", 12, "`number` of rounds")
	fs.DurationVar(&c.round, "round", time.Second, "`time` of each kind of edge in a round")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if c.rounds < 1 || c.round <= 0 {
		return cli.Usage("--rounds must be at least 1, --round more than 0")
	}
	if c.iconedge, err = filepath.Abs(c.iconedge); err != nil {
		return err
	}
	dir, done, err := workFolder("")
	if err != nil {
		return err
	}
	defer done()
	defer c.stop()
	if err := c.start(ctx, dir); err != nil {
		return err
	}
	c.result = report.Cores{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Seconds: c.round.Seconds()}
	for range c.rounds {
		for _, k := range c.kinds {
			if err := c.measure(ctx, k); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	for _, t := range c.result.Tables() {
		fmt.Fprintln(std.Out)
		report.Text(std.Out, t)
	}
	if c.docs == "" {
		return nil
	}
	return writeScale(c.docs, "cores", "cores", c.result.Section())
}

func (c *cores) stop() {
	for _, k := range c.kinds {
		for _, e := range k.edges {
			e.Stop()
		}
	}
	if c.origin != nil {
		c.origin.Stop()
	}
}

// start starts the origin and all edges, and fills their caches.
func (c *cores) start(ctx context.Context, dir string) error {
	spec, err := peers.Self("origin", "origin", peers.Place{Dir: filepath.Join(dir, "origin"), Cores: 1}, "--body", strconv.Itoa(usualBody))
	if err != nil {
		return err
	}
	if c.origin, err = peers.Start(ctx, spec); err != nil {
		return err
	}
	type edge struct {
		cpus  string
		cores int
	}
	for _, k := range []struct {
		name  string
		edges []edge
		args  []string
	}{
		{report.Apart, []edge{{"0", 1}, {"1", 1}}, nil},
		{report.Together, []edge{{"0,1", 2}}, nil},
		{report.OwnSockets, []edge{{"0,1", 2}}, []string{"--reuse-port"}},
		{report.Processors(4), []edge{{"0,1", 4}}, nil},
		{report.Processors(8), []edge{{"0,1", 8}}, nil},
		{report.Processors(16), []edge{{"0,1", 16}}, nil},
	} {
		kind := &coreKind{name: k.name}
		c.kinds = append(c.kinds, kind)
		for i, e := range k.edges {
			place := peers.Place{Dir: filepath.Join(dir, strconv.Itoa(len(c.kinds)), strconv.Itoa(i)), Origin: spec.Listen,
				CPUs: e.cpus, Cores: e.cores}
			if err := c.add(ctx, kind, place, k.args); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	return nil
}

// add starts an edge of a kind, and fills its cache.
func (c *cores) add(ctx context.Context, k *coreKind, place peers.Place, args []string) error {
	spec, err := peers.Edge("edge", c.iconedge, place, args...)
	if err != nil {
		return err
	}
	edge, err := peers.Start(ctx, spec)
	if err != nil {
		return err
	}
	k.edges = append(k.edges, edge)
	plan, err := growPlan(edge.Listen.String(), &report.GrowPoint{Entries: usualEntries, Body: usualBody})
	if err != nil {
		return err
	}
	k.plans = append(k.plans, plan)
	plan.Order, plan.Once = mix.Recorded(usualEntries), true
	r, err := load.Run(ctx, load.Config{Target: edge.Listen, Connections: missConnections, Threads: 1, Plan: plan})
	if err == nil {
		err = judge(r, 0)
	}
	return errors.Join(err, ctx.Err())
}

// measure adds a round of hits of a kind, and of new connections where the kinds of sockets differ.
func (c *cores) measure(ctx context.Context, k *coreKind) error {
	waits, latencies, times, err := k.waited(ctx)
	if err != nil {
		return err
	}
	hits, err := k.load(ctx, c.round, k.plans)
	if err != nil {
		return err
	}
	waitsAfter, latenciesAfter, timesAfter, err := k.waited(ctx)
	if err != nil {
		return err
	}
	round := report.CoreRound{CPUMicros: hits.CPUMicros, PerSecond: hits.PerSecond,
		LockNanos:      1e9 * (waitsAfter - waits) / float64(hits.Answers),
		RunnableMicros: 1e6 * (latenciesAfter - latencies) / max(timesAfter-times, 1)}
	if k.name == report.Together || k.name == report.OwnSockets {
		closing, err := k.load(ctx, c.round, k.closing())
		if err != nil {
			return err
		}
		round.ConnectionMicros = closing.CPUMicros
	}
	c.result.Add(k.name, round)
	fmt.Fprintf(c.std.Err, "%-32s %6.2f µs, %5.1f ns for locks, %6.1f µs a connection\n", k.name, round.CPUMicros, round.LockNanos,
		round.ConnectionMicros)
	return nil
}

// waited returns for how long goroutines of the edges have waited for locks so far, and for
// processors, in seconds, and how often for the latter.
func (k *coreKind) waited(ctx context.Context) (locks, runnable, times float64, err error) {
	for _, e := range k.edges {
		for name, sum := range map[string]*float64{"go_sync_mutex_wait_total_seconds_total": &locks,
			"go_sched_latencies_seconds_sum": &runnable, "go_sched_latencies_seconds_count": &times} {
			value, err := e.Metric(ctx, name)
			if err != nil {
				return 0, 0, 0, err
			}
			*sum += value
		}
	}
	return locks, runnable, times, nil
}

// closing returns the plans with requests that end their connections.
func (k *coreKind) closing() []load.Plan {
	plans := slices.Clone(k.plans)
	for i, p := range plans {
		plans[i].Requests = slices.Clone(p.Requests)
		for j := range plans[i].Requests {
			head := bytes.TrimSuffix(plans[i].Requests[j].Head, []byte("\r\n"))
			plans[i].Requests[j].Head = []byte(strings.Join([]string{string(head), "Connection: close\r\n\r\n"}, ""))
		}
	}
	return plans
}

// load loads the edges at the same time, with as many connections and threads in all for each kind,
// and adds up their results.
func (k *coreKind) load(ctx context.Context, round time.Duration, plans []load.Plan) (sum load.Result, err error) {
	type run struct {
		*load.Result
		err error
	}
	runs := make(chan run, len(k.edges))
	for i, e := range k.edges {
		tree, err := e.Tree()
		if err != nil {
			return sum, err
		}
		cfg := load.Config{Target: e.Listen, Plan: plans[i], Connections: usualConnections / len(k.edges), Threads: 2 / len(k.edges),
			Sources: sources(16), Meter: tree.Meter(), Duration: round}
		go func() {
			r, err := load.Run(ctx, cfg)
			if err == nil {
				err = judge(r, 0)
			}
			runs <- run{r, err}
		}()
	}
	for range k.edges {
		r := <-runs
		if r.err != nil {
			err = errors.Join(err, r.err)
			continue
		}
		sum.CPUMicros += r.CPUMicros * float64(r.Answers)
		sum.Answers += r.Answers
		sum.PerSecond += r.PerSecond
	}
	sum.CPUMicros /= float64(max(sum.Answers, 1))
	return sum, errors.Join(err, ctx.Err())
}
