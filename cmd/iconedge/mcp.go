package main

import (
	"context"

	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/mcp"
)

const mcpHelp = `
Serves icons to agents over the Model Context Protocol, on stdin and stdout: search_icons, get_icon (svg, react, url, datauri),
list_packs, get_pack. It uses only the public API, and needs a licence token of the lifetime plan.

  export ICONEDGE_LICENSE_TOKEN=$(iconedge token issue --plan lifetime)
  iconedge mcp --api https://icons.example.org --cdn https://icons.example.org

With --http it serves streamable HTTP, without sessions, at /mcp. docs/how-to/mcp.md has the configuration of well-known clients.`

func runMCP(ctx context.Context, std cli.Streams, args []string) error {
	fs := iconedge.Flags("mcp", "", mcpHelp)
	cfg := mcp.Config{Version: buildVersion(), Out: std.Out}
	cfg.Flags(fs.FlagSet)
	logger := logFlags(fs, std)
	if err := fs.Parse(std, args); err != nil {
		return err
	}
	return serve(ctx, fs, &cfg.Log, logger, cfg.Validate, func(ctx context.Context) error { return mcp.Run(ctx, cfg) })
}
