package origin

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/iconedge/iconedge/internal/admin"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/internal/trace"
	"github.com/iconedge/iconedge/objectstore"
)

// Config holds the settings of an origin. Flags sets the defaults; Run also sets them for fields
// that are zero.
type Config struct {
	Listen        string        // address of the listener for edges, HOST:PORT
	AdminListen   string        // address for health, readiness and metrics; "none": no listener
	Store         string        // address of the object store
	Mirror        string        // folder in which the release is mirrored
	CacheControl  string        // of icons
	CDNURL        string        // URL of the CDN in responses
	SiteURL       string        // URL of the site in canonical addresses; empty: CDNURL
	Poll          time.Duration // time between two checks of the store for a new release
	Drain         time.Duration // time for in-flight requests to finish when the origin stops
	ShutdownDelay time.Duration // time between the signal to stop and the drain
	Trace         trace.Options // tracing of requests
	Admin         admin.Config  // access to the admin listener
	Tiers

	Listener, AdminListener net.Listener       // override Listen and AdminListen
	Bucket                  objectstore.Reader // overrides Store
	Reload                  <-chan os.Signal   // on a signal, Run reads all files again
	Log                     *slog.Logger
	Version                 string // of the program
}

const (
	noListener    = "none"
	defaultListen = "127.0.0.1:8081"
	defaultAdmin  = "127.0.0.1:8083"
	defaultCDN    = "http://127.0.0.1:8080"
	defaultCache  = "public, max-age=86400, stale-while-revalidate=604800, stale-if-error=604800"
	defaultPoll   = time.Second
	defaultDrain  = 15 * time.Second
)

// Flags adds the flags of `iconedge origin` to fs.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.Listen, "listen", defaultListen, "`address` of the listener for edges, HOST:PORT; port 0 takes a free one")
	fs.StringVar(&c.AdminListen, "admin-listen", defaultAdmin,
		"`address` of the listener for /healthz, /readyz and /metrics, HOST:PORT; none disables it")
	fs.StringVar(&c.Store, "store", "", "`address` of the object store: dir:PATH or "+
		"s3://BUCKET[/PREFIX]?endpoint=HOST:PORT&tls=false&region=REGION")
	fs.StringVar(&c.Mirror, "mirror", "", "`folder` to mirror the release in; each origin needs its own")
	fs.StringVar(&c.CacheControl, "cache-control", defaultCache, "Cache-Control `value` of icons")
	fs.StringVar(&c.CDNURL, "cdn-url", defaultCDN, "`URL` of the CDN, which responses contain")
	fs.StringVar(&c.SiteURL, "site-url", "", "`URL` of the site in the canonical addresses of its pages (default that of --cdn-url)")
	fs.DurationVar(&c.Poll, "poll", defaultPoll, "`duration` between two checks of the store for a new release")
	c.Admin.Flags(fs, "")
	c.Tiers.flags(fs)
	c.Trace.Flags(fs)
	fs.DurationVar(&c.ShutdownDelay, "shutdown-delay", 0, "`duration` for which the origin continues after the signal "+
		"to stop, while /readyz answers 503, so that load balancers use others before it drains")
	fs.DurationVar(&c.Drain, "drain", defaultDrain, "`duration` that in-flight requests have to finish when the origin stops")
}

// withDefaults returns c with the defaults in place of zero values.
func (c Config) withDefaults() Config {
	for _, f := range []struct {
		field *string
		def   string
	}{
		{&c.Listen, defaultListen}, {&c.AdminListen, defaultAdmin}, {&c.CacheControl, defaultCache},
		{&c.CDNURL, defaultCDN}, {&c.Version, "unknown"},
	} {
		if *f.field == "" {
			*f.field = f.def
		}
	}
	if c.Poll == 0 {
		c.Poll = defaultPoll
	}
	if c.Drain == 0 {
		c.Drain = defaultDrain
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate returns an error that lists all invalid settings.
func (c *Config) Validate() error {
	f := c.withDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if f.Listener == nil {
		errs = append(errs, hostport.Check("--listen", f.Listen))
	}
	if f.AdminListener == nil && f.AdminListen != noListener {
		errs = append(errs, hostport.Check("--admin-listen", f.AdminListen))
	}
	check(f.Bucket != nil || f.Store != "", "--store is required, such as dir:/var/lib/iconedge/store")
	if f.Bucket == nil && f.Store != "" {
		if _, err := objectstore.Address(f.Store); err != nil {
			errs = append(errs, fmt.Errorf("--store: %w", err))
		}
	}
	check(f.Mirror != "", "--mirror is required, such as /var/lib/iconedge/mirror")
	check(isFieldValue(f.CacheControl), "--cache-control must be a valid value of a header field")
	_, err := hostport.ParseURL(f.CDNURL)
	check(err == nil, "--cdn-url must be an http or https URL without a query")
	if f.SiteURL != "" {
		_, err := hostport.ParseURL(f.SiteURL)
		check(err == nil, "--site-url must be an http or https URL without a query")
	}
	check(f.Poll >= 10*time.Millisecond, "--poll must be at least 10ms")
	check(f.Drain >= 0 && f.ShutdownDelay >= 0, "--drain and --shutdown-delay must not be negative")
	errs = append(errs, f.Trace.Validate(), f.Admin.Validate())
	return errors.Join(append(errs, c.Tiers.validate(time.Now()))...)
}

// isFieldValue reports whether s is a valid value of a header field (RFC 9110, section 5.5) and not
// empty.
func isFieldValue(s string) bool {
	return s == strings.TrimSpace(s) && s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
