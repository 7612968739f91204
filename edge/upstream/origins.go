package upstream

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/upstream/balance"
	"github.com/iconedge/iconedge/edge/upstream/names"
	"github.com/iconedge/iconedge/edge/upstream/wire"
)

// An origin is one of the configured origins, with its state of health.
type origin struct {
	url   *url.URL
	group int
	seed  uint64
	only  atomic.Bool // the only origin
	slots slots
	log   *slog.Logger

	index  int            // tells it from all others, also from those that are gone
	at     netip.AddrPort // one of several addresses of its name; zero: any of the name
	weight atomic.Int64   // its part of the requests; 0: none while others are healthy
	active atomic.Int64   // exchanges up to the end of their bodies
	moved  atomic.Int64   // times that addresses of its name went away
	idle   wire.Pool      // connections of lean exchanges
	// unusual is when it last sent a response that is unusual for a lean exchange; 0: never.
	unusual atomic.Int64

	mu               sync.Mutex
	breaker          breaker
	health           health
	failures, opened int64
}

// A place is that of a URL of the configuration among the origins: one origin, or those of a name
// with several addresses.
type place struct {
	fixed   *origin // nil: a name
	url     *url.URL
	group   int
	name    names.Name
	members map[names.Member]*member
}

// A member is the origin of one address, which is checked until stop is called.
type member struct {
	*origin
	stop context.CancelFunc
}

// priorities are the places for the priorities of a service within a group.
const priorities = 1 << 16

// newPlace returns the place of a URL. The scheme srv+http is that of a service; other names have
// several origins if each of their addresses is to be one.
func newPlace(u *url.URL, group, weight int, each bool) *place {
	scheme, service := strings.CutPrefix(u.Scheme, "srv+")
	at := *u
	at.Scheme = scheme
	p := &place{url: &at, group: group * priorities, members: map[names.Member]*member{}}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		if port = 80; scheme == "https" || scheme == "h2" {
			port = 443
		}
	}
	p.name = names.Name{Host: u.Host, Service: service, Port: uint16(port), Weight: weight}
	if !service && !(each && named(&at)) {
		p.fixed = &origin{url: &at, group: p.group}
	}
	return p
}

// watch makes the addresses of a name origins until ctx ends. Each has its own health.
func (p *place) watch(ctx context.Context, r names.Resolver, set *originSet) {
	looked := false
	p.name.Watch(ctx, r, func(members map[names.Member]int, err error) {
		set.mu.Lock()
		defer set.mu.Unlock()
		for m, one := range p.members {
			if members[m] == 0 {
				one.stop()
				delete(p.members, m)
			}
		}
		for m, weight := range members {
			if p.members[m] == nil {
				p.members[m] = p.begin(ctx, m, set)
			}
			p.members[m].weight.Store(int64(weight))
		}
		set.publish()
		set.log.Info("origin addresses", "name", p.url.Host, "addresses", len(members), "err", err)
		if !looked {
			looked = true
			set.looked()
		}
	})
}

// begin makes an origin of an address, and checks it.
func (p *place) begin(ctx context.Context, m names.Member, set *originSet) *member {
	u := *p.url
	u.Host = m.Host
	o := set.complete(&origin{url: &u, group: p.group + m.Priority, at: m.At})
	ctx, stop := context.WithCancel(ctx)
	go func() {
		set.check(ctx, o)
		o.idle.Close()
	}()
	return &member{o, stop}
}

// An originSet is the origins of a Client, some of which come and go with the addresses of a name.
type originSet struct {
	places []*place // of the configuration, in order
	conns  int      // with one origin
	needs  int      // of health
	log    *slog.Logger
	check  func(context.Context, *origin) // checks an origin until the context ends

	current atomic.Pointer[[]*origin]
	pending atomic.Int64  // names that have not been looked up yet
	ready   chan struct{} // closed when all have
	mu      sync.Mutex
	indexes int // of the origins so far
}

// all returns the origins of this moment, in order. Callers do not change the slice.
func (s *originSet) all() []*origin { return *s.current.Load() }

// addPlace adds a place of the configuration.
func (s *originSet) addPlace(p *place) {
	if s.places = append(s.places, p); p.fixed == nil {
		s.pending.Add(1)
		return
	}
	s.complete(p.fixed).weight.Store(int64(p.name.Weight))
}

// complete completes an origin that has its URL, its group and its address. s.mu is held, or the
// Client is new.
func (s *originSet) complete(o *origin) *origin {
	o.slots, o.idle = newSlots(s.conns), wire.Pool{Most: s.conns, After: idleTimeout}
	o.index, o.health.needs = s.indexes, s.needs
	s.indexes++
	host := o.url.Host
	if o.at.IsValid() {
		host = o.at.String()
	}
	o.seed = balance.Seed(o.url.Scheme + "://" + host + strings.TrimSuffix(o.url.EscapedPath(), "/"))
	o.log = s.log.With("origin", o.name())
	return o
}

// publish makes the origins of all places those of requests from now on. s.mu is held, or the
// Client is new.
func (s *originSet) publish() {
	all := []*origin{}
	for _, p := range s.places {
		if p.fixed != nil {
			all = append(all, p.fixed)
			continue
		}
		for _, m := range slices.SortedFunc(maps.Keys(p.members), names.Compare) {
			all = append(all, p.members[m].origin)
		}
	}
	for _, o := range all {
		o.only.Store(len(all) == 1)
	}
	s.current.Store(&all)
}

// await returns when every name has been looked up once, after a time, or when ctx ends. The error
// says that there is no origin then.
func (s *originSet) await(ctx context.Context, most time.Duration) error {
	if s.pending.Load() > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		select {
		case <-s.ready:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if len(s.all()) == 0 {
		return errNoAddress
	}
	return nil
}

// looked records that one more name has been looked up.
func (s *originSet) looked() {
	if s.pending.Add(-1) == 0 {
		close(s.ready)
	}
}

// chooseOrigin returns the origin for a key: the first in order that may be used and whose breaker
// admits the request. The caller passes probe to record.
func (c *Client) chooseOrigin(key string, may func(*origin) bool, now time.Time) (o *origin, probe bool) {
	for _, o := range rank(c.set.all(), c.policy, key) {
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
		scored[i] = balance.Origin{Index: i, Group: o.group, Healthy: o.healthy(), Seed: o.seed, Weight: int(o.weight.Load()),
			Active: o.active.Load()}
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
	if o.only.Load() && errors.Is(err, errLost) {
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
	return OriginStats{URL: o.label(), Healthy: o.health.healthy() && !o.breaker.open(), Failures: o.failures, Opened: o.opened}
}

// label returns the URL of the origin for metrics: with its address, if its name has several.
func (o *origin) label() string {
	u := *o.url
	if o.at.IsValid() {
		u.Host = o.at.String()
	}
	return u.Redacted()
}
