package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// site returns a file with one site that has these lines besides.
func site(lines ...string) string {
	head := "version: 1\nsites:\n  - name: shop\n    hosts: [shop.test]\n    origins: {app: {urls: [\"http://10.0.0.5:3000\"]}}\n"
	for _, line := range lines {
		head += "    " + line + "\n"
	}
	return head
}

func lookup(name string) (string, bool) {
	switch name {
	case "SET":
		return "value", true
	case "EMPTY":
		return "", true
	case "TWICE":
		return "${SET}", true
	}
	return "", false
}

// TestFindings: each wrong file has one finding with its line, its field, the error and the correct
// form.
func TestFindings(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	for _, row := range []struct{ name, text, want string }{
		{"empty", "", "f:1: file: empty"},
		{"half written", "version: 1\nsites:\n  - name: [shop\n", "f:3: file: did not find expected"},
		{"binary", "version: 1\n\xff\xfe", "f:2: file: no UTF-8"},
		{"version", strings.Replace(site(), "version: 1", "version: 2", 1), "f:1: version: 2 is unknown; must be 1"},
		{"two documents", site() + "---\nversion: 1\n", "more than one document"},
		{"unknown field", site("orign: app"), "f:6: sites[0].orign: unknown field; did you mean origin?"},
		{"unknown field in a rule", site("rules:", "  - {ttll: 1m}"), "f:7: sites[0].rules[0].ttll: unknown field; did you mean ttl?"},
		{"unknown at the top", "listn: {}\n" + site(), "f:1: listn: unknown field; did you mean listen?"},
		{"twice", site("name: other"), "f:6: sites[0].name: given twice"},
		{"edits of no status", site("response_headers: {statuses: [2x]}"), `"2x" is no status; must be three digits`},
		{"edits of requests by status", site("request_headers: {statuses: [200]}"), "requests have no status; must be left out"},
		{"duplicate site", site("rules: []") + strings.Replace(strings.SplitN(site(), "sites:\n", 2)[1], "shop.test",
			"b.test", 1), "another site has the name shop"},
		{"duplicate host", site() + strings.Replace(strings.SplitN(site(), "sites:\n", 2)[1], "name: shop", "name: b",
			1), "each host must belong to one site"},
		{"two last resorts", strings.ReplaceAll(site()+
			strings.Replace(strings.SplitN(site(), "sites:\n", 2)[1], "name: shop", "name: b", 1), "shop.test",
			`"*"`), "is the last resort already"},
		{"host with no port", strings.Replace(site(), "shop.test", `"shop.test:x"`, 1), "has no port; must be NAME:PORT"},
		{"host with too high a port", strings.Replace(site(), "shop.test", `"shop.test:65536"`, 1), "has no port; must be NAME:PORT"},
		{"any host with a port", strings.Replace(site(), "shop.test", `"*:80"`, 1), "has no port; must be NAME:PORT"},
		{"host and port twice", strings.Replace(site(), "shop.test", `"shop.test:80", "Shop.test.:080"`, 1),
			"has the host shop.test already"},
		{"wrong wildcard", strings.Replace(site(), "shop.test", `"shop.*"`, 1), "a wildcard must be"},
		{"no unit", site("grace: 30"), "f:6: sites[0].grace: 30 has no unit; must be a time such as 30s"},
		{"no size unit", site("max_body: 100"), "f:6: sites[0].max_body: 100 has no unit; must be a size such as 100MB"},
		{"weights", strings.Replace(site(), "3000\"]", "3000\"], weight: [1, 2]", 1), "2 weights for 1 URLs"},
		{"no such origin", site("origin: ap"), "sites[0].origin: \"ap\" is no origin of the site shop; did you mean app?"},
		{"redirect", site("rules:", "  - {redirect: {to: /, status: 200}}"), "f:7: sites[0].rules[0].redirect.status: 200 is no redirect"},
		{"CR LF", site("rules:", "  - {response_headers: {set: {X-A: \"a\\r\\nSet-Cookie: b\"}}}"),
			"has CR, LF or another control character"},
		{"fragment", site("rules:", "  - {rewrite: \"/a#b\"}"), "f:7: sites[0].rules[0].rewrite: has a fragment, which no origin can get"},
		{"body of a 205", site("rules:", "  - {respond: {status: 205, body: x}}"),
			"f:7: sites[0].rules[0].respond: a response with status 205 has no body"},
		{"CR LF in a redirect", site("rules:", "  - {redirect: {to: \"/a\\r\\nX: b\"}}"), "has a space, CR, LF"},
		{"field in two spellings", site("rules:", "  - {response_headers: {set: {x-a: b, X-A: c}}}"),
			"f:7: sites[0].rules[0].response_headers.set.x-a: the same field as X-A, in another spelling"},
		{"field name", site("rules:", "  - {request_headers: {set: {\"a b\": c}}}"), "is no name of a field"},
		{"host header", site("rules:", "  - {request_headers: {set: {Host: c}}}"), "origins.NAME.host"},
		{"variable", site("rules:", "  - {respond: {body: \"${UNSET}\"}}"),
			"f:7: sites[0].rules[0].respond.body: the variable UNSET is not set"},
		{"secret", site("rules:", "  - {signed: {secret: \"${file:/nonexistent/x}\"}}"), "reading ${file:/nonexistent/x}"},
		{"empty secret", site("rules:", "  - {signed: {secret: \"${EMPTY}\"}}"), "anybody could sign"},
		{"TTL", site("ttl: {\"99\": 1m}"), "\"99\" is no status"},
		{"cache", site("rules:", "  - {cache: bypas}"), "did you mean bypass?"},
		{"limit", site("limits: {client: 600}"), "f:6: sites[0].limits.client: \"600\" is no limit; a limit is a number of calls"},
		{"limit of no call", site("limits: {search: 0/1m}"), `limits.search: "0/1m" is no limit; a limit is`},
		{"limit with a sign", site("limits: {forwarded: +5/1m}"), `limits.forwarded: "+5/1m" is no limit; a limit is`},
		{"limit of a part of a second", site("limits: {search: 10/100ms}"), `"10/100ms" is no limit; a limit is`},
		{"limit of two days", "defaults: {limits: {\"team:search\": 10/48h}}\n" + site(),
			`f:1: defaults.limits.team:search: "10/48h" is no limit; a limit is`},
		{"limit of a rule", site("rules:", "  - {limit: {rate: +10/1s}}"),
			`f:7: sites[0].rules[0].limit.rate: "+10/1s" is no limit; a limit is`},
		{"limit of a class", site("limits: {serch: 1/1m}"), `"serch" is no class; did you mean search?`},
		{"network", site("rules:", "  - {deny: [10.0.0.0/99]}"), `deny[0]: "10.0.0.0/99" is no network; must be an address or a network`},
		{"no network", site("rules:", "  - {allow: []}"), "allow: names no network; must have one"},
		{"origin", strings.Replace(site(), "http://10.0.0.5:3000", "ftp://a", 1), `urls[0]: "ftp://a" is no URL of an origin; must be`},
		{"password of an origin", strings.Replace(site(), "http://10.0.0.5:3000", "http://u:hunter2@10.0.0.5:3000",
			1), `urls[0]: "http://***@10.0.0.5:3000" is no URL of an origin; must be`},
		{"secret in a device", site("rules:", "  - {signed: {secret: \"${file:/dev/zero}\"}}"),
			"reading ${file:/dev/zero}: is no regular file; must be a readable file"},
		{"secret in a folder", site("rules:", "  - {signed: {secret: \"${file:/}\"}}"),
			"reading ${file:/}: is a folder; must be a readable file"},
		{"list", "- a\n", "f:1: file: a list; must be a map of fields"},
		{"value", strings.Replace(site(), "[shop.test]", "{a: b}", 1), "hosts: a map; must be a value or a list of values"},
		{"TLS without a listener", site("tls: {cert: a, key: b}"), "must have listen.https too"},
		{"alias without end", "x: &a [*a]\n" + site(), "unknown field"},
		{"aliases that multiply", strings.Replace(site(), "hosts: [shop.test]", "hosts: *j", 1), ""},
		{"a rule within itself", site("rules:", "  - match: &m {not: *m}"), "inside each other"},
		{"deep", strings.Repeat("[", 5000), "inside each other"},
	} {
		text := row.text
		if row.name == "aliases that multiply" {
			text, row.want = bomb+"\n"+text, "unknown field"
		}
		_, err := Parse("f", []byte(text), Options{Lookup: lookup})
		var all Findings
		if !errors.As(err, &all) || len(all) == 0 || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v; want %q", row.name, err, row.want)
			continue
		}
		for _, f := range all {
			if text := f.String(); strings.Contains(text, "\n") || f.Line < 1 || f.Field == "" || !strings.Contains(f.Text, "; ") {
				t.Errorf("%s: the finding %q is no line of FILE:LINE: FIELD: the error; the correct form", row.name, f)
			}
		}
		for i, f := range all[1:] {
			if f.Field == all[i].Field {
				t.Errorf("%s: two findings about %s", row.name, f.Field)
			}
		}
	}
}

