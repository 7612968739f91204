// Command iconedge publishes a library of icons, serves it from an origin and from edge nodes, and keeps licence tokens.
// `iconedge help` lists its commands; every one of them has a --help with an example. Errors are one line on stderr:
// exit status 2 for a wrong call, 1 for a failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// version is set when a release is built: -ldflags "-X main.version=v1.2.3".
var version = ""

// A command is one word of the command line. It returns nil, an error, or an errUsage for a wrong call.
type command struct {
	name, does string
	run        func(ctx context.Context, std streams, args []string) error
	drains     bool // it is a server that answers requests under way first; see endBy
}

// streams are where a command prints: answers on out, everything else on err.
type streams struct{ out, err *os.File }

var commands = []command{
	{"run", "origin and edge in one process over a folder: the whole service", runAll, true},
	{"publish", "build a release of an icon library and make it current", publishRelease, false},
	{"origin", "the origin service: answers from a release in an object store", runOrigin, true},
	{"edge", "an edge node: the caching reverse proxy in front of an origin", runEdge, true},
	{"token", "issue, revoke and list licence tokens", tokens, false},
	{"mcp", "icons for agents, over the Model Context Protocol", runMCP, false},
	{"health", "ask a server how it is, for containers", health, false},
	{"version", "print the version", printVersion, false},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	reloads()                    // SIGHUP ends no command, also none that has nothing to read again
	os.Exit(call(ctx, streams{os.Stdout, os.Stderr}, os.Args[1:]))
}

// call runs the command that args name and returns the exit status.
func call(ctx context.Context, std streams, args []string) int {
	err := dispatch(ctx, std, args)
	switch {
	case err == nil, errors.Is(err, errHelp):
		return 0
	case errors.As(err, new(errUsage)):
		fmt.Fprintln(std.err, "iconedge:", oneLine(err))
		return 2
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(std.err, "iconedge: stopped")
	default:
		fmt.Fprintln(std.err, "iconedge:", oneLine(err))
	}
	return 1
}

func dispatch(ctx context.Context, std streams, args []string) error {
	if len(args) == 0 {
		return errUsage("no command given; see iconedge help")
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		help(std.out)
		return nil
	case "-version", "--version":
		return printVersion(ctx, std, nil)
	}
	for _, c := range commands {
		if c.name == args[0] {
			if !c.drains {
				endBy(ctx, std, stopWithin)
			}
			return c.run(ctx, std, args[1:])
		}
	}
	return errUsage(fmt.Sprintf("no command %q; see iconedge help", args[0]))
}

func help(w io.Writer) {
	fmt.Fprint(w, "iconedge serves a library of open-source icons from edge nodes.\n\nusage: iconedge COMMAND [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s  %s\n", c.name, c.does)
	}
	fmt.Fprint(w, "\niconedge COMMAND --help explains one of them, with an example. Every flag has an environment variable:\n--admin-listen is ICONEDGE_ADMIN_LISTEN; a flag wins.\n")
}

func printVersion(_ context.Context, std streams, _ []string) error {
	_, err := fmt.Fprintln(std.out, "iconedge", buildVersion())
	return err
}

// buildVersion is the version of a release, else that of the module or of the commit that this was built from.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "devel"
}
