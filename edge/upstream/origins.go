package upstream

import (
	"cmp"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/upstream/balance"
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
	o.seed, o.log = balance.Seed(u.Scheme+"://"+u.Host+strings.TrimSuffix(u.EscapedPath(), "/")), log.With("origin", o.name())
	return o
}

// chooseOrigin returns the origin for a key: the first in order that may be used and whose breaker
// admits the request. The caller passes probe to record.
func (c *Client) chooseOrigin(key string, may func(*origin) bool, now time.Time) (o *origin, probe bool) {
	for _, o := range rank(c.origins, c.policy, key) {
		if !may(o) {
			continue
		}
		if probe, ok := o.admit(now); ok {
			return o, probe
		}
	}
	return nil, false
}

// rank sorts origins by preference for a key. Healthy ones come before the others, which are only
// used if no healthy one is left; then groups count, then the scores of the policy.
func rank(origins []*origin, policy balance.Policy, key string) []*origin {
	if len(origins) == 1 {
		return origins
	}
	scored := make([]balance.Origin, len(origins))
	for i, o := range origins {
		scored[i] = balance.Origin{Index: i, Group: o.group, Healthy: o.healthy(), Seed: o.seed, Weight: o.weight, Active: o.active.Load()}
	}
	policy.Score(key, scored)
	slices.SortStableFunc(scored, func(a, b balance.Origin) int {
		return cmp.Or(compare(b.Healthy, a.Healthy), cmp.Compare(a.Group, b.Group), cmp.Compare(b.Score, a.Score))
	})
	ranked := make([]*origin, len(origins))
	for i, one := range scored {
		ranked[i] = origins[one.Index]
	}
	return ranked
}

// compare compares false, which is less, and true.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (o *origin) healthy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.health.healthy()
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
