package fleet

import (
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	probeEvery = time.Second
	contactIn  = time.Second // for connecting and a first answer
)

// probe tries whether Redis is of use: whether it connects, and then takes a call, which writes, in the time that a check has. That it
// answers PING would not do: so does one that is out of memory, a replica, or one that is too far away.
func (f *Fleet) probe(client *redis.Client) error {
	w := Window{fleet: f, prefix: "iconedge:probe:" + f.Region, args: []any{1, time.Second.Microseconds(), time.Second.Milliseconds()}, script: windowScript}
	if _, err := w.check(client, "", max(contactIn, f.Patience)); err != nil {
		return err
	}
	_, err := w.check(client, "", f.Patience)
	return err
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
