package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/edge"
	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/internal/cli"
	"github.com/iconedge/iconedge/mcp"
	"github.com/iconedge/iconedge/origin"
	"github.com/iconedge/iconedge/test/golden"
	"github.com/iconedge/iconedge/test/harness"
)

// TestCalls: a wrong call writes one line to stderr and has exit status 2, a failure has 1, and
// help goes to stdout with an example.
func TestCalls(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		args   string
		status int
		stderr string // must be in that line
	}{
		{"", 2, "no command"},
		{"serve", 2, "no command"},
		{"run --nonsense", 2, "nonsense"},
		{"run extra", 2, "no arguments"},
		{"run --limit search=many", 2, "limit"},
		{"run --limit search=0/1m", 2, "limit"},
		{"run --limit nonsense=1/1m", 2, "limit"},
		{"run --trusted-proxies 10.0.0.0/99", 2, "trusted-proxies"},
		{"run --cache-bytes -1", 2, "cache-bytes"},
		{"run --log-format xml", 2, "log-format"},
		{"edge --origin ftp://x", 2, "origin"},
		{"run --cdn-url nonsense", 2, "--cdn-url"},
		{"edge --listen nonsense", 2, "listen"},
		{"edge --listen 127.0.0.1:99999", 2, "--listen"},
		{"edge --admin-listen 127.0.0.1:99999", 2, "--admin-listen"},
		{"edge --tls-listen 127.0.0.1:99999 --acme-host a.test --acme-dir " + home, 2, "--tls-listen"},
		{"edge --origin http://127.0.0.1:99999", 2, "-origin:"},
		{"edge --redis redis://127.0.0.1:99999", 2, "--redis"},
		{"edge --trace-endpoint http://127.0.0.1:99999", 2, "--trace-endpoint"},
		{"run --listen 127.0.0.1:99999", 2, "--listen"},
		{"origin --listen 127.0.0.1:99999 --mirror m --store dir:" + home, 2, "--listen"},
		{"origin --admin-listen 127.0.0.1:99999 --mirror m --store dir:" + home, 2, "--admin-listen"},
		{"mcp --http 127.0.0.1:99999", 2, "--http"},
		{"mcp --api http://127.0.0.1:99999", 2, "--api"},
		{"mcp --cdn http://127.0.0.1:99999", 2, "--cdn"},
		{"health http://127.0.0.1:99999", 2, "URL"},
		{"origin --store nonsense", 2, "store"},
		{"origin --store dir:" + home + "/s --mirror " + home + "/m --cdn-url nonsense", 2, "cdn-url"},
		{"mcp --api nonsense --cdn ftp://x", 2, "--api"},
		{"mcp --http nonsense", 2, "--http"},
		{"mcp extra", 2, "no arguments"},
		{"publish", 2, "SOURCE"},
		{"publish --keep 0 x", 2, "keep"},
		{"publish --rollback x", 2, "rollback"},
		{"publish --list x", 2, "list"},
		{"publish --store nonsense x", 2, "store"},
		{"publish " + home + "/not-there", 2, "not-there"},
		{"publish --store dir:" + file + " --list", 1, ""},
		{"publish --rollback", 1, ""},
		{"token", 2, "token"},
		{"token nonsense", 2, "token"},
		{"token revoke", 2, "token"},
		{"token issue --plan a/b", 2, "plan"},
		{"token issue --plan=", 2, "plan"},
		{"token revoke nonsense", 2, "token"},
		{"token revoke iel_" + strings.Repeat("0", 40), 2, "token"},
		{"token revoke " + strings.Repeat("0", 64), 1, "no such"},
	} {
		stdout, stderr, status := harness.Call(t, home, strings.Fields(row.args)...)
		if status != row.status || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, row.stderr) {
			t.Errorf("iconedge %s: status %d, want %d; stdout %q; stderr %q, want one line with %q", row.args, status,
				row.status, stdout, stderr, row.stderr)
		}
	}
	for _, c := range allCommands() {
		if c.Name == "version" {
			continue
		}
		stdout, stderr, status := harness.Call(t, home, c.Name, "--help")
		if status != 0 || stderr != "" || !strings.Contains(stdout, "\n  iconedge "+c.Name) {
			t.Errorf("iconedge %s --help: status %d, stderr %q, stdout without an example: %s", c.Name, status, stderr, stdout)
		}
	}
	if stdout, _, status := harness.Call(t, home, "--version"); status != 0 || !strings.HasPrefix(stdout, "iconedge ") {
		t.Errorf("--version: %d %q", status, stdout)
	}
}

