package edge

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/proxy"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/hostport"
)

// Config holds everything that an operator can set on an edge; Flags sets the defaults. The edge
// uses Listener and AdminListener, if they are set, and does not listen on the addresses.
type Config struct {
	Listen         string         // public address, HOST:PORT
	AdminListen    string         // address of health, readiness, metrics and purges
	Origins        Origins        // groups of base URLs, in order of preference
	OriginTimeout  time.Duration  // for an origin's response to begin, and between two parts
	ProxyAll       bool           // forward and cache paths that are not the edge's own
	Drain          time.Duration  // for requests in flight when the edge stops
	CacheBytes     int64          // limit of the cache: bodies and header fields together
	CacheDir       string         // folder for entries evicted from memory; empty: none
	CacheDiskBytes int64          // limit of that folder
	Admin          admin.Config   // which requests the admin listener answers
	Limits         access.Limits  // by class of calls, or by plan and class; others have a default
	RequireToken   bool           // search, icon and packs require a licence token
	TrustedProxies []netip.Prefix // believed in Forwarded, X-Forwarded-For, PROXY protocol
	AllowFile      string         // list of addresses that no limit counts; empty: none
	DenyFile       string         // list of addresses that are refused; empty: none
	Hosts          []string       // names that the edge answers for; none: any well-formed one
	proxy.Forwarding
	listen.Capacity
	listen.Secure
	access.Tiers
	observe.Reporting
	fleet.Sharing

	Listener, AdminListener net.Listener
	// Reload makes the edge read certificates, secrets and lists at once, and open the access log
	// again.
	Reload  <-chan os.Signal
	Log     *slog.Logger // nil: the default logger
	Version string       // of the program, for its metrics
	// Publish is the command that publishes the origin's first release. Empty: the command of the
	// program, for a store that is configured elsewhere.
	Publish string
}

const (
	defaultOriginTimeout = 10 * time.Second
	defaultDrain         = 15 * time.Second
	defaultCacheBytes    = 256 << 20
	minCacheBytes        = 1 << 20
	defaultDiskBytes     = 10 << 30
	minDiskBytes         = 64 << 20
	defaultOrigin        = "http://127.0.0.1:8081"
)

// Flags defines the flags of an edge on fs; `iconedge edge` and `iconedge run` share them.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.Listen, "listen", ":8080", "public `address`, HOST:PORT")
	fs.StringVar(&c.AdminListen, "admin-listen", "127.0.0.1:8082", "`address` of /healthz, /readyz, /metrics and /purge; keep it private")
	c.Admin.Flags(fs, "POST /purge")
	fs.Var(&c.Origins, "origin", "`URL[,URL...]` of origins that share the paths between them; http, https, or h2 and h2c for HTTP/2 with and without TLS; may be repeated: the edge uses the first group that is healthy (default "+defaultOrigin+")")
	fs.DurationVar(&c.OriginTimeout, "origin-timeout", defaultOriginTimeout, "`time` that an origin has to begin a response, and for each further part of it")
	fs.BoolVar(&c.ProxyAll, "proxy-all", false, "forward and cache every path that is not the edge's own, by the header fields of its responses (RFC 9111)")
	fs.DurationVar(&c.Drain, "drain", defaultDrain, "`time` that requests in flight have to finish when the edge stops")
	c.Forwarding.Flags(fs)
	c.Capacity.Flags(fs)
	c.Secure.Flags(fs)
	c.Tiers.Flags(fs)
	c.Reporting.Flags(fs)
	c.Sharing.Flags(fs)
	fs.Int64Var(&c.CacheBytes, "cache-bytes", defaultCacheBytes, "size of the cache in `bytes`")
	fs.StringVar(&c.CacheDir, "cache-dir", "", "`folder` for entries evicted from memory; it survives a restart (default none)")
	fs.Int64Var(&c.CacheDiskBytes, "cache-disk-bytes", defaultDiskBytes, "size of that folder in `bytes`")
	fs.Var(&c.Limits, "limit", "`CLASS=N/TIME` or CLASS=off, limit on the calls of one client; CLASS is search, icon, packs, verify or cdn, or PLAN:CLASS for each token of a plan; may be repeated")
	fs.BoolVar(&c.RequireToken, "require-token", false, "answer search, icon and packs only to clients with a licence token (Authorization: Bearer)")
	fs.Var(repeated.Flag(&c.TrustedProxies, access.ParsePrefix), "trusted-proxies", "`CIDR` of proxies whose Forwarded, X-Forwarded-For and PROXY protocol headers the edge believes; may be repeated")
	fs.StringVar(&c.AllowFile, "allow-file", "", "`file` of addresses and networks, one on each line, that no limit counts and no list denies; the edge reads it again when it changes (default none)")
	fs.StringVar(&c.DenyFile, "deny-file", "", "`file` of addresses and networks, one on each line, that the edge answers 403; the edge reads it again when it changes (default none)")
	fs.Var(repeated.Flag(&c.Hosts, repeated.InLowerCase), "host", "`NAME` of a host that the edge answers for; it refuses others; may be repeated (default any)")
}

