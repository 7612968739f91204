//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const runHelp = `
Loads one server, or several in turn, with requests whose right responses it knows, and prints the results. Without --rate
each connection sends the next request as soon as it has a response (closed loop): this measures capacity. With --rate
requests are due at fixed moments, and latency counts from those moments even if the server delays the client (open
loop): this measures the wait of users.

  iconedge run --limit icon=off --limit search=off &
  loadtest run --target http://127.0.0.1:8080 --rate 5000 --duration 20s --mix cdn=75,304=20,api=3,404=2
  loadtest run --target edge=http://127.0.0.1:8080 --target nginx=http://127.0.0.1:8090 --path /mdi/home.svg --plot latency.svg

It loads only loopback addresses, unless --anywhere confirms that the server is yours. ^C stops it and prints the results so far.`

// runConfig holds the settings of `loadtest run`.
type runConfig struct {
	targets, paths, fields cli.List
	pathsFile              string
	icons                  int
	order                  string
	skew                   float64
	shares                 mix.Shares
	browser, anywhere      bool
	clients                int
	seed                   uint64
	pid                    int
	json, plot             string
	load                   load.Config
}

func runLoad(ctx context.Context, std cli.Streams, args []string) error {
	c := runConfig{shares: mix.Shares{{Kind: mix.Plain, Weight: 1}}}
	fs := program.Flags("run", "", runHelp)
	c.flags(fs)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	targets, err := c.validate(ctx)
	if err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	var runs []report.Run
	for _, t := range targets {
		r, err := c.one(ctx, std, t)
		if err != nil {
			return errors.Join(err, c.show(std, runs))
		}
		runs = append(runs, report.Run{Name: t.name, Result: *r})
		if ctx.Err() != nil {
			break
		}
	}
	if err := c.show(std, runs); err != nil {
		return err
	}
	return errors.Join(ctx.Err(), wrongIn(runs))
}

func (c *runConfig) flags(fs *cli.Flags) {
	fs.Var(&c.targets, "target", "`[NAME=]URL` of a server, http://HOST:PORT; may be repeated")
	fs.Var(&c.paths, "path", "`PATH` to request, most popular first; {n} in it is replaced by a running number; may be repeated")
	fs.StringVar(&c.pathsFile, "paths", "", "`file` of such paths, one a line")
	fs.IntVar(&c.icons, "icons", 1000, "without paths: `number` of icons to request, taken from the first target's API")
	fs.StringVar(&c.order, "order", "zipf", "`order` of the paths: zipf, shuffled (each equally often) or recorded (as listed)")
	fs.Float64Var(&c.skew, "skew", 1, "`exponent` of the Zipf distribution")
	fs.Var(&c.shares, "mix", "`KIND=SHARE,…` of requests: cdn, api, search, 304, color, miss, 404")
	fs.Var(&c.fields, "header", "header `LINE` of every request, \"Name: value\"; may be repeated")
	fs.BoolVar(&c.browser, "browser", false, "send the header lines of a browser")
	fs.IntVar(&c.clients, "clients", 1, "`number` of loopback addresses of the client, from 127.0.0.2")
	fs.IntVar(&c.load.Connections, "connections", 64, "`number` of keep-alive connections")
	fs.IntVar(&c.load.Threads, "threads", 1, "`number` of the client's threads")
	fs.Float64Var(&c.load.Rate, "rate", 0, "requests a second of the open loop, a `number`; 0 for a closed loop")
	fs.DurationVar(&c.load.WarmUp, "warm-up", time.Second, "`time` of load before the measurement")
	fs.DurationVar(&c.load.Duration, "duration", 10*time.Second, "`time` of the measurement")
	fs.BoolVar(&c.load.Spin, "spin", false, "busy-wait instead of sleeping, for a client with a core of its own")
	fs.Uint64Var(&c.seed, "seed", 1, "`number` that determines the order of requests")
	fs.IntVar(&c.pid, "pid", 0, "process `number` of the server, to measure its CPU time and that of its children")
	fs.StringVar(&c.json, "json", "", "`file` for the results as JSON; - for stdout, in place of the table")
	fs.StringVar(&c.plot, "plot", "", "`file` for a plot of latency by percentile, as SVG")
	fs.BoolVar(&c.anywhere, "anywhere", false, "allow targets on other machines")
}

// validate reports all errors at once, and resolves the targets.
func (c *runConfig) validate(ctx context.Context) (targets []target, err error) {
	var errs []error
	check := func(ok bool, words string) {
		if !ok {
			errs = append(errs, errors.New(words))
		}
	}
	check(len(c.targets) > 0, "--target is required, such as http://127.0.0.1:8080")
	check(c.load.Connections >= 1 && c.load.Connections <= 100_000, "--connections must be 1 to 100000")
	check(c.load.Threads >= 1, "--threads must be at least 1")
	check(c.load.Rate >= 0 && c.load.WarmUp >= 0, "--rate and --warm-up must not be negative")
	check(c.load.Duration > 0, "--duration must be more than 0")
	check(c.clients >= 1 && c.clients <= 60_000, "--clients must be 1 to 60000")
	check(c.order == "zipf" || c.order == "shuffled" || c.order == "recorded", "--order must be zipf, shuffled or recorded")
	check(c.skew >= 0 && c.skew <= 10, "--skew must be 0 to 10")
	check(c.icons >= 1, "--icons must be at least 1")
	for _, line := range c.fields {
		name, value, ok := strings.Cut(line, ": ")
		check(ok && name != "" && !strings.ContainsAny(name+value, "\r\n"), `--header must be "Name: value"`)
	}
	for _, s := range c.targets {
		t, err := parseTarget(ctx, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("--target %s: %w", s, err))
			continue
		}
		loopback := t.addr.Addr().IsLoopback()
		check(loopback || c.anywhere, "--target "+s+" is on another machine; --anywhere allows that")
		check(c.clients == 1 || loopback && t.addr.Addr().Is4(), "--clients needs targets on 127.0.0.0/8")
		targets = append(targets, t)
	}
	return targets, errors.Join(errs...)
}

// one loads one target.
func (c *runConfig) one(ctx context.Context, std cli.Streams, t target) (*load.Result, error) {
	paths, err := c.pathsFor(ctx, t)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(std.Err, "%s: learning the responses of %d paths\n", t.name, len(paths))
	cfg := c.load
	if cfg.Plan, err = c.plan(ctx, t, paths); err != nil {
		return nil, err
	}
	cfg.Target, cfg.Sources, cfg.Progress = t.addr, sources(c.clients), progress(std.Err, t.name)
	if c.pid != 0 {
		tree, err := peers.TreeOf(c.pid)
		if err != nil {
			return nil, err
		}
		cfg.Meter = tree.Meter()
	}
	return load.Run(ctx, cfg)
}

// progress prints a line every second.
func progress(w io.Writer, name string) func(load.Tick) {
	return func(t load.Tick) {
		fmt.Fprintf(w, "%s: %s  %.0f responses/s  %d wrong  %d broken\n", name, t.Since.Round(time.Second), t.LastRate, t.Wrong, t.Broken)
	}
}

// show prints the results, and writes the files that flags ask for.
func (c *runConfig) show(std cli.Streams, runs []report.Run) error {
	if len(runs) == 0 {
		return nil
	}
	if c.json != "-" {
		report.Text(std.Out, report.RunTable(runs))
	}
	var errs []error
	if c.json != "" {
		b, err := json.MarshalIndent(runs, "", "  ")
		errs = append(errs, err, writeFile(std, c.json, append(b, '\n')))
	}
	if c.plot != "" {
		errs = append(errs, writeFile(std, c.plot, report.LatencyPlot("Latency by percentile", runs)))
	}
	return errors.Join(errs...)
}

func writeFile(std cli.Streams, name string, b []byte) error {
	if name == "-" {
		_, err := std.Out.Write(b)
		return err
	}
	return os.WriteFile(name, b, 0o666)
}

// wrongIn returns an error if responses were wrong.
func wrongIn(runs []report.Run) error {
	for _, r := range runs {
		if r.Wrong > 0 || r.Broken > 0 || r.Unheard > 0 {
			return fmt.Errorf("%s: %d wrong responses, %d broken connections, %d requests without a response: %s",
				r.Name, r.Wrong, r.Broken, r.Unheard, strings.Join(r.Mistakes, "; "))
		}
	}
	return nil
}
