package edge

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

// Shared configures the state that edges share. Without Redis each edge counts and purges alone.
type Shared struct {
	Redis  string // URL of a Redis or Valkey; empty: none
	Region string // edges of one region share limits; purges and releases reach all regions

	redisTimeout time.Duration // 0: the default
}

// flags defines the flags of Shared on fs. The URL is a plain string, because the flag package
// would print the invalid text of a typed value, with its password.
func (s *Shared) flags(fs *flag.FlagSet) {
	fs.StringVar(&s.Redis, "redis", "", "`URL` of a Redis or Valkey through which edges share limits, purges and releases: redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://... or unix:///PATH (default none)")
	fs.StringVar(&s.Region, "region", "", "`NAME` of the region whose edges share their limits: letters, digits and ._- (default the region without a name)")
}

func (s *Shared) validate() error {
	var errs []error
	if s.Redis != "" {
		if _, err := fleet.ParseURL(s.Redis); err != nil {
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

// shared connects this edge to the state that edges share. It is nil without Redis.
type shared struct {
	h       *handler
	fleet   *fleet.Fleet
	release atomic.Pointer[string] // release that this edge last received or announced
	wanted  atomic.Pointer[string] // release that it last received and now awaits from its origin

	mu      sync.Mutex
	closing chan struct{}  // closed when no new background task may start
	later   sync.WaitGroup // background tasks
}

// openFleet connects to Redis, if the operator has configured it; otherwise it returns nil.
func openFleet(cfg Config, m *observe.Metrics) (*fleet.Fleet, error) {
	if cfg.Redis == "" {
		return nil, nil
	}
	f, err := fleet.Open(fleet.Options{URL: cfg.Redis, Region: cfg.Region, Timeout: cfg.redisTimeout, Log: cfg.Log, Checked: m.RedisChecks()})
	if err != nil {
		return nil, fmt.Errorf("opening --redis: %w", err)
	}
	m.WatchFleet(f.Stats)
	return f, nil
}

// windows returns the function that shares windows between edges; nil without Redis.
func windows(f *fleet.Fleet) func(name string, own *ratelimit.Limiter) access.Window {
	if f == nil {
		return nil
	}
	return func(name string, own *ratelimit.Limiter) access.Window { return f.SharedWindow(name, own) }
}

// followFleet joins the fleet, if there is one. If the cache is warm, it may hold entries of the
// edge's previous run; followFleet then applies the purges since that run, as far as Redis answers.
func followFleet(h *handler, f *fleet.Fleet, warm bool) *shared {
	if f == nil {
		return nil
	}
	s := &shared{h: h, fleet: f, closing: make(chan struct{})}
	h.shared = s
	position := ""
	if warm {
		position = h.library.Progress.Position
	}
	f.Follow(position, !warm, s)
	return s
}

// close leaves the fleet and waits for the background tasks. They must be done, because the stored
// position in the fleet's log counts them as applied.
func (s *shared) close() {
	if s == nil {
		return
	}
	s.fleet.Close()
	s.mu.Lock()
	close(s.closing)
	s.mu.Unlock()
	s.later.Wait()
}

// background runs a background task on its own goroutine, unless the edge is closing.
func (s *shared) background(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing:
	default:
		s.later.Go(do)
	}
}

// sleep waits for d, or until the edge is closing. It reports whether the edge is closing.
func (s *shared) sleep(d time.Duration) (ends bool) {
	select {
	case <-s.closing:
		return true
	case <-time.After(d):
		return false
	}
}
