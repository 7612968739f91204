package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/iconedge/iconedge/clients/go"
)

// TestTransports: an agent's steps from a search to an icon in each format, with the SDK's client,
// over both transports.
func TestTransports(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			a := newFakeAPI(t)
			s := dial(t, transport, Config{Config: client.Config{API: a.URL, CDN: "https://cdn.example", Token: goodToken}})
			found := call(t, s, "search_icons", map[string]any{"query": "home", "limit": 5})
			first := found.fields["results"].([]any)[0].(map[string]any)
			for format, begins := range map[string]string{"": "<svg", "svg": "<svg", "react": "// mdi/home",
				"url": "https://cdn.example/mdi/home.svg", "datauri": "data:"} {
				args := map[string]any{"pack": first["pack"], "name": first["name"]}
				if format != "" {
					args["format"] = format
				}
				got := call(t, s, "get_icon", args)
				if got.refused || !strings.HasPrefix(got.texts[0], begins) || got.fields["content"] != got.texts[0] {
					t.Errorf("format %q: %+v", format, got)
				}
			}
		})
	}
}

// TestToolsList: the description that a client gets before it calls a tool (C5, C6).
func TestToolsList(t *testing.T) {
	s := session(t, newFakeAPI(t))
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || list.NextCursor != "" {
		t.Fatal(list, err)
	}
	names, size := "", 0
	for _, tool := range list.Tools {
		names += tool.Name + " "
		schema, _ := json.Marshal(tool.InputSchema)
		size += len(tool.Name) + len(tool.Title) + len(tool.Description) + len(schema)
		in := tool.InputSchema.(map[string]any)
		if in["additionalProperties"] != false || tool.Title == "" || len(tool.Description) < 20 || len(tool.Description) > 1000 {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
		properties := in["properties"].(map[string]any)
		if described, takes := slices.Sorted(maps.Keys(properties)),
			slices.Sorted(slices.Values(tools[tool.Name].takes)); !slices.Equal(described, takes) {
			t.Errorf("the schema of %s has the arguments %v, the tool takes %v", tool.Name, described, takes)
		}
		for name, p := range properties {
			if p := p.(map[string]any); p["type"] == nil || p["description"] == nil {
				t.Errorf("%s: argument %s has no type or description", tool.Name, name)
			}
		}
		if h := tool.Annotations; !h.ReadOnlyHint || !h.IdempotentHint || *h.DestructiveHint || h.OpenWorldHint == nil {
			t.Errorf("%s: annotations %+v", tool.Name, h)
		}
	}
	if names != "search_icons get_icon list_packs get_pack " || size > 6000 {
		t.Errorf("tools %s, %d characters", names, size)
	}
	init := s.InitializeResult()
	if len(init.Instructions) < 40 || init.ServerInfo.Version == "" || init.Capabilities.Tools == nil ||
		init.Capabilities.Completions != nil {
		t.Errorf("initialize: %+v", init)
	}
}

func TestSearch(t *testing.T) {
	a := newFakeAPI(t)
	s := session(t, a)
	got := call(t, s, "search_icons", map[string]any{"query": " home ", "limit": 50, "pack": "mdi"})
	if asked := a.requests("/api/v1/search")[0].URL.RawQuery; asked != "limit=50&pack=mdi&q=home" {
		t.Errorf("asked %s", asked)
	}
	want := `[{"attribution":"mdi by A, Apache-2.0","commercial_use":true,"license":"Apache-2.0","monochrome":true,"name":"home","pack":"mdi"},` +
		`{"attribution":"nc by A, CC-BY-NC-4.0","commercial_use":false,"license":"CC-BY-NC-4.0","monochrome":true,"name":"home","pack":"nc"}]`
	if results, _ := json.Marshal(got.fields["results"]); string(results) != want {
		t.Errorf("results %s", results)
	}
	for _, word := range []string{"mdi/home", "nc/home", "license CC-BY-NC-4.0", "non-commercial"} {
		if !strings.Contains(got.texts[0], word) {
			t.Errorf("no %q in %s", word, got.texts[0])
		}
	}
	none := call(t, s, "search_icons", map[string]any{"query": `"a&limit=50&pack=zz` + "\x00"})
	if results, ok := none.fields["results"].([]any); !ok || len(results) != 0 || !strings.Contains(none.texts[0], "No icons") {
		t.Errorf("no hit: %+v", none)
	}
	if asked := a.requests("/api/v1/search")[1].URL.RawQuery; asked != "limit=20&q=%22a%26limit%3D50%26pack%3Dzz%00" {
		t.Errorf("asked %s", asked)
	}
}

// TestArguments: wrong arguments get an explanation, and the API gets no request (C8, C17, C18).
func TestArguments(t *testing.T) {
	a := newFakeAPI(t)
	s := session(t, a)
	long := strings.Repeat("a", 20_000)
	for _, row := range []struct{ tool, args, word string }{
		{"search_icons", `{}`, "query"},
		{"search_icons", `null`, "query"},
		{"search_icons", `{"query":""}`, "query"},
		{"search_icons", `{"query":" \t"}`, "query"},
		{"search_icons", `{"query":7}`, "string"},
		{"search_icons", `{"query":null}`, "string"},
		{"search_icons", `{"query":"` + long + `"}`, "200"},
		{"search_icons", `{"query":"home","limit":0}`, "limit"},
		{"search_icons", `{"query":"home","limit":-1}`, "limit"},
		{"search_icons", `{"query":"home","limit":51}`, "50"},
		{"search_icons", `{"query":"home","limit":1.5}`, "limit"},
		{"search_icons", `{"query":"home","limit":1e99}`, "limit"},
		{"search_icons", `{"query":"home","limit":"ten"}`, "limit"},
		{"search_icons", `{"query":"home","limit":null}`, "limit"},
		{"search_icons", `{"query":"home","pack":"../x"}`, "pack"},
		{"search_icons", `{"query":"home","colour":"red"}`, "takes"},
		{"get_icon", `{"pack":"mdi"}`, "name"},
		{"get_icon", `{"name":"home"}`, "pack"},
		{"get_icon", `{"pack":["mdi"],"name":"home"}`, "pack"},
		{"get_icon", `{"pack":"mdi","name":"home","format":"png"}`, "svg, react, url, datauri"},
		{"get_icon", `{"pack":"mdi","name":"home","format":5}`, "format"},
		{"get_icon", `{"pack":"mdi","name":"home","output":"gif"}`, "text or png"},
		{"get_icon", `{"pack":"mdi","name":"home","output":null}`, "output"},
		{"get_icon", `{"pack":"mdi","name":"home","output":"png","format":"svg"}`, "format"},
		{"get_icon", `{"pack":"mdi","name":"home","output":"png","size":1025}`, "1024"},
		{"get_icon", `{"pack":"mdi","name":"home","output":"png","background":"url(#x)"}`, "background"},
		{"get_icon", `{"pack":"mdi","name":"home","size":24}`, "output png"},
		{"get_icon", `{"pack":"mdi","name":"home","background":"red"}`, "output png"},
		{"get_icon", `{"pack":"mdi","name":"home","stroke":5}`, "0.25 to 4"},
		{"get_icon", `{"pack":"mdi","name":"home","stroke":"2"}`, "stroke"},
		{"get_icon", `{"pack":"mdi","name":"home","secondary":"x"}`, "secondary"},
		{"get_icon", `{"pack":"mdi","name":"home","color":"red"}`, "hex"},
		{"get_icon", `{"pack":"mdi","name":"home","color":"url(#x)"}`, "color"},
		{"get_icon", `{"pack":"mdi","name":"home","color":"\"><script>"}`, "color"},
		{"get_icon", `{"pack":"mdi","name":"home","color":255}`, "string"},
		{"get_icon", `{"pack":"mdi","name":"home","api":"http://evil.example"}`, "takes"},
		{"get_icon", `{"pack":"mdi","name":"home","id":"a b"}`, "id must be a prefix"},
		{"get_icon", `{"pack":"mdi","name":"home","id":""}`, "id must be a prefix"},
		{"get_pack", `{}`, "pack"},
		{"get_pack", `{"pack":5}`, "pack"},
		{"list_packs", `{"cursor":"../x"}`, "cursor"},
		{"list_packs", `{"pack":"mdi"}`, "takes"},
	} {
		if got := call(t, s, row.tool, json.RawMessage(row.args)); !got.refused || !strings.Contains(got.texts[0], row.word) {
			t.Errorf("%s %s: %+v, want a refusal with %q", row.tool, row.args[:min(80, len(row.args))], got, row.word)
		}
	}
	for _, name := range []string{"..", ".", "a/b", "%2e%2e", "home?color=red", "home#x", "", "\x00", "A", "a--b",
		strings.Repeat("a", 5000), "home ", "hömé"} {
		for _, tool := range []string{"get_icon", "get_pack"} {
			args := map[string]any{"pack": name}
			if tool == "get_icon" {
				args["name"] = "home"
			}
			if got := call(t, s, tool, args); !got.refused {
				t.Errorf("%s took the pack %q", tool, name)
			}
		}
		if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": name}); !got.refused {
			t.Errorf("get_icon took the name %q", name)
		}
	}
	if n := len(a.requests("")); n != 0 {
		t.Errorf("%d requests were made for them", n)
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "no_such_tool"}); err == nil ||
		!strings.Contains(err.Error(), "no_such_tool") {
		t.Errorf("an unknown tool: %v", err)
	}
}

