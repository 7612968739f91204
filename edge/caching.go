package edge

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/internal/units"
)

const (
	defaultCacheBytes = 256 << 20
	minCacheBytes     = 1 << 20
	defaultDiskBytes  = 10 << 30
	minDiskBytes      = 64 << 20
	// By default the cache has at most one part in cachePart of the memory limit.
	cachePart = 4
)

// Caching configures the cache in memory and on disk.
type Caching struct {
	CacheBytes     int64       // limit of the cache: bodies and header fields together
	CacheDir       string      // folder for entries evicted from memory; empty: none
	CacheDiskBytes int64       // limit of that folder
	Clock          clock.Clock // of ages, lifetimes and limits; nil: the system's
}

func (c *Caching) Flags(fs *flag.FlagSet) {
	c.CacheDiskBytes = defaultDiskBytes
	fs.Var((*units.Size)(&c.CacheBytes), "cache-bytes", "size of the cache in `bytes`, such as 256MB or 1g (default "+
		"256MiB, at most a quarter of GOMEMLIMIT, of the control group's memory or of the machine's)")
	fs.StringVar(&c.CacheDir, "cache-dir", "", "`folder` for entries evicted from memory; it survives a restart (default none)")
	fs.Var((*units.Size)(&c.CacheDiskBytes), "cache-disk-bytes", "size of that folder in `bytes`")
}

func (c *Caching) Validate() error {
	var errs []error
	if c.CacheBytes != 0 && c.CacheBytes < minCacheBytes {
		errs = append(errs, fmt.Errorf("--cache-bytes must be at least %d", minCacheBytes))
	}
	if c.CacheDir != "" && c.CacheDiskBytes != 0 && c.CacheDiskBytes < minDiskBytes {
		errs = append(errs, fmt.Errorf("--cache-disk-bytes must be at least %d", minDiskBytes))
	}
	return errors.Join(errs...)
}

// filled returns c with the defaults in place of zero values.
func (c Caching) filled() Caching {
	if c.CacheBytes == 0 {
		c.CacheBytes = max(minCacheBytes, min(defaultCacheBytes, debug.SetMemoryLimit(-1)/cachePart))
	}
	if c.CacheDiskBytes == 0 {
		c.CacheDiskBytes = defaultDiskBytes
	}
	return c
}

// open opens the cache. Entries that an earlier process left on disk are in it.
func (c *Caching) open(log *slog.Logger) (*cache.Cache, error) {
	opened, err := cache.New(cache.Options{MaxBytes: c.CacheBytes, Dir: c.CacheDir, DiskBytes: c.CacheDiskBytes,
		Log: log.Warn, Restored: fetch.Restored, Clock: c.Clock})
	if err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	return opened, nil
}
