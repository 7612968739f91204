// Package fleet is what several edges share through a Redis or Valkey: the windows of limits, between the edges of a region, and a
// log of what every edge must hear of, purges and releases. It decides nothing about either: package ratelimit says what a window is, and the
// edge what a purge does. Whatever Redis does, or does not, is no error to a caller of Allow: the edge's own window answers then.
//
// What lies in Redis:
//
//	iconedge:w:REGION:NAME:LIMIT:CLIENT   list: the microseconds, by the server's clock, of the calls that count; gone a second after
//	                                      the last of them. NAME is a class or PLAN:CLASS, CLIENT a network or half of a token's hash
//	iconedge:probe:REGION                 such a window, by which an edge tries whether Redis is of use again
//	iconedge:log                          stream: node, kind (begin, purge, release) and data of each event, some 10,000 of them
//
// Redis 6.2, 7 and Valkey will do. An account needs the commands EVALSHA, EVAL, TIME, LINDEX, LLEN, LTRIM, RPUSH, DEL, PEXPIRE, XADD, XREAD,
// XRANGE and XINFO on keys that begin with iconedge:.
package fleet

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// DefaultPatience is how long a check may take before the edge's own window answers instead. It is twice what the light takes around half the
// world and back, so that one Redis can serve regions on all continents; and of a Redis that hangs only those calls feel
// it that are under way when it begins to.
const DefaultPatience = 250 * time.Millisecond

// Options say which Redis, and for whom.
type Options struct {
	URL      string        // see ParseURL
	Region   string        // whose edges share their windows
	Patience time.Duration // for a check; 0: DefaultPatience
	Log      *slog.Logger
	Checked  func(time.Duration) // is told how long each check took that Redis decided
}

// A Fleet is this edge's part in it. It is safe for concurrent use.
type Fleet struct {
	Options
	node   string         // this process: it does not hear its own events
	server *redis.Options // never written after Open

	life   context.Context // ends with Close
	end    context.CancelFunc
	all    sync.WaitGroup
	calls  atomic.Pointer[redis.Client] // for checks and for writing events
	away   atomic.Bool                  // Redis is of no use, and is tried once a second
	deaf   atomic.Bool                  // the log can't be read
	counts counts
}

// Open begins with a Redis, whether it can be reached or not: that is told in the log alone. The error is that of ParseURL.
func Open(o Options) (*Fleet, error) {
	server, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	logging.Disable() // the library's own words: what matters of them is in its errors
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	server.DialTimeout = max(server.DialTimeout, o.Patience)
	f := &Fleet{Options: o, node: rand.Text(), server: server}
	f.life, f.end = context.WithCancel(context.Background())
	client := f.connect()
	f.calls.Store(client)
	if err := f.probe(client); err != nil {
		f.lose(client, err)
	}
	f.all.Go(f.regain)
	return f, nil
}

// Close ends what f does in the background, and its connections. A Hearer is told where it stands before Close returns, and nothing after.
func (f *Fleet) Close() {
	f.end()
	f.all.Wait()
	f.calls.Load().Close()
}

// Stats are plain counts, for metrics.
type Stats struct {
	Up     bool   // Redis answers
	Shared uint64 // checks that Redis decided
	Local  uint64 // and that the edge's own window did
	Lost   uint64 // times that the log did not reach back
	Events map[Kind]EventStats
}

// EventStats count the events of one kind.
type EventStats struct {
	Sent     uint64
	Received uint64 // while the edge was listening
	Replayed uint64 // that had been missed
}

type counts struct {
	shared, local, lost atomic.Uint64
	events              [len(kinds)]struct{ sent, received, replayed atomic.Uint64 }
}

// Stats counts what has been until now.
func (f *Fleet) Stats() Stats {
	c := &f.counts
	s := Stats{Up: !f.away.Load() && !f.deaf.Load(), Shared: c.shared.Load(), Local: c.local.Load(), Lost: c.lost.Load(), Events: map[Kind]EventStats{}}
	for i, k := range kinds {
		e := &c.events[i]
		s.Events[k] = EventStats{e.sent.Load(), e.received.Load(), e.replayed.Load()}
	}
	return s
}
