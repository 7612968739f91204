package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/observe/top"
	"github.com/iconedge/iconedge/test/harness"
)

// TestTop: `iconedge top` shows the clients, paths and hosts of an edge, also those that got 429,
// with the admin token alone.
func TestTop(t *testing.T) {
	home := t.TempDir()
	store := "dir:" + filepath.Join(home, "library")
	harness.Must(t, home, "publish", "--store", store, harness.Library(t, "M0 0h8v8z"))
	origin := harness.Start(t, home, "origin", "--store", store, "--mirror", filepath.Join(home, "mirror"),
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	token := filepath.Join(home, "token")
	if err := os.WriteFile(token, []byte("a-token-of-the-tests\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	edge := harness.Start(t, home, "edge", "--origin", "http://"+origin.Address("public"), "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0",
		"--admin-token-file", token, "--limit", "search=2/1m", "--trusted-proxies", "127.0.0.1").Ready()
	admin := edge.Address("admin")
	harness.Get(t, edge.Address("public"), "/api/v1/packs")   // so that the edge knows the Host
	harness.Get(t, edge.Address("public"), "/demo/house.svg") // a miss
	for range 5 {
		harness.Get(t, edge.Address("public"), "/demo/house.svg?color=f00")
		resp := getFor(t, edge.Address("public"), "/api/v1/search?q=house&secret=1", "198.51.100.7")
		resp.Body.Close()
	}
	var r top.Report
	stdout, stderr, status := harness.Call(t, home, "top", "--once", "--json", "--window", "60s", "--admin", admin,
		"--admin-token-file", token)
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != 0 || stderr != "" || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("status %d, %q, %q: %v", status, stdout, stderr, err)
	}
	if r.Requests < 10 || r.Refused != 3 || len(r.Limited) != 1 || r.Limited[0].Name != "198.51.100.7" ||
		r.Limited[0].Refused != 3 || strings.Contains(stdout, "secret") {
		t.Errorf("%s", stdout)
	}
	if i := slices.IndexFunc(r.Paths, func(row top.Row) bool { return row.Name == "/demo/house.svg" }); i < 0 || r.Paths[i].Requests != 6 {
		t.Errorf("hits and misses of /demo/house.svg: %+v, want 6", r.Paths)
	}
	stdout, _, status = harness.Call(t, home, "top", "--once", "--admin", admin, "--admin-token-file", token, "--rows", "3")
	for _, want := range []string{"CLIENT BY 429\n", "198.51.100.7\n", "  /api/v1/search\n", "  /demo/house.svg\n", "HOST\n"} {
		if !strings.Contains(stdout, want) || status != 0 || strings.ContainsRune(stdout, '\x1b') {
			t.Errorf("no %q in %d, %s", want, status, stdout)
		}
	}
	for _, row := range []struct {
		args   []string
		status int
		stderr string
	}{
		{[]string{"--admin", admin}, 1, "iconedge: this call requires Authorization: Bearer with the admin token\n"},
		{[]string{"--admin", "nonsense"}, 2, "--admin must be HOST:PORT"},
		{[]string{"--window", "61s"}, 2, "--window must be"},
		{[]string{"--rows", "0"}, 2, "--rows must be"},
		{[]string{"--interval", "1ms"}, 2, "--interval must be"},
		{[]string{"--admin", admin, "--admin-token-file", home + "/nowhere"}, 2, "--admin-token-file: "},
	} {
		stdout, stderr, status := harness.Call(t, home, append([]string{"top", "--once"}, row.args...)...)
		if status != row.status || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, row.stderr) {
			t.Errorf("%q: status %d, %q, %q", row.args, status, stdout, stderr)
		}
	}
}

// getFor requests a path for a client, as a trusted proxy does.
func getFor(t *testing.T, address, path, client string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", client)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// A client can't write escape sequences onto the operator's terminal.
func TestTopIsPrintable(t *testing.T) {
	lines := table(top.Report{Seconds: 10, Sampled: .25, Count: top.Count{Requests: 123456, Refused: 10, Bytes: 5e7}, Paths: []top.Row{
		{Name: "/\x1b[2J\x07\"é\xff\\", Count: top.Count{Requests: 20}, Uncertain: 100}, {Name: ""},
	}})
	want := "the last 10 s: 12.3k requests/s, 1.0 429/s, 5.0 MB/s (one in 4 counted)||  REQUESTS/s      429/s    BYTES/s  PATH|" +
		`      2.0+10          0        0 B  /\x1b[2J\a"é\xff\|           0          0        0 B  (none)`
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