// TestEnvironment: a variable stands in for a flag that is not given. It separates the values of a
// repeatable flag by spaces.
func TestEnvironment(t *testing.T) {
	env := map[string]string{"ICONEDGE_ADMIN_LISTEN": "127.0.0.1:1", "ICONEDGE_LISTEN": "127.0.0.1:2",
		"ICONEDGE_LIMIT": "search=1/1m icon=2/1m", "ICONEDGE_HOST": ""}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	fs := iconedge.Flags("edge", "", "")
	var cfg edge.Config
	cfg.Flags(fs.FlagSet)
	if err := fs.FlagSet.Parse([]string{"--listen", "127.0.0.1:3"}); err != nil {
		t.Fatal(err)
	}
	if err := fs.Environment(lookup); err != nil {
		t.Fatal(err)
	}
	if cfg.AdminListen != "127.0.0.1:1" || cfg.Listen != "127.0.0.1:3" {
		t.Errorf("admin %q, want the variable's; listen %q, want the flag's", cfg.AdminListen, cfg.Listen)
	}
	if got := fs.Lookup("limit").Value.String(); !strings.Contains(got, "search=1/1m") || !strings.Contains(got, "icon=2/1m") {
		t.Errorf("limits %q, want both", got)
	}
	env["ICONEDGE_LIMIT"] = "nonsense"
	fs = iconedge.Flags("edge", "", "")
	cfg = edge.Config{}
	cfg.Flags(fs.FlagSet)
	if err := fs.Environment(lookup); err == nil || !strings.Contains(err.Error(), "ICONEDGE_LIMIT") {
		t.Errorf("%v, want an error that names the variable", err)
	}
}

// TestConfigDocs: docs/reference/config.md lists every flag of the servers.
func TestConfigDocs(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("# Configuration\n\n**In short:** Every flag of the servers, with its environment variable, its " +
		"place in a configuration file and its default. An edge must have only `--origin`, and an origin only " +
		"`--store`;\nall else has a default that is fit for use.\n\nEvery flag has an environment variable; the flag " +
		"takes precedence. A variable separates the values of a repeatable flag by spaces.\n`make golden` writes this " +
		"page from the flags. `iconedge run` takes the edge's flags and `--data`, `--cdn-url`; each " +
		"command's\n`--help` lists all its flags. `edge`, `origin`, `run` and `mcp` also take `--log-format " +
		"text|json` and `--log-level`.\n`iconedge edge --config FILE` reads a [configuration file](config-file.md), " +
		"where each flag of the edge has the place that the table shows; what `defaults` has, a site may have too.\n")
	var e edge.Config
	var o origin.Config
	var m mcp.Config
	for _, part := range []struct {
		title string
		flags func(*flag.FlagSet)
	}{{"iconedge edge", e.Flags}, {"iconedge origin", o.Flags}, {"iconedge mcp", m.Flags}} {
		fs := flag.NewFlagSet(part.title, flag.ContinueOnError)
		part.flags(fs)
		inFile := func(string) string { return "" }
		place, rule := "", ""
		if part.title == "iconedge edge" {
			place, rule = " in a file |", "---|"
			inFile = func(name string) string { return " `" + flags.Place(name) + "` |" }
		}
		fmt.Fprintf(&b, "\n## `%s`\n", part.title)
		table := func(title string, has func(name string) bool) {
			if title != "" {
				fmt.Fprintf(&b, "\n### %s\n", title)
			}
			fmt.Fprintf(&b, "\n| flag | variable |%s default | meaning |\n|---|---|%s---|---|\n", place, rule)
			fs.VisitAll(func(f *flag.Flag) {
				if !has(f.Name) {
					return
				}
				_, text := flag.UnquoteUsage(f)
				def := f.DefValue
				if def != "" {
					def = "`" + def + "`"
				}
				fmt.Fprintf(&b, "| `--%s` | `%s` |%s %s | %s |\n", f.Name, iconedge.Variable(f.Name), inFile(f.Name),
					def, strings.NewReplacer("|", "\\|", "\n", " ").Replace(text))
			})
		}
		if part.title != "iconedge edge" {
			table("", func(string) bool { return true })
			continue
		}
		var titles []string
		groupOf := map[string]int{}
		note := func(title string) {
			fs.VisitAll(func(f *flag.Flag) {
				if _, known := groupOf[f.Name]; !known {
					groupOf[f.Name] = len(titles) - 1
				}
			})
			titles = append(titles, title)
		}
		fs = flag.NewFlagSet(part.title, flag.ContinueOnError)
		e = edge.Config{}
		e.GroupedFlags(fs, note)
		note("")
		for i, title := range titles[:len(titles)-1] {
			table(title, func(name string) bool { return groupOf[name] == i })
		}
	}
	golden.Check(t, filepath.Join("..", "..", "docs", "reference", "config.md"), b.Bytes())
}

