package edge

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/hostport"
	"github.com/iconedge/iconedge/icon"
)

// Config is everything that an operator can set on an edge; Flags gives the defaults. Listener and AdminListener, where they are
// set, are used instead of listening on an address.
type Config struct {
	Listen         string         // public address, HOST:PORT
	AdminListen    string         // address of health, readiness and metrics
	Origins        Origins        // groups of base URLs, in order of preference
	OriginTimeout  time.Duration  // for the head of an origin's answer, and between two parts of its body
	ProxyAll       bool           // forward and cache what is not one of the edge's own paths
	Drain          time.Duration  // for requests under way when the edge is told to stop
	CacheBytes     int64          // ceiling of the cache: bodies and header fields together
	CacheDir       string         // folder for what falls out of memory; empty: none
	CacheDiskBytes int64          // ceiling of that folder
	Admin          admin.Config   // which requests the admin listener answers
	Limits         Limits         // by class of calls, or by plan and class; a class that is not in it has its default
	RequireToken   bool           // search, icon and packs want a licence token
	TrustedProxies []netip.Prefix // whose Forwarded, X-Forwarded-For and PROXY protocol are believed
	AllowFile      string         // list of addresses that no limit counts; empty: none
	DenyFile       string         // list of addresses that are not answered; empty: none
	Hosts          []string       // names that are answered for; none: any well-formed one
	Forwarding
	Capacity
	Secure
	Tiers
	Reports
	Shared

	Listener, AdminListener net.Listener
	Reload                  <-chan os.Signal // has certificates, secrets and lists read at once, and the access log opened anew
	Log                     *slog.Logger     // nil: the default one
	Version                 string           // of the program, for its metrics
	Publish                 string           // the command by which the origin gets its first release; empty: that of the program, for a store that is set elsewhere
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
	fs.Var(&c.Origins, "origin", "`URL[,URL...]` of origins that share the paths between them; may be repeated: the first group that is well is asked (default "+defaultOrigin+")")
	fs.DurationVar(&c.OriginTimeout, "origin-timeout", defaultOriginTimeout, "`time` that an origin has to begin an answer, and for each further part of it")
	fs.BoolVar(&c.ProxyAll, "proxy-all", false, "forward and cache every path that is not the edge's own, by the header fields of its answers (RFC 9111)")
	fs.DurationVar(&c.Drain, "drain", defaultDrain, "`time` that requests under way have when the edge is told to stop")
	c.Forwarding.flags(fs)
	c.Capacity.flags(fs)
	c.Secure.flags(fs)
	c.Tiers.flags(fs)
	c.Reports.flags(fs)
	c.Shared.flags(fs)
	fs.Int64Var(&c.CacheBytes, "cache-bytes", defaultCacheBytes, "size of the cache in `bytes`")
	fs.StringVar(&c.CacheDir, "cache-dir", "", "`folder` that keeps what falls out of the cache, also over a restart (default none)")
	fs.Int64Var(&c.CacheDiskBytes, "cache-disk-bytes", defaultDiskBytes, "size of that folder in `bytes`")
	fs.Var(&c.Limits, "limit", "`CLASS=N/TIME` or CLASS=off, calls of one client; CLASS is search, icon, packs, verify or cdn, or PLAN:CLASS for each token of a plan; may be repeated")
	fs.BoolVar(&c.RequireToken, "require-token", false, "answer search, icon and packs only to who bears a licence token (Authorization: Bearer)")
	fs.Var(repeat(&c.TrustedProxies, parsePrefix), "trusted-proxies", "`CIDR` of proxies whose Forwarded, X-Forwarded-For and PROXY protocol headers are believed; may be repeated")
	fs.StringVar(&c.AllowFile, "allow-file", "", "`file` of addresses and networks, one a line, that no limit counts and no list denies; read again when it changes (default none)")
	fs.StringVar(&c.DenyFile, "deny-file", "", "`file` of addresses and networks, one a line, that are answered 403; read again when it changes (default none)")
	fs.Var(repeat(&c.Hosts, inLowerCase), "host", "`NAME` that is answered for, others are refused; may be repeated (default any)")
}

