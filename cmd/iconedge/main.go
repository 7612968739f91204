// Command iconedge publishes a library of icons, serves it from an origin and from edge nodes, and
// manages licence tokens. `iconedge help` lists its commands; each has a --help with an example.
// Errors are one line on stderr: exit status 2 for a wrong call, 1 for a failure.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/iconedge/iconedge/clients/go/commands"
	"github.com/iconedge/iconedge/internal/cli"
)

// version is set by deploy/dist.sh and make image: -ldflags "-X main.version=1.2.3".
var version = ""

// iconedge describes the command line. Every flag has an environment variable: --admin-listen is
// ICONEDGE_ADMIN_LISTEN.
var iconedge = &cli.Program{
	Name:      "iconedge",
	Does:      "iconedge serves a library of open-source icons from edge nodes.",
	Env:       "ICONEDGE",
	Variables: strings.Fields(variables),
}

// variables has the environment variables of the flags of all commands. A test writes it from their
// --help.
//
//go:embed variables.txt
var variables string

// ownCommands lists the commands of operators and agents. Servers need longer than prompt allows,
// because they drain before they end, and so call endBy themselves.
var ownCommands = []cli.Command{
	{Name: "run", Does: "run origin and edge in one process over a folder: the whole service", Run: runAll},
	{Name: "publish", Does: "build a release of an icon library and make it current", Run: prompt(publishRelease)},
	{Name: "withdraw", Does: "withdraw an icon or a pack everywhere, at once", Run: prompt(withdraw)},
	{Name: "origin", Does: "serve a release from an object store: the origin service", Run: runOrigin},
	{Name: "edge", Does: "serve clients as a caching reverse proxy in front of an origin", Run: runEdge},
	{Name: "config", Does: "check, describe and explain the configuration file of an edge", Run: prompt(configure)},
	{Name: "top", Does: "show who sends an edge the most requests now", Run: prompt(runTop)},
	{Name: "token", Does: "issue, revoke and list licence tokens", Run: prompt(tokens)},
	{Name: "mcp", Does: "serve icons to agents over the Model Context Protocol", Run: prompt(runMCP)},
	{Name: "health", Does: "check the health of a server, for containers", Run: prompt(health)},
	{Name: "version", Does: "print the version", Run: prompt(printVersion)},
}

// allCommands returns the commands of operators, then those of people who use icons.
func allCommands() []cli.Command {
	clients := commands.Set{Program: iconedge, Version: buildVersion()}
	all := slices.Clone(ownCommands)
	for _, c := range clients.All() {
		c.Run = prompt(c.Run)
		all = append(all, c)
	}
	return iconedge.Documented(all)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	reloads()                    // SIGHUP ends no command, even one without files to read again
	os.Exit(iconedge.Run(ctx, allCommands(), cli.Streams{Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
}

func printVersion(_ context.Context, std cli.Streams, _ []string) error {
	_, err := fmt.Fprintln(std.Out, "iconedge", buildVersion())
	return err
}

func buildVersion() string { return cli.BuildVersion(version) }
