//go:build linux

// Command loadtest loads HTTP servers and measures them: `loadtest run` any server, `loadtest bench` an edge of this program against
// nginx, Varnish, HAProxy and a bare fasthttp on one core of this machine, in the clear and over TLS, `loadtest grow` how an edge's cost grows with what it
// holds and whom it serves. It is for those who build iconedge. Errors are one line on stderr: exit status 2 for a wrong call, 1 for
// a failure, wrong answers among them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A command is one word of the command line. It returns nil, an error, or an errUsage for a wrong call.
type command struct {
	name, does string
	run        func(ctx context.Context, std streams, args []string) error
}

// streams are where a command prints: results on out, everything else on err.
type streams struct{ out, err io.Writer }

var commands = []command{
	{"run", "load one server or several, and print what they did", runLoad},
	{"bench", "an edge against nginx, Varnish, HAProxy and bare fasthttp on one core", runBench},
	{"grow", "how an edge's cost grows with entries, connections, cores and bodies", runGrow},
	{"fleet", "three regions, shields, an origin, S3, Redis and Prometheus on this machine, while parts of them fail", runFleet},
	{"report", "write docs/performance.md again from the figures kept beside it", runReport},
	{"origin", "an origin of made-up icons, for grow", runOrigin},
	{"ceiling", "bare fasthttp, answering from memory what another server answered, for bench", runCeiling},
	{"hold", "TLS connections that are kept and no more, for bench", runHold},
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
	os.Exit(call(ctx, streams{os.Stdout, os.Stderr}, os.Args[1:]))
}

// unread reports whether f is a pipe whose reader is gone. The signal comes of any connection that broke, too.
func unread(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLERR != 0
}

// call runs the command that args name and returns the exit status.
func call(ctx context.Context, std streams, args []string) int {
	err := dispatch(ctx, std, args)
	switch {
	case err == nil, errors.Is(err, errHelp):
		return 0
	case errors.As(err, new(errUsage)):
		fmt.Fprintln(std.err, "loadtest:", oneLine(err))
		return 2
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(std.err, "loadtest: stopped")
	default:
		fmt.Fprintln(std.err, "loadtest:", oneLine(err))
	}
	return 1
}

func dispatch(ctx context.Context, std streams, args []string) error {
	if len(args) == 0 {
		return errUsage("no command given; see loadtest help")
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		help(std.out)
		return nil
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(ctx, std, args[1:])
		}
	}
	return errUsage(fmt.Sprintf("no command %q; see loadtest help", args[0]))
}

func help(w io.Writer) {
	fmt.Fprint(w, "loadtest loads HTTP servers and measures them.\n\nusage: loadtest COMMAND [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s  %s\n", c.name, c.does)
	}
	fmt.Fprint(w, "\nloadtest COMMAND --help explains one of them, with an example.\n")
}