// TestBombs: a file whose aliases multiply, and one of 10 MB, end with one finding and soon.
func TestBombs(t *testing.T) {
	text := "version: 1\nsites:\n  - name: a\n    hosts: &a [x,x,x,x,x,x,x,x,x,x]\n"
	rules := "    rules:\n      - {tags: &t0 [a,a,a,a,a,a,a,a,a,a]}\n"
	for i := range 8 {
		rules += fmt.Sprintf("      - {match: &m%d [%s]}\n", i,
			strings.TrimSuffix(strings.Repeat(map[bool]string{true: "{host: a}", false: fmt.Sprintf("*m%d", i-1)}[i == 0]+",", 10), ","))
	}
	start := time.Now()
	for _, text := range []string{text + rules, strings.Repeat("# comment of ten megabytes\n", 400_000)} {
		if _, err := Parse("f", []byte(text), Options{}); err == nil || !strings.Contains(err.Error(), "must") {
			t.Errorf("no finding: %v", err)
		}
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

// TestExpand: variables and files are expanded once, in values alone.
func TestExpand(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("  hidden ${SET}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ in, want string }{
		{"${SET}", "value"}, {"a${SET}b${SET}", "avaluebvalue"}, {"${UNSET:-default}", "default"}, {"${EMPTY:-x}", "x"}, {"${UNSET:-}", ""},
		{"${TWICE}", "${SET}"}, {"${file:" + secret + "}", "hidden ${SET}"}, {"$1 $$ $", "$1 $$ $"},
	} {
		o := Options{Lookup: lookup}
		if got, err := o.expand(row.in); err != nil || got != row.want {
			t.Errorf("%q is %q, %v; want %q", row.in, got, err, row.want)
		}
	}
	for _, in := range []string{"${", "${}", "${1}", "${a b}", "${UNSET}", "${file:}", "${file:" + t.TempDir() + "}"} {
		o := Options{Lookup: lookup}
		if got, err := o.expand(in); err == nil {
			t.Errorf("%q is %q; want an error", in, got)
		}
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 30 * 24 * time.Hour, "1d12h": 36 * time.Hour,
		"1h30m": 90 * time.Minute, "10s": 10 * time.Second, "0": 0, "0s": 0} {
		if got, err := ParseDuration(text); err != nil || time.Duration(got) != want {
			t.Errorf("%s is %v, %v; want %v", text, time.Duration(got), err, want)
		}
	}
	for text, want := range map[string]Size{"512MB": 512e6, "512MiB": 512 << 20, "1.5GB": 1.5e9, "10B": 10, "2kB": 2000, "0": 0} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10", "-1s", "+1s", "1x", "d", "1d2", "99999999999999d", "1e400s"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v; want an error", text, time.Duration(got))
		}
	}
	for _, text := range []string{"", "1", "MB", "-1MB", "1 apple", "NaNMB", "InfGB", "99999999999TB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is %d; want an error", text, got)
		}
	}
}

