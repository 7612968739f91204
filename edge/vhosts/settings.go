package vhosts

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/glob"
)

// Settings are what an operator sets about a site.
type Settings struct {
	Icons         Switch          // the edge's own paths; unset: on without --proxy-all
	Pages         Switch          // the pages of the site; unset: on with icons
	Iconify       Switch          // the addresses of Iconify's API; unset: on where Icons is
	IconifyHosts  []string        // hosts whose root is the mount of those addresses
	HealthPath    string          // the path of a public health check without icons; empty: none
	NegativeTTL   []StatusTTL     // freshness lifetimes of errors that name none
	Grace         time.Duration   // the stale-while-revalidate of responses that name none
	IgnoreQuery   []string        // lists of parameters that are no part of the cache key
	BypassCookies []string        // cookies whose requests bypass the cache
	PurgeMethod   bool            // the public listener takes PURGE
	Compress      config.Compress // content codings of forwarded responses; unset: all
	// ClientEncoding says which Accept-Encoding origins and cache keys get; unset: Normal.
	ClientEncoding Encoding
	Dictionaries   config.Dictionaries // of forwarded responses; unset: those of the origin
	CacheGroups    Grouping            // what Cache-Group-Invalidation does; unset: Soft
}

// Flags defines the flags of a site on fs.
func (s *Settings) Flags(fs *flag.FlagSet) {
	fs.Var(&s.Icons, "icons", "`on|off`: whether the edge has paths of its own (icons, API, page, health check, "+
		"/-/release); with off it forwards every path and adds no CORS or security fields to any response; off "+
		"requires --proxy-all (default off with --proxy-all, otherwise on)")
	fs.Var(&s.Pages, "site", "`on|off`: whether the edge serves the pages of the site, such as / and /search, beside "+
		"the icons; with off these paths are unknown, or forwarded with --proxy-all (default on if --icons is on)")
	fs.Var(&s.Iconify, "iconify", "`on|off`: whether the edge answers the addresses of Iconify's API, at the root and "+
		"below /iconify/, for clients of Iconify (default on, where --icons is)")
	fs.Var(repeated.Flag(&s.IconifyHosts, repeated.InLowerCase), "iconify-host", "`NAME` of a host whose root is what "+
		"/iconify/ is elsewhere; the edge answers for it besides those of --host; may be repeated")
	fs.StringVar(&s.HealthPath, "health-path", "", "`PATH` of a public health check with --icons off (default none)")
	fs.Var(repeated.Flag(&s.NegativeTTL, parseStatusTTL), "negative-ttl", "with --proxy-all, `STATUS=TIME`, freshness "+
		"lifetime of an error response that names none, such as 404=1m; may be repeated (default none)")
	fs.DurationVar(&s.Grace, "grace", 0, "with --proxy-all, `time` after its freshness lifetime in which a response "+
		"without stale-while-revalidate is served stale while the edge revalidates it, also one with s-maxage; never "+
		"one with must-revalidate, proxy-revalidate, no-cache or private")
	fs.Var(repeated.Flag(&s.IgnoreQuery, parseNames), "ignore-query", "with --proxy-all, `NAME[,NAME...]` of query "+
		"parameters that are no part of the cache key, such as utm_*,fbclid; the origin gets them all the same; may "+
		"be repeated (default none)")
	fs.Var(repeated.Flag(&s.BypassCookies, parseNames), "bypass-cookie", "with --proxy-all, `NAME` of a cookie whose "+
		"requests bypass the cache, such as session or wordpress_logged_in_*; may be repeated (default none)")
	fs.Var(&s.Compress, "compress", "with --proxy-all, `all|stored|off`: which text clients that accept br, zstd or "+
		"gzip get in these content codings: all, stored responses from the second client on, or none; never under "+
		"no-transform (default all)")
	fs.Var(&s.Dictionaries, "dictionaries", "with --proxy-all, `auto|origin|off`: which stored responses clients may keep "+
		"as dictionaries, so that they download the difference to a later version (RFC 9842): those that the origin "+
		"declares with Use-As-Dictionary, with auto also static text whose address has a hash or a version, or none; "+
		"off also makes searches at Iconify's addresses use none (default origin)")
	fs.Var(&s.ClientEncoding, "client-encoding", "with --proxy-all, `normal|as-sent`: whether the origin and the "+
		"cache key get Accept-Encoding as the client sent it, or in a normal form, the codings of gzip, br and zstd "+
		"that the client accepts, so that responses which vary by it are fetched for eight forms at most (default normal)")
	fs.Var(&s.CacheGroups, "cache-groups", "with --proxy-all, `soft|hard|off`: whether Cache-Group-Invalidation on the "+
		"response to a POST, PUT, PATCH or DELETE makes the responses stale that the same host has put into these "+
		"groups with Cache-Groups, or removes them, on all edges of the fleet (RFC 9875; default soft)")
	fs.BoolVar(&s.PurgeMethod, "purge-method", false, "the public listener takes PURGE, for the address of the "+
		"request, from clients with the admin token; requires --admin-token-file")
}

