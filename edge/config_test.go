package edge

import (
	"flag"
	"io"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/hostport"
)

func parseFlags(args ...string) (Config, error) {
	var c Config
	fs := flag.NewFlagSet("edge", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c.Flags(fs)
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	return c, c.Validate()
}

func TestDefaults(t *testing.T) {
	c, err := parseFlags()
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != ":8080" || c.AdminListen != "127.0.0.1:8082" || len(c.Origins) != 0 ||
		len(c.filled().Origins) != 1 || c.filled().CacheBytes != 256<<20 {
		t.Errorf("%+v", c)
	}
	want := map[routes.Class]string{routes.ClassSearch: "60/1m0s", routes.ClassIcon: "120/1m0s",
		routes.ClassPacks: "60/1m0s", routes.ClassVerify: "30/1m0s", routes.ClassCDN: "off"}
	for class, limit := range want {
		if got := c.Limits.Of(class).String(); got != limit {
			t.Errorf("the limit of %s is %s, want %s", class, got, limit)
		}
	}
}

func TestLimitFlag(t *testing.T) {
	c, err := parseFlags("--limit", "search=5/10s", "--limit", "icon=off", "--limit", "cdn=1000/1s", "--limit",
		"team-2:icon=off", "--limit", "lifetime:search=600/1m")
	if err != nil {
		t.Fatal(err)
	}
	for class, want := range map[routes.Class]ratelimit.Limit{
		routes.ClassSearch: {N: 5, Window: 10 * time.Second}, routes.ClassIcon: {}, routes.ClassCDN: {N: 1000, Window: time.Second},
		routes.ClassPacks: {N: 60, Window: time.Minute}, // unchanged
	} {
		if got := c.Limits.Of(class); got != want {
			t.Errorf("the limit of %s is %s, want %s", class, got, want)
		}
	}
	const all = "search=5/10s suggest=300/1m0s icon=off packs=60/1m0s verify=30/1m0s cdn=1000/1s forwarded=off " +
		"pages=300/1m0s raster=300/1m0s lifetime:search=600/1m0s team-2:icon=off"
	if got := c.Limits.String(); got != all {
		t.Errorf("the limits are %s, want %s", got, all)
	}
}

func TestWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--limit books=1/1m":                   "class",
		"--limit none=1/1m":                    "class",
		"--limit search":                       "limit",
		"--limit lifetime:cdn=1/1m":            "plan",
		"--limit lifetime:verify=1/1m":         "plan",
		"--limit lifetime:=1/1m":               "plan",
		"--limit :search=1/1m":                 "plan",
		"--limit Lifetime:search=1/1m":         "plan",
		"--limit a:b:search=1/1m":              "plan",
		"--limit lifetime:search=1/1s/1m":      "limit",
		"--limit search=0/1m":                  "limit",
		"--trusted-proxies 10.0.0.0/x":         "network",
		"--trusted-proxies ::ffff:1.2.3.4/120": "IPv4",
		"--origin ftp://a":                     "origin",
		"--origin http://a/b":                  "origin",
		"--origin http://u:p@a":                "origin",
		"--origin a:80":                        "origin",
		"--cache-bytes 1000":                   "--cache-bytes",
		"--drain -1s":                          "--drain",
		"--host a:x":                           "--host",
		"--host a/b":                           "--host",
	} {
		if _, err := parseFlags(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %s", args, err, want)
		}
	}
}

func TestAllThatIsWrongAtOnce(t *testing.T) {
	_, err := parseFlags("--drain", "-1s", "--cache-bytes", "1", "--host", "a b")
	for _, want := range []string{"--drain", "--cache-bytes", "--host"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error says nothing of %s: %v", want, err)
		}
	}
}

func TestProxiesAndHosts(t *testing.T) {
	c, err := parseFlags("--trusted-proxies", "10.1.2.3/8", "--trusted-proxies", "192.0.2.1", "--trusted-proxies",
		"2001:db8::/32", "--host", "Icons.Test")
	if err != nil {
		t.Fatal(err)
	}
	if got := repeated.Flag(&c.TrustedProxies, hostport.ParsePrefix).String(); got != "10.0.0.0/8 192.0.2.1/32 2001:db8::/32" {
		t.Errorf("trusted: %s", got)
	}
	if len(c.Hosts) != 1 || c.Hosts[0] != "icons.test" {
		t.Errorf("hosts: %q", c.Hosts)
	}
}

// By default the cache has at most a quarter of the memory limit.
func TestCacheOfSmallNode(t *testing.T) {
	before := debug.SetMemoryLimit(200 << 20)
	defer debug.SetMemoryLimit(before)
	for args, want := range map[string]int64{"": 50 << 20, "--cache-bytes=300MiB": 300 << 20} {
		c, err := parseFlags(strings.Fields(args)...)
		if got := c.filled().CacheBytes; err != nil || got != want {
			t.Errorf("%q: %d bytes, %v; want %d", args, got, err, want)
		}
	}
}
