package edge

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/logtest"
)

// tokenFile writes a file with an admin token.
func tokenFile(t testing.TB, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "admin-token")
	must(t, os.WriteFile(path, []byte(token+"\n"), 0o600))
	return path
}

// accessBy requires a token.
func accessBy(t testing.TB, token string) *admin.Access {
	t.Helper()
	a, err := (&admin.Config{TokenFile: tokenFile(t, token)}).Open()
	must(t, err)
	return a
}

// adminEdge runs an edge without a call of Validate, and returns the address of its admin listener,
// its signals and its log.
func adminEdge(t *testing.T, change func(*Config)) (address string, signals chan<- os.Signal, log *logtest.Log) {
	t.Helper()
	origin := httptest.NewServer(owntest.NewOrigin())
	t.Cleanup(origin.Close)
	var cfg Config
	cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
	cfg.Loop = testLoop
	must(t, cfg.Origins.Set(origin.URL))
	log = new(logtest.Log)
	cfg.Listener, cfg.AdminListener, cfg.Log = listenTest(t), listenTest(t), log.Logger()
	reload := make(chan os.Signal, 1)
	cfg.Reload = reload
	change(&cfg)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, cfg) }()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
	})
	return cfg.AdminListener.Addr().String(), reload, log
}

// adminCall calls an admin listener under a host name, and returns status and body.
func adminCall(t *testing.T, address, method, path, host string, fields ...string) (int, string) {
	t.Helper()
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(`{"urls":["/mdi/home.svg"]}`)
	}
	r, err := http.NewRequest(method, "http://"+address+path, body)
	must(t, err)
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(text)
}

// Run requires the token of the file even without a call of Validate.
func TestRunReadsAdminToken(t *testing.T) {
	address, _, _ := adminEdge(t, func(c *Config) { c.Admin.TokenFile = tokenFile(t, "secret") })
	for authorization, want := range map[string]int{"": 401, "Bearer other": 401, "Bearer ": 401, "Bearer secret": 200} {
		if code, body := adminCall(t, address, "POST", "/purge", address, "Authorization", authorization); code != want {
			t.Errorf("a purge with %q: %d %s, want %d", authorization, code, body, want)
		}
	}
}

// Run does not serve if it can't read the token, or if metrics require a token and none is set.
func TestRunWithoutAdminToken(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no file":               func(c *Config) { c.Admin.TokenFile = filepath.Join(t.TempDir(), "none") },
		"an empty file":         func(c *Config) { c.Admin.TokenFile = tokenFile(t, " ") },
		"metrics without token": func(c *Config) { c.Admin.ProtectMetrics = true },
	} {
		t.Run(name, func(t *testing.T) {
			var cfg Config
			cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
			cfg.Loop = testLoop
			cfg.Listener, cfg.AdminListener, cfg.Log = listenTest(t), listenTest(t), new(logtest.Log).Logger()
			change(&cfg)
			ctx, stop := context.WithCancel(t.Context())
			stop() // if Run started, it would return at once, without an error
			if err := Run(ctx, cfg); err == nil || !strings.Contains(err.Error(), "--admin-") {
				t.Errorf("Run: %v, want an error that names the flag", err)
			}
		})
	}
}

