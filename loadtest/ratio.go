//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/loadtest/ratio"
	"github.com/iconedge/iconedge/loadtest/report"
)

const ratioHelp = `
Plays traces of requests through the cache of an edge, with its recency window and ristretto, and through LRU, SIEVE, S3-FIFO,
W-TinyLFU (otter) and the optimum, which knows the future. It prints the share of requests, and of bytes, that each of them has.
The cache has room for 1 and 10 % of the objects; the others get as many bytes as its entries take. The made-up traces follow
Zipf's law: alone, with shifts, scans and loops, and with sizes.

--trace adds a file with a line for each request: a key, and optionally the size of the object in bytes. It may be in gzip. The
traces of 32-bit numbers that other projects publish become such files:

  od -An -v -tu4 -w4 --endian=big web07.trace > web07.txt

  loadtest ratio
  loadtest ratio --made=false --trace web07.txt --trace gli.lirs.gz`

func runRatio(ctx context.Context, std cli.Streams, args []string) error {
	fs := program.Flags("ratio", "", ratioHelp)
	var files cli.List
	fs.Var(&files, "trace", "`file` with a trace; may be given repeatedly")
	made := fs.Bool("made", true, "play the made-up traces too")
	s := ratio.Scale{}
	fs.IntVar(&s.Requests, "requests", 500_000, "`number` of requests of each trace; longer ones are cut")
	fs.IntVar(&s.Objects, "objects", 200_000, "`number` of objects of each made-up trace")
	docs := fs.String("docs", "", "`folder` of scale.md (default: it is not written)")
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	if s.Requests < 1 || s.Objects < ratio.MinObjects {
		return cli.Usage(fmt.Sprintf("--requests must be positive, --objects at least %d", ratio.MinObjects))
	}
	var traces []*ratio.Trace
	for _, name := range files {
		t, err := readTrace(name)
		if err != nil {
			return cli.Usage("--trace: " + cli.OneLine(err))
		}
		traces = append(traces, t.Cut(s.Requests))
	}
	if *made {
		traces = append(traces, ratio.Made(s)...)
	}
	if len(traces) == 0 {
		return cli.Usage("--made=false needs a --trace")
	}
	result, err := ratio.Compare(ctx, traces, std.Err)
	if err != nil {
		return err
	}
	for i, share := range ratio.Shares {
		fmt.Fprintf(std.Out, "hits in percent, with room for %g %% of the objects\n", 100*share)
		report.Text(std.Out, result.Table(i))
	}
	if *docs == "" {
		return nil
	}
	return writeScale(*docs, "ratio", "ratio", result.Section())
}

// readTrace reads a trace, whose name is that of its file up to the first dot.
func readTrace(file string) (*ratio.Trace, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return ratio.Read(name, f)
}
