package flags

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/config"
)

// words is a flag that may be given more than once.
type words struct{ all, given *[]string }

func (w words) String() string {
	if w.all == nil {
		return ""
	}
	return strings.Join(*w.all, " ")
}

func (w words) Set(s string) error {
	if strings.Contains(s, "wrong") {
		return errors.New("is wrong; must be right")
	}
	*w.all, *w.given = append(*w.all, s), append(*w.given, s)
	return nil
}

func (words) Repeatable() bool { return true }

// limits is the flag limit, which knows what it was given beside its defaults.
type limits struct{ words }

func (l limits) Given() []string { return *l.given }

// fresh returns flags like those of an edge.
func fresh() *flag.FlagSet {
	fs := flag.NewFlagSet("edge", flag.ContinueOnError)
	fs.String(File, "", "`FILE`")
	for _, name := range []string{"listen", "tls-listen", "admin-listen", "cache-dir", "icons", "site", "health-path",
		"client-encoding", "origin-host", "origin-sni", "ignore-query", "acme-dir", "name"} {
		fs.String(name, "", "`text`")
	}
	fs.Bool("proxy-all", false, "")
	fs.String("compress", "all", "`all|stored|off`: codings")
	fs.Duration("grace", 0, "`time`")
	fs.Duration("idle", time.Minute, "`time`")
	fs.Int("conns", 10, "`number`")
	fs.Bool("debug", false, "")
	fs.String("secure", "off", "`on|off`")
	for _, name := range []string{"cache-bytes", "cache-disk-bytes", "max-object", "max-body", "spool"} {
		fs.Int64(name, 0, "`bytes`")
	}
	for _, name := range []string{"trusted-proxies", "iconify-host", "tls-cert", "tls-key", "acme-host", "host", "origin", "field"} {
		fs.Var(words{new([]string), new([]string)}, name, "`text`")
	}
	fs.Var(limits{words{&[]string{"search=60/1m"}, new([]string)}}, "limit", "`CLASS=LIMIT`")
	return fs
}

const head = "version: 1\nsites:\n"

// site returns a site of a file, with more fields.
func site(name, more string) string {
	return fmt.Sprintf("  - {name: %s, hosts: [%s.test], origins: {app: {urls: [\"http://10.0.0.5\"]}}%s}\n", name, name, more)
}

func parse(t *testing.T, text string) *Loaded {
	t.Helper()
	l, err := Parse("f", []byte(text), fresh)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return l
}

// Flags without a place of their own are keys, whose form follows from the type of the flag.
func TestKeys(t *testing.T) {
	keys := Keys(fresh)
	for name, want := range map[string]config.Flag{
		"idle": {Form: config.Time}, "conns": {Form: config.Whole}, "debug": {Form: config.Boolean},
		"secure": {Form: config.Switch}, "spool": {Form: config.Bytes},
		"name": {Form: config.Text}, "field": {Form: config.Text, Repeatable: true},
	} {
		if got, ok := keys[name]; !ok || got.Form != want.Form || got.Repeatable != want.Repeatable {
			t.Errorf("%s: %+v, %v; want %+v", name, got, ok, want)
		}
		delete(keys, name)
	}
	if err := Keys(fresh)["field"].Check("wrong"); err == nil {
		t.Error("a wrong value passes the check")
	}
	for _, name := range []string{"tls-cert", "tls-key", "acme-host", "acme-dir"} {
		delete(keys, name)
	}
	if len(keys) > 0 {
		t.Errorf("also keys: %v", slices.Sorted(maps.Keys(keys)))
	}
}

func TestPlace(t *testing.T) {
	for name, want := range map[string]string{
		"listen": "listen.http", "cache-disk-bytes": "cache.disk.size", "grace": "defaults.grace",
		"limit": "defaults.limits", "host": "sites[].hosts",
		"origin-sni": "sites[].origins.NAME.sni", "origin-timeout": "origin_timeout",
	} {
		if got := Place(name); got != want {
			t.Errorf("--%s: %s, want %s", name, got, want)
		}
	}
}

