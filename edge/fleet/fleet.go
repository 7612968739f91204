// Package fleet holds the state that several edges share through a Redis or Valkey: the windows of
// rate limits, between the edges of a region, and a log of events for all edges, purges and
// releases. Package ratelimit defines what a window is, and the edge decides what a purge does. A
// failure of Redis is no error to a caller of Allow, because the edge's own window decides then.
//
// Keys in Redis:
//
//	iconedge:w:REGION:NAME:LIMIT:CLIENT   list: the times of the calls that count, in microseconds
//	                                      of the server's clock; expires a second after the last
//	                                      has left the window. NAME is a class, PLAN:CLASS,
//	                                      SITE/client or SITE/forwarded, CLIENT a network or half
//	                                      of a token's hash
//	iconedge:probe:REGION                 such a window, with which an edge tests whether Redis works
//	iconedge:log                          stream: node, kind (begin, purge, release) and data of each
//	                                      event, some 10,000 of them
//
// Redis 6.2, 7 and Valkey work. An account needs the commands EVALSHA, EVAL, TIME, LINDEX, LLEN,
// LTRIM, RPUSH, DEL, PEXPIRE, XADD, XREAD, XRANGE and XINFO on keys that begin with iconedge:.
package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// DefaultTimeout is how long a check may take before the edge's own window decides instead. It is
// twice the time that light needs to the other side of the world and back, so that one Redis can
// serve regions on all continents. If Redis hangs, only the calls under way at that moment are
// delayed.
const DefaultTimeout = 250 * time.Millisecond

// Options configure a Fleet.
type Options struct {
	URL      string        // see ParseURL
	Password *Password     // for new connections; nil: the URL's
	Region   string        // the edges of a region share their windows
	Timeout  time.Duration // for a check; 0: DefaultTimeout
	Log      *slog.Logger
	Checked  func(time.Duration) // called with the duration of each check that Redis decided
}

// A Fleet is the connection of this edge to the shared state. It is safe for concurrent use.
type Fleet struct {
	Options
	node   string         // identifies this process, which ignores its own events
	server *redis.Options // not modified after Open

	ctx        context.Context // cancelled by Close
	cancel     context.CancelFunc
	all        sync.WaitGroup
	calls      atomic.Pointer[checks]
	events     *redis.Client // reads and writes the log
	down       atomic.Bool   // Redis does not work; it is probed once a second
	logFailing atomic.Bool   // the log can't be read
	counts     counts
}

// Open connects to a Redis. If that fails, Open only logs it, and the Fleet goes on trying. The
// error is that of ParseURL.
func Open(o Options) (*Fleet, error) {
	server, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	logging.Disable() // the library's own messages; its errors contain what matters
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	server.DialTimeout = max(server.DialTimeout, o.Timeout)
	if o.Password != nil {
		server.CredentialsProvider = func() (user, password string) { return server.Username, o.Password.secret() }
	}
	f := &Fleet{Options: o, node: rand.Text(), server: server}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.events = f.connect()
	context.AfterFunc(f.ctx, func() { f.events.Close() }) // interrupts a blocking read
	client := f.connectChecks()
	f.calls.Store(client)
	if err := f.probe(client); err != nil {
		f.markDown(client, err)
	}
	f.all.Go(f.probeLoop)
	return f, nil
}

// Close stops the background work and closes the connections. A Listener gets its last position
// before Close returns, and no call afterwards.
func (f *Fleet) Close() {
	f.cancel()
	f.all.Wait()
	f.calls.Load().Close()
}

// redacted returns an error without the password, which a server repeats in its reply to an unknown
// command.
func (f *Fleet) redacted(err error) error {
	password := f.server.Password
	if f.Password != nil {
		password = f.Password.secret()
	}
	if password != "" && strings.Contains(err.Error(), password) {
		return errors.New(strings.ReplaceAll(err.Error(), password, "*"))
	}
	return err
}

// connect returns a client for events, which opens connections on first use.
func (f *Fleet) connect() *redis.Client {
	o := *f.server
	o.MaxIdleConns = eventConns
	return redis.NewClient(&o)
}

// connectChecks returns a client for checks.
func (f *Fleet) connectChecks() *checks {
	o := *f.server
	o.PoolSize = checkConns
	return &checks{Client: redis.NewClient(&o)}
}

// Stats holds counts for metrics.
type Stats struct {
	Up     bool   // Redis answers
	Shared uint64 // checks that Redis decided
	Local  uint64 // checks that the edge's own window decided
	Lost   uint64 // times that the log did not reach back to this edge's position
	Events map[Kind]EventStats
}

// EventStats counts the events of one kind.
type EventStats struct {
	Sent     uint64
	Received uint64 // published while this edge was connected
	Replayed uint64 // published while it was not
}

type counts struct {
	shared, local, lost atomic.Uint64
	events              [len(kinds)]struct{ sent, received, replayed atomic.Uint64 }
}

// Stats returns the counts since Open.
func (f *Fleet) Stats() Stats {
	c := &f.counts
	s := Stats{Up: !f.down.Load() && !f.logFailing.Load(), Shared: c.shared.Load(), Local: c.local.Load(),
		Lost: c.lost.Load(), Events: map[Kind]EventStats{}}
	for i, k := range kinds {
		e := &c.events[i]
		s.Events[k] = EventStats{e.sent.Load(), e.received.Load(), e.replayed.Load()}
	}
	return s
}
