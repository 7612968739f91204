package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/harness"
)

// plugin returns the command of a client that calls the edge at base.
func plugin(t *testing.T, base string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := harness.Program(t, t.TempDir(), args...)
	cmd.Env = append(cmd.Env, "ICONEDGE_API="+base+"/", "ICONEDGE_CDN="+base)
	return cmd
}

// outcome runs a command to its end.
func outcome(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestPluginCommands runs search and get against a real edge and origin, and in a pipeline with fzf
// if that is installed.
func TestPluginCommands(t *testing.T) {
	home := withPacks(t)
	edge := harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready()
	base := "http://" + edge.Address("public")
	_, svg := harness.Get(t, edge.Address("public"), "/mdi/home.svg")
	_, search := harness.Get(t, edge.Address("public"), "/api/v1/search?q=home&limit=20")
	for _, row := range []struct {
		args   string
		status int
		stdout string // all of it if it ends in a line break or is an SVG, else its beginning
		stderr string // a part
	}{
		{"search home --limit 1 --pack mdi", 0, "mdi/home\tApache-2.0\tMaterial Design Icons\n", ""},
		{"search --json home", 0, strings.TrimRight(search, "\n") + "\n", ""},
		{"search qqzzxxqq", 0, "", "no icon was found"},
		{"search", 2, "", "search takes words"},
		{"search home --limit 51", 2, "", "--limit"},
		{"search home --pack A/B", 2, "", "--pack"},
		{"search home --pack nope", 1, "", "Pack nope was not found."},
		{"get mdi/home", 0, svg, "mdi/home: license Apache-2.0; attribution: Material Design Icons by Pictogrammers"},
		{"get mdi:home --as name", 0, "mdi/home\n", "Apache-2.0"},
		{"get mdi/home --as url --color #F00", 0, base + "/mdi/home.svg?color=%23ff0000\n", ""},
		{"get mdi/home lucide/house --as url", 0, base + "/mdi/home.svg\n" + base + "/lucide/house.svg\n", "ISC"},
		{"get mdi/home --as datauri", 0, "data:image/svg+xml;base64,", ""},
		{"get mdi/home --as css", 0, "mask: url(\"" + base + "/mdi/home.svg\") center / contain " +
			"no-repeat;\nbackground-color: currentColor;\n", ""},
		{"get mdi/home --as react", 0, "// mdi/home: license Apache-2.0;", ""},
		{"get mdi/home --size 48", 0, `<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48"`, ""},
		{"get mdi/homee", 1, "", "Icon mdi/homee was not found. Close names: home."},
		{"get mdi/home --as gif", 2, "", "--as must be one of svg, react, css, url, datauri, name, png"},
		{"get mdi/home --color red", 2, "", "hex"},
		{"get mdi/home --size 5000", 2, "", "4096"},
		{"get mdi/home --size 0", 2, "", "--size must be a whole number from 1 to 4096"},
		{"get mdi/../home", 2, "", "PACK/NAME"},
		{"get", 2, "", "PACK/NAME"},
		{"get mdi/home --api ftp://x", 2, "", "--api"},
	} {
		stdout, stderr, status := outcome(t, plugin(t, base, strings.Fields(row.args)...))
		whole := row.stdout == "" || strings.HasSuffix(row.stdout, "\n") || strings.HasSuffix(row.stdout, "</svg>")
		if status != row.status || !strings.HasPrefix(stdout, row.stdout) || whole && stdout != row.stdout ||
			!strings.Contains(stderr, row.stderr) {
			t.Errorf("iconedge %s: status %d, stdout %q, stderr %q; want %d, %q, %q", row.args, status, stdout,
				stderr, row.status, row.stdout, row.stderr)
		}
		if status != 0 && strings.Count(stderr, "\n") != 1 {
			t.Errorf("iconedge %s: stderr is not one line: %q", row.args, stderr)
		}
	}
	if _, err := exec.LookPath("fzf"); err != nil {
		t.Log("SKIPPED: fzf is not installed")
		return
	}
	pipe := plugin(t, base)
	pipe.Args = append([]string{"sh", "-c",
		`"$0" search home --pack mdi | fzf --filter "'home-account" | head -1 | cut -f1 | xargs "$0" get --as name`}, pipe.Path)
	pipe.Path = "/bin/sh"
	if stdout, stderr, status := outcome(t, pipe); stdout != "mdi/home-account\n" || status != 0 {
		t.Errorf("search | fzf | get: status %d, %q, %q", status, stdout, stderr)
	}
}

// TestPluginFaults: each failure of the service is one line on stderr and exit status 1; the token
// goes to the API alone, and is in no message.
func TestPluginFaults(t *testing.T) {
	const token = "iel_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	answer := http.HandlerFunc(nil)
	var bearers []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearers = append(bearers, r.Header.Get("Authorization"))
		answer(w, r)
	}))
	t.Cleanup(api.Close)
	reply := func(status int, body string, fields ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(fields); i += 2 {
				w.Header().Set(fields[i], fields[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	for _, row := range []struct {
		about  string
		answer http.HandlerFunc
		stderr string
	}{
		{"429", reply(429, `{}`, "Retry-After", "7"), "retry in 7 seconds"},
		{"500", reply(500, `<html>`), "status 500"},
		{"half a JSON", reply(200, `{"query":"home","resu`), "invalid response"},
		{"HTML", reply(200, `<html>`), "invalid response"},
		{"the token in an error", reply(401, `{"detail":"`+token+`"}`), "ICONEDGE_LICENSE_TOKEN"},
		{"a redirect", reply(302, ``, "Location", "http://127.0.0.1:1/"), "status 302"},
		{"410", reply(410, `{}`), "withdrawn"},
	} {
		for _, args := range [][]string{{"search", "home"}, {"get", "mdi/home"}} {
			answer = row.answer
			cmd := plugin(t, api.URL, args...)
			cmd.Env = append(cmd.Env, "ICONEDGE_LICENSE_TOKEN="+token)
			stdout, stderr, status := outcome(t, cmd)
			if status != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 ||
				!strings.Contains(stderr, row.stderr) || strings.Contains(stderr, token) {
				t.Errorf("%s: %v: status %d, stdout %q, stderr %q; want %q", row.about, args, status, stdout, stderr, row.stderr)
			}
		}
	}
	for _, bearer := range bearers {
		if bearer != "Bearer "+token {
			t.Errorf("Authorization: %q", bearer)
		}
	}
	api.Close()
	if stdout, stderr, status := outcome(t, plugin(t, api.URL, "search", "home")); status != 1 || stdout != "" ||
		!strings.Contains(stderr, "check ICONEDGE_API") {
		t.Errorf("nobody listens: %d, %q, %q", status, stdout, stderr)
	}
}