// Validate returns an error that lists every invalid setting. proxyAll and adminToken report
// whether --proxy-all and --admin-token-file are set, and requireToken is --require-token.
func (s *Settings) Validate(proxyAll, adminToken, requireToken bool) error {
	var errs []error
	icons := s.hasIcons(proxyAll)
	if !icons && !proxyAll {
		errs = append(errs, errors.New("--icons off requires --proxy-all: otherwise the edge would serve nothing"))
	}
	if !icons && requireToken {
		errs = append(errs, errors.New("--require-token requires --icons on: without icons no path of the edge takes tokens"))
	}
	if (s.Iconify == On || len(s.IconifyHosts) > 0) && !icons {
		errs = append(errs, errors.New("--iconify on and --iconify-host require --icons on: without icons every path is forwarded"))
	}
	if s.Iconify == Off && len(s.IconifyHosts) > 0 {
		errs = append(errs, errors.New("--iconify-host requires --iconify on"))
	}
	switch {
	case s.HealthPath != "" && icons:
		errs = append(errs, errors.New("--health-path requires --icons off: with icons the health check is "+routes.HealthPath))
	case s.HealthPath != "" && !validPath(s.HealthPath):
		errs = append(errs, errors.New("--health-path must be a path without a query, such as /up"))
	}
	if s.Grace < 0 {
		errs = append(errs, errors.New("--grace must not be negative"))
	}
	if s.PurgeMethod && !adminToken {
		errs = append(errs, errors.New("--purge-method requires --admin-token-file: otherwise every client could purge"))
	}
	return errors.Join(errs...)
}

// hasIcons reports whether the edge has paths of its own.
func (s *Settings) hasIcons(proxyAll bool) bool { return s.Icons == On || s.Icons == "" && !proxyAll }

// Site returns the site of these settings. policy decides about cookies and directives of clients.
func (s *Settings) Site(proxyAll bool, policy cachepolicy.Policy, passedFields map[string]bool) *Site {
	icons := s.hasIcons(proxyAll)
	site := &Site{ProxyAll: proxyAll, Icons: icons, Pages: icons && s.Pages != Off, HealthPath: s.HealthPath,
		Compress: config.CompressOff, Dictionaries: cmp.Or(s.Dictionaries, config.DictionariesOrigin),
		EncodingAsSent: s.ClientEncoding == AsSent, CacheGroups: cmp.Or(s.CacheGroups, Soft), Policy: policy, PassedFields: passedFields,
		ignored: names(s.IgnoreQuery), bypassing: names(s.BypassCookies)}
	site.Iconify, site.mounts = site.Icons && s.Iconify != Off, s.IconifyHosts
	if site.Icons {
		site.HealthPath = routes.HealthPath
	}
	if proxyAll {
		site.Compress = cmp.Or(s.Compress, config.CompressAll)
	}
	site.Policy.Grace = s.Grace
	if len(s.NegativeTTL) > 0 {
		site.Policy.NegativeTTL = map[int]time.Duration{}
		for _, t := range s.NegativeTTL {
			site.Policy.NegativeTTL[t.Status] = t.TTL
		}
	}
	return site
}