// Validate reports all errors in c at once, including those in the files that c names. It keeps
// nothing of the files, because Run reads them again. An empty Origins means the default origin.
func (c *Config) Validate() error {
	var errs []error
	for _, f := range []struct{ flag, address string }{{"--listen", c.Listen}, {"--admin-listen", c.AdminListen}} {
		if f.address != "" && !hostport.Valid(f.address) {
			errs = append(errs, errors.New(f.flag+" must be HOST:PORT"))
		}
	}
	if c.OriginTimeout < 0 || c.Drain < 0 {
		errs = append(errs, errors.New("--origin-timeout and --drain must not be negative"))
	}
	if c.CacheBytes != 0 && c.CacheBytes < minCacheBytes {
		errs = append(errs, fmt.Errorf("--cache-bytes must be at least %d", minCacheBytes))
	}
	if c.CacheDir != "" && c.CacheDiskBytes != 0 && c.CacheDiskBytes < minDiskBytes {
		errs = append(errs, fmt.Errorf("--cache-disk-bytes must be at least %d", minDiskBytes))
	}
	errs = append(errs, c.Forwarding.Validate(), c.Capacity.Validate(), c.Secure.Validate(time.Now()), c.Tiers.Validate(time.Now(), c.Enabled(), slices.Concat(c.Origins...)), c.Sharing.Validate(), c.Reporting.Validate(), c.Admin.Validate())
	for _, f := range []struct{ flag, file string }{{"--allow-file", c.AllowFile}, {"--deny-file", c.DenyFile}} {
		if f.file == "" {
			continue
		}
		if _, err := access.ReadAddresses(f.file); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.flag, err))
		}
	}
	for _, name := range c.Hosts {
		if host, port := proxy.SplitHost(name); host == "" || port != "" || !proxy.ValidHost(name) {
			errs = append(errs, fmt.Errorf("--host %q must be a name without a port", name))
		}
	}
	return errors.Join(errs...)
}

// filled returns c with the defaults in place of zero values.
func (c Config) filled() Config {
	if c.OriginTimeout == 0 {
		c.OriginTimeout = defaultOriginTimeout
	}
	if c.Drain == 0 {
		c.Drain = defaultDrain
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = defaultCacheBytes
	}
	if c.CacheDiskBytes == 0 {
		c.CacheDiskBytes = defaultDiskBytes
	}
	if len(c.Origins) == 0 {
		c.Origins.Set(defaultOrigin)
	}
	if c.Publish == "" {
		c.Publish = "iconedge publish SOURCE"
	}
	c.Capacity = c.Capacity.Filled()
	c.Tunnels = c.Tunnels.Filled(c.MaxConnections)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Origins holds groups of origins, in order of preference.
type Origins [][]*url.URL

func (o *Origins) String() string {
	if o == nil {
		return ""
	}
	groups := make([]string, len(*o))
	for i, group := range *o {
		for _, u := range group {
			groups[i] += "," + u.String()
		}
		groups[i] = groups[i][1:]
	}
	return strings.Join(groups, " ")
}

// Set adds one group, as URLs separated by commas.
func (o *Origins) Set(s string) error {
	var group []*url.URL
	for raw := range strings.SplitSeq(s, ",") {
		u, err := parseOrigin(raw)
		if err != nil || strings.Trim(u.Path, "/") != "" {
			return errors.New("must be http://HOST[:PORT], https://HOST[:PORT], or, for HTTP/2, h2c://HOST[:PORT] or h2://HOST[:PORT]")
		}
		group = append(group, u)
	}
	*o = append(*o, group)
	return nil
}

// parseOrigin parses the URL of an origin. h2 is HTTP/2 over TLS, h2c without.
func parseOrigin(s string) (*url.URL, error) {
	scheme, rest, _ := strings.Cut(s, "://")
	same, ok := map[string]string{"h2": "https", "h2c": "http"}[scheme]
	if !ok {
		return hostport.ParseURL(s)
	}
	u, err := hostport.ParseURL(same + "://" + rest)
	if err == nil {
		u.Scheme = scheme
	}
	return u, err
}

func (o *Origins) Repeatable() bool { return true }
