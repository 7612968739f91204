package flags

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/iconedge/iconedge/config"
)

// ErrPlace means that a flag beside a file has no single place in it.
var ErrPlace = errors.New("its place is in the sites of the file, which has several; set it there")

// Given returns the names of the flags that were set, on the command line or by the environment.
func Given(fs *flag.FlagSet) map[string]bool {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
}

// Apply sets the flags that the file sets and that were not given. Flags that were given take
// precedence over the file: see Override for those of sites.
func (l *Loaded) Apply(fs *flag.FlagSet, given map[string]bool) error {
	f := l.File
	set := func(name string, values ...string) error {
		for _, v := range values {
			if given[name] || v == "" {
				continue
			}
			if err := fs.Set(name, v); err != nil {
				return fmt.Errorf("--%s: %w", name, err)
			}
		}
		return nil
	}
	bytes := func(n *config.Size) string {
		if n == nil {
			return ""
		}
		return fmt.Sprint(int64(*n))
	}
	errs := []error{
		set("listen", f.Listen.HTTP), set("tls-listen", f.Listen.HTTPS), set("admin-listen", f.Listen.Admin),
		set("cache-bytes", bytes(f.Cache.Memory)), set("cache-dir", f.Cache.Disk.Dir), set("cache-disk-bytes", bytes(f.Cache.Disk.Size)),
		set("max-object", bytes(f.Cache.MaxObject)), set("trusted-proxies", f.TrustedProxies...),
	}
	for _, name := range names(f.Flags) {
		errs = append(errs, set(name, f.Flags[name]...))
	}
	icons, forwards := "off", "false"
	for i := range f.Sites {
		s := &f.Sites[i]
		if on(s.Icons, f.Defaults.Icons) {
			icons = "on"
			for _, host := range first(s.IconifyHost, f.Defaults.IconifyHost) {
				errs = append(errs, set("iconify-host", host))
			}
		}
		if !on(s.Icons, f.Defaults.Icons) || on(s.ProxyAll, f.Defaults.ProxyAll) {
			forwards = "true"
		}
	}
	tls := l.Certificates()
	errs = append(errs, set("tls-cert", tls.Certs...), set("tls-key", tls.Keys...), set("acme-host", tls.ACMEHosts...))
	if dir := f.Cache.Disk.Dir; dir != "" && f.Flags["acme-dir"] == nil {
		errs = append(errs, set("acme-dir", filepath.Join(dir, "acme")))
	}
	given = nil // the rest follows from all sites, to which Override has added the flags
	limits := l.ClassLimits()
	for _, class := range names(limits) {
		errs = append(errs, set("limit", class+"="+limits[class]))
	}
	return errors.Join(append(errs, set("icons", icons), set("proxy-all", forwards))...)
}

// ClassLimits returns the limits of the edge's own paths, by class or PLAN:CLASS: those of the site
// with icons, and those that it inherits.
func (l *Loaded) ClassLimits() map[string]string {
	limits := map[string]string{}
	add := func(of map[string]config.Limit) {
		for class, limit := range of {
			if class != "client" && class != "forwarded" { // which each site counts by itself
				limits[class] = string(limit)
			}
		}
	}
	add(l.File.Defaults.Limits)
	for i := range l.File.Sites {
		if s := &l.File.Sites[i]; on(s.Icons, l.File.Defaults.Icons) {
			add(s.Limits)
		}
	}
	return limits
}

func on(all ...*bool) bool {
	for _, one := range all {
		if one != nil {
			return *one
		}
	}
	return false
}

func first(a, b config.Strings) config.Strings {
	if a != nil {
		return a
	}
	return b
}

