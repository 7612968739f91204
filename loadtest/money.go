//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/report"
)

// A demand is what a month brings.
type demand struct {
	requests float64 // in all regions
	wire     float64 // bytes of a response, with its fields
	missed   float64 // share of requests that an edge sends on
	peak     float64 // requests a second in the busiest hour, by the mean of the month
	regions  int
	objects  float64 // that an edge keeps
}

// A node is a machine of a region and what it costs. Times are of one of its cores.
type node struct {
	cores     float64
	hit, miss time.Duration
	entry     float64 // bytes that a stored object takes besides its body
	dollars   float64 // a month
	included  float64 // GB of traffic out that come with it
	gigabyte  float64 // dollars for each GB beyond that
}

// A bill is the prices of a service that delivers for others.
type bill struct{ gigabyte, million float64 }

// of returns what the service costs for a month.
func (b bill) of(d demand) float64 {
	return d.traffic()*b.gigabyte + d.requests/1e6*b.million
}

// traffic returns the GB that clients get.
func (d demand) traffic() float64 { return d.requests * d.wire / 1e9 }

// A need is what an own fleet takes for a demand.
type need struct {
	rate    float64 // requests a second at the peak
	cores   float64 // busy then, in all regions
	nodes   int     // in all regions, two in each at least, so that one may fail
	memory  float64 // bytes of a node
	between float64 // GB between regions: what the edges fetch from a shield
	dollars float64
}

const (
	month = 8766 * time.Hour / 12
	// busiest is the part of a node's cores that are busy at the peak, so that a neighbour's
	// failure finds room.
	busiest = 0.5
	// programMemory is the memory of an edge without entries and connections, in bytes, and
	// connectionMemory the memory of a connection over TLS (docs/how-to/sizing.md).
	programMemory    = 45e6
	connectionMemory = 18e3
	// Each connection brings ten requests and rests for the time of --idle-timeout.
	perConnection, restFor = 10, 20
	// garbage is the memory of an edge by what its cache counts.
	garbage = 1.4
)

// takes returns what an own fleet of such nodes takes.
func (d demand) takes(n node) need {
	t := need{rate: d.requests / month.Seconds() * d.peak, between: d.traffic() * d.missed}
	t.cores = t.rate * ((1-d.missed)*n.hit.Seconds() + d.missed*n.miss.Seconds())
	each := max(2, int(math.Ceil(t.cores/float64(d.regions)/(n.cores*busiest))))
	t.nodes = each * d.regions
	t.memory = programMemory + garbage*d.objects*(d.wire+n.entry) + t.rate/float64(t.nodes)*restFor/perConnection*connectionMemory
	out := d.traffic() + t.between
	t.dollars = float64(t.nodes)*n.dollars + max(0, out-float64(t.nodes)*n.included)*n.gigabyte
	return t
}

const moneyHelp = `
Computes what an own fleet takes for so many requests a month, and what it costs beside two paid services, by their prices. All
prices are inputs: the defaults are list prices without discounts, as they were published in 2026, in dollars. The times are those
of docs/reference/performance.md.

  loadtest money
  loadtest money --requests 5e9 --bytes 30000 --node-dollars 120 --node-traffic 0 --gigabyte .02`

// runMoney prints what fleets of several sizes take and cost.
func runMoney(_ context.Context, s cli.Streams, args []string) error {
	fs := program.Flags("money", "", moneyHelp)
	requests := fs.String("requests", "1e9,1e10,1e11", "`numbers` of requests a month, in all regions")
	d := demand{}
	fs.Float64Var(&d.wire, "bytes", 1500, "`bytes` of a response with its fields, on the wire")
	fs.Float64Var(&d.missed, "missed", .02, "`share` of the requests that an edge does not have")
	fs.Float64Var(&d.peak, "peak", 3, "requests a second in the busiest hour, by the mean of the month")
	fs.IntVar(&d.regions, "regions", 3, "`number` of regions, each with two nodes or more")
	fs.Float64Var(&d.objects, "objects", 1e6, "`number` of objects that each edge keeps in memory")
	n := node{entry: 900}
	fs.Float64Var(&n.cores, "cores", 4, "`number` of cores of a node")
	fs.DurationVar(&n.hit, "hit", 13*time.Microsecond, "time of a core for a hit")
	fs.DurationVar(&n.miss, "miss", 245*time.Microsecond, "time of a core for a stored miss")
	fs.Float64Var(&n.dollars, "node-dollars", 40, "price of a node a month")
	fs.Float64Var(&n.included, "node-traffic", 0, "`GB` of traffic that come with a node")
	fs.Float64Var(&n.gigabyte, "gigabyte", .01, "price of each GB beyond that")
	var by [2]bill
	fs.Float64Var(&by[0].gigabyte, "a-gigabyte", .085, "price of a GB at the first service")
	fs.Float64Var(&by[0].million, "a-million", 1, "price of a million requests there")
	fs.Float64Var(&by[1].gigabyte, "b-gigabyte", .01, "price of a GB at the second service")
	fs.Float64Var(&by[1].million, "b-million", 0, "price of a million requests there")
	if err := fs.Parse(s, args); err != nil {
		return err
	}
	var all []float64
	for text := range strings.SplitSeq(*requests, ",") {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || f <= 0 {
			return cli.Usage(fmt.Sprintf("--requests: %q is no number of requests, such as 1e9", text))
		}
		all = append(all, f)
	}
	if d.regions < 1 || n.cores <= 0 || d.missed < 0 || d.missed > 1 {
		return cli.Usage("--regions and --cores must be positive, --missed a share from 0 to 1")
	}
	return writeMoney(s.Out, d, n, by, all)
}

func writeMoney(out io.Writer, d demand, n node, by [2]bill, all []float64) error {
	table := report.Table{Head: []string{"requests a month", "a second at the peak", "traffic, TB", "between regions, TB", "busy cores",
		"nodes", "memory of a node, GB", "own fleet", "service A", "service B"}}
	dollars := func(f float64) string { return report.Grouped(f) + " $" }
	for _, requests := range all {
		d.requests = requests
		t := d.takes(n)
		table.Rows = append(table.Rows, []string{fmt.Sprintf("%g", requests), report.Grouped(t.rate), fmt.Sprintf("%.1f", d.traffic()/1e3),
			fmt.Sprintf("%.2f", t.between/1e3), fmt.Sprintf("%.1f", t.cores), strconv.Itoa(t.nodes), fmt.Sprintf("%.1f", t.memory/1e9),
			dollars(t.dollars), dollars(by[0].of(d)), dollars(by[1].of(d))})
	}
	_, err := io.WriteString(out, table.Markdown())
	return err
}
