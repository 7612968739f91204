package accesslog

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"
)

var full = Line{
	Time: time.Date(2026, 11, 21, 8, 9, 10, 1_234_567, time.FixedZone("", 3600)), Client: netip.MustParseAddr("2001:db8::1"),
	Method: []byte("GET"), Target: []byte("/mdi/home.svg?color=%23f00"), Host: []byte("cdn.example.org"), Status: 200, Bytes: 512,
	Duration: 1_000_000_412, Route: "cdn", Cache: "hit", Protocol: "h2", TLS: true, UserAgent: []byte(`curl/8 "x"`),
	Referer: []byte("https://example.org/page?session=1#x"), Trace: "4bf92f3577b34da6a3ce929d0e0e4736",
}

func TestLine(t *testing.T) {
	for _, row := range []struct {
		name, want string
		line       Line
	}{
		{"all fields", `{"time":"2026-11-21T07:09:10.001234Z","client":"2001:db8::1","method":"GET","path":"/mdi/home.svg?color=%23f00","host":"cdn.example.org",` +
			`"status":200,"bytes":512,"duration_seconds":1.000000412,"route":"cdn","cache":"hit","protocol":"h2","tls":true,"user_agent":"curl/8 \"x\"",` +
			`"referer":"https://example.org/page","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`, full},
		{"empty fields are left out",
			`{"time":"2026-11-21T00:00:00.000000Z","status":400,"bytes":0,"duration_seconds":0.000000000,"tls":false}`,
			Line{Time: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Status: 400}},
		{"a clock that goes backwards",
			`{"time":"0001-01-01T00:00:00.000000Z","status":0,"bytes":0,"duration_seconds":0.000000000,"tls":false}`, Line{Duration: -5}},
	} {
		if got := string(row.line.append(nil)); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", row.name, got, row.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"text that imitates the end of a line", "x\"}\n{\"status\":200", `"x\"}\u000a{\"status\":200"`},
		{"terminal escape sequences", "\x1b[2J\x7f\u009b", `"\u001b[2J\u007f\u009b"`},
		{"line ends for some readers", "a\u2028b\u0085c", `"a\u2028b\u0085c"`},
		{"right-to-left override", "a\u202eb", `"a\u202eb"`},
		{"a non-printing character outside the BMP", "\U000e0041", `"\udb40\udc41"`},
		{"letters", "größer 家 😀", `"größer 家 😀"`},
		{"invalid UTF-8", "a\xff\xfeb", `"a` + "\ufffd\ufffd" + `b"`},
		{"too long", strings.Repeat("x", 30) + "😀", `"` + strings.Repeat("x", 30) + `…"`},
		{"too long, and invalid UTF-8", strings.Repeat("\x80", 40), `"` + strings.Repeat("\ufffd", maxMethod) + `…"`},
	} {
		if got := string(appendText(nil, []byte(row.text), maxMethod)); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}

// FuzzLine writes a line and decodes it again. Each text comes back as the client sent it, cut and
// redacted, and the line has no other member.
func FuzzLine(f *testing.F) {
	f.Add("GET", "/a?b", "h", "agent", "https://x/")
	f.Add("G\"\n}", "/\\\x00\u2028?token=x", "\xff", strings.Repeat("😀", 65), "a?b")
	f.Fuzz(func(t *testing.T, method, target, host, agent, referer string) {
		l := Line{Method: []byte(method), Target: []byte(target), Host: []byte(host), UserAgent: []byte(agent),
			Referer: []byte(referer), Status: 200}
		text := string(l.append(nil))
		var got struct {
			Time, Method, Path, Host, UserAgent, Referer string
			Status, Bytes                                int
			DurationSeconds                              float64
			TLS                                          bool
		}
		d := json.NewDecoder(strings.NewReader(strings.NewReplacer(`"user_agent":`, `"UserAgent":`,
			`"duration_seconds":`, `"DurationSeconds":`).Replace(text)))
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil || d.More() || got.Status != 200 {
			t.Fatalf("%s: %v, %+v", text, err, got)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("%q has a non-printing character at byte %d", text, i)
		}
		for _, c := range []struct {
			got, given string
			most       int
		}{
			{got.Method, method, maxMethod}, {got.Path, string(Redacted([]byte(target))), maxTarget}, {got.Host, host, maxHost},
			{got.UserAgent, string(masked([]byte(agent))), maxAgent},
			{got.Referer, string(masked(withoutQuery([]byte(referer)))), maxReferer},
		} {
			valid := string([]rune(c.given)) // each byte that is not UTF-8 becomes U+FFFD
			cut, more := strings.CutSuffix(c.got, "…")
			if len(c.given) <= c.most && c.got != valid || len(c.given) > c.most && (!more || !strings.HasPrefix(valid, cut)) {
				t.Fatalf("%q is written as %q", c.given, c.got)
			}
		}
	})
}

// LogAttrs gives another log texts with the bounds of a line, without tokens and without characters
// that do not print.
func TestLogAttrs(t *testing.T) {
	l := full
	l.Method, l.Target = []byte("GET\u2028\x00"), []byte("/a\xff\u202e?token=hidden&q=iel_0123456789&x="+strings.Repeat("y", 2000))
	got := l.LogAttrs()
	for i, want := range []any{"method", "GET\ufffd\ufffd", "path", "/a\ufffd\ufffd?token=REDACTED&q=iel_REDACTED&x=",
		"client", "2001:db8::1", "protocol", "h2", "route", "cdn"} {
		if i == 3 {
			if path := got[i].(string); !strings.HasPrefix(path, want.(string)+"yyy") ||
				!strings.HasSuffix(path, "y…") || len(path) > maxTarget+10 {
				t.Errorf("path %q", path)
			}
		} else if got[i] != want {
			t.Errorf("%v, want %v", got[i], want)
		}
	}
}
