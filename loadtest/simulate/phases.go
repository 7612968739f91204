//go:build linux

package simulate

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/loadtest/load"
)

const (
	// repeated is longer than the delay after which an edge repeats a purge: only from then on has
	// an edge surely nothing old that it fetched from a shield that had not purged yet.
	repeated = 1500 * time.Millisecond
)

// any returns a random edge.
func (r *run) any() *node { return r.edges[r.random.IntN(len(r.edges))] }

// rest measures a fleet without clients.
func (r *run) rest(ctx context.Context) error {
	return r.measure(&r.Rest, func() error { return load.Pause(ctx, r.Phase) })
}

// measure sets to to what Redis did a second while something happened.
func (r *run) measure(to *usage, happens func() error) error {
	before, err := r.redis.read()
	if err != nil {
		return err
	}
	if err := happens(); err != nil {
		return err
	}
	after, err := r.redis.read()
	*to = after.since(before)
	return err
}

// purgeBody returns the body of a purge of a path.
func purgeBody(path string) string { return fmt.Sprintf(`{"urls":[%q]}`, path) }

// purges purges an icon that has changed, again and again, and times each until every other edge
// has done it.
func (r *run) purges(ctx context.Context) error {
	for i := range r.Rounds {
		path, from := iconPath(i%iconCount), r.any()
		r.origin.change(path)
		began := time.Now()
		if err := from.purge(purgeBody(path)); err != nil {
			return err
		}
		err := r.wait(ctx, "every edge has purged", r.edges, func(n *node) bool {
			return n == from || !n.log.after(purgedThere, began).IsZero()
		})
		if err != nil {
			return err
		}
		for _, n := range r.edges {
			took := n.log.after(purgedThere, began).Sub(began)
			switch {
			case n == from:
			case n.link == from.link:
				r.PurgeWithin = append(r.PurgeWithin, took)
			default:
				r.PurgeBetween = append(r.PurgeBetween, took)
			}
		}
	}
	return r.settled(ctx)
}

// settled checks that every edge serves what the origin has, once purges have been repeated.
func (r *run) settled(ctx context.Context) error {
	if err := load.Pause(ctx, repeated); err != nil {
		return err
	}
	return r.check(r.edges, r.Sample)
}

