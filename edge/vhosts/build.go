package vhosts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/signon"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/upstream/folder"
)

// A Builder makes Sets of files.
type Builder struct {
	Life     context.Context // ends with the edge
	Upstream upstream.Config // of every client, besides what the file says
	Drain    time.Duration   // for which a client without a site is kept, for requests in flight
	Log      *slog.Logger
	Clock    clock.Clock // of the windows of limits
	// Share returns the window that edges share under a name; nil: limits are not shared.
	Share func(name string, own *ratelimit.Limiter) Window
	// SignOns counts the verdicts of sign-ons.
	SignOns signon.Observer

	mu      sync.Mutex
	clients map[string]*running
	leaving map[*running]bool // no site uses them, but requests in flight may
	ended   counts            // of the clients that have left
	limits  map[string]Limit
	gates   map[string]signon.Gate
}

// A running client checks its origins until stop is called.
type running struct {
	*upstream.Client
	stop context.CancelFunc
}

const errIcons = "a second site has icons: true; must be one, which may have several hosts"

// Build makes the Set of a file. check may refuse it; the builder is then as before. Otherwise
// clients that no site uses any more end after a while.
func (b *Builder) Build(l *flags.Loaded, check func(*Set) error) (*Set, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	icons := 0
	for i, r := range l.Table.Sites {
		if on(r.Icons, r.Defaults.Icons) {
			icons++
		}
		if icons > 1 {
			return nil, config.Findings{l.File.Find(fmt.Sprintf("sites[%d].icons", i), errIcons)}
		}
	}
	next := &building{Builder: b, clients: map[string]*running{}, limits: map[string]Limit{}, gates: map[string]signon.Gate{}}
	set := &Set{table: l.Table, by: map[*rules.Site]*Site{}, none: &Site{}, Limits: access.Limits{},
		hash: l.File.SHA256, text: l.File.Redacted()}
	for class, of := range l.ClassLimits() {
		next.fail(set.Limits.Set(class+"="+of), class)
	}
	for _, r := range l.Table.Sites {
		s := next.site(r)
		if s.Icons {
			set.Icons = s
		}
		set.by[r] = s
	}
	err := next.err
	if err == nil {
		err = check(set)
	}
	if err != nil {
		b.retire(next.clients, b.clients, 0)
		return nil, err
	}
	for _, c := range b.retire(b.clients, next.clients, b.Drain) {
		b.leave(c)
	}
	b.clients, b.limits, b.gates = next.clients, next.limits, next.gates
	return set, nil
}

// retire ends the checks and the idle connections of the clients that are not among kept, and after
// a while the connections that requests in flight have used. It returns these clients.
func (b *Builder) retire(clients, kept map[string]*running, after time.Duration) (retired []*running) {
	for key, c := range clients {
		if kept[key] == nil {
			c.stop()
			c.Close()
			time.AfterFunc(after, c.Close)
			retired = append(retired, c)
		}
	}
	return retired
}

// A building is a Set that is being made.
type building struct {
	*Builder
	clients map[string]*running
	limits  map[string]Limit
	gates   map[string]signon.Gate
	err     error // of a limit
}

// fail records the error of a limit, if there is one. Reading a file reports the same error with
// its place.
func (b *building) fail(err error, name string) {
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("the limit %s: %w", name, err)
	}
}

// site makes a site of a file.
func (b *building) site(r *rules.Site) *Site {
	settings, policy, passed := merged(r)
	icons := on(r.Icons, r.Defaults.Icons)
	settings.Icons = toSwitch(&icons)
	s := settings.Site(!icons || on(r.ProxyAll, r.Defaults.ProxyAll), policy, passed)
	s.Name, s.Rules, s.Origins = r.Name, r, map[string]*Upstream{}
	s.Maintenance = newMaintenance(cmp.Or(r.Maintenance, r.Defaults.Maintenance))
	for name, o := range r.Origins {
		s.Origins[name] = b.upstream(o)
	}
	s.Client = b.limit(r.Name, "client", limitOf(r, "client"), true)
	s.Forwarded = b.limit(r.Name, routes.ClassForwarded.String(), limitOf(r, routes.ClassForwarded.String()), true)
	for _, limit := range r.RuleLimits() {
		limit.State = b.limit(r.Name, limit.Name, config.Limit(limit.Rate), false).Own
	}
	for _, one := range r.SignOns() {
		one.State = b.gate(r.Name, one)
	}
	return s
}

// gate returns the gate of a sign-on. An equal one of the site keeps its decisions and keys, unless
// the keys are in a file, which may have changed.
func (b *building) gate(site string, s *rules.SignOn) signon.Gate {
	text, err := json.Marshal(s.Auth)
	key := site + " " + string(text)
	var base string
	if s.Forward != nil {
		base, _, _ = s.Forward.Split()
	} else {
		base, _, _ = s.JWT.KeysURL()
	}
	o := signon.Options{Life: b.Life, SignOn: s, Observer: b.SignOns}
	if base != "" {
		o.Client = b.upstream(config.Origin{URLs: config.Strings{base}, Host: "origin"}).Client
	}
	gate, known := b.gates[key]
	if !known {
		gate, known = b.Builder.gates[key]
	}
	if !known || err != nil || s.Keys != nil {
		gate = signon.New(o)
	}
	b.gates[key] = gate
	return gate
}

// limitOf returns the limit of a class that a site has or inherits; empty: none.
func limitOf(r *rules.Site, class string) config.Limit {
	if of, ok := r.Limits[class]; ok {
		return of
	}
	return r.Defaults.Limits[class]
}

