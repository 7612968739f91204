// Package commands has the commands of the program for people who use icons: search, get, lsp and
// launcher. It reads arguments and writes results; package client calls the service. The programs
// iconedge and iconedge-client share it.
package commands

import (
	"context"
	"errors"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/internal/cli"
)

// A Set is the commands of one program.
type Set struct {
	Program *cli.Program
	Version string // of the program, for the User-Agent
}

// All lists the commands.
func (s *Set) All() []cli.Command {
	return []cli.Command{
		{Name: "search", Does: "search icons", Run: s.search},
		{Name: "get", Does: "print an icon as SVG, React component, CSS, address or data URI", Run: s.get},
		{Name: "lsp", Does: "serve icons to editors over the Language Server Protocol", Run: s.lsp},
		{Name: "launcher", Does: "find and copy icons in rofi, Alfred, GNOME and KDE", Run: s.launcher},
	}
}

// flags returns the flags of a command that calls the service, and the configuration that they set.
func (s *Set) flags(name, usage, help string) (*cli.Flags, *client.Config) {
	cfg := &client.Config{Agent: "iconedge-" + name + "/" + s.Version, Plugin: true}
	f := s.Program.Flags(name, usage, help)
	cfg.Flags(f.FlagSet)
	return f, cfg
}

// parse reads the flags of a command and checks the configuration.
func parse(f *cli.Flags, cfg *client.Config, std cli.Streams, args []string) error {
	if err := f.Parse(std, args); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return cli.Usage(cli.OneLine(err))
	}
	return nil
}

// interrupted replaces the error of a call that a signal has ended by that of its context.
func interrupted(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return err
}
