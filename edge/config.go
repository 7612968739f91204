package edge

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/forwarded"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/hostport"
)

// Config holds everything that an operator can set on an edge; Flags sets the defaults. Each
// embedded type is a group of settings, and knows its flags and its errors.
type Config struct {
	listen.Addresses
	Ending
	Origins       config.Origins // groups of base URLs, in order of preference
	OriginTimeout time.Duration  // for an origin's response to begin; 0: the default of each path
	OriginConns   int            // requests to one origin at a time, without long ones; 0: 256
	OriginCheck   time.Duration  // between two health checks of an origin; 0: 2 s
	Hosts         []string       // names that the edge answers for; none: any well-formed one
	Admin         admin.Config   // which requests the admin listener answers
	Caching
	access.Rules
	forwarded.Forwarding
	listen.Capacity
	listen.Secure
	access.Tiers
	observe.Reporting
	fleet.Sharing

	// Reload makes the edge read certificates, secrets and lists at once, and open the access log
	// again.
	Reload  <-chan os.Signal
	Log     *slog.Logger // nil: the default logger
	Version string       // of the program, for its metrics
	// Publish is the command that publishes the origin's first release. Empty: the command of the
	// program, for a store that is configured elsewhere.
	Publish string
	// Load reads the configuration file. Its error is config.Findings if the file is wrong. nil:
	// the edge has the one site of its flags.
	Load func() (*flags.Loaded, error)
}

const (
	defaultOriginTimeout = 10 * time.Second
	forwardedTimeout     = time.Minute // of forwarded paths, for long polling
	defaultOriginConns   = 256
	defaultOriginCheck   = 2 * time.Second
	defaultOrigin        = "http://127.0.0.1:8081"
)

// Flags defines the flags of an edge on fs; `iconedge edge` and `iconedge run` share them.
func (c *Config) Flags(fs *flag.FlagSet) { c.GroupedFlags(fs, func(string) {}) }

// GroupedFlags defines the flags in groups, for help. It calls begin with the title of each group
// before it defines its flags.
func (c *Config) GroupedFlags(fs *flag.FlagSet, begin func(title string)) {
	begin("Addresses and hosts")
	c.Addresses.Flags(fs)
	fs.Var(repeated.Flag(&c.Hosts, repeated.InLowerCase), "host", "`NAME[:PORT]` of a host that the edge answers for; "+
		"it refuses others, and ports other than those of its listeners, 80, 443 and PORT; may be repeated (default any host and port)")
	begin("TLS and certificates")
	c.Secure.Flags(fs)
	begin("Origins")
	fs.Var(&c.Origins, "origin", "`URL[,URL...]` of origins that share the paths between them, each "+
		"http://HOST[:PORT], https://HOST[:PORT], h2://HOST[:PORT] or h2c://HOST[:PORT] for HTTP/2 with and without "+
		"TLS, or unix:/PATH; may be repeated: the edge uses the first group that is healthy (default "+defaultOrigin+")")
	fs.DurationVar(&c.OriginTimeout, "origin-timeout", 0, "`time` that an origin has to begin a response, and on the "+
		"edge's own paths for each further part of it; --idle is for those of forwarded paths (default 10s, and 1m0s for forwarded paths)")
	fs.IntVar(&c.OriginConns, "origin-connections", defaultOriginConns, "`number` of requests that the edge sends to "+
		"one origin at a time; more wait. Forwarded ones that last more than a second, such as uploads and streams of "+
		"events, do not count, up to 16 times as many")
	fs.DurationVar(&c.OriginCheck, "origin-check", defaultOriginCheck, "`time` between two health checks of an origin, if there are "+
		"several. The edge takes an origin for unhealthy after two that fail; a thousand edges send an origin 500 a second")
	c.Tiers.Flags(fs)
	begin("Forwarding and icons")
	c.Forwarding.Flags(fs)
	begin("Cache")
	c.Caching.Flags(fs)
	begin("Clients: proxies, limits, lists, tokens")
	c.Rules.Flags(fs)
	begin("Connections and memory")
	c.Capacity.Flags(fs)
	begin("Several edges")
	c.Sharing.Flags(fs)
	begin("Operation: admin listener, stopping, logs, traces")
	c.Admin.Flags(fs, "POST /purge")
	c.Ending.flags(fs)
	c.Reporting.Flags(fs)
}

// Validate reports all errors in c at once, including those in the files that c names. It keeps
// nothing of the files, because Run reads them again. An empty Origins means the default origin.
func (c *Config) Validate() error {
	now := time.Now()
	errs := []error{c.Addresses.Validate(c.Loop, c.Listener != nil || c.TLSListener != nil)}
	if c.OriginTimeout < 0 || c.OriginConns < 0 || c.OriginCheck < 0 {
		errs = append(errs, errors.New("--origin-timeout, --origin-connections and --origin-check must not be negative"))
	}
	errs = append(errs, c.Ending.validate(), c.Caching.Validate(), c.Forwarding.Validate(),
		c.Settings.Validate(c.ProxyAll, c.Admin.TokenFile != "", c.RequireToken), c.Capacity.Validate(), c.Secure.Validate(now),
		c.Tiers.Validate(now, c.Enabled(), slices.Concat(c.Origins...)), c.Sharing.Validate(), c.Reporting.Validate(),
		c.Admin.Validate(), c.Rules.Validate())
	for _, name := range c.Hosts {
		if !hostport.ValidHost(name) {
			errs = append(errs, fmt.Errorf("--host %q must be a name, or NAME:PORT for a port that is none of the edge's listeners", name))
		}
	}
	for _, name := range c.IconifyHosts {
		if _, port := hostport.SplitHost(name); port != "" || !hostport.ValidHost(name) {
			errs = append(errs, fmt.Errorf("--iconify-host %q must be a name without a port", name))
		}
	}
	return errors.Join(errs...)
}

// served returns the names that the edge answers for; none: any well-formed one.
func (c *Config) served() []string {
	if len(c.Hosts) == 0 {
		return nil
	}
	return slices.Concat(c.Hosts, c.IconifyHosts)
}

// filled returns c with the defaults in place of zero values.
func (c Config) filled() Config {
	c.Drain = cmp.Or(c.Drain, defaultDrain)
	if len(c.Origins) == 0 {
		c.Origins.Set(defaultOrigin)
	}
	if c.Publish == "" {
		c.Publish = "iconedge publish SOURCE"
	}
	c.Caching, c.Capacity = c.Caching.filled(), c.Capacity.Filled()
	c.Tunnels = c.Tunnels.Filled(c.MaxConnections)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// originTimeouts returns how long an origin has to begin a response on the edge's own paths, and on
// forwarded ones.
func (c *Config) originTimeouts() (own, forwarded time.Duration) {
	return cmp.Or(c.OriginTimeout, defaultOriginTimeout), cmp.Or(c.OriginTimeout, forwardedTimeout)
}
