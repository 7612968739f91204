//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const benchHelp = `
Measures the cost of a cache hit for iconedge's edge, nginx, Varnish, HAProxy and a bare fasthttp. They take turns on one
core: first hits of every site and protocol, in front of an origin of made-up icons; then, in front of one origin with the real
library, hits in the clear, and over TLS with HTTP/1.1, HTTP/2 and HTTP/3, with h2load and quic-go as clients. It prints the CPU
time of a response and its ratios, and with --docs writes docs/reference/performance.md and its lab book. If any response was
wrong, it prints an error instead. The part hits, some of whose groups are in the last example, needs no library.

  make build .cache/loadtest && .cache/loadtest bench --iconedge ./iconedge --library tools/library/node_modules/@iconify/json
  .cache/loadtest bench --rounds 7 --round 4s --install --docs docs/reference
  .cache/loadtest bench --only tls --rounds 7 --docs docs/reference
  .cache/loadtest bench --only forwarded,sites,http3 --rounds 3 --round 1s

Nothing else should run on the machine. --install installs missing servers from Debian (root and apt-get); --servers selects
some of them.`

// A bench holds the settings of `loadtest bench`, and its state.
type bench struct {
	iconedge, baseline     string
	library, store         string
	docs, work             string
	only                   parts
	servers                cli.List
	install                bool
	icons, misses, resting int
	lists                  int
	iconify                string
	connections, clients   int
	rounds                 int
	round, warmUp          time.Duration
	rate                   float64
	serverCPU, clientCPU   int
	seed                   uint64

	std        cli.Streams
	names      []string // of the servers in the clear
	columns    []column
	groups     groups // of the part hits; nil: another part
	paths      []string
	missPaths  []string
	reference  *reference
	coded      map[icons][]string // paths of icons that our edge stores in a coding
	origin     *peers.Server
	contenders []*contender
	result     report.Bench
}

func (b *bench) flags(fs *cli.Flags) {
	fs.StringVar(&b.iconedge, "iconedge", "./iconedge", "`program` whose edge is measured")
	fs.StringVar(&b.baseline, "baseline", "", "`program` of another build of iconedge, measured in turn with this one")
	fs.StringVar(&b.library, "library", "tools/library/node_modules/@iconify/json", "`folder` of @iconify/json to publish")
	fs.StringVar(&b.store, "store", "", "`address` of a store with a release, dir:PATH, instead of the library")
	fs.StringVar(&b.docs, "docs", "", "`folder` for performance.md and performance/ (default: they are not written)")
	fs.StringVar(&b.work, "work", "", "`folder` for caches and stores, best in a tmpfs (default a new one in /dev/shm "+
		"or the temporary folder)")
	fs.Var(&b.servers, "servers", "`NAME` of a server to measure, such as iconedge or nginx; may be repeated (default all)")
	fs.Var(&b.only, "only", "`PART[,PART...]` to measure: hits, of every site and protocol, or some of its groups, "+
		strings.Join(allParts[firstGroup:], ", ")+"; clear, without TLS; misses, only those of clear; tls; or "+
		"iconify, Iconify's icon data (default all)")
	fs.BoolVar(&b.install, "install", false, "install missing servers, and h2load, from Debian's packages")
	fs.IntVar(&b.icons, "icons", 5000, "`number` of icons to request")
	fs.IntVar(&b.misses, "misses", 10_000, "`number` of other icons for each round of misses; 0: no such rounds")
	fs.IntVar(&b.lists, "lists", 6000, "`number` of requests for Iconify's icon data, for each row and round")
	fs.StringVar(&b.iconify, "iconify", "tools/iconify",
		"`folder` with server.mjs, which runs @iconify/api; it is measured if its packages are installed")
	fs.IntVar(&b.resting, "resting", 2000, "`number` of idle connections over TLS whose memory is measured; 0: none")
	fs.IntVar(&b.connections, "connections", 64, "`number` of keep-alive connections")
	fs.IntVar(&b.clients, "clients", 16, "`number` of loopback addresses of the client")
	fs.IntVar(&b.rounds, "rounds", 3, "`number` of rounds")
	fs.DurationVar(&b.round, "round", 3*time.Second, "`time` of each server and column in a round")
	fs.DurationVar(&b.warmUp, "warm-up", 300*time.Millisecond, "`time` of load before each measurement")
	fs.Float64Var(&b.rate, "rate", 15_000, "requests a second of the open loop, a `number`")
	fs.IntVar(&b.serverCPU, "server-cpu", 0, "`core` of the servers")
	fs.IntVar(&b.clientCPU, "client-cpu", 1, "`core` of the load tester and the origin")
	fs.Uint64Var(&b.seed, "seed", 1, "`number` that determines the choice of icons and their order")
}

func (b *bench) validate() error {
	var errs []error
	check := func(ok bool, words string) {
		if !ok {
			errs = append(errs, errors.New(words))
		}
	}
	for _, part := range b.only {
		at := slices.Index(allParts, part)
		check(at >= 0, "--only must be some of "+strings.Join(allParts, ", "))
		check(part != onlyMisses || b.misses > 0, "--only misses needs --misses")
		check(b.docs == "" || part != onlyMisses && at < firstGroup, "--only "+part+" has no page for --docs")
	}
	check(b.icons >= 1 && b.misses >= 0 && b.resting >= 0, "--icons must be at least 1, --misses and --resting not negative")
	check(b.connections >= 1 && b.clients >= 1, "--connections and --clients must be at least 1")
	check(b.rounds >= 1 && b.round > 0 && b.warmUp >= 0, "--rounds must be at least 1, --round more than 0, --warm-up not negative")
	check(b.rate > 0, "--rate must be more than 0")
	check(b.serverCPU >= 0 && b.clientCPU >= 0 && b.serverCPU != b.clientCPU,
		"--server-cpu and --client-cpu must differ: the servers need a core of their own")
	for _, name := range b.servers {
		check(slices.Contains(slices.Concat(contenders, secureContenders, hitServers), name), "--servers "+name+": no such server")
	}
	return errors.Join(errs...)
}

func runBench(ctx context.Context, std cli.Streams, args []string) (err error) {
	b := bench{std: std, coded: map[icons][]string{}, names: contenders, columns: columns}
	fs := program.Flags("bench", "", benchHelp)
	b.flags(fs)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if err := b.validate(); err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	if b.install {
		if err := peers.Install(ctx, std.Err); err != nil {
			return err
		}
	}
	done, err := b.prepare()
	if err != nil {
		return err
	}
	defer done()
	defer b.stop()
	return b.measureParts(ctx)
}

// Parts of a bench.
const (
	inClear = "clear"
	// onlyMisses is the part of the misses in the clear, which changes no page.
	onlyMisses = "misses"
	overTLS    = "tls"
	iconData   = "iconify"
	hits       = "hits"
)

// allParts are the parts, and from firstGroup on the groups of hits.
var (
	allParts   = []string{hits, inClear, onlyMisses, overTLS, iconData}
	firstGroup = len(allParts)
)

func init() {
	for _, g := range hitGroups {
		if !slices.Contains(allParts, g.name) {
			allParts = append(allParts, g.name)
		}
	}
}

// parts is the value of --only.
type parts []string

func (p *parts) String() string { return strings.Join(*p, ",") }

func (p *parts) Set(value string) error {
	*p = strings.Split(value, ",")
	return nil
}

// chosen reports whether --only has one of some parts. Without --only it has all, except the misses
// alone.
func (b *bench) chosen(some ...string) bool {
	if len(b.only) == 0 {
		return some[0] != onlyMisses
	}
	return slices.ContainsFunc(some, func(part string) bool { return slices.Contains(b.only, part) })
}

// measureParts measures the selected parts. It writes the page after each of them.
func (b *bench) measureParts(ctx context.Context) error {
	if b.chosen(allParts[firstGroup:]...) || b.chosen(hits) {
		result, err := b.measureHits(ctx)
		if err != nil {
			return err
		}
		b.print(result.HitTable(), result.CPUTable(0))
		if err := b.write(report.Page{Hits: result}); err != nil {
			return err
		}
	}
	if !b.chosen(iconData, onlyMisses, inClear, overTLS) {
		return nil
	}
	if err := b.startOrigin(ctx); err != nil {
		return err
	}
	if b.chosen(iconData) {
		result, err := b.measureLists(ctx)
		if err != nil {
			return err
		}
		b.print(result.Table(), result.RatioTable(), result.MixTable())
		if err := b.write(report.Page{Lists: result}); err != nil {
			return err
		}
	}
	if b.chosen(onlyMisses) {
		err := b.startContenders(ctx)
		if err == nil {
			err = b.calm(ctx)
		}
		if err == nil {
			err = b.measureMisses(ctx)
		}
		if err != nil {
			return err
		}
		b.stopContenders()
	}
	if b.chosen(inClear) {
		err := b.measureAll(ctx)
		if errors.Is(err, errWrong) {
			return err
		}
		b.show()
		if err := errors.Join(err, b.write(report.Page{Bench: &b.result})); err != nil {
			return err
		}
		b.stopContenders()
	}
	if !b.chosen(overTLS) {
		return nil
	}
	result, err := b.measureSecure(ctx)
	if err != nil {
		return err
	}
	b.print(result.CPUTable(0), result.TargetTable(), result.PaceTable(0), result.RestTable())
	return b.write(report.Page{Secure: result})
}

// write writes the page if --docs is set.
func (b *bench) write(measured report.Page) error {
	if b.docs == "" {
		return nil
	}
	return writeDocs(b.docs, measured)
}

// show prints the results so far.
func (b *bench) show() {
	if len(b.result.Cells) == 0 {
		return
	}
	b.print(b.result.CPUTable(0), b.result.CPUTable(b.rate), b.result.TargetTable(), b.result.MissTable())
	for _, column := range b.result.Measured() {
		b.print(b.result.ColumnTable(column, 0))
	}
	for _, column := range b.result.MeasuredRated() {
		fmt.Fprintf(b.std.Out, "\nat %.0f/s\n", b.rate)
		report.Text(b.std.Out, b.result.ColumnTable(column, b.rate))
	}
}

// print prints the tables that have figures.
func (b *bench) print(tables ...report.Table) {
	for _, t := range tables {
		if len(t.Rows) > 0 && len(t.Head) > 1 {
			fmt.Fprintln(b.std.Out)
			report.Text(b.std.Out, t)
		}
	}
}

// weigh reads the memory of the servers.
func (b *bench) weigh() error {
	for i, c := range b.contenders {
		rss, err := c.server.RSS()
		if err != nil {
			return err
		}
		b.result.Servers[i].Memory = rss
	}
	return nil
}

func (b *bench) stopContenders() {
	for _, c := range b.contenders {
		c.server.Stop()
	}
	b.contenders = nil
}

func (b *bench) stop() {
	b.stopContenders()
	if b.origin != nil {
		b.origin.Stop()
	}
}

// prepare pins this process to its core and makes the working folder. The function done removes the
// folder if prepare made it.
func (b *bench) prepare() (done func(), err error) {
	if err := peers.PinSelf(b.clientCPU); err != nil {
		return nil, err
	}
	if b.iconedge, err = filepath.Abs(b.iconedge); err != nil {
		return nil, err
	}
	if b.baseline != "" {
		if b.baseline, err = filepath.Abs(b.baseline); err != nil {
			return nil, err
		}
	}
	if _, err := exec.LookPath("h2load"); err != nil && b.chosen(overTLS, hits, "http2") {
		return nil, fmt.Errorf("measuring over TLS: %w (--install installs it from Debian, --only clear,iconify omits this part)", err)
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	b.result = b.header(names)
	b.work, done, err = workFolder(b.work)
	return done, err
}

// header returns the description of a part before its measurement.
func (b *bench) header(columns []string) report.Bench {
	r := report.Bench{
		Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Rounds: b.rounds,
		Seconds: b.round.Seconds(), Rate: b.rate, Icons: b.icons, Columns: columns,
	}
	for _, p := range peers.Packages {
		if version, err := p.Version(); err == nil {
			r.Versions = append(r.Versions, version)
		}
	}
	return r
}

// workFolder returns the given folder, or a new one in /dev/shm if there is one.
func workFolder(asked string) (dir string, done func(), err error) {
	if info, err := os.Stat("/dev/shm"); asked == "" && err == nil && info.IsDir() {
		return newFolder("/dev/shm")
	}
	return diskFolder(asked)
}

// diskFolder returns the given folder, or a new temporary one.
func diskFolder(asked string) (dir string, done func(), err error) {
	if asked == "" {
		return newFolder("")
	}
	dir, err = filepath.Abs(asked)
	return dir, func() {}, errors.Join(err, os.MkdirAll(asked, 0o755))
}

// newFolder makes a folder that servers which drop root can use too.
func newFolder(parent string) (dir string, done func(), err error) {
	if dir, err = os.MkdirTemp(parent, "loadtest-"); err != nil {
		return "", nil, fmt.Errorf("making the working folder: %w", err)
	}
	return dir, func() { os.RemoveAll(dir) }, os.Chmod(dir, 0o755)
}