// names returns the names in lists; nil: there are none.
func names(lists []string) *glob.Names {
	if len(lists) == 0 {
		return nil
	}
	return glob.NewNames(strings.Split(strings.Join(lists, ","), ","))
}

// validPath reports whether a path can be that of a request, as a client would send it.
func validPath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && !strings.ContainsAny(path, "?#") &&
		!strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// parseNames checks a list of names. Only the end of a name may be an asterisk, and none is an
// asterisk alone, because that would ignore the whole query or bypass the cache for every cookie.
func parseNames(s string) (string, error) {
	for name := range strings.SplitSeq(s, ",") {
		stem := strings.TrimSuffix(name, "*")
		if stem == "" || strings.ContainsAny(stem, "*=&;?#") ||
			strings.ContainsFunc(stem, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			return "", errors.New("must be names separated by commas; a name may end in *, such as utm_*")
		}
	}
	return s, nil
}

// A StatusTTL is the freshness lifetime of the error responses with one status.
type StatusTTL struct {
	Status int
	TTL    time.Duration
}

func (t StatusTTL) String() string { return fmt.Sprintf("%d=%s", t.Status, t.TTL) }

// parseStatusTTL parses STATUS=TIME.
func parseStatusTTL(s string) (StatusTTL, error) {
	status, ttl, _ := strings.Cut(s, "=")
	n, err := strconv.Atoi(status)
	if err != nil || len(status) != 3 || n < 400 || n > 599 {
		return StatusTTL{}, errors.New("the status must be from 400 to 599, as in 404=1m")
	}
	d, err := time.ParseDuration(ttl)
	if err != nil || d <= 0 {
		return StatusTTL{}, errors.New("the time must be a positive duration with a unit, as in 404=1m")
	}
	return StatusTTL{n, d}, nil
}

// An Encoding says which Accept-Encoding origins and cache keys get. It is empty if it is not set.
type Encoding string

// The values of an Encoding.
const (
	Normal Encoding = "normal"
	AsSent Encoding = "as-sent"
)

// String returns the value.
func (e *Encoding) String() string { return string(*e) }

// Set parses a value.
func (e *Encoding) Set(value string) error {
	return setOneOf(e, value, "normal or as-sent", Normal, AsSent)
}

// A Grouping says what Cache-Group-Invalidation does to the responses of its groups. It is empty if
// it is not set.
type Grouping string

// The values of a Grouping.
const (
	Soft     Grouping = "soft" // it makes them stale
	Hard     Grouping = "hard" // it removes them
	NoGroups Grouping = "off"
)

// String returns the value.
func (g *Grouping) String() string { return string(*g) }

// Set parses a value.
func (g *Grouping) Set(value string) error {
	return setOneOf(g, value, "soft, hard or off", Soft, Hard, NoGroups)
}

// A Switch is on or off, or empty if it is not set.
type Switch string

// The positions of a Switch.
const (
	On  Switch = "on"
	Off Switch = "off"
)

// String returns the position.
func (s *Switch) String() string { return string(*s) }

// Set parses a position.
func (s *Switch) Set(value string) error {
	return setOneOf(s, value, "on or off", On, Off)
}

// setOneOf sets to to a value of a flag, which must be one of all; text lists them.
func setOneOf[T ~string](to *T, value, text string, all ...T) error {
	if !slices.Contains(all, T(value)) {
		return errors.New("must be " + text)
	}
	*to = T(value)
	return nil
}
