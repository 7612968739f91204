package origin

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/hostport"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/trace"
)

// Config is everything an operator can set on an origin. Flags gives the defaults; Run fills in those of fields that are
// zero.
type Config struct {
	Listen       string        // public address, HOST:PORT
	AdminListen  string        // of health, readiness and metrics; "none": no such listener
	Store        string        // address of the object store
	Mirror       string        // folder in which the release is mirrored
	CacheControl string        // of the CDN path
	CDNURL       string        // what answers name as the CDN's address
	Poll         time.Duration // how often the store is asked for a new release
	Drain        time.Duration // how long requests under way may take at the end
	Trace        trace.Options // where traces go, and how many of them
	Admin        admin.Config  // which requests the admin listener answers
	Tiers

	Listener, AdminListener net.Listener       // instead of Listen and AdminListen
	Bucket                  objectstore.Reader // instead of Store
	Reload                  <-chan os.Signal   // has certificates and secrets read at once
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
	fs.StringVar(&c.Listen, "listen", defaultListen, "`address` to answer on, HOST:PORT; port 0 takes a free one")
	fs.StringVar(&c.AdminListen, "admin-listen", defaultAdmin, "`address` for /healthz, /readyz and /metrics; none for no such listener")
	fs.StringVar(&c.Store, "store", "", "`address` of the object store: dir:PATH or s3://BUCKET[/PREFIX]?endpoint=HOST:PORT&tls=false&region=REGION")
	fs.StringVar(&c.Mirror, "mirror", "", "`folder` to mirror the release in; each origin needs its own")
	fs.StringVar(&c.CacheControl, "cache-control", defaultCache, "Cache-Control `value` of icons")
	fs.StringVar(&c.CDNURL, "cdn-url", defaultCDN, "`URL` of the CDN that answers name")
	fs.DurationVar(&c.Poll, "poll", defaultPoll, "how often the store is asked for a new release, a `duration`")
	c.Admin.Flags(fs, "")
	c.Tiers.flags(fs)
	c.Trace.Flags(fs)
	fs.DurationVar(&c.Drain, "drain", defaultDrain, "how long requests under way may take when the origin is stopped, a `duration`")
}

// filled is c with the defaults where it is empty.
func (c Config) filled() Config {
	for _, f := range []struct {
		field *string
		def   string
	}{
		{&c.Listen, defaultListen}, {&c.AdminListen, defaultAdmin}, {&c.CacheControl, defaultCache}, {&c.CDNURL, defaultCDN}, {&c.Version, "unknown"},
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

// Validate says all that is wrong at once.
func (c *Config) Validate() error {
	f := c.filled()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(f.Listener != nil || hostport.Valid(f.Listen), "--listen must be HOST:PORT")
	check(f.AdminListener != nil || f.AdminListen == noListener || hostport.Valid(f.AdminListen), "--admin-listen must be HOST:PORT, or none")
	check(f.Bucket != nil || f.Store != "", "--store is required, such as dir:/var/lib/iconedge/store")
	if f.Bucket == nil && f.Store != "" {
		if _, err := objectstore.Address(f.Store); err != nil {
			errs = append(errs, fmt.Errorf("--store: %w", err))
		}
	}
	check(f.Mirror != "", "--mirror is required, such as /var/lib/iconedge/mirror")
	check(isFieldValue(f.CacheControl), "--cache-control must be a header field's value")
	_, err := hostport.ParseURL(f.CDNURL)
	check(err == nil, "--cdn-url must be an http or https URL without a query")
	check(f.Poll >= 10*time.Millisecond, "--poll must be 10ms at least")
	check(f.Drain >= 0, "--drain must not be negative")
	errs = append(errs, f.Trace.Validate(), f.Admin.Validate())
	return errors.Join(append(errs, c.Tiers.validate(time.Now()))...)
}

// isFieldValue reports whether s can stand in a header (RFC 9110, section 5.5), and says something.
func isFieldValue(s string) bool {
	h := http.Header{}
	h.Set("Cache-Control", s)
	return s == strings.TrimSpace(s) && s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}