func TestNotFound(t *testing.T) {
	s := session(t, newFakeAPI(t))
	got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "hom"})
	if !got.refused || got.texts[0] != "Icon mdi/hom was not found. Close names: home, home-2." {
		t.Errorf("%+v", got)
	}
	if got := call(t, s, "get_pack", map[string]any{"pack": "zz"}); !got.refused ||
		!strings.Contains(got.texts[0], "Pack zz was not found") {
		t.Errorf("%+v", got)
	}
}

func TestGetIcon(t *testing.T) {
	a := newFakeAPI(t)
	s := session(t, a)
	for _, row := range []struct{ about, args, want, words string }{
		{"svg is as the API has it", `{"pack":"mdi","name":"home"}`, homeSVG, "license Apache-2.0; attribution: mdi by A"},
		{"a colour in any spelling", `{"pack":"mdi","name":"home","color":"#F00"}`,
			strings.Replace(homeSVG, "currentColor", "#ff0000", 1), "mdi/home"},
		{"a palette stays as it is", `{"pack":"fl","name":"apple","color":"#ff0000"}`, appleSVG, "color was not applied"},
		{"an address", `{"pack":"mdi","name":"home","format":"url"}`, a.URL + "/mdi/home.svg", "license"},
		{"an address in a colour", `{"pack":"mdi","name":"home","format":"url","color":"0f0"}`,
			a.URL + "/mdi/home.svg?color=%2300ff00", "license"},
		{"an address of a palette has no colour that would do nothing",
			`{"pack":"fl","name":"apple","format":"url","color":"#0f0"}`, a.URL + "/fl/apple.svg", "color was not applied"},
		{"pixels of text", `{"pack":"mdi","name":"home","format":"datauri"}`,
			"data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(homeSVG)), "license"},
		{"the second copy in a page", `{"pack":"fl","name":"apple","id":"b_"}`, prefixed(appleSVG, "b_"), "license"},
		{"an icon that may not be sold", `{"pack":"nc","name":"home"}`, homeSVG, "non-commercial"},
	} {
		got := call(t, s, "get_icon", json.RawMessage(row.args))
		if len(got.texts) != 2 || got.texts[0] != row.want || got.fields["content"] != row.want ||
			!strings.Contains(got.texts[1], row.words) {
			t.Errorf("%s: %+v, want %s and %s", row.about, got, row.want, row.words)
		}
	}
	got := call(t, s, "get_icon", map[string]any{"pack": "bi", "name": "123", "format": "react"})
	if got.fields["component"] != "Bi123" || !strings.Contains(got.texts[0], "export default function Bi123(props") ||
		!strings.Contains(got.texts[0], "// bi/123: license MIT") {
		t.Errorf("react: %+v", got)
	}
	for _, r := range a.requests("") {
		if r.UserAgent() != "iconedge-mcp/1.2" || r.Header.Get("Authorization") != "Bearer "+goodToken ||
			strings.Contains(r.URL.Path, "//") {
			t.Errorf("%s asked with %v", r.URL, r.Header)
		}
	}
}

// TestPicture: output png gives image content and the credit. An icon that can't be drawn, and a
// response that is no picture, are refused.
func TestPicture(t *testing.T) {
	a := newFakeAPI(t)
	s := session(t, a)
	got := call(t, s, "get_icon", json.RawMessage(`{"pack":"mdi","name":"home","output":"png","color":"#f00","size":128,"background":"white"}`))
	if got.fields["format"] != "png" || got.fields["content"] != base64.StdEncoding.EncodeToString(got.picture) ||
		!bytes.HasPrefix(got.picture, []byte("\x89PNG")) || !strings.Contains(got.texts[0], "license Apache-2.0; attribution: mdi by A") {
		t.Errorf("%+v", got)
	}
	const want = "/api/v1/icon/mdi/home?background=%23ffffff&color=%23ff0000&format=png&size=128"
	if asked := a.requests("/api/v1/icon/mdi/home"); asked[len(asked)-1].URL.String() != want {
		t.Errorf("asked %s, want %s", asked[len(asked)-1].URL, want)
	}
	for about, answer := range map[string]http.HandlerFunc{"can't be drawn": reply(422, `{"title":"x","status":422}`),
		"invalid response": reply(200, "<html>")} {
		a.answer("/api/v1/icon/mdi/text", func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("format") == "png" {
				answer(w, r)
				return
			}
			reply(200, iconJSON("mdi", "text", homeSVG, "MIT"))(w, r)
		})
		got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "text", "output": "png"})
		if !got.refused || got.picture != nil || !strings.Contains(got.texts[0], about) {
			t.Errorf("%s: %+v", about, got)
		}
	}
}

