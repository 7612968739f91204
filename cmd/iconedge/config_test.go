package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/test/harness"
)

const contractFile = `version: 1
listen: {http: ":8080", https: ":8443", admin: "127.0.0.1:8082"}
cache: {memory: 512MB, disk: {dir: /var/cache/iconedge, size: 50GB}, max_object: 1GB}
trusted_proxies: [10.0.0.0/8]
defaults: {compress: true, grace: 1h}
idle: 60s
acme_dir: /var/lib/iconedge
sites:
  - name: shop
    hosts: [shop.example.org, "*.shop.example.org"]
    tls: {cert: cert.pem, key: key.pem}
    icons: false
    origins:
      app: {urls: ["http://10.0.0.5:3000", "http://10.0.0.6:3000"], policy: least_conn, health: /up, host: client, timeout: 10s, max_connections: 512}
      files: {urls: ["https://files.example.net"], host: files.example.net, weight: [1]}
    origin: app
    limits: {client: 600/1m, search: 60/1m}
    rules:
      - match: {path: "/static/**"}
        origin: files
        key: {query: none}
        ttl: {"200": 30d, "404": 1m}
      - match: {cookie: session}
        cache: bypass
      - match: 'request.path.startsWith("/api/") && request.headers["x-debug"] == "1"'
        response_headers: {set: {X-Rule: debug}}
      - {match: {path: "/old/**"}, redirect: {to: "/new/$1", status: 301}}
`

// configCommand runs iconedge config.
func configCommand(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = iconedge.Run(context.Background(), allCommands(), cli.Streams{Out: &o, Err: &e}, append([]string{"config"}, args...))
	return status, o.String(), e.String()
}

