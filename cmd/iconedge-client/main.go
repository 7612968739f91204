// Command iconedge-client has the commands of iconedge for people who use icons, without the
// servers: it is a small download. `iconedge-client help` lists them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/iconedge/iconedge/clients/go/commands"
	"github.com/iconedge/iconedge/internal/cli"
)

// version is set by deploy/dist.sh and make plugins: -ldflags "-X main.version=1.2.3".
var version = ""

// The variables of its flags are those of iconedge.
var program = &cli.Program{
	Name: "iconedge-client",
	Does: "iconedge-client finds and inserts open-source icons.",
	Env:  "ICONEDGE",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	set := commands.Set{Program: program, Version: cli.BuildVersion(version)}
	all := append(set.All(), cli.Command{Name: "version", Does: "print the version", Run: printVersion})
	os.Exit(program.Run(ctx, program.Documented(all), cli.Streams{Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
}

func printVersion(_ context.Context, std cli.Streams, _ []string) error {
	_, err := fmt.Fprintln(std.Out, program.Name, cli.BuildVersion(version))
	return err
}