// TestManyFindings: a file that is wrong everywhere has a bounded number of findings, in a time
// that does not grow with their square.
func TestManyFindings(t *testing.T) {
	var text strings.Builder
	text.WriteString("version: 1\nsites:\n")
	for range 30_000 {
		text.WriteString("  - {name: \"a b\"}\n")
	}
	_, err := Parse("f", []byte(text.String()), Options{})
	var all Findings
	if !errors.As(err, &all) || len(all) != MaxFindings+1 || all[MaxFindings].Text != TooMany {
		t.Errorf("%d findings, the last: %v", len(all), all[len(all)-1])
	}
}

// TestReadFile: a folder, a device and a file that is too long are errors.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		path  string
		limit int64
		want  string
	}{{path, 5, ""}, {path, 4, "has more than 4 bytes"}, {filepath.Dir(path), 5, "is a folder"},
		{"/dev/zero", 5, "is no regular file"}, {path + "x", 5, "no such file"}} {
		content, err := ReadFile(row.path, row.limit)
		switch {
		case row.want == "" && (err != nil || string(content) != "12345"):
			t.Errorf("%s: %q, %v", row.path, content, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: %v, want %q", row.path, err, row.want)
		}
	}
}

// FuzzParse: no text makes the parser panic, run without end or return a finding of two lines.
func FuzzParse(f *testing.F) {
	f.Add(site("rules:", "  - {match: {path: /a/**}, ttl: {\"200\": 30d}}"))
	f.Add("x: &a [*a]\n<<: *a\n")
	f.Add("version: 1\nsites: [{<<: {name: a}}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse("f", []byte(text), Options{Lookup: lookup})
		var all Findings
		if err != nil && (!errors.As(err, &all) || len(all) > MaxFindings*2) {
			t.Fatalf("%v", err)
		}
		for _, one := range all {
			if strings.ContainsAny(one.String(), "\r\n") {
				t.Errorf("two lines: %q", one)
			}
		}
	})
}

// TestRedacted: the file that the admin listener shows has no secrets.
func TestRedacted(t *testing.T) {
	text := site("rules:", `  - {signed: {secret: hunter2}}`, `  - {signed: {secret: "${NAME:-hunter2}"}}`,
		`  - {signed: {secret: "${file:/run/sign}"}}`,
		`  - {request_headers: {set: {Authorization: Bearer hunter2, Cookie: session=hunter2}, add: {X-Auth-Key: hunter2}}} # hunter2`,
		`  - {match: {header: {X-Origin-Auth: hunter2}}, response_headers: {set: {Set-Cookie: a=hunter2, X-Shown: shown}}}`,
		`  - {match: {cookie: shown}, key: {cookies: [shown]}}`) +
		"redis: redis://ann:hunter2@10.0.0.1\ntrace_endpoint: \"http://ann:hunter2${MORE}@10.0.0.1\"\n"
	shown := string((&File{Text: []byte(text)}).Redacted())
	if strings.Contains(shown, "hunter2") || !strings.Contains(shown, "${file:/run/sign}") ||
		!strings.Contains(shown, "redis://***@10.0.0.1") || strings.Count(shown, "shown") != 3 {
		t.Error(shown)
	}
}