// TestConfigFile: check accepts the file of the reference, explain explains requests to it, and
// each finding is one line with status 2.
func TestConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge.yaml")
	cert, key := certstest.Pair(t, t.TempDir(), "shop", "shop", "shop.example.org")
	inPlace := strings.NewReplacer("cert: cert.pem", "cert: "+cert, "key: key.pem", "key: "+key)
	write := func(text string) {
		text = inPlace.Replace(text)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(contractFile)
	if status, out, errs := configCommand(t, "check", file); status != 0 || out+errs != "" {
		t.Fatalf("%d %s%s", status, out, errs)
	}
	status, out, errs := configCommand(t, "explain", file, "https://shop.example.org/static/app.js?v=1", "--json")
	var got struct {
		Site  string
		Rules []struct {
			Line    int
			Matched bool
			Why     string
		}
		Origin, URL, Key, TTL string
	}
	if err := json.Unmarshal([]byte(out), &got); status != 0 || err != nil {
		t.Fatalf("%d %s %v", status, errs, err)
	}
	if got.Site != "shop" || len(got.Rules) != 4 || !got.Rules[0].Matched || got.Rules[0].Line != 19 ||
		got.Rules[1].Matched || got.Rules[1].Why == "" ||
		got.Origin != "files" || got.URL != "https://files.example.net/static/app.js?v=1" ||
		!strings.HasPrefix(got.Key, "https://shop.example.org/static/app.js ") || got.TTL != "30d" {
		t.Errorf("%+v", got)
	}
	if status, out, _ := configCommand(t, "explain", file, "http://shop.example.org/api/x", "-H", "X-Debug: 1", "-X",
		"POST", "--client", "2001:db8::1"); status != 0 || !strings.Contains(out, "[x] line 25") {
		t.Errorf("%d %s", status, out)
	}
	if status, _, errs := configCommand(t, "explain", file, "http://other.test/"); status != 2 || !strings.Contains(errs, "421") {
		t.Errorf("%d %s", status, errs)
	}
	write(strings.Replace(strings.Replace(contractFile, "30d", "30", 1), "idle: 60s", "idle: 60", 1))
	if status, _, errs := configCommand(t, "check", file); status != 2 || strings.Count(errs, "\n") != 2 ||
		!strings.Contains(errs, file+":6: idle: 60 has no unit") ||
		!strings.Contains(errs, ":22: sites[0].rules[0].ttl.200: 30 has no unit") {
		t.Errorf("%d %s", status, errs)
	}
	write(strings.Replace(contractFile, "origin: files", "origin: app", 1))
	if status, _, errs := configCommand(t, "check", file); status != 0 || !strings.Contains(errs, "sites[0].origins.files: no rule uses") {
		t.Errorf("%d %s", status, errs)
	}
	write(strings.Replace(contractFile, "key: key.pem", "key: none.pem", 1))
	if status, _, errs := configCommand(t, "check", file); status != 2 || strings.Count(errs, "\n") != 1 ||
		!strings.Contains(errs, ":11: sites[0].tls: certificate ") || !strings.Contains(errs, "none.pem: no such file") {
		t.Errorf("%d %s", status, errs)
	}
	for old, row := range map[string][2]string{
		"idle: 60s":                     {"purge_method: true", ":6: purge_method: --purge-method requires --admin-token-file"},
		"memory: 512MB":                 {"memory: 512B", ":3: cache.memory: --cache-bytes must be at least 1048576"},
		"acme_dir: /var/lib/iconedge":   {"redis: \"redis://:hunter2@[::1\"", ":7: redis: --redis must be redis://"},
		"trusted_proxies: [10.0.0.0/8]": {"log_level: verbose", ":4: log_level: --log-level must be debug"},
		"defaults: {compress: true, grace": {"deny_file: /nonexistent\ndefaults: {grace",
			":5: deny_file: --deny-file: open /nonexistent: no such file"},
		"client: 600/1m": {"client: +600/1m", `:17: sites[0].limits.client: "+600/1m" is no limit; a limit is a number of calls`},
		"search: 60/1m":  {"\"team:cdn\": 60/1m", `:17: sites[0].limits.team:cdn: "team:cdn" is no class; a plan's class must be search`},
		"cache: bypass":  {"limit: {rate: 0/1m}", `:24: sites[0].rules[1].limit.rate: "0/1m" is no limit; a limit is a number of calls`},
	} {
		write(strings.Replace(contractFile, old, row[0], 1))
		if status, _, errs := configCommand(t, "check", file); status != 2 || strings.Count(errs, "\n") != 1 ||
			!strings.HasPrefix(errs, file+row[1]) || strings.Contains(errs, "hunter2") {
			t.Errorf("%d %s, want %s", status, errs, row[1])
		}
	}
	write(strings.Replace(contractFile, "idle: 60s", "purge_method: true", 1))
	t.Setenv("ICONEDGE_ADMIN_TOKEN_FILE", filepath.Join(t.TempDir(), "token"))
	if err := os.WriteFile(os.Getenv("ICONEDGE_ADMIN_TOKEN_FILE"), []byte(strings.Repeat("x", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, errs := configCommand(t, "check", file); status != 0 || out+errs != "" {
		t.Errorf("with a variable for what the file lacks: %d %s%s", status, out, errs)
	}
	write(strings.Replace(contractFile, "idle: 60s", "strict_env: true", 1))
	t.Setenv("ICONEDGE_LISTN", ":1")
	if status, _, errs := configCommand(t, "check", file); status != 2 ||
		!strings.Contains(errs, "iconedge: no flag has the environment variable ICONEDGE_LISTN") {
		t.Errorf("strict_env in the file: %d %s", status, errs)
	}
	write(contractFile)
	if status, _, errs := configCommand(t, "check", file); status != 0 || strings.Count(errs, "\n") != 1 {
		t.Errorf("an unknown variable: %d %s, want one warning", status, errs)
	}
	os.Unsetenv("ICONEDGE_LISTN")
	for _, args := range [][]string{{}, {"check"}, {"check", file, file}, {"nonsense"}, {"explain", file},
		{"explain", file, "x"}, {"check", file + ".none"}} {
		if status, _, errs := configCommand(t, args...); status != 2 || strings.Count(errs, "\n") != 1 {
			t.Errorf("config %q: %d %s", args, status, errs)
		}
	}
}

// TestConfigSchema: the file of the reference is valid by the schema, and a wrong one is not.
func TestConfigSchema(t *testing.T) {
	status, out, errs := configCommand(t, "schema")
	if status != 0 {
		t.Fatal(errs)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if s.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Error(s.Schema)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v)
	}
	if err := validate(contractFile); err != nil {
		t.Error(err)
	}
	for _, change := range [][2]string{{"30d", "30"}, {"origins:", "orgins:"}, {"cookie: session", "cooky: session"},
		{"idle: 60s", "idle: 60"}, {"query: none", "query: some"}, {"cache: bypass", "cache: bypas"},
		{"status: 301", "status: 299"}, {"policy: least_conn", "policy: least"}, {"600/1m", "0/1m"}} {
		if validate(strings.Replace(contractFile, change[0], change[1], 1)) == nil {
			t.Errorf("%s is valid", change[1])
		}
	}
}

// TestConfigServes: an edge serves the sites of its file, flags beside the file take precedence,
// and a converted file behaves as the flags. SIGHUP and config reload replace the sites.
func TestConfigServes(t *testing.T) {
	home := t.TempDir()
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		fmt.Fprintf(w, "%s %s", r.Host, r.URL.RequestURI())
	}))
	t.Cleanup(app.Close)
	file := filepath.Join(home, "edge.yaml")
	write := func(body string) {
		text := "version: 1\nlisten: {http: \"127.0.0.1:1\", admin: \"127.0.0.1:0\"}\nsites:\n  - name: a\n    hosts: " +
			"[a.test]\n    origins: {app: {urls: [\"" + app.URL +
			"\"]}}\n    rules:\n      - {match: {path: /r}, respond: {body: " + body + "}}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	get := func(p *harness.Server, host, path string) string {
		t.Helper()
		q, err := http.NewRequest(http.MethodGet, "http://"+p.Address("public")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = host
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(resp.StatusCode, " ", string(body))
	}
	write("one")
	p := harness.Start(t, home, "edge", "--config", file, "--listen", "127.0.0.1:0").Ready()
	if got := get(p, "a.test", "/x"); got != "200 a.test /x" {
		t.Error(got)
	}
	if got := get(p, "b.test", "/x"); !strings.HasPrefix(got, "421 ") {
		t.Error(got)
	}
	if got := get(p, "a.test", "/r"); got != "200 one" {
		t.Error(got)
	}
	write("two")
	if status, out, errs := configCommand(t, "reload", "--admin", p.Address("admin")); status != 0 || len(out) != 65 {
		t.Errorf("%d %s%s", status, out, errs)
	}
	if got := get(p, "a.test", "/r"); got != "200 two" {
		t.Error(got)
	}
	write("three")
	p.HangUp()
	harness.Eventually(t, "the file is read again", func() bool { return get(p, "a.test", "/r") == "200 three" })
	write("four}}\n    limits: {\"team:cdn\": 10/1m}\n    key: {query: {include: a")
	p.HangUp()
	harness.Eventually(t, "the file with a wrong limit is refused", func() bool {
		resp, err := http.Get("http://" + p.Address("admin") + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return err == nil && strings.Contains(string(text), "iconedge_edge_config_last_reload_successful 0\n")
	})
	if got := get(p, "a.test", "/r"); got != "200 three" {
		t.Error(got)
	}
	if _, errs, status := harness.Call(t, home, "edge", "--config", file); status != 2 ||
		strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, file+":9: sites[0].limits.team:cdn: ") {
		t.Errorf("%d %s", status, errs)
	}
	write("[")
	if status, _, errs := configCommand(t, "reload", "--admin", p.Address("admin")); status != 1 || !strings.Contains(errs, file+":") {
		t.Errorf("%d %s", status, errs)
	}
	if got := get(p, "a.test", "/r"); got != "200 three" {
		t.Error(got)
	}
	if _, errs, status := harness.Call(t, home, "edge", "--config", file); status != 2 ||
		strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, file+":") {
		t.Errorf("%d %s", status, errs)
	}

	flags := []string{"--proxy-all", "--origin", app.URL, "--ignore-query", "utm_*", "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--max-body", "10", "--host", "c.test"}
	_, text, errs := configCommand(t, append([]string{"convert"}, flags...)...)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil || text == "" {
		t.Fatal(err, errs)
	}
	for _, args := range [][]string{flags, {"--config", file}} {
		p := harness.Start(t, home, append([]string{"edge"}, args...)...).Ready()
		if got := get(p, "c.test", "/x?utm_a=1") + get(p, "c.test", "/x?utm_a=2"); got != "200 c.test /x?utm_a=1200 c.test /x?utm_a=1" {
			t.Errorf("%s: %s", args, got)
		}
		if got := get(p, "d.test", "/"); !strings.HasPrefix(got, "421 ") {
			t.Errorf("%s: %s", args, got)
		}
		resp, err := http.Post("http://"+p.Address("public")+"/x", "", strings.NewReader("longer than ten bytes"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMisdirectedRequest { // its host is an address
			t.Errorf("%s: %d", args, resp.StatusCode)
		}
	}
}
