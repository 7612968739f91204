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
Measures how the cost of a cache hit grows with the number of entries, connections and cores, and with the length of bodies,
one parameter at a time, with and without a disk tier. The edge's origin has made-up icons (loadtest origin). It prints a
table for each parameter, and with --docs writes the lab book (docs/reference/performance).

  make build .cache/loadtest && .cache/loadtest grow --iconedge ./iconedge --docs docs/reference
  .cache/loadtest grow --iconedge ./iconedge --series connections --most 10000 --round 1s

A million entries take about 5 GB of memory and many minutes to fill; --most lowers the number.`

// A grow holds the settings of `loadtest grow`.
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
	fs.StringVar(&g.docs, "docs", "", "`folder` for performance.md and performance/ (default: they are not written)")
	fs.StringVar(&g.work, "work", "", "`folder` for the disk tier (default a new one in the temporary folder)")
	fs.Var(&g.series, "series", "`NAME` of the parameter to vary: entries, connections, cores or \"body bytes\"; may "+
		"be repeated (default all)")
	fs.IntVar(&g.most, "most", 1_000_000, "maximum `number` of entries")
	fs.IntVar(&g.rounds, "rounds", 3, "`number` of rounds")
	fs.DurationVar(&g.round, "round", 2*time.Second, "`time` of each")
	fs.IntVar(&g.serverCPU, "server-cpu", 0, "`core` of the edge")
	fs.IntVar(&g.clientCPU, "client-cpu", 1, "`core` of the load tester and the origin, and the second core of an edge with two")
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
		check(slices.Contains(report.Series, s), "--series "+s+": no such series")
	}
	check(g.most >= leastEntries, fmt.Sprintf("--most must be at least %d", leastEntries))
	check(g.rounds >= 1 && g.round > 0, "--rounds must be at least 1, --round more than 0")
	check(g.serverCPU >= 0 && g.clientCPU >= 0 && g.serverCPU != g.clientCPU, "--server-cpu and --client-cpu must differ")
	return errors.Join(errs...)
}

// run measures all points. If it is stopped, it prints the points that are complete.
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
		// a finding, not a failure: the cache is too small for its entries
		if errors.Is(err, errFetched) {
			fmt.Fprintf(g.std.Err, "%s: %v\n", p, err)
			g.result.Left = append(g.result.Left, p.String()+": some responses came from the origin")
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

// The values of the parameters that a series does not vary, and the ends of those that it varies.
const (
	usualEntries     = 10_000
	usualConnections = 64
	usualBody        = 1000
	leastEntries     = 1000
	mostConnections  = 10_000
	mostBytes        = 100_000_000 // of all bodies together, in the series of long bodies
)

// points returns all points of the measurement.
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