// Override gives the sites of the file the values of the flags that were given, because those take
// precedence. It is to be called before Apply.
func (l *Loaded) Override(fs *flag.FlagSet, given map[string]bool) error {
	changes := map[string]any{}
	for _, name := range names(given) {
		f := fs.Lookup(name)
		if name == "limit" {
			l.overrideLimits(value(f).(map[string]string))
			continue
		}
		if key := ofSites[name]; key != "" {
			changes[key] = value(f)
			continue
		}
		if !slices.Contains(ofOrigins, name) {
			continue
		}
		if err := l.overrideOrigin(name, f.Value.String()); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	if len(changes) > 0 {
		text, err := yaml.Marshal(changes)
		if err != nil {
			return err
		}
		if err := l.File.Override(text); err != nil {
			return err
		}
	}
	if len(given) == 0 {
		return nil
	}
	again, err := compiled(l.File)
	if err == nil {
		*l = *again
	}
	return err
}

// overrideLimits sets the limits of classes in all sites. Limits of other classes stay.
func (l *Loaded) overrideLimits(given map[string]string) {
	of := []*map[string]config.Limit{&l.File.Defaults.Limits}
	for i := range l.File.Sites {
		of = append(of, &l.File.Sites[i].Limits)
	}
	for _, limits := range of {
		if *limits == nil {
			*limits = map[string]config.Limit{}
		}
		for class, limit := range given {
			(*limits)[class] = config.Limit(limit)
		}
	}
}

// overrideOrigin sets a flag about hosts or origins in the only site of the file.
func (l *Loaded) overrideOrigin(name, text string) error {
	if len(l.File.Sites) != 1 {
		return ErrPlace
	}
	s := &l.File.Sites[0]
	if name == "host" {
		s.SetHosts(strings.Fields(text))
		return nil
	}
	names := s.Origin.Names()
	if len(names) != 1 {
		return ErrPlace
	}
	o := s.Origins[names[0]]
	switch name {
	case "origin":
		groups := strings.Fields(text)
		o.URLs, o.Backups, o.Weight, o.Folder = strings.Split(groups[0], ","), groups[1:], nil, config.Folder{}
	case "origin-host":
		o.Host = text
	case "origin-sni":
		o.SNI = text
	}
	s.Origins[names[0]] = o
	return nil
}

// Texts returns the values of a flag that was given, each as on the command line.
func Texts(f *flag.Flag) []string {
	if some, ok := f.Value.(interface{ Given() []string }); ok { // its String has the defaults too
		return some.Given()
	}
	if repeatable(f) {
		return strings.Fields(f.Value.String())
	}
	return []string{f.Value.String()}
}

// value returns the value of a flag in the form of a file.
func value(f *flag.Flag) any {
	text := f.Value.String()
	pairs := func(all []string) map[string]string {
		m := map[string]string{}
		for _, pair := range all {
			name, v, _ := strings.Cut(pair, "=")
			m[name] = v
		}
		return m
	}
	switch f.Name {
	case "negative-ttl", "limit":
		return pairs(Texts(f))
	case "ignore-query":
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	case "bypass-cookie":
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	}
	switch form(f) {
	case config.Boolean, config.Switch:
		return text == "true" || text == "on"
	case config.Bytes: // 512MiB, or a number of bytes
		return strings.TrimSuffix(text, "B") + "B"
	case config.Whole:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: text}
	}
	if repeatable(f) {
		return strings.Fields(text)
	}
	return text
}

// Certificates are those of all sites: files, and the hosts whose certificates come from an ACME
// authority.
type Certificates struct{ Certs, Keys, ACMEHosts []string }

// Certificates returns the certificates of all sites.
func (l *Loaded) Certificates() (c Certificates) {
	for _, s := range l.File.Sites {
		switch t := s.TLS; {
		case t.ACME:
			c.ACMEHosts = append(c.ACMEHosts, s.Hosts...)
		case t.Cert != "":
			c.Certs, c.Keys = append(c.Certs, t.Cert), append(c.Keys, t.Key)
		}
	}
	return c
}

// Fixed returns findings about everything that differs from the file with which the edge has
// started, and that can't change without a restart.
func (l *Loaded) Fixed(before *Loaded) (all config.Findings) {
	f, was := l.File, before.File
	const text = "can't change without a restart; must be as before, or the edge must be restarted"
	differ := func(path string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			all = append(all, f.Find(path, text))
		}
	}
	differ("listen", f.Listen, was.Listen)
	differ("cache", f.Cache, was.Cache)
	differ("trusted_proxies", f.TrustedProxies, was.TrustedProxies)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(names(f.Flags), names(was.Flags)...)))) {
		differ(key(name), f.Flags[name], was.Flags[name])
	}
	return all
}

// Convert returns the file of the flags that were given. An edge with the file behaves as one with
// the flags.
func Convert(fs *flag.FlagSet, given map[string]bool) ([]byte, error) {
	root := map[string]any{"version": 1}
	site := map[string]any{"name": "default", "hosts": []string{"*"}}
	origin := map[string]any{"urls": []string{"http://127.0.0.1:8081"}}
	proxyAll, hosts := given["proxy-all"] && fs.Lookup("proxy-all").Value.String() == "true", []string{}
	for _, name := range names(given) {
		f := fs.Lookup(name)
		text := f.Value.String()
		switch {
		case name == File:
		case name == "host" || name == "iconify-host":
			hosts = append(hosts, strings.Fields(text)...)
		case name == "origin":
			groups := strings.Fields(text)
			origin["urls"] = strings.Split(groups[0], ",")
			if len(groups) > 1 {
				origin["backups"] = groups[1:]
			}
		case name == "origin-host":
			origin["host"] = text
		case name == "origin-sni":
			origin["sni"] = text
		case global[name] != "":
			v := value(f)
			if name == "trusted-proxies" {
				v = strings.Fields(text)
			}
			put(root, strings.Split(global[name], "."), v)
		case ofSites[name] != "":
			if name != "icons" && name != "proxy-all" {
				site[ofSites[name]] = value(f)
			}
		default:
			root[key(name)] = value(f)
		}
		if name == "iconify-host" {
			site["iconify_host"] = strings.Fields(text)
		}
	}
	if given["host"] {
		site["hosts"] = hosts
	}
	switch icons := fs.Lookup("icons").Value.String(); {
	case icons == "on" || icons == "" && !proxyAll:
		site["icons"] = true
		if proxyAll {
			site["proxy_all"] = true
		}
	}
	if site["icons"] == true && origin["host"] == nil && !proxyAll {
		origin["host"] = "origin"
	}
	site["origins"] = map[string]any{"app": origin}
	root["sites"] = []any{site}
	return yaml.Marshal(root)
}

// put sets a value at a path in maps.
func put(m map[string]any, path []string, v any) {
	for _, name := range path[:len(path)-1] {
		next, ok := m[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[name] = next
		}
		m = next
	}
	m[path[len(path)-1]] = v
}
