package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	probeEvery = time.Second
	firstIn    = 2 * time.Second // for connecting, a password, and a script that Redis may not know yet: five ways there and back
)

// probe tries whether Redis is of use: whether it connects, and then takes a call, which writes, in the time that a check has. That it
// answers PING would not do: so does one that is out of memory, a replica, or one that is too far away.
func (f *Fleet) probe(client *redis.Client) error {
	w := Window{fleet: f, prefix: "iconedge:probe:" + f.Region, args: []any{1, time.Second.Microseconds(), time.Second.Milliseconds()}, script: windowScript}
	if _, err := w.check(client, "", max(firstIn, f.Patience)); err != nil {
		return err
	}
	f.fill(client)
	_, err := w.check(client, "", f.Patience)
	return err
}

// fill opens all connections that checks will want: to connect takes three ways there and back, and the time of a check is for one. Those that
// can't be had now are left to checks.
func (f *Fleet) fill(client *redis.Client) {
	ctx, cancel := context.WithTimeout(f.life, max(firstIn, f.Patience))
	defer cancel()
	var opened, all sync.WaitGroup
	opened.Add(poolSize)
	for range poolSize {
		all.Go(func() {
			c := client.Conn() // and not one that another has just given back
			defer c.Close()
			c.Time(ctx)
			opened.Done()
			opened.Wait()
		})
	}
	all.Wait()
}

// lose turns to the edge's own windows at the first failure of a client, and has Redis tried until it is back.
func (f *Fleet) lose(client *redis.Client, err error) {
	if f.life.Err() != nil || f.calls.Load() != client || !f.away.CompareAndSwap(false, true) {
		return // known, or it is about a client that was given up
	}
	f.Log.Warn("redis is away: limits are counted by this edge alone", "err", f.plain(err))
}

// regain looks once a second whether Redis is to be tried, until f is closed. Each time the connections are new: of those that were open nobody
// knows whether they lead anywhere, and to wait for each to fail takes long.
func (f *Fleet) regain() {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-f.life.Done():
			return
		case <-tick.C:
		}
		if !f.away.Load() {
			continue
		}
		client := f.connect()
		if f.probe(client) != nil {
			client.Close()
			continue
		}
		f.calls.Swap(client).Close()
		f.away.Store(false)
		f.Log.Info("redis is back")
	}
}
