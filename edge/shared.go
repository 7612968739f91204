package edge

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

// Shared is what an operator can set about what edges share. Without Redis each counts and purges alone.
type Shared struct {
	Redis  string // URL of a Redis or Valkey; empty: none
	Region string // edges of one region share their limits; purges and releases are told to all

	redisPatience time.Duration // 0: the default
}

// flags defines them on fs. The URL is a plain string: a value of its own type would be repeated, password and all, where it is wrong.
func (s *Shared) flags(fs *flag.FlagSet) {
	fs.StringVar(&s.Redis, "redis", "", "`URL` of a Redis or Valkey through which edges share limits, purges and releases: redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://... or unix:///PATH (default none)")
	fs.StringVar(&s.Region, "region", "", "`NAME` of the region whose edges share their limits: letters, digits and ._- (default the one without a name)")
}

func (s *Shared) validate() error {
	var errs []error
	if s.Redis != "" {
		if _, err := fleet.ParseURL(s.Redis); err != nil {
			errs = append(errs, fmt.Errorf("--redis %w", err))
		}
	}
	if len(s.Region) > maxRegion || strings.Trim(s.Region, regionAlphabet) != "" {
		errs = append(errs, fmt.Errorf("--region must be letters, digits and ._-, at most %d of them", maxRegion))
	}
	return errors.Join(errs...)
}

const (
	maxRegion      = 64
	regionAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
)

// shared is this edge's part in what edges share; nil: it is alone.
type shared struct {
	h       *handler
	fleet   *fleet.Fleet
	windows map[*ratelimit.Limiter]*fleet.Window
	release atomic.Pointer[string] // that this edge heard of last, or told of
	wanted  atomic.Pointer[string] // that it heard of last and asks its origin for

	mu      sync.Mutex
	closing chan struct{}  // closed when nothing new is to begin
	later   sync.WaitGroup // what is to be done in a moment
}

// openShared joins the fleet, if there is one: the limits of h are shared from then on, and what others have purged since an earlier life
// of this edge has been purged here, as far as Redis answers. What is cached may be of that life if it is warm.
func openShared(h *handler, cfg Config, warm bool) (*shared, error) {
	if cfg.Redis == "" {
		return nil, nil
	}
	f, err := fleet.Open(fleet.Options{
		URL: cfg.Redis, Region: cfg.Region, Patience: cfg.redisPatience, Log: cfg.Log, Checked: h.metrics.redisChecks(),
	})
	if err != nil {
		return nil, fmt.Errorf("opening --redis: %w", err)
	}
	h.metrics.watchesFleet(f.Stats)
	s := &shared{h: h, fleet: f, windows: map[*ratelimit.Limiter]*fleet.Window{}, closing: make(chan struct{})}
	s.share()
	h.shared = s
	position := ""
	if warm {
		position = h.progress.position
	}
	f.Follow(position, !warm, s)
	return s, nil
}

// share makes windows of all limits.
func (s *shared) share() {
	for c, l := range s.h.limits {
		if l != nil {
			s.windows[l] = s.fleet.Share(class(c).String(), l)
		}
	}
	for of, l := range s.h.plans {
		if l != nil {
			s.windows[l] = s.fleet.Share(of.plan+":"+of.class.String(), l)
		}
	}
}

// close ends it, with what was to be done in a moment done: the edge's place in the log, which it keeps, says that it was.
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

// soon does something on a goroutine of its own, unless the edge is about to end.
func (s *shared) soon(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing:
	default:
		s.later.Go(do)
	}
}

// rest waits, and reports whether the edge is about to end: then it does not.
func (s *shared) rest(d time.Duration) (ends bool) {
	select {
	case <-s.closing:
		return true
	case <-time.After(d):
		return false
	}
}

// allow counts a call of an address against a limit: in the window of its region, where limits are shared. That may wait for Redis.
func (h *handler) allow(l *ratelimit.Limiter, client netip.Addr, now time.Time) ratelimit.Decision {
	if h.shared != nil {
		return h.shared.windows[l].Allow(client, now)
	}
	return l.Allow(client, now)
}

// allowKey is allow for a token.
func (h *handler) allowKey(l *ratelimit.Limiter, token [16]byte, now time.Time) ratelimit.Decision {
	if h.shared != nil {
		return h.shared.windows[l].AllowKey(token, now)
	}
	return l.AllowKey(token, now)
}
