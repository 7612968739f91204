//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const growHelp = `
Measures how the cost of a cache hit grows: with the entries of the cache, with connections, with cores and with the length of bodies,
one of them at a time, with and without a disk tier. The edge is in front of an origin of made-up icons (loadtest origin). It prints a
table for each, and with --docs writes docs/performance.md.

  go build ./cmd/iconedge && go run ./loadtest grow --iconedge ./iconedge --docs docs
  go run ./loadtest grow --iconedge ./iconedge --series connections --most 10000 --round 1s

A million entries take some 5 GB of memory and many minutes to fill; --most sets another ceiling.`

// A grow is what `loadtest grow` was told.
type grow struct {
	iconedge, docs, work string
	series               texts
	most                 int
	rounds               int
	round                time.Duration
	serverCPU, clientCPU int
	std                  streams
	result               report.Grow
}

func runGrow(ctx context.Context, std streams, args []string) error {
	g := grow{std: std}
	fs := newFlags("grow", growHelp)
	fs.StringVar(&g.iconedge, "iconedge", "./iconedge", "`program` whose edge is measured")
	fs.StringVar(&g.docs, "docs", "", "`folder` that performance.md and performance/ are written to (default they are not)")
	fs.StringVar(&g.work, "work", "", "`folder` for the disk tier (default a new one in the temporary folder)")
	fs.Var(&g.series, "series", "`NAME` of what is varied: entries, connections, cores or \"body bytes\"; may be repeated (default all)")
	fs.IntVar(&g.most, "most", 1_000_000, "`number` of entries at most")
	fs.IntVar(&g.rounds, "rounds", 3, "`number` of rounds")
	fs.DurationVar(&g.round, "round", 2*time.Second, "`time` of each")
	fs.IntVar(&g.serverCPU, "server-cpu", 0, "`core` of the edge")
	fs.IntVar(&g.clientCPU, "client-cpu", 1, "`core` of the load tester and the origin; the edge's second one, where it has two")
	if err := fs.parse(std, args); err != nil {
		return err
	}
	if err := g.validate(); err != nil {
		return errUsage(oneLine(err))
	}
	return g.run(ctx)
}

func (g *grow) validate() error {
	var errs []error
	check := func(ok bool, words string) {
		if !ok {
			errs = append(errs, errors.New(words))
		}
	}
	for _, s := range g.series {
		check(slices.Contains(report.Series, s), "--series "+s+": there is no such series")
	}
	check(g.most >= leastEntries, fmt.Sprintf("--most must be %d at least", leastEntries))
	check(g.rounds >= 1 && g.round > 0, "--rounds must be 1 at least, --round more than 0")
	check(g.serverCPU >= 0 && g.clientCPU >= 0 && g.serverCPU != g.clientCPU, "--server-cpu and --client-cpu must be two cores")
	return errors.Join(errs...)
}

// run measures all points, and prints what there is even where it is stopped.
func (g *grow) run(ctx context.Context) (err error) {
	if g.iconedge, err = filepath.Abs(g.iconedge); err != nil {
		return err
	}
	if err := peers.PinSelf(g.clientCPU); err != nil {
		return err
	}
	dir, done, err := diskFolder(g.work)
	if err != nil {
		return err
	}
	defer done()
	g.result = report.Grow{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Rounds: g.rounds, Seconds: g.round.Seconds()}
	for i, p := range points(g.most) {
		if len(g.series) > 0 && !slices.Contains(g.series, p.Series) {
			continue
		}
		err = g.measure(ctx, filepath.Join(dir, strconv.Itoa(i)), &p)
		if errors.Is(err, errFetched) { // that is a finding, not a fault: it says where the cache is too small for what it is given
			fmt.Fprintf(g.std.err, "%s: %v\n", p, err)
			g.result.Left = append(g.result.Left, p.String()+": answers did not all come from the cache")
			err = nil
			continue
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", p, err)
			break
		}
		fmt.Fprintf(g.std.err, "%s: %.2f µs, %.0f/s\n", p, p.CPUMicros, p.PerSecond)
		g.result.Points = append(g.result.Points, p)
	}
	if errors.Is(err, errWrong) {
		return err
	}
	g.show()
	if err != nil || g.docs == "" {
		return err
	}
	return writeDocs(g.docs, nil, &g.result)
}

func (g *grow) show() {
	for _, series := range report.Series {
		if t := g.result.Table(series); len(t.Rows) > 0 {
			fmt.Fprintln(g.std.out)
			report.Text(g.std.out, t)
		}
	}
}

// The circumstances that stay when others are varied, and how far those go.
const (
	usualEntries     = 10_000
	usualConnections = 64
	usualBody        = 1000
	leastEntries     = 1000
	mostConnections  = 10_000
	mostBytes        = 100_000_000 // of all bodies together, where they are long
)

// points is everything that is measured.
func points(most int) (all []report.GrowPoint) {
	usual := report.GrowPoint{Entries: min(usualEntries, most), Connections: usualConnections, Cores: 1, Body: usualBody}
	add := func(series string, vary func(*report.GrowPoint)) {
		p := usual
		p.Series = series
		vary(&p)
		all = append(all, p)
	}
	for _, disk := range []bool{false, true} {
		for n := leastEntries; n <= most; n *= 10 {
			add(report.ByEntries, func(p *report.GrowPoint) { p.Entries, p.Disk = n, disk })
		}
	}
	for n := 1; n <= mostConnections; n *= 10 {
		add(report.ByConnections, func(p *report.GrowPoint) { p.Connections = n })
	}
	for n := 1; n <= 2; n++ {
		add(report.ByCores, func(p *report.GrowPoint) { p.Cores = n })
	}
	for _, disk := range []bool{false, true} {
		for _, n := range []int{200, 1000, 10_000, 100_000, 1_000_000} {
			add(report.ByBody, func(p *report.GrowPoint) { p.Body, p.Entries, p.Disk = n, min(p.Entries, mostBytes/n), disk })
		}
	}
	return all
}

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
		Target: edge.Listen, Plan: plan, Connections: p.Connections, Threads: 1, Sources: sources(16), Spin: p.Cores == 1, Meter: tree.CPU,
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
		keep(p, r)
	}
	p.Memory, err = edge.RSS()
	return err
}

// fills is how often an edge is asked for everything until it has it. Memory may turn an entry away that it was asked for once, and a
// disk tier keeps what memory let go.
const fills = 6

// fill asks the edge for everything, until the origin is left alone and the edge is calm.
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

// filling reports now and then how far that has got.
func (g *grow) filling(p *report.GrowPoint) func(load.Tick) {
	return func(t load.Tick) {
		if int(t.Since.Seconds())%10 == 0 {
			fmt.Fprintf(g.std.err, "%s: filling the cache, %d answers\n", p, t.Answers)
		}
	}
}

// load loads the edge once, and says what CPU time it cost the origin.
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

// keep makes the round r the point's if it is the cheapest so far.
func keep(p *report.GrowPoint, r *load.Result) {
	if p.CPUMicros == 0 || r.CPUMicros < p.CPUMicros {
		p.CPUMicros, p.PerSecond, p.P50, p.P99, p.P999 = r.CPUMicros, r.PerSecond, r.Latency.P50, r.Latency.P99, r.Latency.P999
	}
}

// start starts the origin and the edge.
func (g *grow) start(ctx context.Context, dir string, p *report.GrowPoint) (origin, edge *peers.Server, err error) {
	client := strconv.Itoa(g.clientCPU)
	spec, err := peers.Self("origin", "origin", peers.Place{Dir: filepath.Join(dir, "origin"), CPUs: client, Cores: 1}, "--body", strconv.Itoa(p.Body))
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

// edgeArgs gives the edge room for all entries, or for a quarter of them and a folder for the rest.
func edgeArgs(p *report.GrowPoint, dir string) []string {
	room := int64(p.Entries) * (2*int64(p.Body) + 2000)
	if !p.Disk {
		return []string{"--cache-bytes", strconv.FormatInt(max(2*room, 256<<20), 10)}
	}
	return []string{"--cache-bytes", strconv.FormatInt(max(room/4, 1<<20), 10), "--cache-dir", filepath.Join(dir, "cache")}
}

// growPlan asks for the origin's drawings by a Zipf distribution. What they are is known without asking.
func growPlan(host string, p *report.GrowPoint) (load.Plan, error) {
	m := mix.Maker{Host: host}
	paths := make([]string, p.Entries)
	for i := range paths {
		paths[i] = drawingPath(uint64(i))
	}
	plan, err := m.Plan(paths, mix.Shares{{Kind: mix.Plain, Weight: 1}}, mix.Zipf(p.Entries, 1, 1), 1)
	for i := range plan.Requests {
		body := drawing(uint64(i), p.Body)
		plan.Requests[i].Want = load.Want{Status: 200, Length: int64(len(body)), Sum: load.Checksum(body), Summed: true}
	}
	return plan, err
}
