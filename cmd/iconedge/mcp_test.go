package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/iconedge/iconedge/test/harness"
)

// agent starts `iconedge mcp` against an edge, and connects the SDK's client to it.
func agent(t *testing.T, home, base string) *mcp.ClientSession {
	t.Helper()
	cmd := harness.Program(t, home, "mcp")
	cmd.Env = append(cmd.Env, "ICONEDGE_API="+base+"/", "ICONEDGE_CDN="+base,
		"ICONEDGE_LICENSE_TOKEN="+strings.TrimSpace(harness.Must(t, home, "token", "issue")))
	cmd.Stderr = os.Stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: cmd, TerminateDuration: harness.Longest}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil || cmd.ProcessState.ExitCode() != 0 {
			t.Errorf("it exited with %v, %v", err, cmd.ProcessState)
		}
	})
	return s
}

// callTool calls a tool, and returns the first text and the structured content of its result.
func callTool(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (string, map[string]any) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil || r.IsError {
		t.Fatalf("%s(%v): %v %+v", tool, args, err, r)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.StructuredContent.(map[string]any)
}

// TestAgent does what an agent does, with real processes: it searches, gets an icon in each format,
// builds projects of both versions of React from the components, and checks the pixels.
func TestAgent(t *testing.T) {
	t.Parallel()
	browser, esbuild := harness.Browser(t), harness.NPM(t, "esbuild")
	home := withPacks(t)
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	base := "http://" + edge.Address("public")
	s := agent(t, home, base)

	_, found := callTool(t, s, "search_icons", map[string]any{"query": "trash can", "pack": "lucide"})
	trash := firstHit(t, found["results"].([]any), "trash")
	eachForm(t, s, base, "lucide", trash)

	var parts []component
	for _, want := range []component{
		{pack: "lucide", name: trash, color: "#ff0000",
			seen: func(r, g, b uint32) bool { return r > 200 && g < 60 && b < 60 }, pixels: 500},
		{pack: "mdi", name: "square", color: "#00ff00",
			seen: func(r, g, b uint32) bool { return r < 60 && g > 200 && b < 60 }, pixels: 3000},
		// in the text's colour
		{pack: "bi", name: "123", seen: func(r, g, b uint32) bool { return r < 60 && g < 60 && b > 200 }, pixels: 300},
		{pack: "fluent-emoji-flat", name: "red-apple", color: "#0000ff",
			seen: func(r, g, b uint32) bool { return r > 150 && b < 120 && g < 120 }, pixels: 2000},
	} {
		args := map[string]any{"pack": want.pack, "name": want.name, "format": "react"}
		if want.color != "" {
			args["color"] = want.color
		}
		want.source, found = callTool(t, s, "get_icon", args)
		want.is = found["component"].(string)
		parts = append(parts, want)
	}
	for _, version := range []string{"18", ""} {
		t.Run("react"+version, func(t *testing.T) { seeComponents(t, browser, bundle(t, esbuild, version, parts), parts) })
	}
}

// firstHit returns the first hit whose name begins with a word, as an agent would.
func firstHit(t *testing.T, hits []any, word string) string {
	t.Helper()
	for _, h := range hits {
		if name := h.(map[string]any)["name"].(string); strings.HasPrefix(name, word) && h.(map[string]any)["license"] == "ISC" {
			return name
		}
	}
	t.Fatalf("no %s among %v", word, hits)
	return ""
}

// eachForm compares the formats of one icon with the edge's own responses.
func eachForm(t *testing.T, s *mcp.ClientSession, base, pack, name string) {
	raw := download(t, base+"/api/v1/icon/"+pack+"/"+name+"?format=svg&color=%23ff0000")
	form := func(format string) string {
		text, _ := callTool(t, s, "get_icon", map[string]any{"pack": pack, "name": name, "format": format, "color": "#F00"})
		return text
	}
	if got := form("svg"); got != raw {
		t.Errorf("svg: %s, want %s", got, raw)
	}
	if got := download(t, form("url")); got != raw {
		t.Errorf("url leads to %s, want %s", got, raw)
	}
	data, _ := strings.CutPrefix(form("datauri"), "data:image/svg+xml;base64,")
	if got, err := base64.StdEncoding.DecodeString(data); err != nil || string(got) != raw {
		t.Errorf("datauri: %s %v, want %s", got, err, raw)
	}
}

func download(t *testing.T, address string) string {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "image/svg+xml" {
		t.Fatalf("%s: %d %s %v", address, resp.StatusCode, resp.Header.Get("Content-Type"), err)
	}
	return string(body)
}

// A component is a component from get_icon, with the way it should look.
type component struct {
	pack, name, color, source, is string
	// reports whether a pixel has its colour
	seen   func(r, g, b uint32) bool
	pixels int // minimum number of those, of 100 by 100
}

// mount shows each component twice in StrictMode, in a box of its own, once with props that must
// win, and reports its findings.
const mount = `
const errors = [];
console.error = console.warn = (...words) => errors.push(words.join(" "));
const props = { className: "mine", width: 100, height: "100", "aria-label": "label", "data-x": "1" };
const look = () => {
	requestAnimationFrame(() => requestAnimationFrame(() => {
		const svgs = [...document.querySelectorAll("svg")], ids = [...document.querySelectorAll("svg [id]")].map(e => e.id);
		window.found = JSON.stringify({ errors, svgs: svgs.length, unique: new Set(ids).size === ids.length,
			right: document.querySelectorAll('svg.mine[width="100"][height="100"][aria-label=label][data-x="1"][viewBox]').length,
			space: svgs.every(s => s.namespaceURI === "http://www.w3.org/2000/svg") });
		document.body.className = "drawn";
	}));
};
const App = () => {
	useEffect(look, []); // React renders later than the next frame, if the machine is busy
	return <>{all.map((C, i) => <div key={i} style={{ position: "absolute", top: i * 100, left: 0, color: "#0000ff" }}><C {...props} /><C /></div>)}</>;
};
createRoot(document.getElementById("root")).render(<StrictMode><App /></StrictMode>);`

// bundle makes a project of the components with one version of React, and returns its script.
func bundle(t *testing.T, esbuild, version string, parts []component) string {
	t.Helper()
	dir := t.TempDir()
	main := "import { StrictMode, useEffect } from \"react\";\nimport { createRoot } from \"react-dom/client\";\n"
	var names []string
	for _, p := range parts {
		write(t, filepath.Join(dir, p.is+".tsx"), p.source)
		main += fmt.Sprintf("import %s from \"./%s\";\n", p.is, p.is)
		names = append(names, p.is)
	}
	write(t, filepath.Join(dir, "main.tsx"), main+"const all = ["+strings.Join(names, ", ")+"];\n"+mount)
	args := []string{"main.tsx", "--bundle", "--jsx=automatic", "--log-level=warning", `--define:process.env.NODE_ENV="development"`}
	if version != "" {
		args = append(args, "--alias:react=react"+version, "--alias:react-dom=react-dom"+version)
	}
	cmd := exec.Command(filepath.Join(esbuild, "bin", "esbuild"), args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "NODE_PATH="+filepath.Dir(esbuild))
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil || words.Len() > 0 {
		t.Fatalf("esbuild: %v\n%s", err, words.String())
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// seeComponents opens the project in a browser.
func seeComponents(t *testing.T, browser, script string, parts []component) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/main.js" {
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, script)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<!doctype html><meta charset="utf-8"><body style="margin:0;background:#fff"><div id="root"></div><script src="/main.js"></script>`)
	}))
	defer site.Close()
	ctx := tab(t, browser)
	act(t, ctx, chromedp.Navigate(site.URL))
	act(t, ctx, chromedp.WaitReady("body.drawn"))
	var found struct {
		Errors        []string
		SVGs, Right   int
		Unique, Space bool
	}
	if err := json.Unmarshal([]byte(act(t, ctx, chromedp.Evaluate[string](`window.found`))), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Errors) > 0 || found.SVGs != 2*len(parts) || found.Right != len(parts) || !found.Unique || !found.Space {
		t.Errorf("the page: %+v", found)
	}
	shot := decode(t, act(t, ctx, chromedp.CaptureScreenshot()))
	for i, p := range parts {
		if n := countPixels(shot, image.Rect(0, 100*i, 100, 100*i+100), p.seen); n < p.pixels {
			t.Errorf("%s/%s: %d pixels of its colour, want %d", p.pack, p.name, n, p.pixels)
		}
	}
}

// countPixels counts the pixels of a part of a picture that have the wanted colour.
func countPixels(shot image.Image, part image.Rectangle, want func(r, g, b uint32) bool) (n int) {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if r, g, b, _ := shot.At(x, y).RGBA(); want(r>>8, g>>8, b>>8) {
				n++
			}
		}
	}
	return n
}
