package convert

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Each folder of testdata has a configuration in the manner of a usual one, the file that is made
// of it, and the lines that are left out.
func TestNginx(t *testing.T) {
	files, err := filepath.Glob("testdata/*/nginx.conf")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		text, notes, err := Nginx(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		whole, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		var list strings.Builder
		for _, n := range notes {
			list.WriteString(n.String() + "\n")
		}
		golden(t, filepath.Join(dir, "want.yaml"), strings.ReplaceAll(string(text), whole, "/DIR"))
		golden(t, filepath.Join(dir, "want.txt"), strings.ReplaceAll(list.String(), whole+"/", ""))
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s: %v; got\n%s", file, err, got)
	}
}

// in writes a file of nginx, and translates it.
func in(t *testing.T, text string) (string, []Note, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, notes, err := Nginx(file)
	return string(out), notes, err
}

// A line that may protect a location is never dropped: the location is refused.
func TestGuardsAreKept(t *testing.T) {
	for _, guard := range []string{
		"auth_request /check;", "auth_jwt realm;", "modsecurity on;", "access_by_lua_file x.lua;", "secure_link $arg_a;",
		"valid_referers none;", "unknown_directive on;", "auth_basic x;", "auth_basic x; auth_basic_user_file none;",
		"auth_basic x; auth_basic_user_file $host;", "satisfy any; allow 10.0.0.1; deny all; auth_basic x; auth_basic_user_file none;",
		"if (-f $request_filename) { return 403; }", "if ($invalid_referer) { return 403; }", `if ($http_x !~ "^$") { return 403; }`,
		"if ($host ~ x) { deny all; }", "location ~ x { deny all; }", "limit_except GET { auth_basic x; }",
		"ssl_verify_client on;", "if ($a) { proxy_pass http://127.0.0.1:2; }", "return 200 $host;",
		"limit_except GET { allow 10.0.0.1; deny 10.0.0.2; allow 10.0.0.3; deny all; }",
	} {
		text, notes, err := in(t, "server { listen 80; server_name a; location /x/ { "+guard+" proxy_pass http://127.0.0.1:1; } "+
			"location / { proxy_pass http://127.0.0.1:2; } }")
		refused := slices.ContainsFunc(notes, func(n Note) bool { return n.Kind == Refused })
		if err != nil || !refused || strings.Contains(text, "127.0.0.1:1\"") || !strings.Contains(text, "status: 503") ||
			!strings.Contains(text, "127.0.0.1:2\"") {
			t.Errorf("%s: %v %v\n%s", guard, err, notes, text)
		}
	}
	// In a server, and before it, such a line protects all locations.
	for _, text := range []string{"server { server_name a; auth_request /x; location / { proxy_pass http://127.0.0.1:1; } }",
		"http { access_by_lua_file x.lua; server { server_name a; location / { proxy_pass http://127.0.0.1:1; } } }",
		"server { server_name a; location ~ ^(a)\\1 { deny all; } location / { proxy_pass http://127.0.0.1:1; } }",
		"server { server_name a; auth_basic x; location / { proxy_pass http://127.0.0.1:1; } }"} {
		if text, notes, err := in(t, text); err != nil || !strings.Contains(text, "status: 503") {
			t.Errorf("%v %v\n%s", err, notes, text)
		}
	}
}

// The first of allow and deny that has the client counts.
func TestNetworks(t *testing.T) {
	for rules, want := range map[string]string{
		"":                        "",
		"deny all":                "deny: [0.0.0.0/0, ::/0]",
		"allow all":               "",
		"deny 1.1.1.1":            "deny: [1.1.1.1]",
		"allow 1.1.1.1":           "",
		"allow 1.1.1.1; deny all": "allow: [1.1.1.1]",
		"deny 1.1.1.1; allow 1.0.0.0/8; deny all": "deny: [1.1.1.1], allow: [1.0.0.0/8]",
		"deny 1.1.1.1; allow all; deny 2.2.2.2":   "deny: [1.1.1.1]",
		"deny all; allow 1.1.1.1":                 "deny: [0.0.0.0/0, ::/0]",
		"allow unix:; deny all":                   "deny: [0.0.0.0/0, ::/0]",
		"allow 1.1.1.1; deny 1.0.0.0/8":           "match {client: 1.0.0.0/8, not: {client: 1.1.1.1}}",
		"allow 1.1.1.1; deny 1.0.0.0/8; allow 2.2.2.2; deny all": "match {not: [{not: [{client: 1.0.0.0/8}, " +
			"{client: [0.0.0.0/0, ::/0], not: {client: 2.2.2.2}}]}, {client: 1.1.1.1}]}",
	} {
		var dirs []*directive
		for rule := range strings.SplitSeq(rules, "; ") {
			if name, network, ok := strings.Cut(rule, " "); ok {
				dirs = append(dirs, &directive{name: name, args: []string{network}})
			}
		}
		actions, denied := networks(dirs)
		got := strings.Trim(flow(actions), "{}")
		if denied != nil {
			got = "match " + flow(denied)
		}
		if got = strings.ReplaceAll(got, `"`, ""); got != want {
			t.Errorf("%s:\n got %s\nwant %s", rules, got, want)
		}
	}
}

