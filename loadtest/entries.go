//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/entries"
	"github.com/iconedge/iconedge/loadtest/peers"
	"github.com/iconedge/iconedge/loadtest/report"
)

const entriesHelp = `
Measures an edge with many small entries: in memory, their size, hits while the garbage collector runs, purges and eviction; on
disk, with memory for a tenth of them, their size, the edge's end, and its start with them. The origin, in this process, has as
many responses as there are. Five million entries of 1,000 bytes take 9 GB of memory, then as much disk, and half an hour.

  make build .cache/loadtest && .cache/loadtest entries --iconedge ./iconedge --entries 1000000`

func runEntries(ctx context.Context, std cli.Streams, args []string) error {
	fs := program.Flags("entries", "", entriesHelp)
	c := entries.Config{Log: std.Err}
	fs.StringVar(&c.Program, "iconedge", "./iconedge", "`program` whose edge is measured")
	fs.IntVar(&c.Entries, "entries", 1_000_000, "`number` of entries")
	fs.IntVar(&c.Body, "body", 1000, "`bytes` of each response body")
	fs.BoolVar(&c.Memory, "memory", true, "measure entries in memory")
	fs.BoolVar(&c.Disk, "disk", true, "measure entries on disk")
	fs.IntVar(&c.EdgeCPU, "server-cpu", 0, "`core` of the edge")
	clientCPU := fs.Int("client-cpu", 1, "`core` of the load tester, which is the origin too")
	work := fs.String("work", "", "`folder` for the disk tier (default a new one in the temporary folder)")
	docs := fs.String("docs", "", "`folder` of scale.md, which gets the figures (default: they are not written)")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if c.Entries < entries.MinEntries || c.Body < 1 {
		return cli.Usage(fmt.Sprintf("--entries must be at least %d, --body at least 1", entries.MinEntries))
	}
	if c.EdgeCPU < 0 || *clientCPU < 0 || c.EdgeCPU == *clientCPU {
		return cli.Usage("--server-cpu and --client-cpu must differ")
	}
	var err error
	if c.Program, err = filepath.Abs(c.Program); err != nil {
		return err
	}
	if err := peers.PinSelf(*clientCPU); err != nil {
		return err
	}
	dir, done, err := diskFolder(*work)
	if err != nil {
		return err
	}
	defer done()
	c.Dir = dir
	tables, err := entries.Run(ctx, c)
	for _, t := range tables {
		report.Text(std.Out, t)
		if err == nil && *docs != "" {
			err = writeScale(*docs, "entries "+t.Head[0], "entries", machine().String()+"\n\n"+t.Markdown())
		}
	}
	return err
}
