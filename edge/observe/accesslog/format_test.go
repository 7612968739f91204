package accesslog

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
)

func format(t testing.TB, text string) *Format {
	t.Helper()
	f, err := ParseFormat(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Lines in JSON and in logfmt have the same members, and a template can name each.
func TestMembersOfFormats(t *testing.T) {
	l := full
	l.Site, l.Error, l.RequestID = "shop", "dns_error", []byte("r1")
	var members map[string]any
	if err := json.Unmarshal(l.append(nil), &members); err != nil {
		t.Fatal(err)
	}
	pairs := " " + string(format(t, "logfmt").append(nil, &l))
	for name := range members {
		if !strings.Contains(pairs, " "+name+"=") {
			t.Errorf("logfmt lacks %s", name)
		}
		if name = strings.TrimSuffix(name, "_seconds"); string(format(t, "{"+name+"}").append(nil, &l)) == "" {
			t.Errorf("a template has no {%s}", name)
		}
	}
	if v := reflect.ValueOf(l); len(members) != v.NumField() {
		t.Errorf("%d members of %d fields", len(members), v.NumField())
	}
}

func TestFormats(t *testing.T) {
	hostile := Line{Time: full.Time, Client: full.Client, Method: []byte(`G"T`), Status: 404, Protocol: "h1",
		Target: []byte("/a\" 200 1\r\n10.0.0.1 - - \\x22 \xff"), UserAgent: []byte("a b|c\x1b[2J")}
	for _, row := range []struct {
		format string
		line   Line
		want   string
	}{
		{"combined", full, `2001:db8::1 - - [21/Nov/2026:07:09:10 +0000] "GET /mdi/home.svg?color=%23f00 HTTP/2.0" 200 512 ` +
			`"https://example.org/page" "curl/8 \x22x\x22"`},
		{"common", full, `2001:db8::1 - - [21/Nov/2026:07:09:10 +0000] "GET /mdi/home.svg?color=%23f00 HTTP/2.0" 200 512`},
		{"combined", Line{Time: full.Time, Status: 400, Protocol: "h1"},
			`- - - [21/Nov/2026:07:09:10 +0000] "- - HTTP/1.1" 400 0 "-" "-"`},
		{"combined", hostile, `2001:db8::1 - - [21/Nov/2026:07:09:10 +0000] ` +
			`"G\x22T /a\x22 200 1\x0D\x0A10.0.0.1 - - \x5Cx22 \xFF HTTP/1.1" 404 0 "-" "a b|c\x1B[2J"`},
		{"logfmt", full, `time=2026-11-21T07:09:10.001234Z client=2001:db8::1 method="GET" path="/mdi/home.svg?color=%23f00" ` +
			`host="cdn.example.org" status=200 bytes=512 duration_seconds=1.000000412 route=cdn cache=hit protocol=h2 tls=true ` +
			`user_agent="curl/8 \"x\"" referer="https://example.org/page" trace_id=4bf92f3577b34da6a3ce929d0e0e4736`},
		{"{status}|{user_agent}|{method}", hostile, `404|a\x20b\x7Cc\x1B[2J|G\x22T`},
		{`{status} "{user_agent}" {site} {duration}`, hostile, `404 "a b|c\x1B[2J" - 0.000000`},
		{"{path}", Line{Target: []byte("/x?token=secret&a=b")}, "/x?token=REDACTED&a=b"},
		{"{user_agent} {status}", Line{UserAgent: []byte(strings.Repeat("x", 300))}, strings.Repeat("x", maxAgent) + "... 0"},
	} {
		if got := string(format(t, row.format).append(nil, &row.line)); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.format, got, row.want)
		}
	}
	if format(t, "json") != nil {
		t.Error("json is a template")
	}
	for text, want := range map[string]string{"clf": "is no format", "{clent}": "is no field", "{client": "is no field",
		"{status}\n": "one line", "": ""} {
		if _, err := ParseFormat(text); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzFormat writes lines of any texts. None has more fields than its format, and none has a
// character that does not print.
func FuzzFormat(f *testing.F) {
	f.Add("GET", "/a?b", "agent", "https://x/")
	f.Add("G T", "/\" \\ \r\n", "\x1b\u2028", "\xff\" 200")
	quoted, bare := format(f, "combined"), format(f, "{method} {path} {user_agent} {referer} {status}")
	f.Fuzz(func(t *testing.T, method, path, agent, referer string) {
		l := Line{Time: time.Unix(0, 0), Status: 200, Method: []byte(method), Target: []byte(path), UserAgent: []byte(agent),
			Referer: []byte(referer), Protocol: "h1"}
		text := string(quoted.append(nil, &l))
		if n := strings.Count(text, `"`); n != 6 {
			t.Errorf("%d quotes in %s", n, text)
		}
		other := string(bare.append(nil, &l))
		if n := strings.Count(other, " "); n != 4 || !strings.HasSuffix(other, " 200") {
			t.Errorf("%d spaces in %s", n, other)
		}
		for _, line := range []string{text, other, string(format(t, "logfmt").append(nil, &l))} {
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q", line)
			}
		}
	})
}
