// Package mcp lets agents find, get and credit icons, over the Model Context Protocol: four tools, two kinds of resources and a
// prompt, on stdin and stdout or over streamable HTTP. It is a client of the public API alone, at one address that no argument
// can turn, and knows nothing of edges, origins or stores.
//
// Nothing but protocol goes to stdout. Every call needs a licence token that the API calls valid for the plan "lifetime"; until
// it does, no other request is made. The token is sent to the API and is never logged or answered.
//
// What each tool takes and gives is in tools.json; what is drawn as React is package mcp/react's to say.
package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	name         = "iconedge"
	instructions = "Call search_icons first, then get_icon with the pack and name of a hit (format: svg, react, url or datauri). " +
		"Keep the license and the attribution that come with an icon wherever you use it, and tell the user when commercial_use is false."
)

// listsFor says for how long a client may keep the lists of tools, resources and prompts: they change with the program alone.
const listsFor = 3600_000 // ms

// Run serves until the context ends, or, on stdio, until the client has gone.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.filled()
	s := newServer(cfg)
	if cfg.HTTP != "" || cfg.Listener != nil {
		return serveHTTP(ctx, cfg, s)
	}
	return serveLines(ctx, cfg, s)
}

// newServer is the protocol's side: what is offered, by whom.
func newServer(cfg Config) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Title: "iconedge icons", Version: cfg.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{}},
		SetCacheable: func(_ context.Context, req sdk.Request, c *sdk.Cacheable) {
			if _, reading := req.(*sdk.ReadResourceRequest); reading {
				c.CacheScope = "private" // an icon is for who has a licence
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
