//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/iconedge/iconedge/loadtest/h2load"
	"github.com/iconedge/iconedge/loadtest/load"
	"github.com/iconedge/iconedge/loadtest/mix"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

// The part of hits compares an edge that forwards every path with an edge of icons and with the
// other servers, in every protocol. Its origin is that of made-up icons, so it needs no library.

// A hitGroup is a part of it that --only names: its servers are measured in its columns.
type hitGroup struct {
	name             string
	servers, columns []string
}

var (
	besides   = []string{report.Forwarding, report.Nginx, report.Varnish, report.HAProxy}
	hitGroups = groups{
		{"forwarded", besides, []string{report.Zipf, report.Browser, report.Unchanged}},
		{"kinds", besides, []string{report.Head, report.Range, report.Since}},
		// HAProxy's cache stores nothing that varies by such a field
		{"kinds", []string{report.Forwarding, report.Nginx, report.Varnish}, []string{report.Device}},
		{"sites", []string{report.Forwarding, report.ForwardingSites, report.Nginx}, []string{report.Zipf}},
		{"icons", []string{report.Ours, report.Before, report.Sites}, []string{report.Zipf, report.Browser, report.Unchanged}},
		{"stored", []string{report.Forwarding, report.Nginx}, []string{report.StoredMiss}},
		{"http2", []string{report.Ours, report.Before, report.Forwarding, report.Nginx, report.H2O},
			[]string{report.Streams10, report.Streams50}},
		{"http3", []string{report.Ours, report.Before, report.Forwarding, report.Smallest}, []string{report.Quic10, report.Quic50}},
	}
	// hitServers is the order of the servers in each round.
	hitServers = []string{
		report.Ours, report.Before, report.Sites, report.Forwarding, report.ForwardingSites, report.Nginx,
		report.Varnish, report.HAProxy, report.H2O, report.Smallest,
	}
)

var hitColumns = []column{
	{name: report.Zipf, icons: all, kind: mix.Plain},
	{name: report.Browser, icons: all, kind: mix.Plain, fields: mix.Browser},
	{name: report.Unchanged, icons: all, kind: mix.Conditional, filled: true},
	{name: report.Since, icons: all, kind: mix.Plain, filled: true,
		fields: []string{"If-Modified-Since: " + modified.Format(http.TimeFormat)}},
	{name: report.Head, icons: all, kind: mix.Plain, filled: true, method: http.MethodHead},
	{name: report.Range, icons: all, kind: mix.Plain, filled: true, fields: []string{"Range: bytes=100-599"}},
	{name: report.Device, icons: byDevice, kind: mix.Plain, fields: []string{"X-Device: phone"}, other: []string{"X-Device: desktop"}},
}

var hitSecureColumns = []secureColumn{
	{name: report.Streams10, conns: 16, streams: 10},
	{name: report.Streams50, conns: 4, streams: 50},
	{name: report.Quic10, protocol: h2load.HTTP3, conns: 16, streams: 10},
	{name: report.Quic50, protocol: h2load.HTTP3, conns: 4, streams: 50},
}

// hitBody is the length of every body in bytes.
const hitBody = 1000

type groups []hitGroup

// has reports whether a server is measured in a column.
func (g groups) has(server, column string) bool {
	return slices.ContainsFunc(g, func(g hitGroup) bool { return slices.Contains(g.servers, server) && slices.Contains(g.columns, column) })
}

// servers lists the servers that are measured in any of the columns.
func (g groups) servers(columns ...string) []string {
	return slices.DeleteFunc(slices.Clone(hitServers), func(server string) bool {
		return !slices.ContainsFunc(columns, func(column string) bool { return g.has(server, column) })
	})
}

// measureHits measures the selected groups.
func (b *bench) measureHits(ctx context.Context) (*report.Bench, error) {
	h := *b // the same settings, with an origin, servers and columns of its own
	h.work, h.contenders = filepath.Join(b.work, "hits"), nil
	h.groups = slices.DeleteFunc(slices.Clone(hitGroups), func(g hitGroup) bool { return !b.chosen(g.name) && !b.chosen(hits) })
	h.columns = slices.DeleteFunc(slices.Clone(hitColumns), func(c column) bool { return len(h.groups.servers(c.name)) == 0 })
	secure := slices.DeleteFunc(slices.Clone(hitSecureColumns), func(c secureColumn) bool { return len(h.groups.servers(c.name)) == 0 })
	var clear, encrypted []string
	for _, c := range h.columns {
		clear = append(clear, c.name)
	}
	for _, c := range secure {
		encrypted = append(encrypted, c.name)
	}
	clear = append(clear, report.StoredMiss)
	h.result = h.header(slices.Concat(clear, encrypted))
	h.names = h.groups.servers(clear...)
	defer h.stop()
	if err := h.startMadeUp(ctx); err != nil {
		return nil, err
	}
	if len(h.names) > 0 {
		if err := h.measureClear(ctx); err != nil {
			return nil, err
		}
	}
	if len(secure) > 0 {
		if err := h.measureEncrypted(ctx, h.groups.servers(encrypted...), secure); err != nil {
			return nil, err
		}
	}
	return &h.result, nil
}

