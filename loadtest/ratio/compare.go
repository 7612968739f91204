// Package ratio compares the hit ratio of an edge's cache with those of other policies. Traces of
// requests decide.
package ratio

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/iconedge/iconedge/loadtest/report"
)

// A Share is what a policy had of a trace: 0 to 1.
type Share struct{ Hits, Bytes float64 }

// A Row is a trace with a size of the cache.
type Row struct {
	Trace   *Trace
	Entries int     // that the edge's cache had at the end
	Shares  []Share // of the edge's cache, then by peers
}

// A Result has the rows for each size of the cache, by Shares.
type Result [][]Row

// A peer is a policy that is compared with the edge's cache.
type peer struct {
	name string
	make func(t *Trace, c costs, capacity int64) policy
}

// peers has the optimum last, because it alone knows the future.
var peers = []peer{
	{"LRU", newLRU}, {"SIEVE", newSieve}, {"S3-FIFO", newS3FIFO}, {"W-TinyLFU", newTinyLFU}, {"optimum", newOptimum},
}

// Compare runs all traces through the cache of an edge, and through the peers with as many bytes as
// that holds. It writes a line for each to log.
//
// Meanwhile all goroutines run in turn, so that ristretto has counted the uses before a request, as
// at the load that an edge has.
func Compare(ctx context.Context, traces []*Trace, log io.Writer) (Result, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r := make(Result, len(Shares))
	for _, t := range traces {
		for i, share := range Shares {
			row, err := compare(ctx, t, share)
			if err != nil {
				return nil, err
			}
			r[i] = append(r[i], row)
			fmt.Fprintf(log, "%s, %s of its objects: %.1f %% hits\n", t.Name, percent(share), 100*row.Shares[0].Hits)
		}
	}
	return r, nil
}

func compare(ctx context.Context, t *Trace, share float64) (Row, error) {
	ours, err := newEdgeCache(t, ceilingFor(t, share))
	if err != nil {
		return Row{}, err
	}
	row := Row{Trace: t, Shares: []Share{t.play(ours)}}
	entries, bytes := ours.stored()
	ours.cache.Close()
	row.Entries = entries
	for _, p := range peers {
		if err := ctx.Err(); err != nil {
			return Row{}, err
		}
		row.Shares = append(row.Shares, t.play(p.make(t, ours.costs, bytes)))
	}
	return row, nil
}

// play requests all objects of the trace in turn.
func (t *Trace) play(p policy) Share {
	var hits, hitBytes, bytes float64
	for _, object := range t.Requests {
		size := float64(t.size(object))
		bytes += size
		if p.request(object) {
			hits++
			hitBytes += size
		}
	}
	return Share{hits / float64(len(t.Requests)), hitBytes / bytes}
}

// Table returns the hit ratios for a size of the cache, in percent. A trace with sizes has its byte
// hit ratios in a second row.
func (r Result) Table(size int) report.Table {
	table := report.Table{Head: []string{"trace", "entries", "iconedge"}}
	for _, p := range peers {
		table.Head = append(table.Head, p.name)
	}
	table.Head = append(table.Head, "iconedge to the best of four")
	for _, row := range r[size] {
		add := func(name string, of func(Share) float64) {
			cells := []string{name, report.Grouped(float64(row.Entries))}
			for _, s := range row.Shares {
				cells = append(cells, fmt.Sprintf("%.1f", 100*of(s)))
			}
			table.Rows = append(table.Rows, append(cells, fmt.Sprintf("%+.1f", 100*row.ahead(of))))
		}
		add(row.Trace.Name, func(s Share) float64 { return s.Hits })
		if row.Trace.Sized() {
			add(row.Trace.Name+": bytes", func(s Share) float64 { return s.Bytes })
		}
	}
	return table
}

// ahead returns by how much the edge's cache is better than the best policy that does not know the
// future.
func (r Row) ahead(of func(Share) float64) float64 {
	best := 0.0
	for _, s := range r.Shares[1 : len(r.Shares)-1] {
		best = max(best, of(s))
	}
	return of(r.Shares[0]) - best
}

func percent(share float64) string { return fmt.Sprintf("%g %%", 100*share) }

// Section returns the tables as a part of a page.
func (r Result) Section() string {
	parts := ""
	for i, share := range Shares {
		parts += fmt.Sprintf("Room for %s of the objects:\n\n%s\n", percent(share), r.Table(i).Markdown())
	}
	return strings.TrimSuffix(parts, "\n")
}
