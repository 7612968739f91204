//go:build linux

// Command loadtest loads HTTP servers and measures them. `loadtest run` loads any server. `loadtest
// bench` compares an edge of iconedge with nginx, Varnish, HAProxy and a bare fasthttp on one core
// of this machine, in the clear and over TLS. `loadtest grow` measures how the cost of an edge
// grows with its entries, connections, cores and bodies. `loadtest fleet` runs three regions on
// this machine while parts of them fail. The program is for developers of iconedge.
//
// Errors are one line on stderr. The exit status is 2 for a wrong call and 1 for a failure, which
// includes wrong responses.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/iconedge/iconedge/internal/cli"
)

var program = &cli.Program{Name: "loadtest", Does: "loadtest loads HTTP servers and measures them."}

var commands = []cli.Command{
	{Name: "run", Does: "load one server or several, and print their results", Run: runLoad},
	{Name: "bench", Does: "an edge against nginx, Varnish, HAProxy and bare fasthttp on one core", Run: runBench},
	{Name: "grow", Does: "how an edge's cost grows with entries, connections, cores and bodies", Run: runGrow},
	{Name: "entries", Does: "an edge with millions of small entries: memory, hits, purges, eviction, disk and restarts", Run: runEntries},
	{Name: "cores", Does: "what the event loops of an edge cost each other, and what 16 and 64 cores would give", Run: runCores},
	{Name: "handshakes", Does: "what a new connection costs an edge, over TCP and QUIC, in full and resumed", Run: runHandshakes},
	{Name: "pages", Does: "how long Chromium takes for a page over HTTP/2 and HTTP/3, with delay and loss", Run: runPages},
	{Name: "quic", Does: "the memory of connections over HTTP/3, and their processor time at rest", Run: runQUIC},
	{Name: "differences", Does: "what the difference between two versions of a file from npm costs, against br", Run: runDifferences},
	{Name: "fleet", Does: "three regions, shields, an origin, S3, Redis and Prometheus on this machine, with failures", Run: runFleet},
	{Name: "money", Does: "what a fleet takes for so many requests a month, and costs beside paid services, by prices", Run: runMoney},
	{Name: "ratio", Does: "the hit ratio of an edge's cache, beside LRU, SIEVE, S3-FIFO, W-TinyLFU and the optimum", Run: runRatio},
	{Name: "report", Does: "write docs/reference/performance.md and its lab book again from the figures beside them", Run: runReport},
	{Name: "library", Does: "a library of millions of icons, as copies of @iconify/json that differ, and what it costs", Run: runLibrary},
	{Name: "origin", Does: "an origin of made-up icons, for grow", Run: runOrigin},
	{Name: "ceiling", Does: "bare fasthttp, which answers with the stored responses of another server, for bench", Run: runCeiling},
	{Name: "smallest", Does: "the smallest server over HTTP/3, which answers with a constant body, for bench", Run: runSmallest},
	{Name: "relay", Does: "the network of a region, for fleet --simulate", Run: runRelay},
	{Name: "hold", Does: "a server that only holds TLS connections, for bench", Run: runHold},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	ctx, closed := context.WithCancel(ctx)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	// If the reader of the output is gone (loadtest … | head), main stops the servers that it
	// started.
	go func() {
		for range pipe {
			if unread(os.Stdout) || unread(os.Stderr) {
				closed()
			}
		}
	}()
	os.Exit(program.Run(ctx, commands, cli.Streams{Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
}

// unread reports whether f is a pipe without a reader. SIGPIPE alone does not tell: any broken
// connection causes it too.
func unread(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLERR != 0
}
