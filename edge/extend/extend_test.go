// Package extend is a program of somebody else: it adds a balancing policy, a content coding, a
// match and an action of rules to those of the edge. docs/explain/extend.md quotes its files.
package extend

import (
	"compress/zlib"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge"
)

// file returns a configuration file that uses everything that this package adds.
func file(urls ...string) string {
	return `
version: 1
sites:
  - name: shop
    hosts: ["*"]
    origins: {app: {urls: ["` + strings.Join(urls, `", "`) + `"], policy: round_robin}}
    rules:
      - match: {scheme: http}
        noindex: true
`
}

func fresh() *flag.FlagSet {
	fs := flag.NewFlagSet("edge", flag.ContinueOnError)
	new(edge.Config).Flags(fs)
	return fs
}

// An edge serves with a policy, a coding, a match and an action that a program adds.
func TestServes(t *testing.T) {
	text := strings.Repeat("a line of text\n", 1000)
	var urls []string
	for _, name := range []string{"a", "b"} {
		app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("App", name)
			if r.URL.Path == "/text" {
				w.Header().Set("Cache-Control", "max-age=60")
			}
			io.WriteString(w, text)
		}))
		t.Cleanup(app.Close)
		urls = append(urls, app.URL)
	}
	get := serve(t, file(urls...))

	var apps []string
	for i := range 4 {
		resp := get(fmt.Sprint("/", i), "")
		apps = append(apps, resp.Header.Get("App"))
		if got := resp.Header.Get("X-Robots-Tag"); got != "noindex" {
			t.Errorf("X-Robots-Tag: %q", got)
		}
	}
	if slices.Equal(apps[:1], apps[1:2]) || !slices.Equal(apps[:2], apps[2:]) {
		t.Errorf("the origins were %v, want each in turn", apps)
	}

	get("/text", "deflate")
	for {
		resp := get("/text", "deflate")
		if resp.Header.Get("Content-Encoding") == "" { // the coding is being made
			continue
		}
		r, err := zlib.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != text || resp.Header.Get("Content-Encoding") != "deflate" {
			t.Errorf("%d bytes in %s, %v", len(got), resp.Header.Get("Content-Encoding"), err)
		}
		if cached := resp.Header.Get("Cache-Status"); !strings.Contains(cached, "hit") || resp.Header.Get("X-Robots-Tag") != "noindex" {
			t.Errorf("a hit: %v", resp.Header)
		}
		break
	}
}

// serve runs an edge, and returns a function that sends a request to it.
func serve(t *testing.T, text string) func(path, accept string) *http.Response {
	t.Helper()
	cfg, err := edge.FromText(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*net.Listener{&cfg.Listener, &cfg.AdminListener} {
		if *l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Log = slog.New(slog.DiscardHandler)
	server, err := edge.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return func(path, accept string) *http.Response {
		t.Helper()
		q, err := http.NewRequest(http.MethodGet, "http://"+cfg.Listener.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if accept != "" {
			q.Header.Set("Accept-Encoding", accept)
		}
		resp, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		resp.Body = io.NopCloser(strings.NewReader(string(body)))
		return resp
	}
}

// The check of a file knows what a program adds, and suggests it.
func TestCheck(t *testing.T) {
	right := file("http://10.0.0.5", "http://10.0.0.6")
	if _, err := flags.Parse("f", []byte(right), fresh); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ old, with, want string }{
		{"scheme: http", "scheme: ftp", `f:8: sites[0].rules[0].match.scheme: "ftp" is no scheme; must be http or https`},
		{"scheme: http", "shceme: http", "f:8: sites[0].rules[0].match.shceme: unknown field; did you mean scheme?"},
		{"noindex: true", "noindex: maybe", `f:9: sites[0].rules[0].noindex: "maybe" is unknown; must be true or false`},
		{"noindex: true", "noindx: true", "f:9: sites[0].rules[0].noindx: unknown field; did you mean noindex?"},
		{"round_robin", "round_robbin", `f:6: sites[0].origins.app.policy: "round_robbin" is unknown; did you mean round_robin?`},
	} {
		if _, err := flags.Parse("f", []byte(strings.Replace(right, row.old, row.with, 1)), fresh); fmt.Sprint(err) != row.want {
			t.Errorf("%s:\ngot  %v\nwant %s", row.with, err, row.want)
		}
	}
	warned, err := flags.Parse("f", []byte(strings.Replace(right, "noindex: true", "noindex: false", 1)), fresh)
	if err != nil || len(warned.Warnings) != 1 || !strings.Contains(warned.Warnings.Error(), "does nothing") {
		t.Errorf("noindex: false: %v, %v", warned, err)
	}
}

// The schema has what a program adds.
func TestSchema(t *testing.T) {
	schema, err := config.Schema(flags.Options(fresh))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"scheme": {`, "the client uses `http`, or `https`", `"noindex": {`,
		"search engines do not list the response", "round_robin: the URLs in turn", "|round_robin)"} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("the schema lacks %s", want)
		}
	}
}

// config explain has what a program adds.
func TestExplain(t *testing.T) {
	loaded, err := flags.Parse("f", []byte(file("http://10.0.0.5", "http://10.0.0.6")), fresh)
	if err != nil {
		t.Fatal(err)
	}
	e, err := rules.Explain(loaded.Table, &url.URL{Scheme: "http", Host: "a.test", Path: "/"},
		rules.Request{Method: "GET", Header: http.Header{"Accept-Encoding": {"gzip, deflate"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rule    [x] line 8: over TLS: false → noindex\n",
		"policy  round_robin: the URLs in turn\n", "codings gzip, deflate\n"} {
		if !strings.Contains(e.Text(), want) {
			t.Errorf("the explanation lacks %q:\n%s", want, e.Text())
		}
	}
}

// docs/explain/extend.md quotes the files of this package, and no other Go code.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/explain/extend.md"))
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "../example_test.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	blocks := strings.Split(string(page), "```go\n")
	if len(blocks) < 6 {
		t.Fatalf("the page has %d blocks of Go", len(blocks)-1)
	}
	for _, block := range blocks[1:] {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(source.String(), code) {
			t.Errorf("no test has\n%s", code)
		}
	}
}