// TestUnsafe: an SVG that could run a script is returned in no format, whatever server answers at
// the API's address.
func TestUnsafe(t *testing.T) {
	a := newFakeAPI(t)
	s := session(t, a)
	for i, svg := range []string{`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>x</script></svg>`,
		`<svg viewBox="0 0 1 1" onload="x()"/>`, `<html>`, `<svg`,
		`<svg viewBox="0 0 1 1"><style>@import "x"</style></svg>`} {
		name := fmt.Sprintf("bad-%d", i)
		a.answer("/api/v1/icon/mdi/"+name, reply(200, iconJSON("mdi", name, svg, "MIT")))
		for _, format := range formats {
			if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": name,
				"format": format}); !got.refused || !strings.Contains(got.texts[0], "not safe") {
				t.Errorf("%s as %s: %+v", svg, format, got)
			}
		}
	}
	sheet := `<svg viewBox="0 0 1 1"><style>path{fill:red}</style><path d="M0 0"/></svg>`
	a.answer("/api/v1/icon/mdi/sheet", reply(200, iconJSON("mdi", "sheet", sheet, "MIT")))
	if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "sheet",
		"format": "react"}); !got.refused || !strings.Contains(got.texts[0], "React") {
		t.Errorf("a style sheet for the whole page: %+v", got)
	}
	if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "sheet"}); got.refused {
		t.Errorf("a style sheet in a standalone SVG: %+v", got)
	}
}

