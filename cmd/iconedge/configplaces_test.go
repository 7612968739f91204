package main

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/config/flags"
)

// flagValues are values of the flags of an edge, none of which is the default. Spaces separate
// those of a repeatable flag.
var flagValues = map[string][]string{
	"access-log": {"access.log"}, "access-log-format": {"combined"}, "access-log-sample": {"0.25"}, "request-id": {"keep"},
	"acme-dir": {"/tmp/acme"}, "acme-directory": {"https://ca.test/dir"},
	"acme-email": {"ann@example.org"}, "acme-host": {"a.example b.example"},
	"admin-host": {"a.example.org *.b.example.org"}, "admin-listen": {"127.0.0.1:9"},
	"admin-protect-metrics": {"true"}, "admin-token-file": {"token"}, "allow-file": {"allow"},
	"answer-timeout": {"7s"}, "bypass-cookie": {"session a*"},
	"cache-bytes": {"512MiB", "1000001"}, "cache-dir": {"/tmp/cache"}, "cache-disk-bytes": {"1048576"},
	"cache-groups":        {"hard"},
	"client-revalidation": {"true"}, "compress": {"stored", "off"},
	"dictionaries": {"auto", "off"},
	"deny-file":    {"deny"}, "drain": {"3s"}, "grace": {"1h0m0s"}, "health-path": {"/up"}, "host": {"a.test b.test"},
	"http2-reference": {"true"}, "http3": {"on", "off"},
	"client-memory": {"1073741824"}, "iconify": {"off"}, "iconify-host": {"api.test"}, "icons": {"on", "off"},
	"idle": {"9s"}, "idle-timeout": {"9s"}, "ignore-query": {"utm_*,fbclid"},
	"limit": {"search=7/1m"}, "listen": {"127.0.0.1:9"}, "log-format": {"json"}, "log-level": {"debug"},
	"loop": {"off"}, "max-body": {"1234"},
	"max-connections": {"77"}, "max-header": {"65536"}, "max-connections-per-client": {"7"}, "max-object": {"1048576"},
	"max-tunnels": {"7"},
	"max-waiting": {"7"}, "node": {"fra-1"}, "negative-ttl": {"404=1m0s"},
	"origin": {"http://a.test:81", "http://a.test:81,http://b.test http://c.test"}, "origin-ca": {"ca"},
	"origin-cert": {"c"}, "origin-check": {"7s"}, "origin-connections": {"7"},
	"origin-host": {"origin", "client", "x.test"}, "origin-key": {"k"}, "origin-sni": {"sni.test"},
	"origin-timeout": {"7s"}, "pass-field": {"CF-IP"}, "client-encoding": {"as-sent", "normal"}, "proxy-all": {"true"},
	"purge-method": {"true"}, "redis": {"redis://a.test:1/2"}, "redis-password-file": {"p"}, "region": {"eu"},
	"request-timeout": {"7s"}, "require-token": {"true"}, "reuse-port": {"true"},
	"shutdown-delay": {"3s"}, "site": {"off"}, "store-cookies": {"true"}, "strict-env": {"true"},
	"tier-secret-file": {"s"}, "tls-cert": {"a.pem"}, "tls-client-ca": {"ca"}, "tls-key": {"a.key"}, "tls-listen": {"127.0.0.1:9"},
	"tls-redirect": {"true"}, "tls-ticket-secret-file": {"s"}, "trace-endpoint": {"http://t.test"},
	"trace-sample": {"0.5"}, "trusted-proxies": {"10.0.0.0/8 192.0.2.1"}, "tunnel-idle": {"7s"},
}

// settingsOf are the flags whose places are in a site of the file, which therefore does not set
// them.
var settingsOf = []string{"bypass-cookie", "cache-groups", "client-encoding", "client-revalidation", "compress", "dictionaries", "grace",
	"health-path", "host", "iconify", "ignore-query", "max-body", "negative-ttl", "origin", "origin-host",
	"origin-sni", "pass-field", "site", "store-cookies"}

// TestConfigPlaces: every flag of an edge has a place in a file, and a file that was converted from
// flags sets the same flags.
func TestConfigPlaces(t *testing.T) {
	set := func(fs *flag.FlagSet, name, values string) {
		t.Helper()
		all := []string{values}
		if r, ok := fs.Lookup(name).Value.(interface{ Repeatable() bool }); ok && r.Repeatable() {
			all = strings.Fields(values)
		}
		for _, v := range all {
			if err := fs.Set(name, v); err != nil {
				t.Errorf("--%s %s: %v", name, v, err)
			}
		}
	}
	edgeFlags().VisitAll(func(f *flag.Flag) {
		if f.Name == flags.File {
			return
		}
		if flagValues[f.Name] == nil {
			t.Errorf("--%s has no value in this test", f.Name)
		}
		for _, v := range flagValues[f.Name] {
			given := edgeFlags()
			if f.Name != "icons" && f.Name != "iconify-host" && f.Name != "limit" {
				set(given, "proxy-all", "true")
			}
			set(given, f.Name, v)
			text, err := flags.Convert(given, flags.Given(given))
			if err != nil {
				t.Errorf("--%s %s: %v", f.Name, v, err)
				continue
			}
			for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune(" ,=", r) }) {
				if part == "off" && f.Name != "compress" && f.Name != "dictionaries" {
					part = "false"
				}
				if slices.Contains(settingsOf, f.Name) && !strings.Contains(string(text), part) {
					t.Errorf("--%s %s: %s is not in the file:\n%s", f.Name, v, part, text)
				}
			}
			loaded, err := flags.Parse("f", text, edgeFlags)
			if err != nil {
				t.Errorf("--%s %s: %v\n%s", f.Name, v, err, text)
				continue
			}
			of := edgeFlags()
			if err := loaded.Apply(of, nil); err != nil {
				t.Errorf("--%s %s: %v\n%s", f.Name, v, err, text)
			}
			given.VisitAll(func(one *flag.Flag) {
				got, want := of.Lookup(one.Name).Value.String(), one.Value.String()
				derived := one.Name == "icons" || one.Name == "proxy-all" || one.Name == "acme-dir" && f.Name == "cache-dir"
				if got != want && !derived && !slices.Contains(settingsOf, one.Name) {
					t.Errorf("--%s %s: --%s is %q, want %q by\n%s", f.Name, v, one.Name, got, want, text)
				}
			})
		}
	})
}
