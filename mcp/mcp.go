// Package mcp lets agents find, get and credit icons over the Model Context Protocol: four tools,
// two kinds of resources and a prompt, on stdin and stdout or over streamable HTTP. It is a client
// of the public API at one fixed address, which no argument can change. It knows nothing of edges,
// origins or stores.
//
// Only protocol messages go to stdout. Every call needs a licence token that the API confirms for
// the plan "lifetime"; until then the package makes no other request. It sends the token to the API
// only, and never logs or returns it.
//
// The file tools.json defines the arguments and results of each tool. Package react of clients/go
// writes React components.
package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	name         = "iconedge"
	instructions = "Call search_icons first, then get_icon with the pack and name of a hit " +
		"(format: svg, react, url or datauri; or output: png). " +
		"Keep the license and the attribution that come with an icon wherever you use it, and tell the user when commercial_use is false."
)

// listsFor is how long a client may cache the lists of tools, resources and prompts: they change
// only with the program.
const listsFor = 3600_000 // ms

// Run serves until the context ends or, on stdio, until the client closes stdin.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.filled()
	s := newServer(cfg)
	if cfg.HTTP != "" || cfg.Listener != nil {
		return serveHTTP(ctx, cfg, s)
	}
	return serveLines(ctx, cfg, s)
}

// newServer returns a server with all tools, resources and prompts.
func newServer(cfg Config) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Title: "iconedge icons", Version: cfg.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{},
			Prompts: &sdk.PromptCapabilities{}},
		SetCacheable: func(_ context.Context, req sdk.Request, c *sdk.Cacheable) {
			if _, reading := req.(*sdk.ReadResourceRequest); reading {
				c.CacheScope = "private" // icons are for licence holders
			} else {
				c.TTLMs, c.CacheScope = listsFor, "public"
			}
		},
	})
	lib := newLibrary(cfg)
	addTools(s, lib)
	addResources(s, lib)
	addPrompts(s)
	return s
}
