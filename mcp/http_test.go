package mcp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	client "github.com/iconedge/iconedge/clients/go"
)

// TestHTTP: the server rejects requests other than calls of this machine's own clients (C22).
func TestHTTP(t *testing.T) {
	a := newFakeAPI(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Config{Config: client.Config{API: a.URL, Token: goodToken}, Listener: ln}) }()
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	for _, row := range []struct {
		about, method, path, kind, body string
		fields                          map[string]string
		status                          int
	}{
		{"a call", "POST", "/mcp", "application/json", list, nil, 200},
		{"of a page of ours", "POST", "/mcp", "application/json", list, map[string]string{"Origin": "http://" + ln.Addr().String()}, 200},
		{"of a page of another origin", "POST", "/mcp", "application/json", list, map[string]string{"Origin": "http://evil.example"}, 403},
		{"of a page without an origin", "POST", "/mcp", "application/json", list, map[string]string{"Origin": "null"}, 403},
		{"by another name", "POST", "/mcp", "application/json", list, map[string]string{"Host": "evil.example"}, 403},
		{"no JSON", "POST", "/mcp", "application/json", "{", nil, 400},
		{"another type", "POST", "/mcp", "text/plain", list, nil, 415},
		{"too long", "POST", "/mcp", "application/json",
			`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("a", maxBody) + `"}`, nil, 413},
		{"no session to listen to", "GET", "/mcp", "", "", nil, 405},
		{"elsewhere", "POST", "/", "application/json", list, nil, 404},
	} {
		r, err := http.NewRequestWithContext(ctx, row.method, "http://"+ln.Addr().String()+row.path, strings.NewReader(row.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", row.kind)
		r.Header.Set("Accept", "application/json, text/event-stream")
		for name, value := range row.fields {
			r.Header.Set(name, value)
			if name == "Host" {
				r.Host = value
			}
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", row.about, err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != row.status || row.status == 200 && !strings.Contains(string(body), "search_icons") {
			t.Errorf("%s: %d %.200s, want %d", row.about, resp.StatusCode, body, row.status)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestOpen: the server warns of an address that other machines can reach, and not of a loopback
// address.
func TestOpen(t *testing.T) {
	for address, warned := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var log bytes.Buffer
		if err := Run(ctx, Config{Config: client.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, Listener: ln}); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "level=WARN") != warned {
			t.Errorf("%s: %s", address, log.String())
		}
	}
}

func TestValidate(t *testing.T) {
	for _, row := range []struct {
		about string
		cfg   Config
		want  string
	}{
		{"defaults", Config{}, ""},
		{"a path", Config{Config: client.Config{API: "https://x.example/icons/", CDN: "http://[::1]:8080"}}, ""},
		{"no scheme", Config{Config: client.Config{API: "x.example"}}, "--api"},
		{"another scheme", Config{Config: client.Config{CDN: "file:///etc"}}, "--cdn"},
		{"a query", Config{Config: client.Config{API: "http://x.example?a=b"}}, "--api"},
		{"somebody's password", Config{Config: client.Config{API: "http://u:secret@x.example"}}, "--api"},
		{"a path with two slashes", Config{Config: client.Config{API: "http://x.example//a"}}, "--api"},
		{"no port", Config{HTTP: "localhost"}, "--http"},
	} {
		err := row.cfg.Validate()
		if (err == nil) != (row.want == "") || err != nil &&
			(!strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v, want %q", row.about, err, row.want)
		}
	}
}