// purgesUnderLoad purges icons at a rate, at random edges.
func (r *run) purgesUnderLoad(ctx context.Context) error {
	type sent struct {
		at      time.Time
		arrives time.Time // at Redis, about
		from    *node
	}
	var all []sent
	before := r.purgesDone()
	err := r.measure(&r.Purging, func() error {
		var calls sync.WaitGroup
		var failed atomic.Pointer[error]
		tick := time.NewTicker(time.Duration(float64(time.Second) / r.Purges))
		defer tick.Stop()
		for i := range int(r.Purges * r.Phase.Seconds()) {
			path, from := iconPath(i%iconCount), r.any()
			r.origin.change(path)
			now := time.Now()
			all = append(all, sent{now, now.Add(from.delay), from})
			calls.Go(func() {
				if err := from.purge(purgeBody(path)); err != nil {
					failed.Store(&err)
				}
			})
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
		calls.Wait()
		if err := failed.Load(); err != nil {
			return *err
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b sent) int { return a.arrives.Compare(b.arrives) })
	err = r.wait(ctx, "every edge has done every purge", r.edges, func(n *node) bool {
		own := 0
		for _, s := range all {
			if s.from == n {
				own++
			}
		}
		return n.log.count(purgedThere)-before[n] >= len(all)-own
	})
	if err != nil {
		return err
	}
	for _, n := range r.edges {
		times, i := n.log.all(purgedThere)[before[n]:], 0
		for _, s := range all { // an edge gets them in this order
			if s.from != n {
				r.PurgeLoaded = append(r.PurgeLoaded, max(0, times[i].Sub(s.at)))
				i++
			}
		}
	}
	return r.settled(ctx)
}

// purgesDone returns how many purges of others each edge has done.
func (r *run) purgesDone() map[*node]int {
	done := map[*node]int{}
	for _, n := range r.edges {
		done[n] = n.log.count(purgedThere)
	}
	return done
}

// browse has a client at every edge, which requests all icons in turn, until stop is called.
func (r *run) browse(ctx context.Context) (stop func()) {
	every := r.Herd / (iconCount + 4)
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i, n := range r.edges {
		all.Go(func() {
			if load.Pause(ctx, every*time.Duration(i)/time.Duration(len(r.edges))) != nil {
				return
			}
			for j := i; ; j++ {
				n.get(iconPath(j%iconCount), "192.0.2.251")
				if load.Pause(ctx, every) != nil {
					return
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// releases publishes releases and times each until every edge has it, with clients at every edge.
// It counts what the origin gets after the first.
func (r *run) releases(ctx context.Context, count int) error {
	stop := r.browse(ctx)
	defer stop()
	if err := load.Pause(ctx, r.Herd/2); err != nil {
		return err
	}
	for i := range count {
		// Edges poll every two seconds: each release comes at another moment of these.
		if err := load.Pause(ctx, time.Duration(r.random.Int64N(int64(2*time.Second)))); err != nil {
			return err
		}
		_, before := r.origin.counted(nil)
		began := time.Now()
		id := r.origin.flip()
		if err := r.wait(ctx, "every edge has the release", r.edges, func(n *node) bool { return n.log.known() == id }); err != nil {
			return err
		}
		for _, n := range r.edges {
			r.Flips = append(r.Flips, n.log.after(switched, began).Sub(began))
		}
		if err := load.Pause(ctx, time.Until(began.Add(r.Herd))); err != nil {
			return err
		}
		if i == 0 {
			r.many.flip, r.many.kinds = r.origin.counted(before)
		}
	}
	stop()
	return r.settled(ctx)
}

// limits has one client that makes many calls at once in every region.
func (r *run) limits(ctx context.Context) error {
	for _, l := range r.links {
		nodes := slices.DeleteFunc(slices.Clone(r.edges), func(n *node) bool { return n.link != l })
		n := r.through(nodes, "192.0.2.7")
		if r.Through = append(r.Through, n); n != searchLimit {
			return fmt.Errorf("of %d calls of a client in %s %d were accepted, want %d", 2*searchLimit, l.name, n, searchLimit)
		}
	}
	return nil
}

// through makes twice as many calls as the limit allows, and returns how many were accepted.
func (r *run) through(nodes []*node, client string) int {
	var all sync.WaitGroup
	var accepted atomic.Int64
	for i := range 2 * searchLimit {
		all.Go(func() {
			if status, _, err := nodes[i%len(nodes)].get("/api/v1/search?q=home", client); err == nil && status == http.StatusOK {
				accepted.Add(1)
			}
		})
	}
	all.Wait()
	return int(accepted.Load())
}

// checksUnderLoad makes calls that count against limits at a rate, of many clients, at all edges.
func (r *run) checksUnderLoad(ctx context.Context) error {
	lost := r.total(redisGone)
	err := r.measure(&r.Checking, func() error {
		var calls sync.WaitGroup
		defer calls.Wait()
		const tick = 20 * time.Millisecond
		next, number := time.Now(), 0
		for end := next.Add(r.Phase); next.Before(end); next = next.Add(tick) {
			if err := load.Pause(ctx, time.Until(next)); err != nil {
				return err
			}
			for range int(r.Checks * tick.Seconds()) {
				n, client := r.any(), fmt.Sprintf("10.%d.%d.%d", number>>16&255, number>>8&255, number&255)
				number++
				calls.Go(func() { n.get("/api/v1/search?q=home", client) })
			}
		}
		return nil
	})
	r.GaveUp = r.total(redisGone) - lost
	return err
}

// total returns how often all edges have written a message.
func (r *run) total(message string) (n int) {
	for _, e := range r.edges {
		n += e.log.count(message)
	}
	return n
}

// restart kills Redis, and starts it again a while later, with its log or without.
func (r *run) restart(ctx context.Context, kept bool) error {
	stop := r.browse(ctx)
	defer stop()
	gone, back, dropped := r.counts(redisGone), r.counts(logBack), r.counts(cacheDropped)
	r.redis.kill()
	if !kept {
		if err := r.redis.forget(); err != nil {
			return err
		}
	}
	// Each edge notices, because a call counts against a limit.
	each(r.edges, func(_ int, n *node) error { n.get("/api/v1/search?q=home", "192.0.2.8"); return nil })
	if err := load.Pause(ctx, r.Outage); err != nil {
		return err
	}
	_, before := r.origin.counted(nil)
	began := time.Now()
	if err := r.redis.start(ctx); err != nil {
		return err
	}
	watched, unwatch := context.WithCancel(ctx)
	peaks := make(chan storm, 1)
	go func() { peaks <- r.redis.watch(watched) }()
	err := r.wait(ctx, "every edge uses Redis again", r.edges, func(n *node) bool {
		return n.log.count(logBack) > back[n] && (n.log.count(redisGone) == gone[n] || !n.log.after(redisBack, began).IsZero())
	})
	unwatch()
	peak := <-peaks
	if err != nil {
		return err
	}
	peak.noticed = r.total(redisGone) - sum(gone)
	for _, n := range r.edges {
		peak.logs = append(peak.logs, n.log.after(logBack, began).Sub(began))
		if at := n.log.after(redisBack, began); !at.IsZero() {
			peak.checks = append(peak.checks, at.Sub(began))
		}
	}
	if err := load.Pause(ctx, time.Until(began.Add(r.Herd))); err != nil {
		return err
	}
	peak.dropped = r.total(cacheDropped) - sum(dropped)
	if stop(); kept {
		r.Restart = peak
	} else {
		r.Empty = peak
		r.many.drop, r.many.drops = r.origin.counted(before)
	}
	return r.settled(ctx)
}

// counts returns how often each edge has written a message.
func (r *run) counts(message string) map[*node]int {
	counts := map[*node]int{}
	for _, n := range r.edges {
		counts[n] = n.log.count(message)
	}
	return counts
}

func sum(counts map[*node]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// partition cuts the three farthest regions off. Meanwhile icons change, purges for them come, and
// a release. It is shorter than an hour, but the edges miss as many purges, and each of them finds
// its connections dead.
func (r *run) partition(ctx context.Context) error {
	far := r.links[len(r.links)-min(3, len(r.links)-1):]
	isFar := func(n *node) bool { return slices.Contains(far, n.link) }
	before, from := r.purgesDone(), r.edges[0]
	for _, l := range far {
		l.silence()
	}
	began := time.Now()
	for i := range r.Missed {
		path := iconPath(i % iconCount)
		r.origin.change(path)
		if err := from.purge(purgeBody(path)); err != nil {
			return err
		}
		if err := load.Pause(ctx, time.Until(began.Add(r.CutOff*time.Duration(i)/time.Duration(r.Missed)))); err != nil {
			return err
		}
	}
	id := r.origin.flip()
	for _, l := range far {
		l.mend()
	}
	mended := time.Now()
	err := r.wait(ctx, "every edge has done all purges, and has the release", r.edges, func(n *node) bool {
		return n == from || n.log.count(purgedThere)-before[n] >= r.Missed && n.log.known() == id
	})
	if err != nil {
		return err
	}
	for _, n := range r.edges {
		if isFar(n) {
			r.CaughtUp = append(r.CaughtUp, n.log.all(purgedThere)[before[n]+r.Missed-1].Sub(mended))
		}
	}
	return r.settled(ctx)
}
