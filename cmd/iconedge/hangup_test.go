package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// TestHangup: SIGHUP ends no server, whether it has files to read again or not; SIGTERM still does.
func TestHangup(t *testing.T) {
	for name, args := range map[string][]string{
		"edge": {"edge", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--origin", "http://127.0.0.1:1"},
		"edge with a token": {"edge", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--origin",
			"http://127.0.0.1:1", "--admin-token-file", harness.TextFile(t, "secret")},
		"origin":       {"origin", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"},
		"origin alone": {"origin", "--listen", "127.0.0.1:0", "--admin-listen", "none"},
		"run":          {"run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"},
		"mcp": {"mcp", "--http", "127.0.0.1:0", "--license-token",
			"iel_0123456789012345678901234567890123456789", "--api", "http://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t, t.TempDir(), args...)
			line := regexp.MustCompile(`(?:msg=listening address|address)=(\S+)`)
			m := s.Log.Wait(line)
			if m == nil {
				t.Fatal("it logged no address")
			}
			for range 3 {
				s.HangUp()
				resp, err := http.Get("http://" + m[1] + "/healthz")
				if err != nil {
					t.Fatalf("after SIGHUP: %v", err)
				}
				resp.Body.Close()
			}
			if status := s.Stop(); status != 0 {
				t.Errorf("after SIGHUP and SIGTERM: status %d, want 0", status)
			}
		})
	}
}

// TestHangupOfCommands: SIGHUP does not end a command that is at work either.
func TestHangupOfCommands(t *testing.T) {
	for name, row := range map[string]struct {
		args   func(address string) []string
		status int // exit status after the response
	}{
		"health": {func(a string) []string { return []string{"health", "--within", "3m", "http://" + a + "/healthz"} }, 0},
		"publish": {func(a string) []string {
			return []string{"publish", "--list", "--store", "s3://icons?tls=false&endpoint=" + a}
		}, 1},
		"token list": {func(a string) []string {
			return []string{"token", "list", "--store", "s3://icons?tls=false&endpoint=" + a}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, answer := make(chan struct{}, 100), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				arrived <- struct{}{}
				<-answer
				if r.URL.Path != "/healthz" {
					w.WriteHeader(http.StatusForbidden)
				}
			}))
			defer server.Close()
			cmd := harness.Program(t, t.TempDir(), row.args(strings.TrimPrefix(server.URL, "http://"))...)
			cmd.Env = append(cmd.Env, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b")
			s := harness.StartCommand(t, cmd)
			select {
			case <-arrived:
			case <-s.Done:
				t.Fatalf("it exited without a request: %s", s.Log)
			}
			s.HangUp()
			close(answer)
			<-s.Done
			if got := s.Cmd.ProcessState; got.ExitCode() != row.status {
				t.Errorf("after SIGHUP: %v, want status %d", got, row.status)
			}
		})
	}
}

// TestHangupOfAgent: SIGHUP does not end an MCP server whose terminal is closed; the end of its
// input does.
func TestHangupOfAgent(t *testing.T) {
	cmd := harness.Program(t, t.TempDir(), "mcp", "--license-token", "iel_0123456789012345678901234567890123456789",
		"--api", "http://127.0.0.1:1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s := harness.StartCommand(t, cmd)
	in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"))
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.HangUp()
	in.Close()
	<-s.Done
	if got := s.Cmd.ProcessState; !got.Exited() {
		t.Errorf("after SIGHUP: %v", got)
	}
}

// adminsOf returns the addresses of both admin listeners of `iconedge run`, the edge's and its
// origin's.
func adminsOf(t *testing.T, s *harness.Server) []string {
	t.Helper()
	line := regexp.MustCompile(`msg=listening (?:part=origin )?address=(\S+) for=admin\b`)
	harness.Eventually(t, "both admin listeners are logged", func() bool { return len(line.FindAllString(s.Log.String(), -1)) == 2 })
	var all []string
	for _, m := range line.FindAllStringSubmatch(s.Log.String(), -1) {
		all = append(all, m[1])
	}
	return all
}

// TestAdminListenersOfRun: both admin listeners of `iconedge run` protect themselves, and both read
// the token again, on SIGHUP and when the file changes.
func TestAdminListenersOfRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "admin-token")
	write(t, file, "first")
	s := harness.Start(t, t.TempDir(), "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--admin-token-file", file, "--admin-protect-metrics", "--admin-host", "*.example.org")
	code := func(address, path, host string, header ...string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	admins := adminsOf(t, s)
	metrics := func(address, token string) int {
		return code(address, "/metrics", address, "Authorization", "Bearer "+token)
	}
	for _, a := range admins {
		for host, want := range map[string]int{a: 200, "localhost": 200, "edge-1": 200, "edge.example.org": 200, "rebound.example": 403} {
			if got := code(a, "/healthz", host); got != want {
				t.Errorf("%s for %s: %d, want %d", a, host, got, want)
			}
		}
		for _, field := range []string{"Origin", "Sec-Fetch-Site"} {
			if got := code(a, "/healthz", a, field, "https://evil.example"); got != 403 {
				t.Errorf("%s with %s: %d, want 403", a, field, got)
			}
		}
		if with, without := metrics(a, "first"), code(a, "/metrics", a); with != 200 || without != 401 {
			t.Errorf("%s: metrics with the token %d, without %d", a, with, without)
		}
	}
	write(t, file, "second")
	s.HangUp()
	for _, a := range admins {
		harness.Eventually(t, "both listeners accept only the second token after SIGHUP",
			func() bool { return metrics(a, "second") == 200 && metrics(a, "first") == 401 })
	}
	write(t, file, "the third")
	for _, a := range admins {
		harness.Eventually(t, "both listeners accept only the third token without a signal",
			func() bool { return metrics(a, "the third") == 200 && metrics(a, "second") == 401 })
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.HangUp()
	harness.Eventually(t, "both log that the file is missing", func() bool { return strings.Count(s.Log.String(), "no such file") >= 2 })
	for _, a := range admins {
		if got := metrics(a, "the third"); got != 200 {
			t.Errorf("%s: metrics while the file is missing: %d, want 200", a, got)
		}
	}
	if status := s.Stop(); status != 0 {
		t.Errorf("status %d", status)
	}
}
