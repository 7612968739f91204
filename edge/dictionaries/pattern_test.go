package dictionaries

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// A match is a URL pattern, relative to the address of the dictionary.
func TestPattern(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ match, target, matches, others string }{
		{"/app/*/main.js", "/", "/app/1/main.js /app/1/2/main.js /app//main.js /app/1/main.js?a=b",
			"/app/main.js /app/1/main.jsx /x/app/1/main.js"},
		{"/assets/app-*.js", "/", "/assets/app-3f.js /assets/app-.js", "/assets/app-3f.css /assets/app-3f!js"},
		{"app-*.js", "/assets/app-1.js", "/assets/app-2.js", "/app-2.js /assets/x/app-2.js"},
		{"https://edge.test/a*", "/", "/a1", "/b"},
		{"/a", "/", "/a /a?b", "/ab"},
		{"/a?v=*", "/", "/a?v=1 /a?v=", "/a /a?w=1 /a?x&v=1"},
		{"?v=*", "/s.css?v=1", "/s.css?v=2", "/t.css?v=2"},
		{"/:pack/icon.svg", "/", "/mdi/icon.svg", "/icon.svg /a/b/icon.svg //icon.svg"},
		{`/a\*b`, "/", "/a*b", "/axb"},
		{"/a.b(", "/", "", ""}, {"/(a|b)", "/", "", ""}, {"/{a}?", "/", "", ""}, {"/a*?", "/", "", ""}, {"/:a+", "/", "", ""},
		{"/**", "/", "", ""},
		{"", "/", "", ""}, {"//other.test/a", "/", "", ""}, {"https://other.test/a", "/", "", ""},
		{"https://edge.test.evil/a", "/", "", ""},
		{"/a/../b", "/", "", ""}, {"/a#b", "/", "", ""}, {"/" + strings.Repeat("a", maxMatch), "/", "", ""},
	} {
		p, ok := newPattern(row.match, "https://edge.test", row.target)
		if ok != (row.matches != "") {
			t.Errorf("%q: known %v", row.match, ok)
		}
		if !ok {
			continue
		}
		for one := range strings.FieldsSeq(row.matches) {
			if !p.Match(one) {
				t.Errorf("%q does not match %q", row.match, one)
			}
		}
		for one := range strings.FieldsSeq(row.others) {
			if p.Match(one) {
				t.Errorf("%q matches %q", row.match, one)
			}
		}
	}
}

// Every pattern that is made of an address matches that address.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"/a", "/a*b?c=*", "/:x", "/%2e/é", `/\`, "/a.b+c?d?e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		newPattern(target, "https://edge.test", "/") // no panic
		path, _, _ := strings.Cut(target, "?")
		if p, ok := newPattern(escape(path), "https://edge.test", "/"); ok && strings.HasPrefix(path, "/") && !p.Match(target) {
			t.Errorf("the pattern of %q does not match it", target)
		}
		if match := deriveMatch(target); match != "" {
			if p, ok := newPattern(match, "https://edge.test", target); !ok || !p.Match(target) {
				t.Errorf("%q, derived of %q, does not match it", match, target)
			}
		}
	})
}

// A pattern is derived of addresses that differ in a hash, a version or a query alone.
func TestDerive(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/assets/app-3f2a.js": "/assets/app-*.js", "/assets/index-DiwrgTda.js": "/assets/index-*.js",
		"/assets/index-CUWpnwrn.js": "/assets/index-*.js", "/assets/index-AppHTML.js": "/assets/index-*.js",
		"/assets/App-README.js": "", "/assets/App-Settings.js": "",
		"/assets/index-C-3bWzp_.js": "/assets/index-*.js", "/app.3f2a91bc.js": "/app.*.js",
		"/main.3f2a91bc.chunk.js": "/main.*.chunk.js",
		"/jquery-3.7.1.min.js":    "/jquery-*.min.js", "/static/css/main.0a1b2c3d.css": "/static/css/main.*.css",
		"/style.css?v=3": "/style.css", "/style.css?ver=6.4.2": "/style.css", "/style.css?3f2a": "/style.css",
		"/4bd1b696-100b9d70ed4e49c1.js": "/4bd1b696-*.js", "/12345678.js": "/*.js",
		"/app.js": "", "/": "", "/style.css?user=ann": "", "/style.css?v=1&w=2": "",
		"/header-component.js": "", "/foo.min.js": "",
		"/my-Settings.js": "", "/a(b)/app-3f2a.js": "", "/../app-3f2a.js": "", "/app-3f2a": "",
		"/caf\u00e9-3f2a.js": "", "/2024/post.html": "",
	} {
		if got := deriveMatch(target); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	const script = "text/javascript; charset=utf-8"
	for _, row := range []struct {
		kind, control string
		length        int
		want          bool
	}{
		{script, "max-age=86400", minDerived, true}, {"text/css", "immutable", maxDerived, true},
		{"application/wasm", "max-age=31536000", 1e5, true},
		{"image/svg+xml", "max-age=31536000", 1e5, true}, {script, "max-age=31536000", -1, false},
		{script, "max-age=86399", minDerived, false}, {script, "", minDerived, false}, {script, "s-maxage=99999999", minDerived, false},
		{script, "max-age=86400, no-cache", minDerived, false}, {script, "max-age=86400", minDerived - 1, false},
		{script, "max-age=86400", maxDerived + 1, false}, {"image/png", "immutable", 1e5, false}, {"font/ttf", "immutable", 1e5, false},
	} {
		h := http.Header{"Content-Type": {row.kind}, "Cache-Control": {row.control}}
		if got := Derive(h, "/app-3f2a.js", row.length); (got != "") != row.want {
			t.Errorf("%s, %s, %d bytes: %q", row.kind, row.control, row.length, got)
		}
	}
}

