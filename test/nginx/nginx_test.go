// Package nginx compares nginx with an edge whose file was made of the configuration of nginx.
package nginx

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// echo answers with the request as far as proxies should agree about it.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Powered-By", "echo")
	fmt.Fprintf(w, "%s %s host=%s body=%q", r.Method, r.RequestURI, r.Host, body)
	for _, name := range []string{"Accept-Language", "Cookie", "X-Api-Version", "Depth"} {
		fmt.Fprintf(w, " %s=%q", name, r.Header[name])
	}
}

// Each configuration of config/convert/testdata answers the requests beside it in the same way by
// nginx and by an edge: status, Location, fields and body.
func TestConverted(t *testing.T) {
	peer := harness.Peer{Name: "nginx", Program: "nginx"}
	program := peer.Installed()
	if program == "" {
		t.Skip("nginx is not installed")
	}
	all, err := filepath.Glob("../../config/convert/testdata/*/requests.txt")
	if err != nil || len(all) < 10 {
		t.Fatal(all, err)
	}
	for _, file := range all {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			dir := folder(t, filepath.Dir(file))
			one, other := startNginx(t, program, dir), startEdge(t, dir)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
					compare(t, line, one, other)
				}
			}
		})
	}
}

// folder copies a folder of test data, with addresses of servers of the test.
func folder(t *testing.T, from string) string {
	t.Helper()
	dir := harness.OpenDir(t)
	must(t, os.CopyFS(dir, os.DirFS(from)))
	for _, port := range []string{"3000", "3001", "3002"} {
		s := httptest.NewServer(http.HandlerFunc(echo))
		t.Cleanup(s.Close)
		edit(t, dir, `127\.0\.0\.1:`+port, strings.TrimPrefix(s.URL, "http://"))
	}
	return dir
}

// edit replaces what a regular expression matches in all configuration files of a folder.
func edit(t *testing.T, dir, old, new string) {
	t.Helper()
	must(t, filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil || !strings.HasSuffix(path, ".conf") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, regexp.MustCompile(old).ReplaceAll(text, []byte(new)), 0o644)
	}))
}

// startNginx starts nginx with a copy of a folder, without the lines that no test can have, such as
// those of modules that Debian does not install.
func startNginx(t *testing.T, program, from string) (address string) {
	t.Helper()
	dir := harness.OpenDir(t)
	must(t, os.CopyFS(dir, os.DirFS(from)))
	address = harness.FreeAddress(t)
	edit(t, dir, `listen \[::\].*;`, "")
	edit(t, dir, `listen 8080`, "listen "+address)
	edit(t, dir, `(user|error_log|modsecurity|content_by_lua_file) .*;`, "")
	main := filepath.Join(dir, "nginx.conf")
	text, err := os.ReadFile(main)
	must(t, err)
	conf := string(text)
	if !strings.Contains(conf, "http {") {
		conf = "http {" + conf + "}"
	}
	if !strings.Contains(conf, "events {") {
		conf = "events {}\n" + conf
	}
	temporary := "port_in_redirect off; access_log off;"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf(" %s_temp_path %s/temp_%s;", kind, dir, kind)
	}
	conf = strings.Replace(conf, "http {", "http { "+temporary, 1)
	must(t, os.WriteFile(main, []byte(conf), 0o644))
	for name, text := range map[string]string{"mime.types": "types { text/html html; text/css css; }", "fastcgi_params": ""} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	global := "daemon off; error_log stderr; pid " + dir + "/pid;"
	if os.Getuid() == 0 {
		global += " user root;"
	}
	log := harness.StartOther(t, exec.CommandContext(t.Context(), program, "-p", dir, "-c", main, "-g", global))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("nginx:\n%s", log)
		}
	})
	harness.AwaitListener(t, "nginx", address)
	return address
}

// startEdge converts the configuration of a folder, checks the file, and starts an edge with it.
func startEdge(t *testing.T, dir string) (address string) {
	t.Helper()
	home := t.TempDir()
	text, notes, status := harness.Call(t, home, "config", "convert", "--from", "nginx", filepath.Join(dir, "nginx.conf"))
	if status != 0 {
		t.Fatalf("status %d\n%s", status, notes)
	}
	file := filepath.Join(home, "edge.yaml")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	harness.Must(t, home, "config", "check", file)
	s := harness.Start(t, home, "edge", "--config", file, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", text, notes)
		}
	})
	s.Address("admin")
	return s.Address("public")
}

// fields are those that a line of nginx may have set. Without such a line an edge may send its own
// Cache-Control.
var fields = []string{"X-Frame-Options", "X-Content-Type-Options", "X-Robots-Tag", "Strict-Transport-Security",
	"Referrer-Policy", "X-Kind", "X-Powered-By", "Cache-Control"}

// compare sends the request of a line to both. Where the line has a status, the edge has it.
func compare(t *testing.T, line, one, other string) {
	t.Helper()
	request, status, differs := strings.Cut(line, " => ")
	want, got := send(t, request, one), send(t, request, other)
	if differs {
		if strconv.Itoa(got.StatusCode) != status {
			t.Errorf("%s: status %d", line, got.StatusCode)
		}
		return
	}
	if want.StatusCode != got.StatusCode {
		t.Errorf("%s: status %d, nginx %d: %s", line, got.StatusCode, want.StatusCode, got.text)
		return
	}
	if to, of := got.location(t), want.location(t); to != of {
		t.Errorf("%s: Location %s, nginx %s", line, to, of)
	}
	for _, name := range fields {
		a, b := strings.Join(got.Header[name], ", "), strings.Join(want.Header[name], ", ")
		if a != b && !(name == "Cache-Control" && b == "") {
			t.Errorf("%s: %s: %q, nginx %q", line, name, a, b)
		}
	}
	if want.text != got.text && !strings.Contains(want.text, "<center>") { // a page of nginx itself
		t.Errorf("%s: body %q, nginx %q", line, got.text, want.text)
	}
}

// A response is a whole response.
type response struct {
	*http.Response
	text string
}

// location returns the address that the client goes to.
func (r *response) location(t *testing.T) string {
	t.Helper()
	to := r.Header.Get("Location")
	if to == "" {
		return ""
	}
	u, err := url.Parse(to)
	must(t, err)
	return r.Request.URL.ResolveReference(u).String()
}

// send sends a request, METHOD ADDRESS [NAME:VALUE]…, to a server.
func send(t *testing.T, line, to string) *response {
	t.Helper()
	words := strings.Fields(line)
	var body io.Reader
	if words[0] == "POST" || words[0] == "PUT" {
		body = strings.NewReader("text")
	}
	r, err := http.NewRequestWithContext(t.Context(), words[0], words[1], body)
	must(t, err)
	for _, field := range words[2:] {
		name, value, _ := strings.Cut(field, ":")
		r.Header.Set(name, strings.Replace(value, "Basic-", "Basic ", 1))
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, to)
		}}
	resp, err := transport.RoundTrip(r)
	must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	return &response{resp, string(text)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
