package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/iconedge/iconedge/clients/go"
)

// addPrompts adds one prompt, which leads from a wish to a credited icon.
func addPrompts(s *sdk.Server) {
	s.AddPrompt(&sdk.Prompt{
		Name: "use_icon", Title: "Use an icon", Description: "Find an icon, put it into the code, and credit it",
		Arguments: []*sdk.PromptArgument{
			{Name: "what", Title: "What it shows", Description: "What the icon shows or means, such as: trash can", Required: true},
			{Name: "where", Title: "Where it goes", Description: "The file or component that it goes into"},
			{Name: "pack", Title: "Pack", Description: "Key of the pack to take it from, such as lucide"},
			{Name: "color", Title: "Color", Description: "Hex color, such as #ff0000"},
		},
	}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if client.Line(req.Params.Arguments["what"]) == "" {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
				Message: "the argument \"what\" is required: what the icon shows or means, such as: trash can"}
		}
		return &sdk.GetPromptResult{Description: "Find, use and credit an icon",
			Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: wish(req.Params.Arguments)}}}}, nil
	})
}

func wish(args map[string]string) string {
	var b strings.Builder
	b.WriteString("Find an icon for: " + client.Line(args["what"]) + ".\n1. Call search_icons")
	if pack := client.Line(args["pack"]); pack != "" {
		b.WriteString(" with pack " + pack)
	}
	b.WriteString(" and choose the hit that fits best.\n2. Call get_icon with its pack and name, in the format that " +
		"the code needs (react for React)")
	if color := client.Line(args["color"]); color != "" {
		b.WriteString(", color " + color)
	}
	b.WriteString(".\n3. Put the output")
	if where := client.Line(args["where"]); where != "" {
		b.WriteString(" into " + where)
	} else {
		b.WriteString(" where it belongs")
	}
	b.WriteString(", unchanged.\n4. Keep its license and attribution with it, and tell me if commercial_use is false.")
	return b.String()
}
