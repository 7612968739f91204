package mcp

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/iconedge/iconedge/clients/go"
)

// described describes each tool: its purpose, arguments and result, with schemas in JSON Schema
// 2020-12.
//
//go:embed tools.json
var described []byte

// maxContent is the maximum number of characters of text in a result.
const maxContent = 100_000

// A library is the API behind the gate. Tools, resources and prompts share it.
type library struct {
	client *client.Client
	gate   *gate
	log    *slog.Logger
}

func newLibrary(cfg Config) *library {
	c := client.New(cfg.Config)
	return &library{client: c, gate: &gate{client: c}, log: cfg.Log}
}

// A result is the result of a tool, structured and as text; a picture stands before the text.
type result struct {
	picture    []byte // a PNG
	texts      []string
	structured any
}

// A tool checks its arguments, and returns the function that calls the API. So wrong arguments
// cause no request.
type tool func(l *library, args arguments) (func(context.Context) (result, error), error)

var tools = map[string]struct {
	run   tool
	takes []string
}{
	"search_icons": {searchIcons, []string{"query", "limit", "pack"}},
	"get_icon":     {getIcon, []string{"pack", "name", "format", "color", "stroke", "secondary", "id", "output", "size", "background"}},
	"list_packs":   {listPacks, []string{"cursor"}},
	"get_pack":     {getPack, []string{"pack"}},
}

func addTools(s *sdk.Server, l *library) {
	var list []*sdk.Tool
	if err := json.Unmarshal(described, &list); err != nil {
		panic(err) // the file is part of the program
	}
	no := false
	for _, t := range list {
		t.Annotations = &sdk.ToolAnnotations{Title: t.Title, ReadOnlyHint: true, IdempotentHint: true,
			DestructiveHint: &no, OpenWorldHint: &no}
		s.AddTool(t, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			out, err := l.call(ctx, req.Params.Name, req.Params.Arguments)
			return l.result(out, err), nil
		})
	}
	s.AddReceivingMiddleware(inOrder(list))
}

// inOrder lists the tools in the order of tools.json, the order of use; the SDK sorts them by name.
func inOrder(described []*sdk.Tool) sdk.Middleware {
	place := func(t *sdk.Tool) int {
		return slices.IndexFunc(described, func(d *sdk.Tool) bool { return d.Name == t.Name })
	}
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			r, err := next(ctx, method, req)
			if list, ok := r.(*sdk.ListToolsResult); ok && err == nil {
				slices.SortFunc(list.Tools, func(a, b *sdk.Tool) int { return place(a) - place(b) })
			}
			return r, err
		}
	}
}

// call runs one tool, within the time limit of a call.
func (l *library) call(ctx context.Context, name string, raw json.RawMessage) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, client.CallTimeout)
	defer cancel()
	t := tools[name]
	args, err := parseArguments(raw, name, t.takes...)
	if err != nil {
		return result{}, err
	}
	find, err := t.run(l, args)
	if err != nil {
		return result{}, err
	}
	if err := l.gate.open(ctx); err != nil {
		return result{}, err
	}
	return find(ctx)
}

// result makes the result of the protocol. An error is reported as a tool error, which the model
// reads, not as a protocol error.
func (l *library) result(out result, err error) *sdk.CallToolResult {
	length := base64.StdEncoding.EncodedLen(len(out.picture))
	for _, t := range out.texts {
		length += len([]rune(t))
	}
	if err == nil && length > maxContent {
		err = refusef("The answer is longer than %d characters; ask for an icon as format url, or for less: "+
			"a smaller size, fewer results.", maxContent)
	}
	if err != nil {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: l.sentence(err)}}}
	}
	r := &sdk.CallToolResult{StructuredContent: json.RawMessage(l.client.Redact(string(marshal(out.structured))))}
	if out.picture != nil {
		r.Content = append(r.Content, &sdk.ImageContent{Data: out.picture, MIMEType: "image/png"})
	}
	for _, t := range out.texts {
		r.Content = append(r.Content, &sdk.TextContent{Text: l.client.Redact(t)})
	}
	return r
}

// sentence returns the text of an error for the caller.
func (l *library) sentence(err error) string {
	if r, ok := errors.AsType[*client.Error](err); ok {
		return l.client.Redact(r.Sentence)
	}
	l.log.Error("tool call failed", "error", l.client.Redact(err.Error()))
	return "Something went wrong in this server; trying again may help."
}

// marshal encodes values of strings, numbers and the like. It does not escape markup, because the
// result is not a web page.
func marshal(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // cannot happen with such values
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
