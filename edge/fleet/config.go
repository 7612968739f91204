package fleet

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Sharing configures the state that edges share. Without Redis each edge counts and purges alone.
type Sharing struct {
	Redis  string // URL of a Redis or Valkey; empty: none
	Region string // edges of one region share limits; purges and releases reach all regions

	RedisTimeout time.Duration // for a check of a limit; 0: the default
}

// Flags defines the flags of Sharing on fs. The URL is a plain string, because the flag package
// would print the invalid text of a typed value, with its password.
func (s *Sharing) Flags(fs *flag.FlagSet) {
	fs.StringVar(&s.Redis, "redis", "", "`URL` of a Redis or Valkey through which edges share limits, purges and releases: redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://... or unix:///PATH (default none)")
	fs.StringVar(&s.Region, "region", "", "`NAME` of the region whose edges share their limits: letters, digits and ._- (default the region without a name)")
}

// Validate returns every error of the configuration.
func (s *Sharing) Validate() error {
	var errs []error
	if s.Redis != "" {
		if _, err := ParseURL(s.Redis); err != nil {
			errs = append(errs, fmt.Errorf("--redis %w", err))
		}
	}
	if len(s.Region) > maxRegion || strings.Trim(s.Region, regionAlphabet) != "" {
		errs = append(errs, fmt.Errorf("--region must consist of letters, digits and ._-, at most %d bytes", maxRegion))
	}
	return errors.Join(errs...)
}

const (
	maxRegion      = 64
	regionAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

// Connect opens the connection to Redis. It calls checked with the duration of each check of a
// limit there.
func (s *Sharing) Connect(log *slog.Logger, checked func(time.Duration)) (*Fleet, error) {
	f, err := Open(Options{URL: s.Redis, Region: s.Region, Timeout: s.RedisTimeout, Log: log, Checked: checked})
	if err != nil {
		return nil, fmt.Errorf("opening --redis: %w", err)
	}
	return f, nil
}
