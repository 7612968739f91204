package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/iconedge/iconedge/internal/trace/tracetest"
	"github.com/iconedge/iconedge/test/harness"
)

// paths returns the paths in the lines of an access log. Every line must be complete.
func paths(t *testing.T, log string) (all []string) {
	t.Helper()
	for line := range strings.Lines(log) {
		var l struct{ Path string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, l.Path)
	}
	return all
}

// logged waits until the edge has written a number of lines, because it writes them after the
// responses.
func logged(t *testing.T, s *harness.Server, lines int) {
	t.Helper()
	harness.Eventually(t, "the edge has written the lines", func() bool {
		return harness.Sum(s.Metrics(t), `iconedge_edge_access_log_lines_total{result="written"} `) == lines
	})
}

// TestAccessLogIsRotated rotates the access log as logrotate does: it renames the file and sends
// SIGHUP. No line is lost, and the new file has all later lines after the program has ended.
func TestAccessLogIsRotated(t *testing.T) {
	t.Parallel() // it mostly waits
	home, file := t.TempDir(), filepath.Join(t.TempDir(), "access.log")
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	s := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--access-log", file).Ready()
	public := s.Address("public")
	harness.Get(t, public, "/demo/arrow.svg?first")
	logged(t, s, 1)
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "the edge has opened a new file", func() bool { _, err := os.Stat(file); return err == nil })
	harness.Get(t, public, "/demo/arrow.svg?second")
	logged(t, s, 2)
	_, metrics := harness.Get(t, s.Address("admin"), "/metrics")
	if !strings.Contains(metrics, `iconedge_edge_access_log_lines_total{result="dropped"} 0`) {
		t.Error("the edge dropped lines, or did not count them")
	}
	if status := s.Stop(); status != 0 {
		t.Errorf("status %d", status)
	}
	for name, want := range map[string]string{file + ".1": "/demo/arrow.svg?first", file: "/demo/arrow.svg?second"} {
		b, err := os.ReadFile(name)
		if got := paths(t, string(b)); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s has %q, want %s: %v", name, got, want, err)
		}
	}
}

// TestAccessLogOnStdout: stdout has only the lines of the access log.
func TestAccessLogOnStdout(t *testing.T) {
	t.Parallel() // it mostly waits
	home := t.TempDir()
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	cmd := harness.Program(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--access-log", "-")
	var out bytes.Buffer
	cmd.Stdout = &out
	s := harness.StartCommand(t, cmd).Ready()
	harness.Get(t, s.Address("public"), "/demo/arrow.svg")
	logged(t, s, 1)
	s.Stop()
	if got := paths(t, out.String()); len(got) != 1 || got[0] != "/demo/arrow.svg" {
		t.Errorf("%q", out.String())
	}
}

// TestOneTrace: a request goes through an edge and an origin, each a process; their spans belong to
// one trace, and each lies within its parent.
func TestOneTrace(t *testing.T) {
	t.Parallel() // it waits until the spans are sent
	home, collector := t.TempDir(), tracetest.New(t)
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	traced := []string{"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--trace-endpoint", collector.URL, "--trace-sample"}
	o := harness.Start(t, home, append([]string{"origin"}, append(traced, "0")...)...).Ready()
	e := harness.Start(t, home, append([]string{"edge", "--origin", "http://" + o.Address("public")}, append(traced, "1")...)...).Ready()
	resp, body := harness.Get(t, e.Address("public"), "/demo/arrow.svg")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	const path = "/demo/arrow.svg"
	server, client, origin := collector.Find(t, "iconedge-edge", "server", path),
		collector.Find(t, "iconedge-edge", "client", path), collector.Find(t, "iconedge-origin", "server", path)
	if e.Stop() != 0 || o.Stop() != 0 {
		t.Error("the exit status is not 0")
	}
	if server.Parent != "" || client.Parent != server.ID || origin.Parent != client.ID ||
		server.Trace != client.Trace || client.Trace != origin.Trace {
		t.Errorf("%+v\n%+v\n%+v", server, client, origin)
	}
}

// TestReportsAtStart: an unusable value is one line and exit status 2; a file that can't be opened
// is exit status 1.
func TestReportsAtStart(t *testing.T) {
	home := t.TempDir()
	for _, row := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"edge", "--access-log-sample", "2"}, 2, "--access-log-sample must be a number from 0 to 1"},
		{[]string{"edge", "--trace-endpoint", "collector:4318"}, 2, "--trace-endpoint must be http://"},
		{[]string{"origin", "--trace-sample", "-1"}, 2, "--trace-sample must be a number from 0 to 1"},
		{[]string{"edge", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--access-log",
			filepath.Join(home, "none", "x")}, 1, "opening the access log: "},
	} {
		_, stderr, status := harness.Call(t, home, row.args...)
		last := stderr[strings.LastIndex(strings.TrimSpace(stderr), "\n")+1:]
		if status != row.status || !strings.Contains(last, row.want) {
			t.Errorf("%s: status %d, %s", strings.Join(row.args, " "), status, stderr)
		}
	}
}
