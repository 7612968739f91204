//go:build linux

// Command loadtest loads HTTP servers and measures them: `loadtest run` any server, `loadtest bench` an edge of this program against
// nginx, Varnish, HAProxy and a bare fasthttp on one core of this machine, in the clear and over TLS, `loadtest grow` how an edge's cost grows with what it
// holds and whom it serves. It is for those who build iconedge. Errors are one line on stderr: exit status 2 for a wrong call, 1 for
// a failure, wrong answers among them.
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
	{Name: "run", Does: "load one server or several, and print what they did", Run: runLoad},
	{Name: "bench", Does: "an edge against nginx, Varnish, HAProxy and bare fasthttp on one core", Run: runBench},
	{Name: "grow", Does: "how an edge's cost grows with entries, connections, cores and bodies", Run: runGrow},
	{Name: "fleet", Does: "three regions, shields, an origin, S3, Redis and Prometheus on this machine, while parts of them fail", Run: runFleet},
	{Name: "report", Does: "write docs/performance.md again from the figures kept beside it", Run: runReport},
	{Name: "origin", Does: "an origin of made-up icons, for grow", Run: runOrigin},
	{Name: "ceiling", Does: "bare fasthttp, answering from memory what another server answered, for bench", Run: runCeiling},
	{Name: "hold", Does: "TLS connections that are kept and no more, for bench", Run: runHold},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	ctx, closed := context.WithCancel(ctx)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	go func() { // nobody reads any more (loadtest … | head): the servers that were started must be stopped all the same
		for range pipe {
			if unread(os.Stdout) || unread(os.Stderr) {
				closed()
			}
		}
	}()
	os.Exit(program.Run(ctx, commands, cli.Streams{Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
}

// unread reports whether f is a pipe whose reader is gone. The signal comes of any connection that broke, too.
func unread(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLERR != 0
}
