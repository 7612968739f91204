package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	client "github.com/iconedge/iconedge/clients/go"
)

const goodToken = "iel_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

const (
	homeSVG  = `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24"><path fill="currentColor" d="M10 20v-6h4v6h5v-8h3L12 3L2 12h3v8z"/></svg>`
	appleSVG = `<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 32 32"><g id="a"><path fill="#f00" d="M0 0h9"/></g><path fill="url(#a)" d="M1 1h9"/></svg>`
)

// A fakeAPI answers as the real API does, records its requests, and can be made to fail.
type fakeAPI struct {
	*httptest.Server
	mu      sync.Mutex
	asked   []*http.Request
	answers map[string]http.HandlerFunc // by path; they replace the usual responses
}

func newFakeAPI(t *testing.T) *fakeAPI {
	a := &fakeAPI{answers: map[string]http.HandlerFunc{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r)
	answer := a.answers[r.URL.Path]
	if answer == nil {
		answer = a.answers["*"]
	}
	a.mu.Unlock()
	if answer == nil || strings.HasSuffix(r.URL.Path, "/verify") && a.instead(r.URL.Path) == nil {
		answer = usual
	}
	answer(w, r)
}

// instead returns the handler that replaces the usual response of a path, or nil.
func (a *fakeAPI) instead(path string) http.HandlerFunc {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answers[path]
}

func (a *fakeAPI) answer(path string, h http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[path] = h
}

// requests returns the requests for a path so far, or all requests but those for verify.
func (a *fakeAPI) requests(path string) (list []*http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.asked {
		if r.URL.Path == path || path == "" && !strings.HasSuffix(r.URL.Path, "/verify") {
			list = append(list, r)
		}
	}
	return list
}

func usual(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	if r.FormValue("format") == "png" {
		png.Encode(w, image.NewNRGBA(image.Rect(0, 0, 2, 1)))
		return
	}
	body, ok := map[string]string{
		"/icon/mdi/home": homeFor(r, "mdi", "Apache-2.0"),
		"/icon/nc/home":  homeFor(r, "nc", "CC-BY-NC-4.0"),
		"/icon/bi/123":   iconJSON("bi", "123", homeSVG, "MIT"),
		"/icon/fl/apple": iconJSON("fl", "apple", prefixed(appleSVG, r.FormValue("id")), "MIT"),
		"/packs": `{"total":2,"license":"see each result","packs":[` + packJSON("mdi", "Apache-2.0") +
			`,` + packJSON("nc", "CC-BY-NC-4.0") + `]}`,
		"/packs/mdi":       packJSON("mdi", "Apache-2.0"),
		"/packs/nc":        packJSON("nc", "CC-BY-NC-4.0"),
		"/auth/verify":     `{"valid":true,"plan":"lifetime","since":"2026-11-21T00:00:00Z"}`,
		"/search":          searchJSON(r),
		"/icon/mdi/broken": `{"pack":"mdi"`,
	}[path]
	if !ok {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"title":"Not Found","status":404,"suggestions":["home","<b>","home-2"]}`)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=300")
	io.WriteString(w, body)
}

// prefixed returns an SVG with the one id "a" as a request with the parameter id gets it.
func prefixed(svg, id string) string {
	return strings.NewReplacer(`"a"`, `"`+id+`a"`, `(#a)`, `(#`+id+`a)`).Replace(svg)
}

func colored(svg string, r *http.Request) string {
	if c := r.FormValue("color"); c != "" {
		return strings.ReplaceAll(svg, "currentColor", c)
	}
	return svg
}

// homeFor returns the icon home of a pack, in the color that a request names.
func homeFor(r *http.Request, pack, spdx string) string {
	body := iconJSON(pack, "home", colored(homeSVG, r), spdx)
	if r.FormValue("color") != "" {
		body = strings.Replace(body, `"recolored":false`, `"recolored":true`, 1)
	}
	return body
}

func iconJSON(pack, name, svg, spdx string) string {
	return fmt.Sprintf(`{"pack":%q,"name":%q,"svg":%q,"license":%q,"metadata":{"license":{"spdx":%q,"url":"https://example.org/l"},"commercial_use":%v,"attribution":"%s by A, %s","recolored":false}}`,
		pack, name, svg, spdx, spdx, commercial(spdx), pack, spdx)
}

func commercial(spdx string) bool { return !strings.Contains(spdx, "-NC-") }

func packJSON(key, spdx string) string {
	return fmt.Sprintf(`{"pack":%q,"name":"The pack","count":3,"categories":[{"name":"Places","count":2}],"license":%q,"attribution":"%s by A, %s","commercial_use":%v,"samples":["home"],"monochrome":true}`,
		key, spdx, key, spdx, commercial(spdx))
}

func searchJSON(r *http.Request) string {
	hits := ""
	if q := r.FormValue("q"); q == "home" {
		hits = `{"pack":"mdi","name":"home","license":"Apache-2.0","attribution":"mdi by A, Apache-2.0","commercial_use":true,"monochrome":true},` +
			`{"pack":"nc","name":"home","license":"CC-BY-NC-4.0","attribution":"nc by A, CC-BY-NC-4.0","commercial_use":false,"monochrome":true}`
	}
	return `{"query":"home","limit":20,"offset":0,"total":2,"results":[` + hits + `],"suggestions":["house"],"license":"see each result"}`
}

// dial connects the SDK's client to a server over one of the transports.
func dial(t *testing.T, transport string, cfg Config) *sdk.ClientSession {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var client sdk.Transport
	if transport == "http" {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		cfg.Listener = ln
		client = &sdk.StreamableClientTransport{Endpoint: "http://" + ln.Addr().String() + "/mcp"}
	} else {
		theirs, ours := net.Pipe()
		cfg.In, cfg.Out = ours, ours
		client = &sdk.IOTransport{Reader: theirs, Writer: theirs}
	}
	go func() { done <- Run(ctx, cfg) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, client, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
	return session
}

// session connects a client over stdio, with an API and a valid token.
func session(t *testing.T, a *fakeAPI) *sdk.ClientSession {
	return dial(t, "stdio", Config{Config: client.Config{API: a.URL + "/", CDN: a.URL + "//", Token: goodToken}, Version: "1.2"})
}

// A toolAnswer is the result of a call as a client sees it.
type toolAnswer struct {
	texts   []string
	picture []byte
	fields  map[string]any
	refused bool
}

// call calls a tool. It checks its result against requirements C7 and C17 of the clients' contract.
func call(t *testing.T, s *sdk.ClientSession, name string, args any) toolAnswer {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s(%v): %v", name, args, err)
	}
	a := toolAnswer{refused: r.IsError}
	for _, c := range r.Content {
		if i, ok := c.(*sdk.ImageContent); ok {
			a.picture = i.Data
			if i.MIMEType != "image/png" {
				t.Errorf("%s(%v): a picture of the type %s", name, args, i.MIMEType)
			}
			continue
		}
		a.texts = append(a.texts, c.(*sdk.TextContent).Text)
	}
	all := strings.Join(a.texts, "\n")
	if a.refused {
		if len(all) < 10 || strings.Contains(all, goodToken) || strings.Contains(all, "<html") || strings.Contains(all, "goroutine") {
			t.Errorf("%s(%v) is refused with %q", name, args, all)
		}
		return a
	}
	a.fields = r.StructuredContent.(map[string]any)
	if a.fields["license"] == nil || a.fields["attribution"] == nil || !strings.Contains(strings.ToLower(all), "license") {
		t.Errorf("%s(%v) names no license and attribution: %s %v", name, args, all, a.fields)
	}
	checkInput(t, name, args)
	checkOutput(t, name, a.fields)
	return a
}

// A toolSchema has the schemas of one tool.
type toolSchema struct{ input, output *jsonschema.Resolved }

var schemas = sync.OnceValue(func() map[string]toolSchema {
	var list []struct {
		Name                      string
		InputSchema, OutputSchema *jsonschema.Schema
	}
	m := map[string]toolSchema{}
	err := json.Unmarshal(described, &list)
	for _, tool := range list {
		in, errIn := tool.InputSchema.Resolve(nil)
		out, errOut := tool.OutputSchema.Resolve(nil)
		m[tool.Name], err = toolSchema{in, out}, errors.Join(err, errIn, errOut)
	}
	if err != nil {
		panic(err)
	}
	return m
})

// checkInput checks arguments that a tool has accepted against its input schema. No arguments are
// the same as an empty object.
func checkInput(t *testing.T, tool string, args any) {
	t.Helper()
	fields := map[string]any{}
	if b, err := json.Marshal(args); err != nil || json.Unmarshal(b, &fields) != nil {
		t.Fatalf("%s accepts %v, which is no object", tool, args)
	}
	if err := schemas()[tool].input.Validate(fields); fields != nil && err != nil {
		t.Errorf("%s accepts arguments that its schema forbids: %v", tool, err)
	}
}

// checkOutput checks a structured result against the output schema of its tool, which must name
// every member.
func checkOutput(t *testing.T, tool string, fields map[string]any) {
	t.Helper()
	out := schemas()[tool].output
	if err := out.Validate(fields); err != nil {
		t.Errorf("%s: %v", tool, err)
	}
	for name := range maps.Keys(fields) {
		if out.Schema().Properties[name] == nil {
			t.Errorf("%s gives %q, which its schema does not name", tool, name)
		}
	}
}