// The admin listener answers the operator and no page in a browser, on every path. Package admin
// has the cases.
func TestAdminGuard(t *testing.T) {
	t.Parallel()
	address, _, _ := adminEdge(t, func(c *Config) {
		c.Admin = admin.Config{TokenFile: tokenFile(t, "secret"), Hosts: admin.Hosts{"edge.example.org"}, ProtectMetrics: true}
	})
	const bearer = "Bearer secret"
	for _, call := range []struct{ method, path string }{{"GET", "/healthz"}, {"GET", "/readyz"}, {"GET", "/metrics"},
		{"GET", "/nothing"}, {"POST", "/purge"}} {
		for _, row := range []struct {
			host   string
			fields []string
			passes bool
		}{
			{address, nil, true},
			{"localhost", nil, true},
			{"edge.example.org", nil, true},
			{"rebound.example", nil, false},
			{address, []string{"Origin", "https://evil.example"}, false},
			{address, []string{"Sec-Fetch-Site", "cross-site"}, false},
			{address, []string{"Sec-Fetch-Site", "none"}, true},
		} {
			code, body := adminCall(t, address, call.method, call.path, row.host, append(row.fields, "Authorization", bearer)...)
			if (code != 403) != row.passes || code == 403 && !strings.Contains(body, `"status":403`) {
				t.Errorf("%s %s of %s with %v: %d %s", call.method, call.path, row.host, row.fields, code, body)
			}
		}
	}
	for path, want := range map[string]int{"/metrics": 401, "/healthz": 200} {
		if code, body := adminCall(t, address, "GET", path, address); code != want {
			t.Errorf("%s without the token: %d %s, want %d", path, code, body, want)
		}
	}
	if code, body := adminCall(t, address, "GET", "/metrics", address, "Authorization", bearer); code != 200 ||
		!strings.Contains(body, "\niconedge_edge_admin_token_last_reload_successful 1\n") {
		t.Errorf("/metrics with the token: %d %.200s", code, body)
	}
}

// After a signal the replaced token is refused. A token file that can't be read changes nothing.
// The log has both.
func TestAdminTokenIsReadAgain(t *testing.T) {
	path := tokenFile(t, "first")
	address, signals, log := adminEdge(t, func(c *Config) { c.Admin.TokenFile = path })
	purge := func(token string) int {
		code, _ := adminCall(t, address, "POST", "/purge", address, "Authorization", "Bearer "+token)
		return code
	}
	inUse := func() string {
		_, text := adminCall(t, address, "GET", "/metrics", address)
		_, after, _ := strings.Cut(text, "\niconedge_edge_admin_token_last_reload_successful ")
		return after[:1]
	}
	// The edge has read the file before the file changes.
	if code := purge("first"); code != 200 {
		t.Fatalf("the first token: %d, want 200", code)
	}
	must(t, os.WriteFile(path, []byte("second"), 0o600))
	signals <- syscall.SIGHUP
	settled(t, "the second token is accepted", func() bool { return purge("second") == 200 })
	if code := purge("first"); code != 401 {
		t.Errorf("the first token: %d, want 401", code)
	}
	must(t, os.WriteFile(path, nil, 0o600))
	signals <- syscall.SIGHUP
	settled(t, "the metric reports that the file can't be used", func() bool { return inUse() == "0" })
	if code := purge("second"); code != 200 || !strings.Contains(log.String(), "there is no token in it") {
		t.Errorf("the second token while its file is empty: %d, and the log is %s", code, log.String())
	}
	if code := purge(""); code != 401 {
		t.Errorf("no token while the file is empty: %d, want 401", code)
	}
	must(t, os.Remove(path))
	signals <- syscall.SIGHUP
	settled(t, "the log reports the missing file", func() bool { return strings.Contains(log.String(), "no such file") })
	if code := purge("second"); code != 200 {
		t.Errorf("the second token while there is no file: %d, want 200", code)
	}
}

// Validate stores nothing of the token that it reads.
func TestValidateReadsNoToken(t *testing.T) {
	path := tokenFile(t, "first")
	address, _, _ := adminEdge(t, func(c *Config) {
		c.Admin.TokenFile = path
		must(t, c.Validate())
		must(t, os.WriteFile(path, []byte("second"), 0o600))
	})
	if code, body := adminCall(t, address, "POST", "/purge", address, "Authorization", "Bearer second"); code != 200 {
		t.Errorf("the token of the file when it began to run: %d %s, want 200", code, body)
	}
}

// newAdmin returns the admin server of an edge that is ready.
func (e *edgeTest) newAdmin(a *admin.Access) *http.Server {
	e.state.Record(&upstream.Response{Status: http.StatusOK, Header: http.Header{}})
	return newAdmin(e.Server, a, e.purges.Handler(a, e.peers, e.Server.cfg.Log))
}