// limit returns a limit of a site. An equal one of the site keeps its windows.
func (b *building) limit(site, name string, of config.Limit, shared bool) Limit {
	if of == "" {
		return Limit{}
	}
	rate, err := ratelimit.ParseLimit(string(of))
	b.fail(err, site+"/"+name)
	if err != nil || rate.Off() {
		return Limit{}
	}
	key := site + " " + name + " " + string(of)
	l, known := b.Builder.limits[key]
	if !known {
		own := ratelimit.New(rate, ratelimit.Options{})
		l = Limit{own, own}
		if shared && b.Share != nil {
			l.Window = b.Share(site+"/"+name, own)
		}
	}
	b.limits[key] = l
	return l
}

func on(all ...*bool) bool {
	for _, one := range all {
		if one != nil {
			return *one
		}
	}
	return false
}

func first(all ...config.Strings) []string {
	for _, one := range all {
		if one != nil {
			return one
		}
	}
	return nil
}

// merged returns the settings of a site, with those that it inherits.
func merged(r *rules.Site) (Settings, cachepolicy.Policy, map[string]bool) {
	d := r.Defaults
	s := Settings{Pages: toSwitch(r.Pages, d.Pages), Iconify: toSwitch(r.Iconify, d.Iconify),
		IconifyHosts: first(r.IconifyHost, d.IconifyHost),
		HealthPath:   r.HealthPath, ClientEncoding: Encoding(cmp.Or(r.ClientEncoding, d.ClientEncoding)),
		BypassCookies: first(r.BypassCookie, d.BypassCookie), CacheGroups: Grouping(cmp.Or(r.CacheGroups, d.CacheGroups))}
	if s.HealthPath == "" {
		s.HealthPath = d.HealthPath
	}
	negative := r.NegativeTTL
	if negative == nil {
		negative = d.NegativeTTL
	}
	for status, ttl := range negative {
		var n int
		if _, err := fmt.Sscan(status, &n); err == nil {
			s.NegativeTTL = append(s.NegativeTTL, StatusTTL{Status: n, TTL: time.Duration(ttl)})
		}
	}
	// The grace of the site is weaker than the fields of a response, that of a rule is stronger.
	grace := r.Settings.Grace
	if grace == nil {
		grace = d.Grace
	}
	if grace != nil {
		s.Grace = time.Duration(*grace)
	}
	passed := map[string]bool{}
	for _, name := range first(r.PassField, d.PassField) {
		passed[http.CanonicalHeaderKey(name)] = true
	}
	return s, cachepolicy.Policy{SafeCookies: !on(r.StoreCookies, d.StoreCookies),
		IgnoreRevalidation: !on(r.ClientRevalidation, d.ClientRevalidation)}, passed
}

func toSwitch(all ...*bool) Switch {
	for _, one := range all {
		if one != nil && *one {
			return On
		} else if one != nil {
			return Off
		}
	}
	return ""
}

// upstream returns the upstream of an origin, with the client of an equal one if there is one.
func (b *building) upstream(o config.Origin) *Upstream {
	out := &Upstream{ClientHost: o.Host == "" || o.Host == "client"}
	cfg := b.Upstream
	if o.Timeout != nil {
		out.FirstByte = time.Duration(*o.Timeout)
		cfg.FirstByte = out.FirstByte
	}
	text, err := json.Marshal(o)
	if err != nil {
		text = fmt.Append(nil, err, o.URLs)
	}
	key := string(text)
	c := b.clients[key]
	if c == nil {
		c = b.Builder.clients[key]
	}
	if c == nil && o.Dir != "" {
		cfg.Origins, cfg.Local = nil, folder.New(folder.Options{Dir: o.Dir, Index: first(o.Index, indexes), Fallback: o.Fallback,
			Listing: o.Listing, Precompressed: o.Precompressed})
		c = &running{Client: upstream.New(cfg), stop: func() {}}
	}
	if c == nil {
		groups := []string{strings.Join(o.URLs, ",")}
		cfg.Origins = nil
		for _, group := range append(groups, o.Backups...) {
			var urls []*url.URL
			for raw := range strings.SplitSeq(group, ",") {
				if u, err := config.ParseOrigin(raw); err == nil {
					urls = append(urls, u)
				}
			}
			cfg.Origins = append(cfg.Origins, urls)
		}
		cfg.Policy, cfg.Weights, cfg.Health, cfg.SNI = o.Policy, o.Weight, o.Health, o.SNI
		cfg.Resolve = o.Resolve == "all"
		if o.MaxConnections > 0 {
			cfg.MaxConns, cfg.Bounded = o.MaxConnections, true
		}
		if !out.ClientHost && o.Host != "origin" {
			cfg.Host = o.Host
		}
		ctx, stop := context.WithCancel(b.Life)
		c = &running{Client: upstream.New(cfg), stop: stop}
		go c.Run(ctx)
	}
	b.clients[key] = c
	out.Client = c.Client
	return out
}

// indexes are the files that stand for folders by default.
var indexes = config.Strings{"index.html"}

// Sweep makes the limits forget clients that have left.
func (b *Builder) Sweep(now time.Time) {
	b.mu.Lock()
	limits := slices.Collect(maps.Values(b.limits))
	b.mu.Unlock()
	for _, l := range limits {
		l.Own.Sweep(now)
	}
}

// Close closes the idle connections of all clients.
func (b *Builder) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.clients {
		c.stop()
		c.Close()
	}
}

// Primary returns the main origin: that of the icons, or that of the first site.
func (s *Set) Primary() *upstream.Client {
	site := s.Icons
	if site == nil {
		site = s.by[s.table.Sites[0]]
	}
	return site.main()
}

// main returns the main origin of a site of a file.
func (s *Site) main() *upstream.Client {
	if o := s.Origins["icons"]; o != nil && s.Icons {
		return o.Client
	}
	return s.Origins[s.Rules.Site.Origin.Names()[0]].Client
}
