package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// TestLists: a running edge refuses the addresses of its deny list, and reads the list again on
// SIGHUP.
func TestLists(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "deny")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("192.0.2.0/24\n")
	s := harness.Start(t, home, "edge", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--deny-file",
		file, "--trusted-proxies", "127.0.0.1")
	status := func(client string) int {
		resp, _ := harness.Get(t, s.Address("public"), "/no/such/path", "X-Forwarded-For", client)
		return resp.StatusCode
	}
	if status("192.0.2.1") != http.StatusForbidden || status("198.51.100.1") != http.StatusNotFound {
		t.Error("the edge does not apply the deny list")
	}
	write("198.51.100.0/24\n")
	if err := s.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.Log.Wait(regexp.MustCompile(`list=deny ranges=1`))
	if status("192.0.2.1") != http.StatusNotFound || status("198.51.100.1") != http.StatusForbidden {
		t.Error("the edge did not read the list again")
	}
	write("nobody\n")
	if _, stderr, code := harness.Call(t, home, "edge", "--deny-file", file); code != 2 || !strings.Contains(stderr, "line 1") {
		t.Errorf("a malformed list at the start: %d %s", code, stderr)
	}
}

// TestLicences: an edge with --require-token accepts the tokens that were issued, applies the
// limits of their plan, and logs no token.
func TestLicences(t *testing.T) {
	t.Parallel() // it mostly waits
	home := t.TempDir()
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	token := strings.TrimSpace(harness.Must(t, home, "token", "issue", "--plan", "lifetime"))
	s := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--require-token",
		"--limit", "lifetime:search=600/1m", "--log-level", "debug").Ready()
	for _, call := range []struct {
		path, authorization string
		code                int
		policy              string
	}{
		{"/api/v1/search?q=dot", "", 401, `"search";q=60;w=60`},
		{"/api/v1/search?q=dot", "Bearer " + token, 200, `"search";q=600;w=60`},
		{"/api/v1/search?q=dot", "Bearer " + token, 200, `"search";q=600;w=60`},
		{"/api/v1/search?q=dot", "Bearer " + token[:43], 401, `"search";q=60;w=60`},
		{"/api/v1/icon/demo/dot", "Bearer " + token, 200, `"icon";q=120;w=60`},
		{"/demo/dot.svg", "", 200, ""},
	} {
		resp, _ := harness.Get(t, s.Address("public"), call.path, "Authorization", call.authorization)
		if resp.StatusCode != call.code || resp.Header.Get("RateLimit-Policy") != call.policy ||
			(call.code == 401) != strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: %d %v, want %d %s", call.path, resp.StatusCode, resp.Header, call.code, call.policy)
		}
	}
	s.Stop()
	if log := s.Log.String(); strings.Contains(log, token[4:20]) || !strings.Contains(log, "listening") {
		t.Errorf("the log has the token, or is empty: %s", log)
	}
}

// TestAdminIsPrivate: an edge warns if other machines could purge its cache.
func TestAdminIsPrivate(t *testing.T) {
	t.Parallel() // it mostly waits
	home := t.TempDir()
	file := filepath.Join(home, "token")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		flags string
		warns bool
	}{{"--admin-listen 0.0.0.0:0", true}, {"--admin-listen 127.0.0.1:0", false},
		{"--admin-listen 0.0.0.0:0 --admin-token-file " + file, false}} {
		s := harness.Start(t, home, append([]string{"edge", "--listen", "127.0.0.1:0"}, strings.Fields(row.flags)...)...)
		s.Address("admin")
		s.Stop()
		if got := strings.Contains(s.Log.String(), "level=WARN"); got != row.warns {
			t.Errorf("%s: warning logged: %v, want %v", row.flags, got, row.warns)
		}
	}
}