func TestPacks(t *testing.T) {
	a := newFakeAPI(t)
	s := session(t, a)
	all := call(t, s, "list_packs", nil)
	packs, _ := json.Marshal(all.fields["packs"])
	if want := `[{"attribution":"mdi by A, Apache-2.0","commercial_use":true,"count":3,"license":"Apache-2.0","name":"The pack","pack":"mdi"},` +
		`{"attribution":"nc by A, CC-BY-NC-4.0","commercial_use":false,"count":3,"license":"CC-BY-NC-4.0","name":"The pack","pack":"nc"}]`; string(packs) != want {
		t.Errorf("packs %s", packs)
	}
	if strings.Count(all.texts[0], "non-commercial") != 1 {
		t.Errorf("%s", all.texts[0])
	}
	one := call(t, s, "get_pack", map[string]any{"pack": "nc"})
	if one.fields["commercial_use"] != false || one.fields["count"] != 3.0 ||
		!strings.Contains(one.texts[0], "Places (2)") || !strings.Contains(one.texts[0], "non-commercial") {
		t.Errorf("%+v", one)
	}
}

// TestPages: more packs than fit into one result come page by page, each pack once and in order.
func TestPages(t *testing.T) {
	a := newFakeAPI(t)
	var list []string
	for i := range 2000 {
		list = append(list, packJSON(fmt.Sprintf("pack-%04d", i), "MIT"))
	}
	a.answer("/api/v1/packs", reply(200, `{"total":2000,"packs":[`+strings.Join(list, ",")+`]}`))
	s := session(t, a)
	seen, pages := 0, 0
	for args := map[string]any{}; ; pages++ {
		got := call(t, s, "list_packs", args)
		if len(got.texts[0])+len(marshal(got.fields)) > maxContent || got.fields["total"] != 2000.0 {
			t.Fatalf("%d characters, total %v", len(got.texts[0]), got.fields["total"])
		}
		for _, p := range got.fields["packs"].([]any) {
			if want := fmt.Sprintf("pack-%04d", seen); p.(map[string]any)["pack"] != want {
				t.Fatalf("%v, want %s", p, want)
			}
			seen++
		}
		if got.fields["nextCursor"] == nil {
			break
		}
		args["cursor"] = got.fields["nextCursor"]
	}
	if seen != 2000 || pages < 2 {
		t.Errorf("%d packs on %d pages", seen, pages)
	}
}