// Validate reports all that is wrong with c at once, also in the files that c names, of which it keeps nothing: Run reads them for itself. No origins stand for the default one.
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
	errs = append(errs, c.Forwarding.validate(), c.Capacity.validate(), c.Secure.validate(time.Now()), c.Tiers.validate(time.Now(), c.secured(), c.Origins), c.Shared.validate(), c.Reports.validate(), c.Admin.Validate())
	for _, f := range []struct{ flag, file string }{{"--allow-file", c.AllowFile}, {"--deny-file", c.DenyFile}} {
		if f.file == "" {
			continue
		}
		if _, err := readAddresses(f.file); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.flag, err))
		}
	}
	for _, name := range c.Hosts {
		if host, port := splitHost(name); host == "" || port != "" || !wellFormedHost(name) {
			errs = append(errs, fmt.Errorf("--host %q must be a name without a port", name))
		}
	}
	return errors.Join(errs...)
}

// filled is c with the defaults in place of what is zero.
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
	c.Capacity = c.Capacity.filled()
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Limits are the limits of the classes of calls, by name, and those of the tokens of a plan, by "plan:class".
type Limits map[string]ratelimit.Limit

// of is the limit of a class.
func (l Limits) of(c class) ratelimit.Limit {
	if limit, ok := l[c.String()]; ok {
		return limit
	}
	return defaultLimits[c]
}

var defaultLimits = [classes]ratelimit.Limit{
	classSearch: {N: 60, Window: time.Minute},
	classIcon:   {N: 120, Window: time.Minute},
	classPacks:  {N: 60, Window: time.Minute},
	classVerify: {N: 30, Window: time.Minute},
}

// String is what help shows: every limit that holds.
func (l *Limits) String() string {
	var limits Limits
	if l != nil {
		limits = *l
	}
	var b strings.Builder
	for c := classSearch; c < classes; c++ {
		fmt.Fprintf(&b, " %s=%s", c, limits.of(c))
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if strings.Contains(name, ":") {
			fmt.Fprintf(&b, " %s=%s", name, limits[name])
		}
	}
	return b.String()[1:]
}

// Set reads CLASS=LIMIT or PLAN:CLASS=LIMIT.
func (l *Limits) Set(s string) error {
	name, value, _ := strings.Cut(s, "=")
	plan, ofPlan, given := strings.Cut(name, ":")
	switch {
	case !given && classNamed(name) == classNone:
		return errors.New("the class must be search, icon, packs, verify or cdn")
	case given && !icon.ValidPlan(plan):
		return errors.New("a plan is called by lower-case letters, digits and single hyphens, at most 64 bytes")
	case given && !classNamed(ofPlan).licensed():
		return errors.New("a plan's class must be search, icon or packs: tokens are for these alone")
	}
	limit, err := ratelimit.ParseLimit(value)
	if err != nil {
		return err
	}
	if *l == nil {
		*l = Limits{}
	}
	(*l)[name] = limit
	return nil
}

// Repeatable says that in the environment several values are separated by spaces.
func (l *Limits) Repeatable() bool { return true }

// parsePrefix reads a CIDR or a single address.
func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, errors.New("must be an address or a network, such as 10.0.0.0/8")
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if prefix.Addr().Is4In6() {
		return netip.Prefix{}, errors.New("write an IPv4 network as such")
	}
	return prefix.Masked(), nil
}

// Origins are groups of origins, in order of preference.
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

// Set adds one group: URLs separated by commas.
func (o *Origins) Set(s string) error {
	var group []*url.URL
	for raw := range strings.SplitSeq(s, ",") {
		u, err := hostport.ParseURL(raw)
		if err != nil || strings.Trim(u.Path, "/") != "" {
			return errors.New("must be http://HOST[:PORT] or https://HOST[:PORT]")
		}
		group = append(group, u)
	}
	*o = append(*o, group)
	return nil
}

func (o *Origins) Repeatable() bool { return true }
