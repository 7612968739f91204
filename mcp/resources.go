package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/icon"
)

const (
	scheme     = "icon://"
	packsURI   = scheme + "packs"
	typeSVG    = "image/svg+xml"
	typeJSON   = "application/json"
	typePlain  = "text/plain"
	codeFailed = -32000 // JSON-RPC 2.0, section 5.1: the range of server errors
)

// addResources offers the results of the tools as resources that a user can attach: the list of
// packs, and each icon.
func addResources(s *sdk.Server, l *library) {
	s.AddResource(&sdk.Resource{URI: packsURI, Name: "packs", Title: "Icon packs", MIMEType: typeJSON,
		Description: "Every icon pack with its license and attribution"},
		func(ctx context.Context, _ *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return l.readPacks(ctx)
		})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: scheme + "{pack}/{name}", Name: "icon", Title: "Icon", MIMEType: typeSVG,
		Description: "One icon as SVG, such as icon://lucide/trash-2, and the license and attribution to keep with it"},
		func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return l.readIcon(ctx, req.Params.URI)
		})
}

func (l *library) readPacks(ctx context.Context) (*sdk.ReadResourceResult, error) {
	ctx, cancel := context.WithTimeout(ctx, client.CallTimeout)
	defer cancel()
	if err := l.gate.open(ctx); err != nil {
		return nil, l.failed(err)
	}
	a, err := l.client.Packs(ctx)
	if err != nil {
		return nil, l.failed(err)
	}
	return contents(&sdk.ResourceContents{URI: packsURI, MIMEType: typeJSON, Text: l.client.Redact(string(marshal(a)))}), nil
}

func (l *library) readIcon(ctx context.Context, uri string) (*sdk.ReadResourceResult, error) {
	ctx, cancel := context.WithTimeout(ctx, client.CallTimeout)
	defer cancel()
	ref, err := icon.ParseRef(strings.TrimPrefix(uri, scheme))
	if err != nil {
		return nil, l.failed(refusef("An icon is icon://pack/name, such as icon://lucide/trash-2."))
	}
	if err := l.gate.open(ctx); err != nil {
		return nil, l.failed(err)
	}
	out, err := l.icon(ctx, ref, "svg", client.Variant{})
	if err != nil {
		return nil, l.failed(err)
	}
	return contents(
		&sdk.ResourceContents{URI: uri, MIMEType: typeSVG, Text: l.client.Redact(out.texts[0])},
		&sdk.ResourceContents{URI: uri, MIMEType: typePlain, Text: l.client.Redact(out.texts[1])}), nil
}

func contents(c ...*sdk.ResourceContents) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: c}
}

// failed returns an error of the protocol: reading a resource has no other kind of error.
func (l *library) failed(err error) error {
	return &jsonrpc.Error{Code: codeFailed, Message: l.sentence(err)}
}
