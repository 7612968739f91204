// Command iconedge publishes a library of icons, serves it from an origin and from edge nodes, and
// manages licence tokens. `iconedge help` lists its commands; each has a --help with an example.
// Errors are one line on stderr: exit status 2 for a wrong call, 1 for a failure.
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

// version is set by the build of a release: -ldflags "-X main.version=v1.2.3".
var version = ""

// iconedge describes the command line. Every flag has an environment variable: --admin-listen is
// ICONEDGE_ADMIN_LISTEN.
var iconedge = &cli.Program{
	Name: "iconedge",
	Does: "iconedge serves a library of open-source icons from edge nodes.",
	Env:  "ICONEDGE",
}

// commands lists the commands. Servers need longer than prompt allows, because they drain before
// they end, and so call endBy themselves.
var commands = []cli.Command{
	{Name: "run", Does: "run origin and edge in one process over a folder: the whole service", Run: runAll},
	{Name: "publish", Does: "build a release of an icon library and make it current", Run: prompt(publishRelease)},
	{Name: "withdraw", Does: "withdraw an icon or a pack everywhere, at once", Run: prompt(withdraw)},
	{Name: "origin", Does: "serve a release from an object store: the origin service", Run: runOrigin},
	{Name: "edge", Does: "serve clients as a caching reverse proxy in front of an origin", Run: runEdge},
	{Name: "token", Does: "issue, revoke and list licence tokens", Run: prompt(tokens)},
	{Name: "mcp", Does: "serve icons to agents over the Model Context Protocol", Run: prompt(runMCP)},
	{Name: "health", Does: "check the health of a server, for containers", Run: prompt(health)},
	{Name: "version", Does: "print the version", Run: prompt(printVersion)},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	reloads()                    // SIGHUP ends no command, even one without files to read again
	os.Exit(iconedge.Run(ctx, commands, cli.Streams{Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
}

func printVersion(_ context.Context, std cli.Streams, _ []string) error {
	_, err := fmt.Fprintln(std.Out, "iconedge", buildVersion())
	return err
}

// buildVersion returns the version of the release, of the module, or of the commit that the program
// was built from.
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
