// Package flags gives the flags of an edge their places in a configuration file: it reads a file
// into flags, and writes flags as a file.
package flags

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
)

// File is the flag that names the file.
const File = "config"

// global are the flags with a place of their own outside of sites, by that place.
var global = map[string]string{
	"listen": "listen.http", "tls-listen": "listen.https", "admin-listen": "listen.admin",
	"cache-bytes": "cache.memory", "cache-dir": "cache.disk.dir", "cache-disk-bytes": "cache.disk.size", "max-object": "cache.max_object",
	"trusted-proxies": "trusted_proxies",
}

// ofSites are the flags that concern requests, by the key of defaults and sites.
var ofSites = map[string]string{
	"icons": "icons", "site": "site", "iconify": "iconify", "iconify-host": "iconify_host", "proxy-all": "proxy_all",
	"health-path":  "health_path",
	"negative-ttl": "negative_ttl", "grace": "grace", "ignore-query": "ignore_query",
	"bypass-cookie": "bypass_cookie", "store-cookies": "store_cookies",
	"client-revalidation": "client_revalidation", "pass-field": "pass_field", "client-encoding": "client_encoding",
	"cache-groups": "cache_groups",
	"max-body":     "max_body", "compress": "compress", "dictionaries": "dictionaries", "limit": "limits",
}

// ofOrigins are the flags that concern hosts and origins of one site.
var ofOrigins = []string{"host", "origin", "origin-host", "origin-sni"}

// Keys returns the flags without a place of their own. Each is a key of its name at the top level.
// fresh makes the flags of an edge, with their defaults.
func Keys(fresh func() *flag.FlagSet) map[string]config.Flag {
	keys, scratch := map[string]config.Flag{}, fresh()
	scratch.VisitAll(func(f *flag.Flag) {
		if f.Name == File || global[f.Name] != "" || ofSites[f.Name] != "" || slices.Contains(ofOrigins, f.Name) {
			return
		}
		keys[f.Name] = config.Flag{Form: form(f), Repeatable: repeatable(f),
			Check: func(value string) error { return scratch.Set(f.Name, value) }}
	})
	return keys
}

// Options says how the file of an edge is read. The flag limit decides about classes.
func Options(fresh func() *flag.FlagSet) config.Options {
	scratch := fresh()
	return config.Options{Flags: Keys(fresh), Matches: rules.Matches(), Actions: rules.Actions(),
		Class: func(name string) error { return scratch.Set("limit", name+"=off") }}
}

func repeatable(f *flag.Flag) bool {
	r, ok := f.Value.(interface{ Repeatable() bool })
	return ok && r.Repeatable()
}

// form returns the form of a flag's values, by its type and the kind in its help.
func form(f *flag.Flag) config.Form {
	kind, _ := flag.UnquoteUsage(f)
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		return config.Boolean
	}
	switch kind {
	case "bytes":
		return config.Bytes
	case "on|off":
		return config.Switch
	}
	if g, ok := f.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case time.Duration:
			return config.Time
		case int, int64, uint, uint64:
			return config.Whole
		}
	}
	return config.Text
}

// Place returns the place of an edge's flag in a file.
func Place(name string) string {
	switch {
	case global[name] != "":
		return global[name]
	case ofSites[name] != "":
		return "defaults." + ofSites[name]
	case slices.Contains(ofOrigins, name):
		return map[string]string{"host": "sites[].hosts", "origin": "sites[].origins.NAME.urls",
			"origin-host": "sites[].origins.NAME.host", "origin-sni": "sites[].origins.NAME.sni"}[name]
	}
	return key(name)
}

// A Loaded file is one without errors.
type Loaded struct {
	File     *config.File
	Table    *rules.Table
	Warnings config.Findings
}

// Load reads and compiles a file. The error is config.Findings, sorted by line.
func Load(name string, fresh func() *flag.FlagSet) (*Loaded, error) {
	f, err := config.Load(name, Options(fresh))
	if err != nil {
		return nil, sorted(err)
	}
	return compiled(f)
}

// Parse does for the text of a file what Load does.
func Parse(name string, text []byte, fresh func() *flag.FlagSet) (*Loaded, error) {
	f, err := config.Parse(name, text, Options(fresh))
	if err != nil {
		return nil, sorted(err)
	}
	return compiled(f)
}

func compiled(f *config.File) (*Loaded, error) {
	table, findings := rules.Compile(f)
	if table == nil {
		return nil, findings.Errors()
	}
	return &Loaded{f, table, findings.Warnings()}, nil
}

func sorted(err error) error {
	if all, ok := err.(config.Findings); ok {
		return all.Errors()
	}
	return err
}

// names returns the sorted names of the keys of a map.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// key returns the key of a flag: origin-timeout is origin_timeout.
func key(name string) string { return strings.ReplaceAll(name, "-", "_") }
