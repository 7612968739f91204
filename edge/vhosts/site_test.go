package vhosts

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// settings returns the settings of command-line arguments.
func settings(t testing.TB, args ...string) (s Settings, err error) {
	t.Helper()
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	s.Flags(fs)
	return s, fs.Parse(args)
}

func TestKey(t *testing.T) {
	s, err := settings(t, "--ignore-query=utm_*,fbclid", "--ignore-query", "gclid")
	if err != nil {
		t.Fatal(err)
	}
	site := s.Site(true, cachepolicy.Policy{}, nil)
	for target, want := range map[string]string{
		"/a":                          "/a",
		"/a?":                         "/a?",
		"/a?b=1&a=2&b=1":              "/a?b=1&a=2&b=1",
		"/a?utm_source=x":             "/a",
		"/a?utm_=x&utm_a=1&utm_a=2":   "/a",
		"/a?b=1&utm_source=x&a=%2f":   "/a?b=1&a=%2f",
		"/a?fbclid":                   "/a",
		"/a?gclid=1&fbclid=2":         "/a",
		"/a?fbclids=1":                "/a?fbclids=1",
		"/a?Fbclid=1":                 "/a?Fbclid=1", // applications tell case apart
		"/a?x=utm_a":                  "/a?x=utm_a",
		"/a?&utm_a&":                  "/a?&",
		"/utm_a?b":                    "/utm_a?b",
		"/a?b?utm_a=1":                "/a?b?utm_a=1",
		"/a?%75tm_source=x":           "/a?%75tm_source=x", // another spelling is another key
		"/a?utm_a=1;admin=1":          "/a?utm_a=1;admin=1",
		"/a?utm_a;admin=1&utm_b=2":    "/a?utm_a;admin=1",
		"/a?utm_a=" + "\x00" + "&b=1": "/a?b=1",
	} {
		if got := site.Key(target); got != want {
			t.Errorf("Key(%q) = %q, want %q", target, got, want)
		}
	}
}

// Two targets share a key only if they differ in nothing but ignored parameters.
func FuzzKey(f *testing.F) {
	site := (&Settings{IgnoreQuery: []string{"utm_*,fbclid"}}).Site(true, cachepolicy.Policy{}, nil)
	f.Add("/a?utm_a=1;b=2&c")
	f.Fuzz(func(t *testing.T, target string) {
		key := site.Key(target)
		if again := site.Key(key); again != key {
			t.Fatalf("%q has the key %q, which has the key %q", target, key, again)
		}
		path, query, _ := strings.Cut(target, "?")
		rest, left, _ := strings.Cut(key, "?")
		if rest != path {
			t.Fatalf("%q has the key %q, of another path", target, key)
		}
		kept := strings.Split(left, "&")
		for parameter := range strings.SplitSeq(query, "&") {
			if len(kept) > 0 && parameter == kept[0] {
				kept = kept[1:]
			} else if !strings.HasPrefix(parameter, "utm_") && !strings.HasPrefix(parameter, "fbclid") || strings.Contains(parameter, ";") {
				t.Fatalf("%q has the key %q without %q", target, key, parameter)
			}
		}
	})
}

func TestBypasses(t *testing.T) {
	s, err := settings(t, "--bypass-cookie=session", "--bypass-cookie", "wordpress_logged_in_*")
	if err != nil {
		t.Fatal(err)
	}
	site := s.Site(true, cachepolicy.Policy{}, nil)
	for _, row := range []struct {
		lines []string
		want  bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"session=1"}, true},
		{[]string{"a=1; session=1; b=2"}, true},
		{[]string{"a=1;session=1"}, true},
		{[]string{"a=1", "session=1"}, true}, // over HTTP/2 each cookie may have its line
		{[]string{"session"}, true},
		{[]string{"session="}, true},
		{[]string{"session =1"}, true},
		{[]string{"a=1;\tsession=1"}, true},
		{[]string{"a=1,session=1"}, true},
		{[]string{`a="; session=1"`}, true}, // in doubt the cache is bypassed
		{[]string{"wordpress_logged_in_4f=x"}, true},
		{[]string{"sessions=1; asession=1; Session=1; a=session"}, false},
		{[]string{"a=session=1"}, false},
	} {
		if got := site.Bypasses(row.lines); got != row.want {
			t.Errorf("Bypasses(%q) = %v, want %v", row.lines, got, row.want)
		}
	}
	if (&Settings{}).Site(true, cachepolicy.Policy{}, nil).Bypasses([]string{"session=1"}) {
		t.Error("a site without such cookies bypasses the cache")
	}
}

