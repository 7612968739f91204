package mcp

import (
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/iconedge/iconedge/clients/go"
)

// TestResources: the listed resources can be read, behind the same gate; an address that is not an
// icon's causes no request.
func TestResources(t *testing.T) {
	a := newFakeAPI(t)
	s := session(t, a)
	list, err := s.ListResources(t.Context(), nil)
	templates, err2 := s.ListResourceTemplates(t.Context(), nil)
	if err != nil || err2 != nil || len(list.Resources) != 1 || len(templates.ResourceTemplates) != 1 {
		t.Fatal(list, templates, err, err2)
	}
	packs, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: list.Resources[0].URI})
	if err != nil || !strings.Contains(packs.Contents[0].Text, `"pack":"nc"`) {
		t.Errorf("%v %v", packs, err)
	}
	home, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "icon://mdi/home"})
	if err != nil || home.Contents[0].Text != homeSVG || !strings.Contains(home.Contents[1].Text, "license Apache-2.0") {
		t.Errorf("%v %v", home, err)
	}
	before := len(a.requests(""))
	for uri, want := range map[string]string{"icon://mdi/Home": "icon://pack/name", "icon://mdi/../x": "not found",
		"icon://mdi/home?x": "", "file:///etc/passwd": "not found"} {
		if got, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", uri, got, err)
		}
	}
	if n := len(a.requests("")); n != before {
		t.Errorf("%d requests were made for no icons", n-before)
	}
	if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "icon://mdi/no"}); err == nil ||
		!strings.Contains(err.Error(), "mdi/no was not found") {
		t.Errorf("%v", err)
	}
	locked := dial(t, "stdio", Config{Config: client.Config{API: a.URL}})
	for _, uri := range []string{"icon://packs", "icon://mdi/home"} {
		if _, err := locked.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil ||
			!strings.Contains(err.Error(), "ICONEDGE_LICENSE_TOKEN") {
			t.Errorf("%s without a token: %v", uri, err)
		}
	}
}

func TestPrompt(t *testing.T) {
	s := session(t, newFakeAPI(t))
	list, err := s.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 1 {
		t.Fatal(list, err)
	}
	got, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: list.Prompts[0].Name,
		Arguments: map[string]string{"what": "trash\ncan", "pack": "mdi", "color": "#f00", "where": "App.tsx"}})
	if err != nil {
		t.Fatal(err)
	}
	text := got.Messages[0].Content.(*sdk.TextContent).Text
	for _, word := range []string{"for: trash can.", "with pack mdi", "color #f00", "into App.tsx", "attribution"} {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in %s", word, text)
		}
	}
}

// TestPromptWithoutWish: a missing required argument is an error; the model never reads a prompt
// with a gap.
func TestPromptWithoutWish(t *testing.T) {
	s := session(t, newFakeAPI(t))
	for _, args := range []map[string]string{nil, {"what": " \n"}, {"pack": "lucide"}} {
		got, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "use_icon", Arguments: args})
		if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, "what") {
			t.Errorf("%v: %+v, %v", args, got, err)
		}
	}
}