// The findings of a file are sorted by line; warnings do not keep an edge from starting.
func TestLoad(t *testing.T) {
	name := filepath.Join(t.TempDir(), "edge.yaml")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(head + site("a", ", rules: [{match: {path: /x}}]"))
	l, err := Load(name, fresh)
	if err != nil || len(l.Warnings) != 1 || !strings.Contains(l.Warnings.Error(), name+":3: sites[0].rules[0]: the rule has no action") {
		t.Errorf("%+v, %v", l, err)
	}
	write("version: 2\nfield: wrong\nsites:\n" + site("a", ", limits: {serch: 1/1m}"))
	_, err = Load(name, fresh)
	var findings config.Findings
	if !errors.As(err, &findings) || len(findings) != 3 || findings[0].Line != 1 || findings[1].Line != 2 || findings[2].Line != 4 {
		t.Errorf("%v", err)
	}
	if _, err := Load(name+".none", fresh); !errors.As(err, &findings) || len(findings) != 1 {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A file sets flags, but not those that were given.
func TestApply(t *testing.T) {
	text := `version: 1
listen: {http: ":1", admin: "127.0.0.1:2", https: ":3"}
cache: {memory: 2MiB, disk: {dir: /cache, size: 1GB}, max_object: 1MB}
trusted_proxies: [10.0.0.0/8, 192.0.2.0/24]
idle: 10s
field: [a, b]
defaults: {limits: {search: 7/1m, client: 1/1m}}
sites:
` + site("icons", ", icons: true, iconify_host: [i.test], limits: {icon: 8/1m, forwarded: 2/1m}, tls: {acme: true}") +
		site("app", ", tls: {cert: c.pem, key: k.pem}, limits: {icon: 9/1m}")
	fs := fresh()
	if err := errors.Join(fs.Set("listen", ":9"), fs.Set("idle", "1s")); err != nil {
		t.Fatal(err)
	}
	l := parse(t, text)
	if err := l.Apply(fs, Given(fs)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"listen": ":9", "idle": "1s", "admin-listen": "127.0.0.1:2", "tls-listen": ":3", "cache-bytes": "2097152",
		"cache-dir": "/cache", "cache-disk-bytes": "1000000000",
		"max-object": "1000000", "trusted-proxies": "10.0.0.0/8 192.0.2.0/24", "field": "a b", "icons": "on",
		"proxy-all": "true", "iconify-host": "i.test",
		"limit": "search=60/1m icon=8/1m0s search=7/1m0s", "acme-host": "icons.test", "acme-dir": "/cache/acme",
		"tls-cert": "c.pem", "tls-key": "k.pem",
	} {
		if got := fs.Lookup(name).Value.String(); got != want {
			t.Errorf("--%s is %q, want %q", name, got, want)
		}
	}
	if got := l.ClassLimits(); !maps.Equal(got, map[string]string{"icon": "8/1m0s", "search": "7/1m0s"}) {
		t.Errorf("limits of classes: %v", got)
	}
	c := l.Certificates()
	if fmt.Sprint(c) != "{[c.pem] [k.pem] [icons.test]}" {
		t.Errorf("certificates: %v", c)
	}
}

// Flags that were given take precedence over all sites of a file; flags about hosts and origins
// only where there is one.
func TestOverride(t *testing.T) {
	give := func(pairs ...string) *flag.FlagSet {
		fs := fresh()
		for i := 0; i < len(pairs); i += 2 {
			if err := fs.Set(pairs[i], pairs[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		return fs
	}
	two := head + site("a", ", grace: 1m, limits: {client: 1/1m}") + site("b", "")
	fs := give("grace", "2m", "limit", "client=5/1m", "compress", "off", "max-body", "1024", "ignore-query", "utm_*,fbclid")
	l := parse(t, two)
	if err := l.Override(fs, Given(fs)); err != nil {
		t.Fatal(err)
	}
	for _, s := range l.File.Sites {
		if *s.Grace != config.Duration(2*time.Minute) || *s.Compress != config.CompressOff || *s.MaxBody != 1024 ||
			s.Limits["client"] != "5/1m" || !slices.Equal(s.IgnoreQuery, []string{"utm_*", "fbclid"}) {
			t.Errorf("%s: grace %v, compress %v, max_body %v, limits %v, ignore_query %v", s.Name, *s.Grace,
				*s.Compress, *s.MaxBody, s.Limits, s.IgnoreQuery)
		}
	}
	if l.Table.Sites[0].Grace() == nil || *l.Table.Sites[0].Grace() != config.Duration(2*time.Minute) {
		t.Error("the compiled sites have the grace of the file")
	}
	for _, pair := range [][2]string{{"host", "x.test"}, {"origin", "http://10.0.0.9"}, {"origin-host", "x"}, {"origin-sni", "x"}} {
		fs := give(pair[0], pair[1])
		if err := parse(t, two).Override(fs, Given(fs)); !errors.Is(err, ErrPlace) || !strings.HasPrefix(err.Error(), "--"+pair[0]+": ") {
			t.Errorf("--%s beside two sites: %v", pair[0], err)
		}
	}
	fs = give("host", "x.test", "host", "y.test:9000", "origin", "http://10.0.0.9,http://10.0.0.8", "origin",
		"http://10.0.0.7", "origin-host", "origin", "origin-sni", "name.test")
	l = parse(t, head+site("a", ""))
	if err := l.Override(fs, Given(fs)); err != nil {
		t.Fatal(err)
	}
	s := l.File.Sites[0]
	if o := s.Origins["app"]; fmt.Sprintf("%v %v %v %v %s %s", s.Hosts, s.Ports, o.URLs, o.Backups, o.Host,
		o.SNI) != "[x.test y.test] map[y.test:[9000]] [http://10.0.0.9 http://10.0.0.8] [http://10.0.0.7] origin name.test" {
		t.Errorf("%v %v %+v", s.Hosts, s.Ports, o)
	}
}

// A change of a setting that needs a restart is a finding; changes of sites and defaults are none.
func TestFixed(t *testing.T) {
	start := "version: 1\nlisten: {http: \":1\"}\nidle: 10s\nsites:\n" + site("a", "")
	for _, row := range []struct{ old, with, want string }{
		{"name: a", "name: b", ""},
		{"idle", "defaults: {grace: 1h}\nidle", ""},
		{`":1"`, `":2"`, "f:2: listen: can't change"},
		{"idle: 10s", "idle: 11s", "f:3: idle: can't change"},
		{"idle: 10s", "trusted_proxies: [10.0.0.1]", "f:1: idle: can't change"},
		{"idle: 10s", "trusted_proxies: [10.0.0.1]", "f:3: trusted_proxies: can't change"},
	} {
		found := parse(t, strings.Replace(start, row.old, row.with, 1)).Fixed(parse(t, start))
		if (len(found) == 0) != (row.want == "") || !strings.Contains(found.Error(), row.want) {
			t.Errorf("%s: %v, want %s", row.with, found, row.want)
		}
	}
}

// An edge with the file that Convert makes of flags behaves as one with the flags.
func TestConvert(t *testing.T) {
	for _, row := range []struct {
		given []string
		want  map[string]string // flags of the edge with the file
		site  func(s config.Site) bool
	}{
		{nil, map[string]string{"icons": "on"}, func(s config.Site) bool {
			return *s.Icons &&
				s.Origins["app"].Host == "origin" && s.Hosts[0] == "*"
		}},
		{[]string{"proxy-all", "true", "host", "a.test", "idle", "5s", "cache-bytes", "1048576"},
			map[string]string{"icons": "off", "proxy-all": "true", "idle": "5s", "cache-bytes": "1048576"},
			func(s config.Site) bool {
				return s.Icons == nil && s.Hosts[0] == "a.test" && s.Origins["app"].Host == ""
			}},
		{[]string{"proxy-all", "true", "icons", "on", "limit", "client=9/1m", "trusted-proxies", "10.0.0.0/8"},
			map[string]string{"icons": "on", "proxy-all": "true", "trusted-proxies": "10.0.0.0/8"},
			func(s config.Site) bool { return *s.Icons && *s.ProxyAll && s.Limits["client"] == "9/1m0s" }},
		{[]string{"origin", "http://10.0.0.1,http://10.0.0.2", "origin", "http://10.0.0.3", "origin-sni", "x.test",
			"iconify-host", "i.test"}, map[string]string{"iconify-host": "i.test"},
			func(s config.Site) bool {
				o := s.Origins["app"]
				return fmt.Sprintf("%v %v %s %v", o.URLs, o.Backups, o.SNI,
					s.IconifyHost) == "[http://10.0.0.1 http://10.0.0.2] [http://10.0.0.3] x.test [i.test]"
			}},
	} {
		fs := fresh()
		for i := 0; i < len(row.given); i += 2 {
			if err := fs.Set(row.given[i], row.given[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		text, err := Convert(fs, Given(fs))
		if err != nil {
			t.Fatal(err)
		}
		l := parse(t, string(text))
		again := fresh()
		if err := l.Apply(again, nil); err != nil {
			t.Fatal(err)
		}
		for name, want := range row.want {
			if got := again.Lookup(name).Value.String(); got != want {
				t.Errorf("%v: --%s is %q, want %q", row.given, name, got, want)
			}
		}
		if len(l.File.Sites) != 1 || !row.site(l.File.Sites[0]) {
			t.Errorf("%v:\n%s", row.given, text)
		}
	}
}
