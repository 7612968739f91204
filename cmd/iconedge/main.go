// Command iconedge publishes a library of icons, serves it from an origin and from edge nodes, and keeps licence tokens.
// `iconedge help` lists its commands; every one of them has a --help with an example. Errors are one line on stderr:
// exit status 2 for a wrong call, 1 for a failure.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/iconedge/iconedge/internal/cli"
)

// version is set when a release is built: -ldflags "-X main.version=v1.2.3".
var version = ""

// iconedge is the command line. Every flag has an environment variable: --admin-listen is
// ICONEDGE_ADMIN_LISTEN.
var iconedge = &cli.Program{
	Name: "iconedge",
	Does: "iconedge serves a library of open-source icons from edge nodes.",
	Env:  "ICONEDGE",
}

// commands are the commands of iconedge. The servers drain before they end, and so call endBy
// themselves, with a longer time.
var commands = []cli.Command{
	{Name: "run", Does: "origin and edge in one process over a folder: the whole service", Run: runAll},
	{Name: "publish", Does: "build a release of an icon library and make it current", Run: prompt(publishRelease)},
	{Name: "origin", Does: "the origin service: answers from a release in an object store", Run: runOrigin},
	{Name: "edge", Does: "an edge node: the caching reverse proxy in front of an origin", Run: runEdge},
	{Name: "token", Does: "issue, revoke and list licence tokens", Run: prompt(tokens)},
	{Name: "mcp", Does: "icons for agents, over the Model Context Protocol", Run: prompt(runMCP)},
	{Name: "health", Does: "ask a server how it is, for containers", Run: prompt(health)},
	{Name: "version", Does: "print the version", Run: prompt(printVersion)},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	reloads()                    // SIGHUP ends no command, not even one that re-reads nothing
	os.Exit(iconedge.Run(ctx, commands, cli.Streams{Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
}

func printVersion(_ context.Context, std cli.Streams, _ []string) error {
	_, err := fmt.Fprintln(std.Out, "iconedge", buildVersion())
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