// A glob matches the same as the regular expression that it replaces.
func TestGlobsOfPatterns(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	random := func(alphabet string, most int) string {
		b := make([]byte, dice.IntN(most))
		for i := range b {
			b[i] = alphabet[dice.IntN(len(alphabet))]
		}
		return string(b)
	}
	matches := 0
	for range 20_000 {
		var b partBuilder
		for _, c := range random("aab/.*", 8) {
			if c == '*' {
				b.wild(anyText)
			} else {
				b.text(string(c))
			}
		}
		glob, _ := b.part()
		b.needsRE = true
		re, _ := b.part()
		text := random("aab/.\n", 10)
		if got := glob.Match(text); got != re.Match(text) {
			t.Fatalf("%q and %q: %v by the glob", b.re.String(), text, got)
		} else if got {
			matches++
		}
	}
	if matches < 500 {
		t.Errorf("%d matches", matches)
	}
}

// Use-As-Dictionary is a structured field, and an unknown type is no dictionary.
func TestDeclared(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		`match="/a*"`: "script document", `match="/a*", match-dest=("script")`: "script", `match="/a*", match-dest=()`: "script document",
		`match="/a*", id="x", type=raw, later=?1`: "script document",
		`match="/b*"`: "", `match=/a`: "", `id="x"`: "", ``: "", `match="/a*", type=other`: "", `match="/a*", type="raw"`: "",
		`match="/a*", match-dest="script"`: "", `match="/a*", match-dest=(script)`: "", `match="/a*", id="` + strings.Repeat("x", maxID+1) + `"`: "",
	} {
		d, ok := Declared(http.Header{FieldUse: {field}}, "https://edge.test", "/a1")
		for _, dest := range []string{"script", "document"} {
			if got := ok && d.takes("/a2", dest); got != strings.Contains(want, dest) {
				t.Errorf("%s: for a %s: %v", field, dest, got)
			}
		}
		if ok && !d.takes("/a2", "") && want != "" {
			t.Errorf("%s: a client that does not name its destination gets none", field)
		}
	}
}

// A page reads a difference only if it may read the response (RFC 9842, section 9.3).
func TestMayRead(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		Cause
		allowed string
		want    bool
	}{
		{Cause{}, "", true}, {Cause{"same-origin", "no-cors", ""}, "", true}, {Cause{"none", "navigate", ""}, "", true},
		{Cause{"cross-site", "navigate", ""}, "", true}, {Cause{"cross-site", "no-cors", ""}, "*", false},
		{Cause{"same-site", "no-cors", ""}, "*", false}, {Cause{"cross-site", "cors", "https://a.test"}, "", false},
		{Cause{"cross-site", "cors", ""}, "*", false}, {Cause{"cross-site", "cors", "https://a.test"}, "*", true},
		{Cause{"cross-site", "cors", "https://a.test"}, "https://a.test", true},
		{Cause{"cross-site", "cors", "https://a.test"}, "https://b.test", false},
		{Cause{"cross-site", "websocket", "https://a.test"}, "*", false},
	} {
		if got := row.MayRead(row.allowed); got != row.want {
			t.Errorf("%+v, allowed %q: %v", row.Cause, row.allowed, got)
		}
	}
}

// A response that may differ from client to client is no dictionary, even if it is stored.
func TestIsShared(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, value string
		want        bool
	}{
		{"Cache-Control", "public, max-age=60", true}, {"Vary", "Accept-Encoding, Origin", true}, {"X", "y", true},
		{"Cache-Control", "private", false}, {"Cache-Control", `private="x"`, false}, {"Cache-Control", "no-store", false},
		{"Set-Cookie", "a=b", false}, {"Vary", "Cookie", false}, {"Vary", "authorization", false}, {"Vary", "*", false},
		{"Vary", "Accept-Encoding, Available-Dictionary", false},
	} {
		if got := IsShared(http.Header{row.name: {row.value}}); got != row.want {
			t.Errorf("%s: %s: %v", row.name, row.value, got)
		}
	}
}