// TestCertificatesAtStart: an unusable certificate is one line that names the file, and exit status
// 2.
func TestCertificatesAtStart(t *testing.T) {
	home, now := t.TempDir(), time.Now()
	good, key := certstest.Pair(t, home, "good", "edge", "edge.test")
	during := func(file string, begins, ends time.Time) (cert, key string) {
		return certstest.PairDuring(t, home, file, certstest.Certificate{Subject: "edge", Names: []string{"edge.test"},
			Begins: begins, Ends: ends})
	}
	old, oldKey := during("old", now.Add(-2*time.Hour), now.Add(-time.Hour))
	early, earlyKey := during("early", now.Add(time.Hour), now.Add(2*time.Hour))
	broken := filepath.Join(home, "broken.crt")
	if err := os.WriteFile(broken, []byte("-----BEGIN CERTIFICATE-----\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	short := harness.TextFile(t, "too-short")
	pair := func(cert, key string) []string {
		return []string{"--tls-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key}
	}
	for _, row := range []struct {
		what   string
		args   []string
		stderr []string
	}{
		{"expired", pair(old, oldKey), []string{old, "not valid after"}},
		{"not valid yet", pair(early, earlyKey), []string{early, "not valid before"}},
		{"a key of another", pair(good, oldKey), []string{good, oldKey, "private key does not match"}},
		{"no certificate", pair(broken, key), []string{broken}},
		{"no key", pair(good, broken), []string{broken}},
		{"a file that is not there", pair(home+"/nowhere.crt", key), []string{"nowhere.crt", "no such file"}},
		{"a folder", pair(home, key), []string{home, "is a directory"}},
		{"two that are wrong", append(pair(old, oldKey), pair(home+"/nowhere.crt", key)[2:]...), []string{old, "nowhere.crt"}},
		{"more certificates than keys", append(pair(good, key), "--tls-cert", old), []string{"2 --tls-cert and 1 --tls-key"}},
		{"more keys than certificates", append(pair(good, key), "--tls-key", oldKey), []string{"1 --tls-cert and 2 --tls-key"}},
		{"no certificate at all", []string{"--tls-listen", "127.0.0.1:0"}, []string{"requires --tls-cert"}},
		{"nowhere to listen", pair(good, key)[2:], []string{"require --tls-listen"}},
		{"a short secret of session tickets", append(pair(good, key), "--tls-ticket-secret-file", short),
			[]string{"--tls-ticket-secret-file: " + short + ": a secret must have at least 32 bytes"}},
		{"an empty one", append(pair(good, key), "--tls-ticket-secret-file", os.DevNull), []string{"there is no secret in it"}},
		{"session tickets of no listener", []string{"--tls-ticket-secret-file", short}, []string{"require --tls-listen"}},
		{"a redirect to nowhere", []string{"--tls-redirect"}, []string{"require --tls-listen"}},
		{"HTTP/3 alone", []string{"--http3", "on"}, []string{"--http3 on requires --tls-listen"}},
		{"a wrong address", append([]string{"--tls-listen", "nonsense"}, pair(good, key)[2:]...),
			[]string{"--tls-listen must be HOST:PORT"}},
		{"an authority without a folder", []string{"--tls-listen", "127.0.0.1:0", "--acme-host", "edge.test"}, []string{"--acme-dir"}},
	} {
		stdout, stderr, status := harness.Call(t, home,
			append([]string{"edge", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, row.args...)...)
		if status != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, want 2; stdout %q; stderr %q, want one line", row.what, status, stdout, stderr)
		}
		for _, want := range row.stderr {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: stderr %q has no %q", row.what, stderr, want)
			}
		}
	}
}

// variables.txt has the environment variables of the flags of all commands.
func TestVariables(t *testing.T) {
	names := map[string]bool{}
	calls := [][]string{}
	for _, c := range allCommands() {
		calls = append(calls, []string{c.Name})
	}
	for _, action := range []string{"check", "schema", "explain", "reload", "convert"} {
		calls = append(calls, []string{"config", action})
	}
	for _, action := range []string{"issue", "revoke", "list"} {
		calls = append(calls, []string{"token", action})
	}
	for _, call := range calls {
		var out, stderr bytes.Buffer
		iconedge.Run(t.Context(), allCommands(), cli.Streams{Out: &out, Err: &stderr}, append(call, "--help"))
		for _, m := range regexp.MustCompile(`(?m)^  --([a-z0-9-]+) `).FindAllStringSubmatch(out.String(), -1) {
			names[iconedge.Variable(m[1])] = true
		}
	}
	golden.Check(t, "variables.txt", []byte(strings.Join(slices.Sorted(maps.Keys(names)), "\n")+"\n"))
}

// A misspelt flag, command or variable is named with the nearest one.
func TestMisspelt(t *testing.T) {
	home := t.TempDir()
	for _, row := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"edge", "--orign", "http://127.0.0.1:1"},
			"iconedge: no flag --orign; did you mean --origin?; see iconedge edge --help\n"},
		{[]string{"edge", "--memory=1g"}, "iconedge: no flag --memory; see iconedge edge --help\n"},
		{[]string{"edge", "--idle", "15"}, "iconedge: --idle: \"15\" is no time; must be a number with ms, s, m or h, " +
			"such as 15s or 1h30m; see iconedge edge --help\n"},
		{[]string{"edge", "--cache-bytes=2x"}, "iconedge: --cache-bytes: \"2x\" is no size; must be a number with B, " +
			"kB, MB, GB, KiB, MiB or GiB, such as 512MB; see iconedge edge --help\n"},
		{[]string{"publish", "--keep", "many"},
			"iconedge: --keep: \"many\" is no number; must be one, such as 10; see iconedge publish --help\n"},
		{[]string{"pubish"}, "iconedge: no command \"pubish\"; did you mean publish; see iconedge help\n"},
		{[]string{"edge", "--listen", "9000", "--origin", "http://127.0.0.1:1"}, "iconedge: --listen must be " +
			"HOST:PORT, such as 127.0.0.1:9000, or :9000 for all addresses of this machine\n"},
	} {
		if _, stderr, status := harness.Call(t, home, row.args...); status != 2 || stderr != row.stderr {
			t.Errorf("%q: status %d, %q, want %q", row.args, status, stderr, row.stderr)
		}
	}
	misspelt := func(args ...string) (string, int) {
		cmd := harness.Program(t, home, args...)
		cmd.Env = append(cmd.Env, "ICONEDGE_LISTEM=secret", "ICONEDGE_EDGE_SERVICE_HOST=10.0.0.1",
			"ICONEDGE_EDGE_PORT_80_TCP_ADDR=10.0.0.1", "ICONEDGE_EDGE_PORT=tcp://10.0.0.1:80")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return stderr.String(), cmd.ProcessState.ExitCode()
	}
	const want = "no flag has the environment variable ICONEDGE_LISTEM; did you mean ICONEDGE_LISTEN?\n"
	if stderr, status := misspelt("publish", "--list", "--store", "dir:"+home); status != 0 || stderr != "iconedge: warning: "+want {
		t.Errorf("a warning: %d, %q", status, stderr)
	}
	if stderr, status := misspelt("edge", "--strict-env"); status != 2 || stderr != "iconedge: "+want {
		t.Errorf("--strict-env: %d, %q", status, stderr)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, stderr, status := harness.Call(t, home, "edge", "--origin", "http://127.0.0.1:1", "--listen",
		ln.Addr().String(), "--admin-listen", "127.0.0.1:0"); status != 1 ||
		!strings.Contains(stderr, "iconedge: --listen "+ln.Addr().String()+": another process listens there: stop it, "+
			"or choose another port") {
		t.Errorf("a port in use: %d, %q", status, stderr)
	}
}