// nginx chooses a location by its kind before its length.
func TestLocations(t *testing.T) {
	var all []*location
	for _, args := range []string{"/", "/a", "/a/b/", "^~ /a/", "^~ /a/b/c/", "= /a/b/x", `~ \.php$`, "~* \\.JPG$", "~ ^/r|s$", "= /"} {
		all = append(all, newLocation(&directive{name: "location", args: strings.Fields(args)}, nil))
	}
	for path, want := range map[string]string{"/": "= /", "/x": "/", "/ab": "/a", "/a.php": `~ \.php$`, "/a/x.php": "^~ /a/",
		"/a/b/x.php": `~ \.php$`, "/a/b/x": "= /a/b/x", "/a/b/y": "/a/b/", "/a/b/c/d.php": "^~ /a/b/c/", "/x.jpg": `~* \.JPG$`,
		"/run": "~ ^/r|s$", "/xs": "~ ^/r|s$", "/xr": "/"} {
		if got := find(all, path); strings.Join(got.dir.args, " ") != want {
			t.Errorf("%s: got %v, want %s", path, got.dir, want)
		}
	}
}

// Words end where those of nginx do.
func TestTokens(t *testing.T) {
	all, err := tokens("f", "a b\\;c \"d ; \\\" e\" ${x}y{ # comment }\n'}' \\.z; }")
	var got []string
	for _, one := range all {
		got = append(got, one.text+strings.Trim(string(one.mark), "\x00"))
	}
	if want := `a|b\;c|d ; " e|${x}y|{|}|\.z|;|}`; err != nil || strings.Join(got, "|") != want {
		t.Errorf("%v\n got %s\nwant %s", err, strings.Join(got, "|"), want)
	}
}

// What nginx would not read is an error that names the line.
func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		"server {":                      "has no }",
		"server { } }":                  "nginx.conf:1: unexpected }",
		"a b":                           "has no ;",
		"a \"b":                         "a quote has no end",
		"\n{ }":                         "nginx.conf:2: unexpected {",
		"http { }":                      "has no server",
		"http { include none.conf; }":   "no file is there",
		"http { include /etc/passwd; }": "outside of",
		"http { include ../x.conf; }":   "outside of",
		"include nginx.conf;":           "deep",
		"":                              "has no server",
	} {
		if _, _, err := in(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A look-ahead that RE2 has not is written in another way.
func TestLookahead(t *testing.T) {
	re, err := compile(withoutLookahead(`/\.(?!well-known)`), false)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/.git": true, "/.": true, "/.w": true, "/.well": true, "/.well-known": false,
		"/.well-known/x": false, "/a/.well-knowing": true, "/x": false, "/.well-known/.git": true} {
		if re.MatchString(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// FuzzNginx translates texts. It never panics, and a text without a server has no file.
func FuzzNginx(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/nginx.conf")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, _, err := in(t, text)
		if err == nil && !strings.Contains(out, "hosts: ") {
			t.Fatalf("%q becomes\n%s", text, out)
		}
	})
}

// A file of passwords that the edge would not take is found here, and not by config check alone.
func TestPasswordFiles(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("pass"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for text, usable := range map[string]bool{
		"ann:" + string(hash) + "\n": true, "# nobody\n": false, ":" + string(hash): false, "ann:$apr1$x$y": false,
	} {
		file := filepath.Join(dir, "htpasswd")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if why := htpasswd(file); (why == "") != usable {
			t.Errorf("%q: %q", text, why)
		}
	}
	if why := htpasswd(filepath.Join(dir, "none")); !strings.Contains(why, "no file") {
		t.Errorf("a missing file: %q", why)
	}
}
