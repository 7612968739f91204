package commands

import (
	"context"
	"log/slog"
	"os"

	"github.com/iconedge/iconedge/clients/go/lsp"
	"github.com/iconedge/iconedge/internal/cli"
)

const lspHelp = `
Serves icons to editors over the Language Server Protocol, on stdin and stdout: completion, hover, links, warnings about unknown
names with quick fixes, and the command iconedge.insert. docs/how-to/editors.md has the configuration of editors.

  iconedge lsp --api https://icons.example.org --cdn https://icons.example.org`

func (s *Set) lsp(ctx context.Context, std cli.Streams, args []string) error {
	f, cfg := s.flags("lsp", "", lspHelp)
	debug := f.Bool("debug", false, "log the calls of the API on stderr")
	if err := parse(f, cfg, std, args); err != nil {
		return err
	}
	level := slog.LevelWarn
	if *debug {
		level = slog.LevelDebug
	}
	cfg.Log = slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: level}))
	return lsp.Run(ctx, lsp.Config{Client: *cfg, In: os.Stdin, Out: std.Out, Log: cfg.Log, Version: s.Version})
}