// TestLong: an icon that is too long for a result gets an error that names the alternative.
func TestLong(t *testing.T) {
	a := newFakeAPI(t)
	long := `<svg viewBox="0 0 1 1"><path d="` + strings.Repeat("M0 0", maxContent/4) + `"/></svg>`
	a.answer("/api/v1/icon/mdi/long", reply(200, iconJSON("mdi", "long", long, "MIT")))
	s := session(t, a)
	if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "long"}); !got.refused ||
		!strings.Contains(got.texts[0], "url") {
		t.Errorf("%.200v", got)
	}
	if got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "long", "format": "url"}); got.refused {
		t.Errorf("%+v", got)
	}
}

// TestParallel: parallel calls get their own results, and one icon is fetched once (C19).
func TestParallel(t *testing.T) {
	a := newFakeAPI(t)
	s := session(t, a)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			color := fmt.Sprintf("#%06x", i%50+1)
			got := call(t, s, "get_icon", map[string]any{"pack": "mdi", "name": "home", "color": color})
			if want := strings.Replace(homeSVG, "currentColor", color, 1); got.texts[0] != want {
				t.Errorf("%s: %s", color, got.texts[0])
			}
		})
	}
	wg.Wait()
	if n := len(a.requests("/api/v1/icon/mdi/home")); n != 50 {
		t.Errorf("50 colours were asked for %d times", n)
	}
	if n := len(a.requests("/api/v1/auth/verify")); n != 1 {
		t.Errorf("the token was verified %d times", n)
	}
}

// TestEcho: a token that the API sends back is not passed on.
func TestEcho(t *testing.T) {
	a := newFakeAPI(t)
	a.answer("/api/v1/packs/mdi", reply(200, strings.Replace(packJSON("mdi", "MIT"), "The pack", goodToken, 1)))
	got := call(t, session(t, a), "get_pack", map[string]any{"pack": "mdi"})
	if strings.Contains(fmt.Sprint(got), goodToken) || got.fields["name"] != "…" {
		t.Errorf("%+v", got)
	}
}
