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

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const growHelp = `
Measures how the cost of a cache hit grows: with the entries of the cache, with connections, with cores and with the length of bodies,
one of them at a time, with and without a disk tier. The edge is in front of an origin of made-up icons (loadtest origin). It prints a
table for each, and with --docs writes docs/performance.md.

  make build .cache/loadtest && .cache/loadtest grow --iconedge ./iconedge --docs docs
  .cache/loadtest grow --iconedge ./iconedge --series connections --most 10000 --round 1s

A million entries take some 5 GB of memory and many minutes to fill; --most sets another ceiling.`

// A grow is what `loadtest grow` was told.
type grow struct {
	iconedge, docs, work string
	series               cli.List
	most                 int
	rounds               int
	round                time.Duration
	serverCPU, clientCPU int
	std                  cli.Streams
	result               report.Grow
}

func runGrow(ctx context.Context, std cli.Streams, args []string) error {
	g := grow{std: std}
	fs := program.Flags("grow", "", growHelp)
	fs.StringVar(&g.iconedge, "iconedge", "./iconedge", "`program` whose edge is measured")
	fs.StringVar(&g.docs, "docs", "", "`folder` that performance.md and performance/ are written to (default they are not)")
	fs.StringVar(&g.work, "work", "", "`folder` for the disk tier (default a new one in the temporary folder)")
	fs.Var(&g.series, "series", "`NAME` of what is varied: entries, connections, cores or \"body bytes\"; may be repeated (default all)")
	fs.IntVar(&g.most, "most", 1_000_000, "`number` of entries at most")
	fs.IntVar(&g.rounds, "rounds", 3, "`number` of rounds")
	fs.DurationVar(&g.round, "round", 2*time.Second, "`time` of each")
	fs.IntVar(&g.serverCPU, "server-cpu", 0, "`core` of the edge")
	fs.IntVar(&g.clientCPU, "client-cpu", 1, "`core` of the load tester and the origin; the edge's second one, where it has two")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if err := g.validate(); err != nil {
		return cli.Usage(cli.OneLine(err))
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
			fmt.Fprintf(g.std.Err, "%s: %v\n", p, err)
			g.result.Left = append(g.result.Left, p.String()+": answers did not all come from the cache")
			err = nil
			continue
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", p, err)
			break
		}
		fmt.Fprintf(g.std.Err, "%s: %.2f µs, %.0f/s\n", p, p.CPUMicros, p.PerSecond)
		g.result.Points = append(g.result.Points, p)
	}
	if errors.Is(err, errWrong) {
		return err
	}
	g.show()
	if err != nil || g.docs == "" {
		return err
	}
	return writeDocs(g.docs, report.Page{Grow: &g.result})
}

func (g *grow) show() {
	for _, series := range report.Series {
		if t := g.result.Table(series); len(t.Rows) > 0 {
			fmt.Fprintln(g.std.Out)
			report.Text(g.std.Out, t)
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
