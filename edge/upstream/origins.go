package upstream

import (
	"cmp"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// An origin is one of those that can be asked, and what is known of its health.
type origin struct {
	url   *url.URL
	group int
	seed  uint64
	alone bool // there is no other
	log   *slog.Logger

	mu               sync.Mutex
	breaker          breaker
	health           health
	failures, opened int64
}

func newOrigin(u *url.URL, group int, log *slog.Logger) *origin {
	return &origin{url: u, group: group, seed: fnv(fnvOffset, u.Scheme+"://"+u.Host+strings.TrimSuffix(u.EscapedPath(), "/")), log: log.With("origin", u.Host)}
}

// choose finds the origin that is to be asked for path: of those that may be, the first in order whose breaker lets the request
// through. Whether it is the breaker's probe goes to settle with the verdict.
func (c *Client) choose(path string, may func(*origin) bool, now time.Time) (o *origin, probe bool) {
	for _, o := range rank(c.origins, path) {
		if !may(o) {
			continue
		}
		if probe, ok := o.admit(now); ok {
			return o, probe
		}
	}
	return nil, false
}

// rank puts origins in the order in which they are asked for path. Those that are well come before the others, which are only
// asked if no other is left; then groups count; and in a group each path has an order of its own (rendezvous
// hashing), the same in every edge, in which an origin that comes or goes moves no path but its own.
func rank(origins []*origin, path string) []*origin {
	if len(origins) == 1 {
		return origins
	}
	type place struct {
		o     *origin
		ill   int
		score uint64
	}
	places := make([]place, len(origins))
	for i, o := range origins {
		places[i] = place{o, o.ill(), score(o.seed, path)}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.ill, b.ill), cmp.Compare(a.o.group, b.o.group), cmp.Compare(b.score, a.score))
	})
	ranked := make([]*origin, len(origins))
	for i, p := range places {
		ranked[i] = p.o
	}
	return ranked
}

const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// fnv goes on with an FNV-1a hash.
func fnv(h uint64, s string) uint64 {
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// score is an origin's for a path. FNV alone leaves the last bytes in the low bits: the finaliser of MurmurHash3 spreads them.
func score(seed uint64, path string) uint64 {
	h := fnv(seed, path)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func (o *origin) ill() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.health.well() {
		return 0
	}
	return 1
}

func (o *origin) admit(now time.Time) (probe, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.breaker.admit(now)
}

// settle takes the verdict on a try that was admitted.
func (o *origin) settle(probe bool, v verdict, err error, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v == failure {
		o.failures++
	}
	if o.alone && errors.Is(err, errLost) {
		v = nothing // it is there, and there is no other: one address that it fails at must not close all of them
	}
	opened, closed := o.breaker.settle(probe, v, now)
	if opened {
		o.opened++
		o.log.Warn("the origin fails: it is asked again after a pause", "err", err)
	}
	if closed {
		o.log.Info("the origin answers again")
	}
}

// checked takes the verdict on a health check.
func (o *origin) checked(v verdict, err error, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v == success && o.breaker.forgotten(now) {
		o.breaker = breaker{}
		o.log.Info("the origin answers again")
	}
	switch changed := o.health.note(v); {
	case changed && o.health.well():
		o.log.Info("the origin is well again")
	case changed:
		o.log.Warn("the origin is not well", "err", err)
	}
}

func (o *origin) stats() OriginStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	return OriginStats{URL: o.url.Redacted(), Well: o.health.well() && !o.breaker.open(), Failures: o.failures, Opened: o.opened}
}