// startMadeUp starts the origin of made-up icons, and fetches them for reference.
func (b *bench) startMadeUp(ctx context.Context) error {
	place := peers.Place{Dir: filepath.Join(b.work, "origin"), CPUs: strconv.Itoa(b.clientCPU), Cores: 1}
	spec, err := peers.Self("origin", "origin", place, "--body", strconv.Itoa(hitBody))
	if err != nil {
		return err
	}
	if b.origin, err = peers.Start(ctx, spec); err != nil {
		return err
	}
	b.paths = madeUp(0, b.icons)
	b.reference, err = newReference(ctx, target{"origin", spec.Listen.String(), spec.Listen}, b.paths)
	return err
}

// madeUp returns the paths of n icons.
func madeUp(first, n int) (paths []string) {
	for i := range n {
		paths = append(paths, iconPath(uint64(first+i)))
	}
	return paths
}

// measureClear measures the columns without TLS, stored misses, and allocations.
func (b *bench) measureClear(ctx context.Context) error {
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
		if err := b.measureStored(ctx, round); err != nil {
			return err
		}
	}
	for _, c := range b.contenders {
		plan := c.plans[report.Zipf]
		if plan == nil {
			continue
		}
		err := b.countAllocations(ctx, c.server, report.Zipf, func(n int) error {
			once := load.Plan{Requests: plan.Requests, Order: slices.Repeat(plan.Order, n/len(plan.Order)+1)[:n], Once: true}
			_, err := b.once(ctx, c.server.Listen, once, c.server)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	b.stopContenders()
	return nil
}

// firstMissed is the number of the first icon that only misses request.
const firstMissed = 1_000_000

// mostFetched is the origin's CPU time for a response in microseconds, above which it was asked for
// it: a response takes several times as much.
const mostFetched = 5

// measureStored measures misses, and requests the same again: all of them must have been stored.
func (b *bench) measureStored(ctx context.Context, round int) error {
	if b.misses == 0 || len(b.groups.servers(report.StoredMiss)) == 0 {
		return nil
	}
	first := firstMissed + round*b.misses
	paths, wants := madeUp(first, b.misses), map[string]load.Want{}
	for i, p := range paths {
		wants[p] = load.Want{Status: http.StatusOK, Length: hitBody, Sum: load.Checksum(drawIcon(uint64(first+i), hitBody)), Summed: true}
	}
	for _, c := range b.contenders {
		if !b.groups.has(c.name, report.StoredMiss) {
			continue
		}
		miss := missLoad{report.StoredMiss, c.server, paths, wants}
		server, _, err := b.missRound(ctx, miss, paths)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", c.name, report.StoredMiss, err)
		}
		_, origin, err := b.missRound(ctx, miss, paths)
		if err == nil && origin > mostFetched {
			err = fmt.Errorf("the origin used %.1f µs for each response that was stored: %w", origin, errFetched)
		}
		if err != nil {
			return fmt.Errorf("%s, %s: %w", c.name, report.StoredMiss, err)
		}
		b.result.Add(c.name, report.StoredMiss, 0, load.Result{CPUMicros: server, Answers: int64(len(paths))})
		fmt.Fprintf(b.std.Err, "round %d/%d  %-26s %-26s %6.2f µs\n", round+1, b.rounds, report.StoredMiss, c.name, server)
	}
	return nil
}

// measureEncrypted measures the columns over TLS, and allocations.
func (b *bench) measureEncrypted(ctx context.Context, names []string, columns []secureColumn) error {
	s, err := b.secureBench(names, columns)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.measureAll(ctx); err != nil {
		return err
	}
	b.result.Merge(&s.result.Bench)
	for _, c := range s.servers {
		for _, column := range []string{report.Streams50, report.Quic50} {
			l := c.loads[column]
			if l == nil {
				continue
			}
			err := b.countAllocations(ctx, c.server, column, func(n int) error {
				_, err := l.run(ctx, c.server, l.requestsFor(float64(n)))
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

// fewAllocations and manyAllocations are the numbers of requests of two runs over as many
// connections. What the second allocates beyond the first is due to its other requests.
const (
	fewAllocations  = leastSecure
	manyAllocations = fewAllocations + 50_000
)

// countAllocations adds the objects that an edge allocates for a hit to the result.
func (b *bench) countAllocations(ctx context.Context, server *peers.Server, column string, run func(n int) error) error {
	if !isEdge(server.Name) {
		return nil
	}
	var counts []float64
	for _, n := range []int{0, fewAllocations, manyAllocations} {
		if n > 0 {
			if err := run(n); err != nil {
				return err
			}
		}
		count, err := server.Metric(ctx, "go_memstats_mallocs_total")
		if err != nil {
			return err
		}
		counts = append(counts, count)
	}
	each := (counts[2] - 2*counts[1] + counts[0]) / (manyAllocations - fewAllocations)
	b.result.Allocations = append(b.result.Allocations, report.Allocation{Server: server.Name, Column: column, Each: max(0, each)})
	fmt.Fprintf(b.std.Err, "%-26s %-26s %6.2f objects allocated a hit\n", column, server.Name, each)
	return nil
}
