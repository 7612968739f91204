package upstream

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/upstream/wire"
)

// An origin is one of the configured origins, with its state of health.
type origin struct {
	url   *url.URL
	group int
	seed  uint64
	only  bool // the only origin
	slots slots
	log   *slog.Logger

	index  int          // among all origins
	weight int          // its part of the requests; 0: none while others are healthy
	active atomic.Int64 // exchanges up to the end of their bodies
	moved  atomic.Int64 // times that addresses of its name went away
	idle   wire.Pool    // connections of lean exchanges
	// unusual is when it last sent a response that is unusual for a lean exchange; 0: never.
	unusual atomic.Int64

	mu               sync.Mutex
	breaker          breaker
	health           health
	failures, opened int64
}

func newOrigin(u *url.URL, group, conns int, log *slog.Logger) *origin {
	o := &origin{url: u, group: group, slots: newSlots(conns), idle: wire.Pool{Most: conns, After: idleTimeout}}
	o.seed, o.log = fnv(fnvOffset, u.Scheme+"://"+u.Host+strings.TrimSuffix(u.EscapedPath(), "/")), log.With("origin", o.name())
	return o
}

// chooseOrigin returns the origin for a key: the first in order that may be used and whose breaker
// admits the request. The caller passes probe to record.
func (c *Client) chooseOrigin(key string, may func(*origin) bool, now time.Time) (o *origin, probe bool) {
	for _, o := range c.rank(key) {
		if !may(o) {
			continue
		}
		if probe, ok := o.admit(now); ok {
			return o, probe
		}
	}
	return nil, false
}

// rank sorts the origins by preference for a key, by the policy.
func (c *Client) rank(key string) []*origin {
	switch {
	case len(c.origins) == 1:
		return c.origins
	case c.policy == Random:
		return order(c.origins, func(o *origin) float64 { return weighted(rand.Float64(), o.weight) })
	case c.policy == LeastConn:
		return order(c.origins, func(o *origin) float64 {
			if o.weight == 0 {
				return math.Inf(-1)
			}
			// The part behind the point chooses among equals.
			return -(float64(o.active.Load()) + rand.Float64()/2) / float64(o.weight)
		})
	}
	return rank(c.origins, key)
}

// rank sorts origins for a key. Each key has an order of its own (rendezvous hashing). The order is
// the same in every edge, and adding or removing an origin only moves the keys of that origin.
func rank(origins []*origin, key string) []*origin {
	return order(origins, func(o *origin) float64 {
		return weighted(float64(score(o.seed, key)>>11)/(1<<53), o.weight)
	})
}

// weighted turns a number from 0 to 1 into a score by which an origin comes first as often as its
// weight says (rendezvous hashing with weights). With equal weights the order is that of the
// numbers.
func weighted(number float64, weight int) float64 {
	if weight == 0 {
		return math.Inf(-1)
	}
	return -float64(weight) / math.Log(max(number, math.SmallestNonzeroFloat64))
}

// order sorts origins by their scores. Healthy origins come before the others, which are only used
// if no healthy one is left; then groups count.
func order(origins []*origin, score func(*origin) float64) []*origin {
	type candidate struct {
		o         *origin
		unhealthy int
		score     float64
	}
	candidates := make([]candidate, len(origins))
	for i, o := range origins {
		candidates[i] = candidate{o, o.unhealthy(), score(o)}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.unhealthy, b.unhealthy), cmp.Compare(a.o.group, b.o.group), cmp.Compare(b.score, a.score))
	})
	ranked := make([]*origin, len(origins))
	for i, p := range candidates {
		ranked[i] = p.o
	}
	return ranked
}

const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// fnv continues an FNV-1a hash.
func fnv(h uint64, s string) uint64 {
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// score returns the rank of an origin for a key. In FNV the last bytes affect mostly the low bits,
// so the finaliser of MurmurHash3 spreads them.
func score(seed uint64, key string) uint64 {
	h := fnv(seed, key)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func (o *origin) unhealthy() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.health.healthy() {
		return 0
	}
	return 1
}

func (o *origin) admit(now time.Time) (probe, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.breaker.admit(now)
}

// closedTo reports whether admit would refuse a request.
func (o *origin) closedTo(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.breaker.refuses(now)
}

// record records the outcome of an admitted try.
func (o *origin) record(probe bool, v outcome, err error, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v == failure {
		o.failures++
	}
	if o.only && errors.Is(err, errLost) {
		// The only origin must stay available although it loses the requests for some URL.
		v = inconclusive
	}
	opened, closed := o.breaker.record(probe, v, now)
	if opened {
		o.opened++
		o.log.Warn("origin circuit breaker opened", "err", err)
	}
	if closed {
		o.log.Info("origin circuit breaker closed")
	}
}

// recordCheck records the outcome of a health check.
func (o *origin) recordCheck(v outcome, err error, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v == success && o.breaker.unprobed(now) {
		o.breaker = breaker{}
		o.log.Info("origin circuit breaker closed by a health check")
	}
	switch changed := o.health.update(v); {
	case changed && o.health.healthy():
		o.log.Info("origin healthy again")
	case changed:
		o.log.Warn("origin health check failed", "err", err)
	}
}

func (o *origin) stats() OriginStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	return OriginStats{URL: o.url.Redacted(), Healthy: o.health.healthy() && !o.breaker.open(), Failures: o.failures, Opened: o.opened}
}