func TestSettings(t *testing.T) {
	for _, row := range []struct {
		args  []string
		proxy bool
		token bool // --admin-token-file is set
		wrong string
		icons bool
	}{
		{icons: true},
		{proxy: true},
		{args: []string{"--icons=on"}, proxy: true, icons: true},
		{args: []string{"--icons=off"}, proxy: true},
		{args: []string{"--icons=off"}, wrong: "--icons off requires --proxy-all"},
		{args: []string{"--icons=yes"}, proxy: true, wrong: "must be on or off"},
		{args: []string{"--icons="}, proxy: true, wrong: "must be on or off"},
		{args: []string{"--health-path=/up"}, proxy: true},
		{args: []string{"--health-path=/up"}, wrong: "--health-path requires --icons off", icons: true},
		{args: []string{"--health-path=up"}, proxy: true, wrong: "--health-path must be a path"},
		{args: []string{"--health-path=/up?x"}, proxy: true, wrong: "--health-path must be a path"},
		{args: []string{"--grace=-1s"}, proxy: true, wrong: "--grace must not be negative"},
		{args: []string{"--negative-ttl=404=1m", "--negative-ttl=503=1s"}, proxy: true},
		{args: []string{"--negative-ttl=404"}, proxy: true, wrong: "the time must be"},
		{args: []string{"--negative-ttl=404=60"}, proxy: true, wrong: "the time must be"},
		{args: []string{"--negative-ttl=404=0s"}, proxy: true, wrong: "the time must be"},
		{args: []string{"--negative-ttl=200=1m"}, proxy: true, wrong: "the status must be"},
		{args: []string{"--negative-ttl=0404=1m"}, proxy: true, wrong: "the status must be"},
		{args: []string{"--negative-ttl=x=1m"}, proxy: true, wrong: "the status must be"},
		{args: []string{"--ignore-query=*"}, proxy: true, wrong: "must be names"},
		{args: []string{"--ignore-query=a,,b"}, proxy: true, wrong: "must be names"},
		{args: []string{"--ignore-query=a*b"}, proxy: true, wrong: "must be names"},
		{args: []string{"--bypass-cookie="}, proxy: true, wrong: "must be names"},
		{args: []string{"--client-encoding=as-sent"}, proxy: true},
		{args: []string{"--client-encoding=x"}, proxy: true, wrong: "must be normal or as-sent"},
		{args: []string{"--purge-method"}, proxy: true, wrong: "--purge-method requires --admin-token-file"},
		{args: []string{"--purge-method"}, proxy: true, token: true},
	} {
		s, err := settings(t, row.args...)
		if err == nil {
			err = s.Validate(row.proxy, row.token, false)
		}
		if (err != nil) != (row.wrong != "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
			t.Errorf("%q with --proxy-all %v: error %v, want %q", row.args, row.proxy, err, row.wrong)
		}
		if err == nil && s.Site(row.proxy, cachepolicy.Policy{}, nil).Icons != row.icons {
			t.Errorf("%q with --proxy-all %v: icons %v", row.args, row.proxy, !row.icons)
		}
	}
	const proxyAll, adminToken, requireToken = true, false, true
	if err := (&Settings{}).Validate(proxyAll, adminToken, requireToken); err == nil ||
		!strings.Contains(err.Error(), "--require-token requires --icons on") {
		t.Errorf("--require-token without icons: error %v", err)
	}
	s, _ := settings(t, "--negative-ttl=404=1m", "--negative-ttl=404=2m", "--grace=1h", "--health-path=/up")
	site := s.Site(true, cachepolicy.Policy{SafeCookies: true}, nil)
	if p := site.Policy; !p.SafeCookies || p.Grace != time.Hour || p.NegativeTTL[404] != 2*time.Minute ||
		!site.IsHealthPath("/up") || site.IsHealthPath("/healthz") || site.IsHealthPath("") {
		t.Errorf("site %+v", site)
	}
	if s := (&Settings{}).Site(false, cachepolicy.Policy{}, nil); !s.IsHealthPath("/healthz") {
		t.Error("with icons /healthz is no health check")
	}
	if s := (&Settings{}).Site(true, cachepolicy.Policy{}, nil); s.IsHealthPath("/healthz") || s.IsHealthPath("") {
		t.Error("without icons there is a health check by default")
	}
}
