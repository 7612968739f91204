package fleet

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	probeInterval = time.Second
	// firstTimeout covers connecting, authentication and loading the script: five round trips.
	firstTimeout = 2 * time.Second
)

// probe tests whether Redis works: whether it accepts a connection, and then a check, which writes,
// within the patience. PING would not be enough, because a server that is out of memory, a replica
// and a server that is too far away answer it too.
func (f *Fleet) probe(client *checks) error {
	// The window, of a microsecond, expires after a millisecond, so each call begins with writing a
	// new one. A full window would need no write, and after removing calls from one Redis lets a
	// script write although it is out of memory.
	w := Window{fleet: f, prefix: "iconedge:probe:" + f.Region, args: []any{1, 1, 1}, script: windowScript}
	if _, err := w.check(client, "", max(firstTimeout, f.Timeout)); err != nil {
		return err
	}
	f.openPool(client.Client, checkConns)
	f.openPool(f.events, eventConns)
	_, err := w.check(client, "", f.Timeout)
	return err
}

// openPool opens n connections, because connecting takes three round trips and a check has time for
// one. A connection that can't be opened now is left to a later call.
func (f *Fleet) openPool(client *redis.Client, n int) {
	ctx, cancel := context.WithTimeout(f.ctx, max(firstTimeout, f.Timeout))
	defer cancel()
	var opened, all sync.WaitGroup
	opened.Add(n)
	for range n {
		all.Go(func() {
			// Conn gives each goroutine a connection of its own, not one that another has returned.
			c := client.Conn()
			defer c.Close()
			c.Time(ctx)
			opened.Done()
			opened.Wait()
		})
	}
	all.Wait()
}

// markDown marks Redis as down at the first failure of a client, so that the edge's own windows
// decide until probeLoop finds it working.
func (f *Fleet) markDown(client *checks, err error) {
	if f.ctx.Err() != nil || f.calls.Load() != client || !f.down.CompareAndSwap(false, true) {
		return // already known, closing, or the failure of a client that was replaced
	}
	f.Log.Warn("Redis unreachable; limits counted by this edge alone", "err", f.redacted(err))
}

// probeLoop probes Redis about once a second while it is down, until the Fleet is closed. Each
// probe uses new connections, because it takes long until the old ones have all failed.
func (f *Fleet) probeLoop() {
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-time.After(spread(probeInterval, rand.Float64())):
		}
		if !f.down.Load() {
			continue
		}
		client := f.connectChecks()
		if f.probe(client) != nil {
			client.Close()
			continue
		}
		f.calls.Swap(client).Close()
		f.down.Store(false)
		f.Log.Info("Redis reachable again")
	}
}
